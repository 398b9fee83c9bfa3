"""The three programs of flow.yml: split a test suite, test one shard of it, report on all."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def folder(package):
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"{package} is not installed here")
    return Path(found.origin).parent


def pytest(package, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    home = folder(package)
    return subprocess.run([*command, f"--rootdir={home}", *arguments], cwd=home, capture_output=True, text=True)


def split(package, count):
    """Print a list of shards, each a list of test ids, evenly filled in turn."""
    listed = pytest(package, "--collect-only", ".")
    tests = [line for line in listed.stdout.splitlines() if "::" in line]
    if not tests:
        sys.exit(f"{package} has no tests that pytest finds:\n{listed.stdout}{listed.stderr}")
    count = max(1, min(int(count), len(tests)))
    json.dump([tests[start::count] for start in range(count)], sys.stdout)


def test(package, index):
    """Run one shard; what counts is pytest's own report, and that it covers every test asked for."""
    tests = json.loads(os.environ["SHARD_TESTS"])
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "junit.xml")
        ran = pytest(package, f"--junitxml={report}", *tests)
        if not report.exists():
            sys.exit(f"pytest wrote no report:\n{ran.stdout}{ran.stderr}")
        suite = ElementTree.parse(report).getroot().find("testsuite")
    cases = suite.findall("testcase")
    bad = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    if len(cases) < len(tests):
        sys.exit(f"{len(tests)} tests were asked for, {len(cases)} ran")
    skipped = sum(case.find("skipped") is not None for case in cases)
    result = {"shard": int(index), "tests": len(cases), "skipped": skipped, "failed": bad}
    json.dump(result | {"seconds": float(suite.get("time"))}, sys.stdout)


def report(package, target):
    """Write the table of all shards; a failed test is a failed step."""
    shards = json.loads(os.environ["SHARD_RESULTS"])
    bad = [name for shard in shards for name in shard["failed"]]
    total = sum(shard["tests"] for shard in shards)
    lines = [f"# Tests of {package}", "", f"{total} tests in {len(shards)} shards, {len(bad)} failed.", ""]
    lines += ["| shard | tests | skipped | failed | seconds |", "| --- | --- | --- | --- | --- |"]
    for shard in shards:
        row = (shard["shard"], shard["tests"], shard["skipped"], len(shard["failed"]), shard["seconds"])
        lines.append("| " + " | ".join(map(str, row)) + " |")
    Path(target).write_text("\n".join([*lines, "", *(f"- {name}" for name in bad)]) + "\n")
    print("\n".join(lines))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    {"split": split, "test": test, "report": report}[sys.argv[1]](*sys.argv[2:])
