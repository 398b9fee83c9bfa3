"""Times, sizes and counts as people read them."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from typing import Any

from bakeoff.engine.record import RunStatus


def duration(seconds: float | None) -> str:
    """A stretch of time: `0.02 s`, `12.3 s`, `2 m 05 s`, `1 h 02 m`; a dash for none."""
    if seconds is None:
        return "-"
    if seconds < 9.995:
        return f"{max(seconds, 0.0):.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def moment(at: float | None) -> str:
    """A wall-clock time in this machine's time zone; a dash for none."""
    if not at:
        return "-"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def size(count: int) -> str:
    """An amount of bytes: `512 B`, `1.5 KB`, `20 MB`."""
    amount, units = float(count), ["B", "KB", "MB", "GB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        del units[0]
    return f"{amount:.0f} {units[0]}" if amount >= 10 or units[0] == "B" else f"{amount:.1f} {units[0]}"


def amounts(usage: Mapping[str, float], unreported: Collection[str] = ()) -> str:
    """Usage by kind, in words: `0.25 usd, 12,000 input tokens, 1 call`; then kinds that are `not reported`."""
    known = [
        f"{round(amount, 6):,.12g} {kind.replace('_', ' ').removesuffix('s' if amount == 1 else '')}"
        for kind, amount in usage.items()
        if amount
    ]
    unknown = [f"{'more ' if usage.get(kind) else ''}{kind} not reported" for kind in sorted(unreported)]
    return ", ".join([*known, *unknown])


def reported(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of a node as it is shown: what counts for a budget though nobody reported it is None."""
    assumed = usage.get("assumed", {})
    return {**{kind: amount for kind, amount in usage.items() if kind != "assumed"}, **dict.fromkeys(assumed)}


def known_amounts(used: Mapping[str, Any]) -> str:
    """The same of `calls`, `tokens` and `usd`; what is None is said to be not known."""
    kinds = {kind: used[kind] for kind in ("calls", "tokens", "usd")}
    unknown = "".join(f", {kind} not known" for kind, amount in kinds.items() if amount is None)
    return amounts({kind: amount for kind, amount in kinds.items() if amount is not None}) + unknown


def counted(count: int, noun: str) -> str:
    """`1 item`, `2 items`, `2 branches`, `2 entries`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("try"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith('ch') else 's'}"


def has_no_winner(whose: str, status: RunStatus) -> str:
    """That there is none, or none yet; `whose` says where."""
    return f"{whose} has no winner{' yet: it is still running' if status is RunStatus.RUNNING else ''}"


_OBJECT = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9a-zA-Z])")


def short_ids(text: str) -> str:
    """A text with the whole ids of git's objects in it cut to 12 digits, as people read them."""
    return _OBJECT.sub(lambda found: found[0][:12], text)


def no_step(run: str, step: str) -> str:
    """That a run has no such step."""
    return f"run {run} has no step {step!r} that has begun; `bakeoff show {run} --all` lists them"
