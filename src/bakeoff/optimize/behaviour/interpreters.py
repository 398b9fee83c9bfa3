"""Which Python the project's tests run under."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

from bakeoff.optimize.behaviour.errors import BehaviourError
from bakeoff.workspace.blocking import in_thread

TRIED = 30.0


async def find_interpreter(root: str, wanted: str | None, variables: Mapping[str, str]) -> str:
    """The one that is wanted, or the first with pytest of: the project's `.venv`, VIRTUAL_ENV, PATH, our own.

    Raises:
        BehaviourError: none has pytest and is Python 3.11 or later.
    """
    if wanted:
        return wanted  # its server says what is wrong with it
    tried = []
    for python in dict.fromkeys(_known(root, variables)):
        why = await in_thread(_problem, python, dict(variables))
        if why is None:
            return python
        tried.append(f"{python} ({why})")
    raise BehaviourError(
        f"no Python can run the tests: {'; '.join(tried)}. Install pytest into the project's environment"
    )


def _known(root: str, variables: Mapping[str, str]) -> Iterator[str]:
    for prefix in (os.path.join(root, ".venv"), variables.get("VIRTUAL_ENV")):
        if prefix and os.path.isfile(os.path.join(prefix, "bin", "python")):
            yield os.path.join(prefix, "bin", "python")
    found = shutil.which("python", path=variables.get("PATH"))
    if found:
        yield found
    yield sys.executable


def _problem(python: str, variables: dict[str, str]) -> str | None:
    """Why it cannot be used."""
    question = "import sys; assert sys.version_info >= (3, 11), 'older than 3.11'; import pytest"
    try:
        done = subprocess.run(
            [python, "-P", "-c", question], env=variables, cwd="/", capture_output=True, timeout=TRIED, check=False
        )
    except (OSError, subprocess.SubprocessError) as failure:
        return str(failure)
    if done.returncode == 0:
        return None
    return (done.stderr.decode(errors="replace").strip().splitlines() or ["it does not run"])[-1]
