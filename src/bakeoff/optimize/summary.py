"""Summary of an optimisation in lines of text: for the terminal, a page, a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bakeoff.optimize.behaviour.options import DERIVED
from bakeoff.optimize.candidate_state import ORIGINAL, CandidateState
from bakeoff.optimize.options import TESTS
from bakeoff.optimize.sources.source import ProfileLine
from bakeoff.optimize.view import RunView
from bakeoff.report.words import amounts, counted

MOST_DIFFERENCES = 3
"""That are told of one candidate."""


@dataclass(frozen=True, slots=True)
class Side:
    """A line of one version, and what part of that version's time it takes, from 0 to 1."""

    line: ProfileLine
    share: float


def speedup_of(candidate: CandidateState) -> str:
    """Its speed-up with the interval; a dash where none was measured."""
    speed = None if candidate.speed is None else candidate.speed.speedup
    return "-" if speed is None else str(speed)


def support(found: RunView) -> str:
    """Evidence that behaviour is the same, in words."""
    bench = found.bench
    if bench is not None and bench["judged_by"] != TESTS:
        checks = [f"`{one['check']}`" for one in bench["checks"]]
        prints = "what the command prints" if bench["output"] == "same" and bench["prints"] else ""
        return ", ".join([*checks, *filter(None, [prints]), "its exit status"])
    base = found.baseline or {}
    tests, calls = counted(int(base.get("tests", 0)), "test"), counted(int(base.get("calls", 0)), "call")
    applied = {} if found.chosen is None or found.chosen.judgement is None else found.chosen.judgement.receipt
    again = (applied.get("as_applied") or {}).get("tests", 0)
    more = f"; {counted(again, 'test')} as it would be applied" if again else ""
    return f"{tests}, {calls} in them, {base.get('recorded', 0)} repeated and {base.get('derived', 0)} derived{more}"


def not_compared(found: RunView) -> str | None:
    """What nothing judged, in one line, with the option that would; None where commands judge."""
    if found.bench is not None and found.bench["judged_by"] != TESTS:
        return None
    texts = "" if found.options.messages else "the texts of exceptions and warnings (--messages does), "
    return (
        f"{texts}log records that nothing shows, what other modules and C libraries hold, when tasks yield, when "
        "settings are read from files and the environment"
    )


def set_aside(found: RunView) -> list[str]:
    """Tests that reach the function and judge nothing while its calls are noted, each with why."""
    return [f"{name}: {why}" for name, why in ((found.baseline or {}).get("set_aside") or {}).items()]


def uncollected(found: RunView) -> list[str]:
    """Files whose tests pytest could not collect, each with why: nobody knows whether they reach the function."""
    return [f"{name}: {why}" for name, why in ((found.baseline or {}).get("uncollected") or {}).items()]


def tests_of(found: RunView) -> tuple[str, ...]:
    """The tests that reach the function, as many as the record names."""
    return tuple(map(str, (found.baseline or {}).get("test_names", ())))


def unverified(found: RunView) -> str | None:
    """Warning that nothing judges how candidates behave; None where something does."""
    if found.bench is None or found.bench["verified"]:
        return None
    seen = "it ends and prints as before" if found.bench["output"] == "same" else "it ends as before"
    return f"behaviour is not verified: no --check was given, and of the command it is only known that {seen}"


def cautions(found: RunView, winner: CandidateState) -> list[str]:
    """Cautions to be read before the winner is taken."""
    missing = unverified(found)
    said = [] if missing is None else [missing]
    said += [f"it relies on `{what}`, which these tests alone show" for what in winner.candidate.assumes]
    receipt = {} if winner.judgement is None else winner.judgement.receipt
    if found.options.inputs == DERIVED and found.baseline is not None and not found.baseline.get("derived", 0):
        said.append(
            "no input is fresh: none could be derived from the calls of the tests, so answers may be written down"
        )
    inside = receipt.get("judged_in_process") or []
    if inside:
        said.append(f"{counted(len(inside), 'test')} could be judged only in the candidate's own process")
    if winner.speed is not None and not winner.speed.remeasured:
        said.append("the speed-up comes from the selection, not from a measurement of its own")
    return said


def fallen(found: RunView) -> list[tuple[CandidateState, list[str]]]:
    """All that did not win, each with why, and what shows it."""
    told = []
    for candidate in found.entrants.values():
        if candidate.number == found.winner:
            continue
        judgement = candidate.judgement
        shown = [] if judgement is None else [str(one) for one in judgement.differences[:MOST_DIFFERENCES]]
        if candidate.verdict == "ACCEPT":
            why = f"faster, too: {speedup_of(candidate)}"
        else:
            why = f"{candidate.reason or 'not judged'}{f': {candidate.detail}' if candidate.detail else ''}"
        told.append((candidate, [why, *(one for one in shown if one != candidate.detail)]))
    return told


def function_rows(found: RunView) -> list[list[str]]:
    """Of a run for all functions, a row for each: name, own time in the tests, calls, how it stands, speed-up, why."""
    rows = []
    for number, one in enumerate(found.functions, 1):
        chosen = one.view.chosen
        speed = "-" if chosen is None else speedup_of(chosen)
        count = counted(len(one.view.entrants), "candidate")
        why = one.error or (f"of {count}: {chosen.file}" if chosen is not None else count if one.ended else "-")
        ranked = one.ranked
        rows.append(
            [f"{number} {ranked.target}", f"{1e3 * ranked.own:,.1f} ms", f"{ranked.calls:,}", one.status, speed, why]
        )
    return rows


FUNCTION_HEADS = ["function", "own time", "calls", "result", "speed-up", "why"]


def cost(found: RunView) -> str:
    """Usage in words."""
    told = {kind: amount for kind, amount in found.usage.items() if kind in ("usd", "tokens", "calls")}
    return amounts(told, found.unreported) or "nothing that is paid for"


def profiles(found: RunView) -> list[tuple[Side | None, Side | None]]:
    """Lines of the original and the winner beside each other, equal ones in one row; empty while there are none."""
    if found.winner is None:
        return []
    before, after = (_sides(found.profiles.get(number, ())) for number in (ORIGINAL, found.winner))
    left_texts, right_texts = ([side.line.text for side in sides] for sides in (before, after))
    rows: list[tuple[Side | None, Side | None]] = []
    for _, start, end, other_start, other_end in SequenceMatcher(
        None, left_texts, right_texts, autojunk=False
    ).get_opcodes():
        left, right = before[start:end], after[other_start:other_end]
        rows += [(_at(left, place), _at(right, place)) for place in range(max(len(left), len(right)))]
    return rows


def _at(sides: Sequence[Side], place: int) -> Side | None:
    return sides[place] if place < len(sides) else None


def _sides(lines: Sequence[ProfileLine]) -> list[Side]:
    total = sum(line.seconds for line in lines) or 1.0
    return [Side(line, line.seconds / total) for line in lines]
