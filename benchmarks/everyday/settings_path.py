"""Values at dotted paths in many records."""

RECORDS = [{"user": {"address": {"city": f"c{n % 5}", "zip": n}, "name": f"n{n}"}} for n in range(400)]
PATHS = ["user.address.city", "user.address.zip", "user.name", "user.phone"]
CALLS = [lambda: ([], []), lambda: ([{"a": 1}], ["a", "b.c"]), lambda: (RECORDS, PATHS)]


def work(records, paths):
    rows = []
    for record in records:
        row = {}
        for path in paths:
            value = record
            for key in path.split("."):
                if isinstance(value, dict) and key in value.keys():
                    value = value[key]
                else:
                    value = None
                    break
            row[path] = value
        rows.append(row)
    return rows
