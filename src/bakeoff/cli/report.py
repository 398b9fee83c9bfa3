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
    from bakeoff.cli.output import covered, print_json, tell
    from bakeoff.cli.run_lookup import misused, open_run
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
    """The report. Passes on BakeoffError: there is none in Markdown. Passes on JournalError."""
    from bakeoff.jobs.job import OpenRun, job_of

    run = OpenRun(folder)
    return job_of(run).markdown(run) if as_markdown else job_of(run).page(run)
