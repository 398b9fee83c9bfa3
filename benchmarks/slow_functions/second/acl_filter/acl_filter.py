"""Which documents people may see, by rules with patterns."""

import fnmatch


def parse_rule(text: str) -> dict:
    """Parse "allow group:sales read /deals/*" into a dictionary."""
    effect, subject, actions, pattern = text.split()
    kind, _, name = subject.partition(":")
    return {"effect": effect, "kind": kind, "name": name, "actions": actions.split(","), "pattern": pattern}


class Acl:
    """Rules in order; the last one that fits decides, and without one nothing is allowed."""

    def __init__(self, rules: list[str], groups: dict[str, list[str]]) -> None:
        self.rules = rules
        self.groups = groups  # group -> list of users and of other groups (with an @)

    def members(self, group: str, seen: list[str] | None = None) -> list[str]:
        """Return all users of a group and of the groups in it."""
        seen = [] if seen is None else seen
        if group in seen:
            return []
        users = []
        for member in self.groups.get(group, []):
            if member.startswith("@"):
                for user in self.members(member[1:], seen + [group]):
                    if user not in users:
                        users.append(user)
            elif member not in users:
                users.append(member)
        return users

    def applies(self, rule: dict, user: str) -> bool:
        """Whether a rule is about a user."""
        if rule["kind"] == "user":
            return rule["name"] in ("*", user)
        return user in self.members(rule["name"])

    def allowed(self, user: str, action: str, path: str) -> bool:
        """Whether a user may do something with a document."""
        decision = False
        for text in self.rules:
            rule = parse_rule(text)
            if self.applies(rule, user) and action in rule["actions"] and fnmatch.fnmatchcase(path, rule["pattern"]):
                decision = rule["effect"] == "allow"
        return decision

    def visible(self, user: str, paths: list[str], action: str = "read") -> list[str]:
        """Return the documents that a user may see, sorted, each once."""
        result = []
        for path in paths:
            if self.allowed(user, action, path) and path not in result:
                result.append(path)
                result.sort()
        return result
