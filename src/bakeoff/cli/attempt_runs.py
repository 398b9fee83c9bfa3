"""Finding the attempts of a run that exists."""

from __future__ import annotations

from pathlib import Path

from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.history import History
from bakeoff.engine.store import RunFolder
from bakeoff.sampling.attempt.standing import JOB, Standing, standing


def open_attempts(run: str) -> tuple[Path, RunFolder, Standing, History]:
    """The project, the run, and how its attempts stand.

    Raises:
        BakeoffError: it is no run of attempts.

    Passes on RunNotFoundError and JournalError: there is none of that name, or it cannot be read.
    """
    from bakeoff.cli.opening import store

    runs = store()
    folder = runs.open(run)
    history = folder.history()
    if history.meta.get("job") != JOB:
        raise BakeoffError(f"run {run} is not a run of attempts: `bakeoff attempt` and `bakeoff compare` make those")
    status, _ = folder.standing(history)
    return Path(str(history.meta.get("project") or runs.project)), folder, standing(history, status), history
