"""Records without duplicates, the first of equal ones stays."""

import random

R = random.Random(5)
RECORDS = [{"mail": f"u{R.randrange(200)}@x.org", "age": R.randrange(3)} for _ in range(600)]
CALLS = [lambda: ([],), lambda: ([{"mail": "a", "age": 1}, {"mail": "a", "age": 1}],), lambda: (RECORDS,)]


def work(records):
    unique = []
    for record in records:
        record = {"mail": record["mail"].strip().lower(), "age": record["age"]}
        if record not in unique:
            unique.append(record)
    return unique
