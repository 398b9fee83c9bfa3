"""What differs between two snapshots of a configuration."""

OLD = {f"key{n}": n % 7 for n in range(1500)}
NEW = {f"key{n}": n % 5 for n in range(200, 1700)}
CALLS = [lambda: ({}, {}), lambda: ({"a": 1, "b": 2}, {"b": 3, "c": 4}), lambda: (OLD, NEW)]


def work(old, new):
    added = []
    removed = []
    changed = []
    for key in list(new.keys()):
        if key not in list(old.keys()):
            added.append(key)
    for key in list(old.keys()):
        if key not in list(new.keys()):
            removed.append(key)
        elif old[key] != new[key]:
            changed.append((key, old[key], new[key]))
    return sorted(added), sorted(removed), sorted(changed)
