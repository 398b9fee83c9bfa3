"""The reasons that a candidate can get: one each, the first in this order that there is evidence for.

The order: what makes the judging itself worthless; what harms or cheats, as the sandbox and its watchers saw it; what
kept the code from answering; what it answered. Of a candidate that does several of these, the graver is said.
"""

from __future__ import annotations

from collections.abc import Iterable

INVALID = "invalid"
DUPLICATE = "duplicate"
TAMPERING = "tampering"
FS_ESCAPE = "fs-escape"
NETWORK_ESCAPE = "network-escape"
MEMORY_LIMIT = "memory-limit"
OUTPUT_LIMIT = "output-limit"
DISK_LIMIT = "disk-limit"
RESOURCE_LIMIT = "resource-limit"
PROCESS_LEAK = "process-leak"
IMPORT_FAILURE = "import-failure"
FLAKY = "flaky"
CRASH = "crash"
TIMEOUT = "timeout"
MISSING = "behaviour/missing"
RETURN = "behaviour/return"
TYPE = "behaviour/type"
EXCEPTION = "behaviour/exception"
STDOUT = "behaviour/stdout"
MUTATION = "behaviour/mutation"
ALIASING = "behaviour/aliasing"
TEST_FAILED = "test-failed"
CHECK_FAILED = "check-failed"
OUTPUT_DIFFERS = "output-differs"
INCOMPARABLE = "incomparable"
DERIVED = "differs-on-derived-input"
WHILE_TIMED = "differs-while-timed"
CROSS_CALL = "cross-call-state"
MIXED = "mixed"
NOT_FASTER = "not-faster"
UNDECIDED = "undecided"
FASTER = "faster"

PRECEDENCE = (
    INVALID, DUPLICATE, TAMPERING, FS_ESCAPE, NETWORK_ESCAPE, MEMORY_LIMIT, OUTPUT_LIMIT, DISK_LIMIT, RESOURCE_LIMIT,
    PROCESS_LEAK, IMPORT_FAILURE, FLAKY, CRASH, TIMEOUT, MISSING, RETURN, TYPE, EXCEPTION, STDOUT, MUTATION, ALIASING,
    TEST_FAILED, CHECK_FAILED, OUTPUT_DIFFERS, INCOMPARABLE, DERIVED, WHILE_TIMED, CROSS_CALL, MIXED, NOT_FASTER,
    UNDECIDED, FASTER,
)  # fmt: skip
"""All of them, the first first."""

SKIPPED = frozenset({DUPLICATE})
ACCEPTED = frozenset({FASTER})

_RANK = {reason: rank for rank, reason in enumerate(PRECEDENCE)}


def first(reasons: Iterable[str]) -> str | None:
    """The one that is said of a candidate that all these are true of; None where there is none.

    Passes on KeyError: one is no reason.
    """
    return min(reasons, key=_RANK.__getitem__, default=None)
