"""`bakeoff slots`."""

from __future__ import annotations

import click


@click.command("slots")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the slots of all projects: who owns them, how large they are, and refs that keep work of them."""
    from dataclasses import asdict

    from bakeoff.cli.output import print_json, say, tell
    from bakeoff.report.escape import one_line
    from bakeoff.report.text_table import table
    from bakeoff.report.words import duration, size
    from bakeoff.workspace.repository.cache import cache_root
    from bakeoff.workspace.slots.inventory import slots

    found = slots()
    if as_json:
        print_json({"slots": [asdict(slot) for slot in found]}, indent=2)
        return
    if not found:
        say(f"there are no slots under {cache_root()}")
        return
    rows = [
        [
            slot.id,
            slot.kind or "-",
            one_line(slot.project or "-", 60),
            one_line(slot.run or "-", 40),
            f"process {slot.owner}" if slot.alive else "dead",
            duration(slot.age),
            size(slot.size),
            str(len(slot.salvage)),
        ]
        for slot in found
    ]
    for line in table(rows, ["SLOT", "KIND", "PROJECT", "RUN", "OWNER", "AGE", "SIZE", "SALVAGED"]):
        tell(line)
    if not all(slot.alive for slot in found):
        say("`bakeoff clean` saves what is in dead slots and removes them")
