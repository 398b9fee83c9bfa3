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
    """Write RUN, or the latest run, as one HTML file that needs nothing but a browser.

    It says the verdict first, with time, cost and the command to go on with. Then comes what supports it (the diff, why
    others failed, speed-ups and line profiles of an optimisation, hierarchy and merge queue of a plan), then errors,
    timeline, and a table of all steps that sorts and filters.
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
