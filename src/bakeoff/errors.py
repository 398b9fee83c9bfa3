"""Errors that are meant for people: each is one clear message, and the command line prints no traceback for them."""

from __future__ import annotations


class BakeoffError(Exception):
    """Something a person can mend; the text says where, what and what to do."""

    exit_status = 1


class JournalError(BakeoffError):
    """A run's journal could not be written or read; what was committed before is safe."""


class OutputLostError(BakeoffError):
    """Output that is kept in a file of the run is not there, or not whole."""


class RunBusyError(BakeoffError):
    """Another live process owns the run."""


class RunNotFoundError(BakeoffError):
    """No run of that name is stored here."""


class BudgetSpentError(BakeoffError):
    """A reservation does not fit what is left of the budget."""

    exit_status = 4


def the_failure(raised: BaseException) -> BakeoffError | None:
    """The first failure meant for people in `raised`, which may be a group; None when it holds anything else too."""
    if isinstance(raised, BakeoffError):
        return raised
    if not isinstance(raised, BaseExceptionGroup):
        return None
    found = [the_failure(part) for part in raised.exceptions]
    return None if None in found else found[0]


def text_of(failure: BaseException) -> str:
    """Text of `failure`; its own `__str__` may fail, too."""
    try:
        return str(failure)
    except Exception as second:
        return f"(it has no text: its __str__ raised {type(second).__name__})"


def described(failure: BaseException) -> str:
    """The kind of `failure` and what it says."""
    return f"{type(failure).__name__}: {text_of(failure)}"


def told_by_system(failure: BaseException) -> str | None:
    """System error: what the system refused, and for which file; None where the failure is none of the system's."""
    if not isinstance(failure, OSError) or failure.strerror is None:
        return None
    said = failure.strerror[:1].lower() + failure.strerror[1:]
    return said if failure.filename is None else f"{failure.filename}: {said}"
