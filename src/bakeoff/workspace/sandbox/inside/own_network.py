"""Network namespace of one command, with a loopback device and nothing else; run as a program."""

from __future__ import annotations

import os
import sys

from bakeoff.confine import kernel
from bakeoff.workspace.sandbox.inside.run import FAILED


def main() -> None:
    """Become the command that the arguments name; exit status `FAILED` where that network cannot be had."""
    try:
        kernel.unshare_user(kernel.NEW_NET)
        kernel.loopback_up()
    except OSError as failure:
        sys.stderr.write(f"bakeoff: a network of its own cannot be had: {failure.strerror}\n")
        sys.exit(FAILED)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - a shell would read the words once more
    except OSError as failure:
        sys.stderr.write(f"{sys.argv[1]}: {failure.strerror}\n")
        sys.exit(126 if isinstance(failure, PermissionError) else 127)
