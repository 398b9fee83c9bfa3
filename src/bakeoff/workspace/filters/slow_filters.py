"""Notices on slow filters, where storing the work of a slot takes long: what is waited for, what a person can do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable

from bakeoff.process.proctable import children_in, descendants, process_table
from bakeoff.report.escape import one_line


def storing(slot: str, *, alive: bool) -> Callable[[float], str]:
    """The words for a slot, for `said_when_slow`; `alive` where its owner is this process."""

    def text(seconds: float) -> str:
        waits = waiting_for()
        what = "" if waits is None else f", for {waits}: a content filter of the project's, by the look of it"
        if alive:
            way = f"Ctrl-C, twice, leaves it there; then resume, or `bakeoff clean --discard {slot}` to give it up"
            return f"storing the work of slot {slot} has taken {seconds:g} s{what}. {way}"
        way = f"Ctrl-C leaves it there for the next command; `bakeoff clean --discard {slot}` gives it up"
        return f"saving the work of slot {slot}, whose owner died, has taken {seconds:g} s{what}. {way}"

    return text


def waiting_for() -> str | None:
    """The program that a git of this process waits for now, such as a content filter; None where there is none."""
    children = children_in(process_table())
    for git in children.get(os.getpid(), ()):
        if os.path.basename(_argv(git)[0]) != "git":
            continue
        below = [(pid, _argv(pid)) for pid in descendants(git, children)]
        below = [(pid, argv) for pid, argv in below if os.path.basename(argv[0]) not in ("", "git")]
        # A shell with a command line is git's or ours; the topmost other is what the configuration names.
        if found := [one for one in below if one[1][1:2] != ["-c"]] or below:
            pid, argv = found[0]
            return f"`{one_line(shlex.join(argv), 200)}` (process {pid})"
    return None


def _argv(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return os.fsdecode(file.read(1 << 16)).rstrip("\0").split("\0")
    except OSError:  # it ended
        return [""]
