"""Differences between a candidate and the original: in calls, tests, processes; compared by bytes, said in words.

Its functions block, since a reader process finds the words: call them in threads.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour import explanation
from bakeoff.optimize.behaviour.judgement import Difference
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Call, Replay, TestRun, Watched
from bakeoff.reader.reading import UnreadError, read_here

DIGEST = b"\0digest"
UNSEEN = "too large to be shown"
"""What is said of values of which only a digest is kept."""
SHOWN = 200
SAID = 600
"""Characters of a message."""

OF_ENDING = {
    "memory": reasons.MEMORY_LIMIT, "output": reasons.OUTPUT_LIMIT, "disk": reasons.DISK_LIMIT,
    "processes": reasons.RESOURCE_LIMIT, "descriptors": reasons.RESOURCE_LIMIT,
}  # fmt: skip
OF_EVIDENCE = {
    "files": reasons.FS_ESCAPE, "network": reasons.NETWORK_ESCAPE, "process": reasons.PROCESS_LEAK,
    "tampering": reasons.TAMPERING,
}  # fmt: skip
OF_ERRNO = {
    errno.ENOSPC: reasons.DISK_LIMIT, errno.EDQUOT: reasons.DISK_LIMIT, errno.EFBIG: reasons.DISK_LIMIT,
    errno.EMFILE: reasons.RESOURCE_LIMIT, errno.ENFILE: reasons.RESOURCE_LIMIT, errno.EAGAIN: reasons.RESOURCE_LIMIT,
    errno.ENOMEM: reasons.MEMORY_LIMIT,
}  # fmt: skip


WHILE_IMPORTED = "while it is imported"


def same(expected: Call, found: Call, options: BehaviourOptions) -> bool:
    """Whether the same came of the same call."""
    return (
        expected.kind == found.kind
        and expected.whole == found.whole
        and expected.out == found.out
        and expected.digest == found.digest
        and (not options.stderr or expected.err == found.err)
        and (not options.messages or expected.message == found.message)
        and (not options.warnings or _warned(expected, options) == _warned(found, options))
        and expected.kind not in ("unfit", "incomparable")
    )


def _warned(call: Call, options: BehaviourOptions) -> list[tuple[str, ...]]:
    """Warnings as they are compared: module and category; the text where messages are."""
    return [each if options.messages else each[:2] for each in call.warned]


def of_call(expected: Call, found: Call, where: str, options: BehaviourOptions) -> Difference | None:
    """Difference between two outcomes of the same call; None for none."""
    if same(expected, found, options):
        return None
    reason, detail = _what(expected, found, options)
    return Difference(reason, where, arguments_of(expected.before), detail, expected.before)


def _what(expected: Call, found: Call, options: BehaviourOptions) -> tuple[str, str]:
    if found.kind == "incomparable":
        large = found.message.startswith("more than")
        return (
            reasons.OUTPUT_LIMIT if large else reasons.INCOMPARABLE,
            f"what it returned cannot be compared: {found.message[:SAID]}",
        )
    if found.kind == "unfit" or expected.kind in ("unfit", "incomparable"):
        return reasons.INCOMPARABLE, f"the call cannot be compared: {(found.message or expected.message)[:SAID]}"
    if found.kind == "raise" and (expected.kind != "raise" or expected.type != found.type):
        limit = reasons.MEMORY_LIMIT if found.type == "MemoryError" else OF_ERRNO.get(found.errno or 0)
        instead = f" instead of {expected.type}" if expected.kind == "raise" else ""
        return limit or reasons.EXCEPTION, f"raised {found.type}: {found.message[:SAID]}{instead}"
    if expected.kind == "raise" and found.kind != "raise":
        return reasons.EXCEPTION, f"raised no {expected.type}"
    if expected.kind == "return":
        answer = _of_results(expected, found)
        if answer is not None:
            return answer
    if expected.out != found.out:
        return reasons.STDOUT, _printed("printed", expected.out, found.out)
    if options.stderr and expected.err != found.err:
        return reasons.STDOUT, _printed("printed on standard error", expected.err, found.err)
    if expected.after != found.after:
        return reasons.MUTATION, f"its arguments after the call: {_explained(expected.after, found.after)}"
    if expected.whole != found.whole:
        if expected.kind == "raise":
            return reasons.EXCEPTION, f"{found.type} is another class than the original's"
        return reasons.ALIASING, "the result and the arguments share other objects than with the original"
    if options.messages and expected.message != found.message:
        return reasons.EXCEPTION, f"its message is {found.message[:SAID]!r} instead of {expected.message[:SAID]!r}"
    if options.warnings and _warned(expected, options) != _warned(found, options):
        was, now = (", ".join(sorted({each[1] for each in one.warned})) or "nothing" for one in (expected, found))
        return reasons.STDOUT, f"it warns {len(found.warned)} times ({now}) instead of {len(expected.warned)} ({was})"
    return reasons.EXCEPTION, "it is not the same; only digests are kept of so many calls of one test"


def _of_results(expected: Call, found: Call) -> tuple[str, str] | None:
    """Reason and detail of a difference of the results by themselves."""
    if expected.result == found.result and expected.result:
        return None
    if not expected.whole and not found.whole:
        kind = reasons.RETURN if expected.type == found.type else reasons.TYPE
        return kind, "it gave something else; only digests are kept of so many calls of one test"
    if expected.result.startswith(DIGEST) or found.result.startswith(DIGEST):
        kind = reasons.RETURN if expected.type == found.type else reasons.TYPE
        return kind, f"{found.type} instead of {expected.type}: {UNSEEN}"
    try:
        parts = (expected.result, expected.whole, found.result, found.whole)
        answer = _told(explanation.results, parts)
    except UnreadError as failure:
        return reasons.INCOMPARABLE, f"what it returned cannot be read: {failure}"
    return None if answer is None else (answer[0], answer[1])


def _told(tell: Callable[[bytes, Sequence[int]], Any], parts: Sequence[bytes]) -> Any:
    """Words that a reader process finds for parts of calls. Passes on UnreadError."""
    return read_here(tell, b"".join(parts), [len(part) for part in parts])


def _explained(expected: bytes, found: bytes) -> str:
    if expected.startswith(DIGEST) or found.startswith(DIGEST):
        return UNSEEN
    try:
        return str(_told(explanation.difference, (expected, found)))
    except UnreadError as failure:
        return f"cannot be read: {failure}"


def _printed(what: str, expected: bytes, found: bytes) -> str:
    return f"{what} {found[:SHOWN]!r} instead of {expected[:SHOWN]!r}"


def arguments_of(before: bytes) -> str:
    """The arguments of a call in words."""
    if not before or before.startswith(DIGEST):
        return "(...)" if before else ""
    try:
        return str(_told(explanation.arguments, (before,)))
    except UnreadError:
        return "(?)"


def comparable(calls: Sequence[Call]) -> list[Call]:
    """Those of which there is something to compare."""
    return [call for call in calls if call.kind not in ("unfit", "incomparable")]


def of_test(test: str, expected: Sequence[Call], found: Sequence[Call], options: BehaviourOptions) -> list[Difference]:
    """Differences in the calls of one test; what follows from an earlier one is not counted again."""
    differences: list[Difference] = []
    detail = f"{len(found)} calls instead of {len(expected)}"
    for place, (one, other) in enumerate(zip(expected, found, strict=False), 1):
        if one.before != other.before:
            told = _explained(one.before, other.before)
            detail = f"call {place} of {len(expected)} is another one: its arguments differ: {told}"
            break
        difference = of_call(one, other, test, options)
        if difference is not None:
            differences.append(difference)
    else:
        if len(expected) == len(found):
            return differences
    if not differences:
        differences.append(Difference(reasons.MISSING, test, "", detail))
    return differences


def of_process(watched: Watched, known: Iterable[tuple[str, str]], where: str) -> list[Difference]:
    """Side effects of a process that the original's does not have."""
    found: list[tuple[str, str]] = []
    if watched.forged:
        found.append((reasons.TAMPERING, "it wrote to descriptors that it was not given"))
    if watched.ended:
        found.append((OF_ENDING[watched.ended], f"it was ended because of its {watched.ended}"))
    if watched.left:
        found.append((reasons.PROCESS_LEAK, f"it left running: {', '.join(watched.left[:5])}"))
    before = set(known)
    for kind, what in watched.evidence:
        if (kind, what) not in before:
            found.append((OF_EVIDENCE.get(kind, reasons.TAMPERING), what))
    return [Difference(reason, where, "", detail) for reason, detail in found]


