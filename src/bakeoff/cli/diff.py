"""`bakeoff diff`."""

from __future__ import annotations

import sys

import click

from bakeoff.cli.attempt import WITH_TESTS
from bakeoff.cli.completing import RUN


@click.command("diff")
@click.argument("run", type=RUN)
@click.argument("attempt", required=False, type=int)
@WITH_TESTS
@click.option("--stat", is_flag=True, help="Only which files, and how much.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, attempt: int | None, with_tests: bool, stat: bool, as_json: bool) -> None:
    """Print what ATTEMPT of RUN changes, or its winner, as a patch that `git apply` takes."""
    from bakeoff.cli.attempt_runs import open_attempts
    from bakeoff.cli.say import print_json, tell
    from bakeoff.report.escape import visible
    from bakeoff.sampling.attempt.landing import changed_by, chosen, diff_of, stat_of

    project, folder, found, _ = open_attempts(run)
    view = chosen(found, folder.id, attempt)
    if as_json:
        shown = {
            "run_id": folder.id,
            "attempt": view.id,
            "status": view.status,
            "commit": view.facts["commit" if with_tests else "judged"],
            "tests_changed": view.facts.get("tests_changed", []),
            "changed": [
                {"path": change.path, "status": change.status, "added": change.added, "deleted": change.deleted}
                for change in changed_by(project, found, view, with_tests)
            ],
        }
        if not stat:
            shown["diff"] = diff_of(project, found, view, with_tests).decode("utf-8", "backslashreplace")
        print_json(shown, indent=2)
    elif stat:
        for line in stat_of(project, found, view, with_tests):
            tell(visible(line))
    else:
        data = diff_of(project, found, view, with_tests)
        if sys.stdout.isatty():
            for line in data.decode("utf-8", "replace").splitlines():
                tell(visible(line))
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
