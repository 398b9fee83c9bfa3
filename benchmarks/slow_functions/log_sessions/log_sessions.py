"""Group the lines of a web server's access log into visitor sessions."""

import re

LINE = re.compile(
    r'^(?P<host>\S+) (?P<second>\d+) "(?P<method>[A-Z]+) (?P<path>\S+)" (?P<status>\d{3}) (?P<size>\d+|-)$'
)
ASSETS = (".css", ".js", ".png", ".ico", ".woff2")


def parse_line(line):
    """Return the fields of one line as a dict, or None when the line is not an access record."""
    match = LINE.match(line.strip())
    if match is None:
        return None
    fields = match.groupdict()
    fields["second"] = int(fields["second"])
    fields["status"] = int(fields["status"])
    fields["size"] = 0 if fields["size"] == "-" else int(fields["size"])
    return fields


def is_asset(path):
    return path.split("?")[0].lower().endswith(ASSETS)


def collect_sessions(records, gap=1800):
    """Turn parsed records, in order of time, into sessions.

    A visitor who is silent for more than `gap` seconds starts a new session. Assets count as traffic but not as
    pages. Records of failed requests (5xx) keep a session alive but never open one.
    """
    sessions = []
    for record in records:
        current = None
        for session in sessions:
            if session["host"] == record["host"]:
                if record["second"] - session["last"] <= gap:
                    current = session
                elif current is not None and session["last"] > current["last"]:
                    current = None
        if current is None:
            if record["status"] >= 500:
                continue
            current = {
                "host": record["host"],
                "first": record["second"],
                "last": record["second"],
                "pages": [],
                "hits": 0,
                "bytes": 0,
                "errors": 0,
            }
            sessions.append(current)
        current["last"] = max(current["last"], record["second"])
        current["hits"] += 1
        current["bytes"] += record["size"]
        if record["status"] >= 400:
            current["errors"] += 1
        elif not is_asset(record["path"]) and record["path"] not in current["pages"]:
            current["pages"].append(record["path"])
    return sessions


def bounce_rate(sessions):
    """Return the share of sessions with a single page, 0.0 for no sessions."""
    if not sessions:
        return 0.0
    return sum(1 for session in sessions if len(session["pages"]) <= 1) / len(sessions)
