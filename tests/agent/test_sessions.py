"""Fuzzing of event readers: a session of each CLI, with every field missing or odd in turn, raises nothing."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from agent.sessions import SESSIONS
from bakeoff.agent.clis import cli_module, entry_of, event_format
from bakeoff.agent.events import MOST, Reading
from bakeoff.settings import BUILT_IN

OWN = sorted(name for name in BUILT_IN if hasattr(cli_module(name), "FORMAT"))
"""CLIs that have a format of their own."""

ABSENT = object()
ODD = (
    *(ABSENT, None, True, False, 0, 1, -1, 10**400, 0.5, float("nan"), float("inf"), "", " ", "x", "\udc80", "-x\n\0"),
    *([], [None], [[]], ["x"], [{}], {}, {"x": 1}, {"message": 1}, {"models": [1]}, {"models": {"x": 1}}),
)
"""Values that no field is made for; `ABSENT` leaves it out."""


def session_of(name: str) -> list[dict[str, Any]] | str:
    """The sample session of a format; without one the test fails, and says where to write it."""
    if name not in SESSIONS:
        pytest.fail(
            f"no session of {name}: add one that its real CLI printed to SESSIONS in tests/agent/sessions.py",
            pytrace=False,
        )
    return SESSIONS[name]


def reading_of(name: str, session: list[dict[str, Any]] | str) -> Reading:
    """What a format reads from a session."""
    form, reading = event_format(name), Reading()
    if isinstance(session, str):
        assert form.read_text is not None
        form.read_text(session, reading)
        return reading
    for event in session:
        form.read(event, reading)
    reading.whole()
    return reading


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in an event, as the keys that lead to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*way, key)
        yield from places(part, (*way, key))


def changed(value: Any, way: tuple[Any, ...], odd: Any) -> Any:
    """A copy of `value` with `odd` at a place in it, or without what stands there."""
    copy, (key, *rest) = value.copy(), way
    if rest:
        copy[key] = changed(value[key], tuple(rest), odd)
    elif odd is ABSENT:
        del copy[key]
    else:
        copy[key] = odd
    return copy


def unmet(reading: Reading) -> str | None:
    """What is wrong with a reading, whatever was read."""
    texts = (reading.text, *reading.warnings, reading.session_id or "", reading.error or "")
    if not all(isinstance(text, str) for text in texts):
        return "text, warnings, session_id and error are texts: take them with words() and session()"
    counts = [*(reading.usage or {}).values(), *(() if reading.turns is None else (reading.turns,))]
    if not all(isinstance(count, int) and 0 <= count <= MOST for count in counts):
        return "tokens and turns are counts: take them with count()"
    if reading.usd is not None and not 0 < reading.usd < 1e10:
        return "usd is an amount: take it with money()"
    if not isinstance(reading.succeeded, bool | None):
        return "end(succeeded) takes True or False"
    return None


@pytest.mark.parametrize("name", OWN)
def test_a_session_is_read_and_tells_what_the_entry_says(name: str) -> None:
    reading, entry = reading_of(name, session_of(name)), entry_of(name)
    file = f"agent/clis/{name.replace('-', '_')}.py"
    if event_format(name).has_final:
        assert (reading.succeeded, bool(reading.text)) == (True, True), f"{file}: its session ends well, with words"
    assert (reading.usage is not None) == entry.reports_usage, f"{file}: reports_usage says whether FORMAT calls spend"
    assert (reading.usd is not None) == entry.reports_cost, f"{file}: reports_cost says whether FORMAT calls price"


@pytest.mark.parametrize("name", OWN)
def test_no_field_that_is_missing_or_odd_can_raise_or_forge(name: str) -> None:
    session = session_of(name)
    if isinstance(session, str):
        for at in range(len(session)):
            for odd in ("", "9" * 400, "\0", "\udc80", "$", "\n"):
                assert unmet(reading_of(name, session[:at] + odd + session[at + 1 :])) is None
        return
    file = f"agent/clis/{name.replace('-', '_')}.py"
    for at, event in enumerate(session):
        for way in places(event):
            for odd in ODD:
                mutated = changed(event, way, odd)
                try:
                    wrong = unmet(reading_of(name, [*session[:at], mutated, *session[at + 1 :]]))
                except Exception as failure:
                    line = traceback.extract_tb(failure.__traceback__)[-1]
                    wrong = (
                        f"it raised {failure!r} in `{line.line}`: take values out of events with part, parts, words, "
                        "count, money and session of agent/events.py"
                    )
                if wrong is not None:
                    pytest.fail(f"{file}: read of {mutated!r}: {wrong}", pytrace=False)
