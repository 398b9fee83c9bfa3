"""`bakeoff answer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bakeoff.cli.completing import CHOICE, GATE, RUN
from bakeoff.cli.run_lookup import DESPITE_DAMAGE

if TYPE_CHECKING:
    from bakeoff.engine.store import RunFolder


@click.command("answer")
@click.argument("run", type=RUN)
@click.argument("step", type=GATE)
@click.argument("choice", type=CHOICE)
@DESPITE_DAMAGE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, step: str, choice: str, despite_damage: bool, as_json: bool) -> None:
    """Decide the gate STEP, at which RUN waits, with CHOICE.

    A live run goes on at once; for another the answer is kept and `resume` goes on with it.
    """
    from bakeoff.cli.gates import waiting_gates
    from bakeoff.cli.output import print_json, tell
    from bakeoff.cli.run_lookup import open_run, refuse_losses
    from bakeoff.engine.control import send
    from bakeoff.report.escape import one_line
    from bakeoff.report.outline import called

    folder = open_run(run)
    if ":" in step:  # else it can be no end of a path
        step = called(waiting_gates(folder), step)
    live = send(folder.root, {"do": "answer", "path": step, "choice": choice}) is not None
    if not live:
        if not despite_damage:
            refuse_losses(folder)
        choice = _keep(folder, step, choice)
    if as_json:
        print_json({"run_id": run, "step_id": step, "choice": choice, "live": live})
    else:
        more = "the run goes on" if live else f"go on with: bakeoff resume {run}"
        tell(f"gate {one_line(step)}: {one_line(choice)}; {more}")


def _keep(folder: RunFolder, step: str, choice: str) -> str:
    """Write the answer into the journal of a run that is not live; returns it as the option is spelled.

    Raises:
        BakeoffError: another process owns the run, no such gate waits, or it has no such option.
    """
    import anyio

    from bakeoff.cli.gates import open_gates
    from bakeoff.cli.output import say
    from bakeoff.engine.history import encode
    from bakeoff.engine.journal import SqliteJournal
    from bakeoff.engine.salvage import lost_tail, rebuild
    from bakeoff.errors import BakeoffError

    async def write(option: str) -> None:
        journal = SqliteJournal(folder.journal)
        try:
            await journal.append("answer", step, encode(option)).committed()
        finally:
            journal.close()

    lock = folder.lock()
    try:
        gates = open_gates(folder.history())
        if step not in gates:
            known = ", ".join(gates) or "none"
            raise BakeoffError(f"run {folder.id}: no gate waits at {step!r}; gates that wait: {known}")
        option = next((option for option in gates[step] if option.lower() == choice.strip().lower()), None)
        if option is None:
            raise BakeoffError(f"gate {step}: {choice!r} is no choice; the choices are {', '.join(gates[step])}")
        if lost_tail(folder.journal):
            say("! the end of the journal's log cannot be read: what was committed there last counts as not done")
        if kept := rebuild(folder.journal):
            say(f"! the journal was damaged and was rebuilt from what could be read; the old one is {kept}")
        anyio.run(write, option)
    finally:
        lock.release()
    return option
