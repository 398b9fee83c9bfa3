"""`bakeoff report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bakeoff.cli.completing import RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bakeoff.engine.store import RunFolder


@click.command("report")
@click.argument("run", required=False, type=RUN)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Where to write it; bakeoff-RUN.html if left out, - for standard output.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Markdown for a pull request; of an optimisation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the file.")
def command(run: str | None, file: Path | None, as_markdown: bool, as_json: bool) -> None:
    """Write RUN, or the latest run, as one HTML file: timeline, table of steps, logs and errors.

    It needs nothing but a browser. Of attempts and merges it has the verdicts, why others failed, and the diff, before
    all else; of an optimisation it has the candidates, the winner's diff, the speed-ups and the
    line profiles, too; of a plan the hierarchy, who worked when, and the merge queue.
    """
    from bakeoff.cli.opening import misused, open_run
    from bakeoff.cli.say import covered, print_json, tell
    from bakeoff.system.named_files import write_whole

    folder = open_run(run)
    if file is not None and str(file) == "-":
        if as_json:
            misused("-o - and --json exclude each other")
        for piece in _pieces(folder, as_markdown):
            sys.stdout.buffer.write(covered(piece).encode("utf-8", "replace"))
        return
    place = file or Path(f"bakeoff-{folder.id}.{'md' if as_markdown else 'html'}")
    size = write_whole(place, covered("".join(_pieces(folder, as_markdown))).encode("utf-8", "replace"))
    if as_json:
        print_json({"run_id": folder.id, "file": str(place.absolute()), "bytes": size})
    else:
        tell(f"{place}")


def _pieces(folder: RunFolder, as_markdown: bool) -> Iterator[str]:
    """The report.

    Raises:
        BakeoffError: there is none in Markdown.
    """
    from bakeoff.errors import BakeoffError
    from bakeoff.report.overview import overview
    from bakeoff.report.page import report_page

    job = overview(folder).job
    if job == "plan" and not as_markdown:
        return _plan(folder)
    if job != "optimize":
        if as_markdown:
            raise BakeoffError(f"run {folder.id} is no optimisation: only these have a report in Markdown")
        return _attempts(folder) if job == "attempt" else _merge(folder) if job == "merge" else report_page(folder)
    from bakeoff.cli.optimizing import winners_diff
    from bakeoff.optimize.markdown import markdown
    from bakeoff.optimize.page import optimisation
    from bakeoff.optimize.standing import standing

    history = folder.history()
    found = standing(history, folder.standing(history)[0])
    diff = winners_diff(Path(str(history.meta["project"])), folder.id, found)
    return markdown(folder.id, found, diff) if as_markdown else report_page(folder, optimisation(found, diff))


def _attempts(folder: RunFolder) -> Iterator[str]:
    """The report of attempts."""
    from bakeoff.cli.attempt_page import attempts_part
    from bakeoff.report.page import report_page
    from bakeoff.sampling.attempt.landing import Work, shown_diff
    from bakeoff.sampling.attempt.standing import standing

    history = folder.history()
    found = standing(history, folder.standing(history)[0])
    number = found.winner if found.winner is not None else found.closest
    diff = None
    if number is not None:
        work = Work.of(folder.id, found, found.attempts[number])
        diff = shown_diff(Path(str(history.meta["project"])), work, False)
    return report_page(folder, attempts_part(found, diff))


def _merge(folder: RunFolder) -> Iterator[str]:
    """The report of a merge."""
    from bakeoff.cli.merging import work_of
    from bakeoff.plan.queue.page import merge_part
    from bakeoff.plan.queue.standing import standing
    from bakeoff.report.page import report_page
    from bakeoff.sampling.attempt.landing import shown_diff

    history = folder.history()
    found = standing(history, folder.standing(history)[0])
    if found.findings is None:
        return report_page(folder)
    diff = None
    if found.facts():
        work = work_of(folder.id, found)
        diff = shown_diff(Path(str(history.meta["project"])), work, False)
    return report_page(folder, merge_part(found.findings, len(found.options.refs), diff))


def _plan(folder: RunFolder) -> Iterator[str]:
    """The report of a plan."""
    from bakeoff.cli.plan_running import work_of
    from bakeoff.plan.run.page import plan_part
    from bakeoff.plan.run.standing import standing
    from bakeoff.report.page import report_page
    from bakeoff.sampling.attempt.landing import shown_diff

    history = folder.history()
    found = standing(history, folder.standing(history)[0])
    project = Path(str(history.meta["project"]))
    diff = None
    if found.facts():
        diff = shown_diff(project, work_of(folder.id, found), False)
    return report_page(folder, plan_part(found, diff))
