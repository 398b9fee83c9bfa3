"""`bakeoff diff`."""

from __future__ import annotations

import sys

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.options import WITH_TESTS


@click.command("diff")
@click.argument("run", type=RUN)
@click.argument("where", nargs=-1, metavar="[STEP] [ATTEMPT|SUBPLAN]")
@WITH_TESTS
@click.option("--stat", is_flag=True, help="Only which files, and how much.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, where: tuple[str, ...], with_tests: bool, stat: bool, as_json: bool) -> None:
    """Print what ATTEMPT of RUN changes, or its winner, as a patch that `git apply` takes.

    Of a plan it is what SUBPLAN made, or all that landed. Of a workflow's run it is the same of STEP, or what STEP made
    in its slot.
    """
    from bakeoff.cli.output import print_json, tell
    from bakeoff.cli.run_lookup import store
    from bakeoff.jobs.job import OpenRun, job_of
    from bakeoff.jobs.landing import changed_by, diff_of, stat_of
    from bakeoff.report.escape import visible

    opened = OpenRun(store().open(run))
    folder, project, work = opened.folder, opened.project, job_of(opened).work(opened, where)
    if as_json:
        shown = {
            "run_id": folder.id,
            "attempt": work.attempt,
            "step": work.step,
            "status": work.status,
            "commit": work.facts["commit" if with_tests else "judged"],
            "tests_changed": work.facts.get("tests_changed", []),
            "changed": [
                {"path": change.path, "status": change.status, "added": change.added, "deleted": change.deleted}
                for change in changed_by(project, work, with_tests)
            ],
        }
        if not stat:
            shown["diff"] = diff_of(project, work, with_tests).decode("utf-8", "backslashreplace")
        print_json(shown, indent=2)
    elif stat:
        for line in stat_of(project, work, with_tests):
            tell(visible(line))
    else:
        data = diff_of(project, work, with_tests)
        if sys.stdout.isatty():
            for line in data.decode("utf-8", "replace").splitlines():
                tell(visible(line))
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
