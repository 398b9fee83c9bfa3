"""Compares what came of calls and tests with what the original's gave, by bytes; says in words what differs."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from typing import Any

from bakeoff.judge.codec import Limits, Malformed, explain
from bakeoff.judge.codec.explaining import described
from bakeoff.judge.codec.parser import Node, parse
from bakeoff.judge.codec.wire import AGAIN, ENUM, ITERATOR, LISTED, LISTED_MUTABLE, OBJECT, OBJECT_FIXED
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.findings import Call, Watched
from bakeoff.optimize.behaviour.judgement import Difference
from bakeoff.optimize.behaviour.options import BehaviourOptions

DIGEST = b"\0digest"
SHOWN = 200
WIDE = Limits(nodes=2_000_000, size=64 << 20, depth=4_000)

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
STOPPING = ("KeyboardInterrupt", "SystemExit", "Exit")


def same(expected: Call, found: Call, options: BehaviourOptions) -> bool:
    """Whether the same came of the same call."""
    return (
        expected.kind == found.kind
        and expected.whole == found.whole
        and expected.out == found.out
        and expected.digest == found.digest
        and (not options.stderr or expected.err == found.err)
        and (not options.messages or expected.message == found.message)
        and (not options.warnings or expected.warned == found.warned)
        and expected.kind not in ("unfit", "incomparable")
    )


def of_call(expected: Call, found: Call, where: str, options: BehaviourOptions) -> Difference | None:
    """What differs in what came of the same call."""
    if same(expected, found, options):
        return None
    reason, detail = _what(expected, found, options)
    return Difference(reason, where, arguments_of(expected.before), detail, expected.before)


def _what(expected: Call, found: Call, options: BehaviourOptions) -> tuple[str, str]:
    if found.kind == "incomparable":
        large = found.message.startswith("more than")
        return (
            reasons.OUTPUT_LIMIT if large else reasons.INCOMPARABLE,
            f"what it returned cannot be compared: {found.message}",
        )
    if found.kind == "unfit" or expected.kind in ("unfit", "incomparable"):
        return reasons.INCOMPARABLE, f"the call cannot be compared: {found.message or expected.message}"
    if found.kind == "raise" and (expected.kind != "raise" or expected.type != found.type):
        limit = reasons.MEMORY_LIMIT if found.type == "MemoryError" else OF_ERRNO.get(found.errno or 0)
        instead = f" instead of {expected.type}" if expected.kind == "raise" else ""
        return limit or reasons.EXCEPTION, f"raised {found.type}: {found.message}{instead}"
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
        return reasons.EXCEPTION, f"its message is {found.message!r} instead of {expected.message!r}"
    if options.warnings and expected.warned != found.warned:
        return (
            reasons.STDOUT,
            f"it warned {len(found.warned)} times instead of {len(expected.warned)}, or of something else",
        )
    return reasons.EXCEPTION, "it is not the same; only digests are kept of so many calls of one test"


def _of_results(expected: Call, found: Call) -> tuple[str, str] | None:
    """What differs in the results by themselves."""
    if expected.result == found.result and expected.result:
        return None
    if not expected.whole and not found.whole:
        kind = reasons.RETURN if expected.type == found.type else reasons.TYPE
        return kind, "it gave something else; only digests are kept of so many calls of one test"
    if expected.result.startswith(DIGEST) or found.result.startswith(DIGEST):
        kind = reasons.RETURN if expected.type == found.type else reasons.TYPE
        return kind, f"{found.type} instead of {expected.type}: too large to be shown"
    try:
        if expected.result and found.result:
            one, other = parse(expected.result, WIDE), parse(found.result, WIDE)
        else:  # an iterator: what it gave stands in the whole
            one, other = _result_in(expected), _result_in(found)
    except (Malformed, IndexError, AttributeError):
        return reasons.INCOMPARABLE, "what it returned cannot be read"
    reason = _kind(one, other)
    if reason is None:
        return None
    said = _explained(expected.result, found.result) if expected.result and found.result else ""
    return reason, f"returned {said or described(other)[:SHOWN] + ' instead of ' + described(one)[:SHOWN]}"


def _result_in(call: Call) -> Any:
    data = call.result or call.whole
    parsed = parse(data, WIDE)
    return parsed if call.result else parsed.parts[-1]


def _kind(one: Any, other: Any) -> str | None:
    """Of which kind the first difference is."""
    if type(one) is not Node or type(other) is not Node:
        if type(one) is not type(other):
            return reasons.TYPE
        return None if repr(one) == repr(other) else reasons.RETURN
    if one.tag != other.tag:
        return reasons.ALIASING if AGAIN in (one.tag, other.tag) else reasons.TYPE
    if one.tag == AGAIN:
        return None if one.words == other.words else reasons.ALIASING
    if one.tag in (OBJECT, OBJECT_FIXED, ENUM) and _class_of(one) != _class_of(other):
        return reasons.TYPE
    if one.tag in (LISTED, LISTED_MUTABLE) and _dtype_of(one) != _dtype_of(other):
        return reasons.TYPE
    if one.words != other.words:
        return reasons.TYPE if one.tag in (LISTED, LISTED_MUTABLE, ITERATOR) else reasons.RETURN
    for left, right in zip(one.parts, other.parts, strict=False):
        found = _kind(left, right)
        if found is not None:
            return found
    return None if len(one.parts) == len(other.parts) else reasons.RETURN


def _dtype_of(node: Node) -> Any:
    """What an array or a number of numpy is made of."""
    content = node.parts[0]
    return content.parts[0] if node.words[0].startswith("numpy:") and type(content) is Node else None


def _class_of(node: Node) -> Any:
    cls = node.parts[0] if node.parts else None
    return cls.words[:2] if type(cls) is Node else cls


def _explained(expected: bytes, found: bytes) -> str:
    if expected.startswith(DIGEST) or found.startswith(DIGEST):
        return "too large to be shown"
    try:
        return explain(expected, found, WIDE)[: 2 * SHOWN]
    except Malformed:
        return "cannot be read"


def _printed(what: str, expected: bytes, found: bytes) -> str:
    return f"{what} {found[:SHOWN]!r} instead of {expected[:SHOWN]!r}"


def arguments_of(before: bytes) -> str:
    """The arguments of a call in words."""
    if not before or before.startswith(DIGEST):
        return "(...)" if before else ""
    try:
        args, kwargs = parse(before, WIDE).parts
        half = len(kwargs.parts) // 2
        named = zip(kwargs.parts[:half], kwargs.parts[half:], strict=True)
        words = [_plain(part) for part in args.parts] + [f"{name}={_plain(part)}" for name, part in named]
    except (Malformed, ValueError, AttributeError):
        return "(?)"
    return f"({', '.join(words)[:SHOWN]})"


def _plain(part: Any) -> str:
    if type(part) is Node:
        return described(part)
    text = repr(part)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def of_test(test: str, expected: Sequence[Call], found: Sequence[Call], options: BehaviourOptions) -> list[Difference]:
    """What differs in the calls of one test. What follows from an earlier difference is not counted again."""
    differences: list[Difference] = []
    for one, other in zip(expected, found, strict=False):
        if one.before != other.before:
            break
        difference = of_call(one, other, test, options)
        if difference is not None:
            differences.append(difference)
    else:
        if len(expected) == len(found):
            return differences
    if not differences:
        detail = f"{len(found)} calls instead of {len(expected)}, or others, or in another order"
        differences.append(Difference(reasons.MISSING, test, "", detail))
    return differences


def of_process(watched: Watched, known: Iterable[tuple[str, str]], where: str) -> list[Difference]:
    """What a process did besides answering, that the original's does not do."""
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
