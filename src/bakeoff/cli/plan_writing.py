"""What `bakeoff plan --dry-run` does: writes the plan into a file and says what it would cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from bakeoff.cli.opening import refuse
from bakeoff.cli.say import covered, print_json, tell
from bakeoff.plan.run.document import write_text
from bakeoff.plan.run.plan import Plan
from bakeoff.report.words import counted
from bakeoff.system.named_files import write_whole

USUAL = Path("plan.yml")


def write_plan(
    plan: Plan, output: Path | None, *, as_json: bool, used: Mapping[str, float | None] | None = None
) -> None:
    """Write it; a file that is there is replaced only where it was named.

    Args:
        plan: the plan.
        output: the file.
        as_json: print one JSON object.
        used: what splitting took, by kind, where somebody was asked.
    """
    if output is not None and str(output) == "-":
        sys.stdout.write(covered(write_text(plan)))
        return
    if output is None and USUAL.exists():
        refuse(f"{USUAL} is there already: say -o {USUAL} to have it replaced, or -o FILE")
    file = output or USUAL
    write_whole(file, covered(write_text(plan, str(file))).encode("utf-8"))
    if as_json:
        said = {"file": str(file.absolute()), "subplans": len(plan.subplans), "most_calls": plan.most_calls}
        print_json({**said, **({"split": used} if used else {})})
        return
    tell(f"{file}: {counted(len(plan.subplans), 'subplan')}, at most {counted(plan.most_calls, 'call')} of the agent")
    tell(f"  carry it out with: bakeoff plan run {file}")
