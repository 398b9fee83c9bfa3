"""`bakeoff report`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from bakeoff.cli.completing import RUN


@click.command("report")
@click.argument("run", required=False, type=RUN)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Where to write it; bakeoff-RUN.html if left out, - for standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the file.")
def command(run: str | None, file: Path | None, as_json: bool) -> None:
    """Write RUN, or the latest run, as one HTML file: timeline, table of steps, logs and errors.

    It needs nothing but a browser.
    """
    from bakeoff.cli.opening import misused, open_run
    from bakeoff.cli.say import covered, print_json, tell
    from bakeoff.report.page import report_page

    folder = open_run(run)
    if file is not None and str(file) == "-":
        if as_json:
            misused("-o - and --json exclude each other")
        for piece in report_page(folder):
            sys.stdout.buffer.write(covered(piece).encode("utf-8", "replace"))
        return
    place = file or Path(f"bakeoff-{folder.id}.html")
    size = _write(place, covered("".join(report_page(folder))).encode("utf-8", "replace"))
    if as_json:
        print_json({"run_id": folder.id, "file": str(place.absolute()), "bytes": size})
    else:
        tell(f"{place}")


def _write(place: Path, page: bytes) -> int:
    """Put the file in its place whole; what is no regular file (a device, a pipe) is written to as it is.

    Raises:
        BakeoffError: it cannot be written.
    """
    from bakeoff.engine.errors import BakeoffError

    file = Path(os.path.realpath(place))
    draft = file.with_name(f".{file.name}.new")
    try:
        if file.exists() and not file.is_file():
            file.write_bytes(page)
            return len(page)
        draft.write_bytes(page)
        draft.replace(file)
    except OSError as failure:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise BakeoffError(f"the report {place} cannot be written: {failure.strerror}") from failure
    return len(page)
