"""Who may do what, over roles that contain roles."""

ROLES = {f"role{n}": {"parents": [f"role{n // 2}"] if n else [], "allow": [f"p{n}", f"p{n + 1}"]} for n in range(60)}
USERS = {f"user{n}": [f"role{n % 60}", f"role{(n * 7) % 60}"] for n in range(120)}
CALLS = [lambda: ({}, {}), lambda: ({"u": ["role3"]}, ROLES), lambda: (USERS, ROLES)]


def collect(role, roles):
    found = []
    for permission in roles[role]["allow"]:
        if permission not in found:
            found.append(permission)
    for parent in roles[role]["parents"]:
        if parent != role:
            for permission in collect(parent, roles):
                if permission not in found:
                    found.append(permission)
    return found


def work(users, roles):
    result = {}
    for user, own in users.items():
        permissions = []
        for role in own:
            for permission in collect(role, roles):
                if permission not in permissions:
                    permissions.append(permission)
        result[user] = sorted(permissions)
    return result
