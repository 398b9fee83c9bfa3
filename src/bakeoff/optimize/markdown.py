"""An optimisation as Markdown that fits a pull request. Nothing from outside becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bakeoff.optimize.summary import (
    FUNCTION_HEADS,
    Side,
    cautions,
    cost,
    fallen,
    function_rows,
    not_compared,
    profiles,
    speedup_of,
    support,
    unverified,
)
from bakeoff.optimize.view import RunView
from bakeoff.report.escape import one_line, visible

MOST_DIFF = 400
"""Lines of the diff that are shown."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&@:])")


def text_of(text: object, width: int = 300) -> str:
    """Anything as plain text in one line of Markdown: no markup, no link, no mention of anybody."""
    return _SPECIAL.sub(_written_out, one_line(str(text), width))


def _written_out(match: re.Match[str]) -> str:
    # As numbers, since a backslash does not keep a mention, a link or a table from being made.
    return match[0] if match[0] in ".-:+()" else f"&#{ord(match[0])};"


def block(text: str, language: str = "") -> str:
    """A block of code that its own contents cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{visible(text).rstrip()}\n{fence}\n"


def markdown(run: str, found: RunView, diff: str | None) -> Iterator[str]:
    """The text, in pieces.

    Args:
        run: the run's id.
        found: how it stands.
        diff: of the winner; None where there is none.
    """
    if found.options.every:
        yield from _functions(run, found, diff)
        return
    winner, target = found.chosen, text_of(found.options.subject)
    if winner is None:
        yield f"## {target}: no faster version\n\n"
    else:
        yield f"## {target}: {text_of(speedup_of(winner))} as fast\n\n"
        if winner.candidate.note:
            yield f"{text_of(winner.candidate.note, 1000)}\n\n"
        how = "Behaves as before" if unverified(found) is None else "Looked at"
        yield f"- {how}: {text_of(support(found))}.\n"
        if (missing := not_compared(found)) is not None:
            yield f"- Not compared: {text_of(missing)}.\n"
        yield f"- Speed-up with its 95 % interval, against a least of {found.options.min_speedup:g}.\n"
        for text in cautions(found, winner):
            yield f"- **Note**: {text_of(text)}.\n"
        yield f"- Used: {text_of(cost(found))}. bakeoff run {text_of(run)}.\n\n"
    if diff is not None:
        yield from _diff(diff)
    yield from _profiles(found)
    yield from _candidates(found)


def _functions(run: str, found: RunView, diff: str | None) -> Iterator[str]:
    """The same of a run for all functions."""
    yield f"## {text_of(found.options.subject)}: {found.winner or 'none'} faster\n\n"
    heads = [*FUNCTION_HEADS]
    yield f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}\n"
    for row in function_rows(found):
        yield f"| {' | '.join(map(text_of, row))} |\n"
    yield "\n"
    for one in found.functions:
        chosen = one.view.chosen
        for text in [] if chosen is None else cautions(one.view, chosen):
            yield f"- **Note**: {text_of(one.ranked.target)}: {text_of(text)}.\n"
    yield f"- Speed-ups with their 95 % intervals, against a least of {found.options.min_speedup:g}.\n"
    yield f"- Used: {text_of(cost(found))}. bakeoff run {text_of(run)}.\n\n"
    if diff is not None:
        yield from _diff(diff)


def _diff(diff: str) -> Iterator[str]:
    lines = diff.splitlines()
    yield block("\n".join(lines[:MOST_DIFF]), "diff")
    if len(lines) > MOST_DIFF:
        yield f"\nand {len(lines) - MOST_DIFF} lines more\n"
    yield "\n"


def _profiles(found: RunView) -> Iterator[str]:
    rows = profiles(found)
    if not rows:
        return
    yield "<details><summary>Line profile</summary>\n\n"
    for name, place in (("before", 0), ("after", 1)):
        sides = [row[place] for row in rows]
        lines = [_line(side) for side in sides if side is not None]
        yield f"{name}\n\n{block(chr(10).join(lines))}\n"
    yield "</details>\n\n"


def _line(side: Side) -> str:
    return f"{side.line.hits:>10,} {side.share:>6.1%}  {side.line.text}"


def _candidates(found: RunView) -> Iterator[str]:
    if not found.entrants:
        return
    whys = {entrant.number: why[0] for entrant, why in fallen(found)}
    yield f"<details><summary>{len(found.entrants)} candidates</summary>\n\n"
    yield "| candidate | verdict | speed-up | why |\n| --- | --- | --- | --- |\n"
    for number, entrant in found.entrants.items():
        cells = [
            f"{number} {entrant.file}",
            entrant.verdict or "-",
            speedup_of(entrant),
            whys.get(number, "the winner"),
        ]
        yield f"| {' | '.join(map(text_of, cells))} |\n"
    yield "\n</details>\n"
