"""Messages by level out of log lines."""

import re

LINES = [f"2024-01-{n % 28 + 1:02} 10:00:00 [{['INFO', 'WARN', 'ERROR'][n % 3]}] message {n}" for n in range(700)]
CALLS = [lambda: ([],), lambda: (["nonsense", *LINES[:4]],), lambda: (LINES,)]


def work(lines):
    result = {}
    for line in lines:
        pattern = re.compile(r"^(\d+-\d+-\d+) (\d+:\d+:\d+) \[(\w+)\] (.*)$")
        match = pattern.match(line)
        if match:
            level = match.group(3).lower()
            if level not in result:
                result[level] = []
            result[level].append({"date": match.group(1), "message": match.group(4)})
    return result