def losses(run: TestRun | Replay, where: str = "") -> list[Difference]:
    """Differences for a candidate's process that did not answer any more."""
    watched = run.candidate if isinstance(run, TestRun) else run.watched
    how = watched.how if watched is not None else ""
    if run.unready is not None:
        why, message = run.unready
        if why == "ended" and watched is not None:
            if watched.status is None:
                return [Difference(reasons.INVALID, where, "", f"it could not be run: {how}")]
            reason = reasons.CRASH if os.WIFSIGNALED(watched.status) else reasons.IMPORT_FAILURE
            return [] if watched.ended else [Difference(reason, WHILE_IMPORTED, "", how)]
        known = {"timeout": reasons.TIMEOUT, "forged": reasons.TAMPERING}
        return [Difference(known.get(why, reasons.IMPORT_FAILURE), WHILE_IMPORTED, "", message or how)]
    if run.lost is None:
        return []
    if isinstance(run, TestRun):
        why, where, _, before = run.lost
        call = arguments_of(before)
    else:
        why, call = run.lost or "", ""
    return [of_loss(why, where, call, watched)]


def of_loss(why: str, where: str, call: str, watched: Watched | None) -> Difference:
    """Difference for a call that did not return."""
    if why == "timeout":
        return Difference(reasons.TIMEOUT, where, call, "it did not return in time")
    if why == "forged":
        return Difference(reasons.TAMPERING, where, call, "it wrote something that is no answer")
    if watched is not None and watched.ended:
        return Difference(OF_ENDING[watched.ended], where, call, f"it was ended because of its {watched.ended}")
    how = watched.how if watched is not None else "its process is gone"
    return Difference(reasons.CRASH, where, call, f"it did not return: {how}")
