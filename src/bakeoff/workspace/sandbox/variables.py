"""Environment variables of a sandboxed command: an allow-list, as any other may be a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

PASSED = (
    "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES",
    "SHELL", "USER", "LOGNAME", "CI", "VIRTUAL_ENV", "NODE_ENV",
    "PYTHONPATH", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONWARNINGS",
    "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "SOURCE_DATE_EPOCH",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BAKEOFF_RUN",
)  # fmt: skip


def scrubbed(
    slot: Mapping[str, str | None], extra: Sequence[str], given: Mapping[str, str | None], temp: str
) -> dict[str, str]:
    """All variables of a command.

    Args:
        slot: what the slot sets and takes away.
        extra: names that the policy passes on besides; `*` for all, and then HOME stays what it is.
        given: what the caller sets for this command.
        temp: the folder that is HOME, unless all are passed on.
    """
    names = (*PASSED, *extra)
    found = {name: value for name, value in os.environ.items() if any(fnmatchcase(name, like) for like in names)}
    if "*" not in extra:
        found["HOME"] = temp
    for name, value in {**slot, **given}.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found
