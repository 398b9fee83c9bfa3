"""New arguments out of recorded ones: mutated by hypothesis within the types and ranges that were seen.

It works on parsed messages, so nothing of the project is imported or called. hypothesis runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import anyio

from bakeoff.judge.codec import Limits, Malformed
from bakeoff.judge.codec.tree import Writer, parse
from bakeoff.optimize.behaviour.errors import BehaviourError
from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.behaviour.strategies import call_strategy
from bakeoff.system.temporary import temporary_folder

SECONDS = 60.0
WIDE = Limits(nodes=2_000_000, size=64 << 20, depth=4_000)


async def derive(calls: Sequence[bytes], count: int, *, keep_first: bool = False) -> list[bytes]:
    """New calls; the same ones for the same recorded ones.

    Args:
        calls: recorded ones.
        count: how many are wanted; there may be fewer, or none.
        keep_first: leave the first argument as it was recorded: it is the `self` of a method.

    Cancelled, the process is gone.

    Raises:
        BehaviourError: hypothesis does not work.
    """
    told = frames.pack({"count": count, "keep_first": keep_first}, list(calls))
    # Not in the user's project: hypothesis writes where it works, and Python imports from there.
    argv = [sys.executable, "-P", "-m", "bakeoff.optimize.behaviour.deriving"]
    done = None
    with anyio.move_on_after(SECONDS) as scope, temporary_folder("derive") as folder:
        try:
            done = await anyio.run_process(argv, input=told, check=False, stderr=subprocess.PIPE, cwd=folder)
        except* anyio.BrokenResourceError:
            pass  # it ended before it had read all
    if scope.cancelled_caught:
        return []
    if done is None or done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() if done is not None else []
        raise BehaviourError(f"derived inputs cannot be made: {(lines or ['it ended without a word'])[-1]}")
    header, body = frames.sizes(done.stdout[: frames.HEAD.size])
    rest = done.stdout[frames.HEAD.size :]
    return frames.unpack(rest[:header], rest[header : header + body])[1]


def derived(calls: Sequence[bytes], count: int, keep_first: bool) -> list[bytes]:
    """The same in this process."""
    from hypothesis import HealthCheck, Phase, given, settings

    trees = []
    for call in calls:
        try:
            trees.append(parse(call, WIDE))
        except Malformed:
            continue
    known, found = set(calls), list[bytes]()
    if not trees:
        return found

    @settings(
        max_examples=4 * count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(call_strategy(trees, keep_first))
    def collect(tree: Any) -> None:
        if len(found) >= count:
            return
        try:
            data = Writer(WIDE.depth).message(tree)
        except Malformed:
            return  # it refers to what was left out
        if data not in known:
            known.add(data)
            found.append(data)

    collect()
    return found


def main() -> None:
    """Read recorded calls, write derived ones."""
    data = sys.stdin.buffer.read()
    header, body = frames.sizes(data[: frames.HEAD.size])
    rest = data[frames.HEAD.size :]
    told, calls = frames.unpack(rest[:header], rest[header : header + body])
    sys.stdout.buffer.write(frames.pack({}, derived(calls, told["count"], told["keep_first"])))


if __name__ == "__main__":
    main()
