"""Table of a run's attempts, why nothing passed, and what is printed when a session is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bakeoff.engine.record import RunStatus
from bakeoff.jobs.job import OpenRun
from bakeoff.jobs.landing import SHORT, diff_lines, shown
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.jobs.outcome import stopped_lines
from bakeoff.judge.checks.diagnosis import broken, why_unrunnable
from bakeoff.judge.timing.speed import FASTER
from bakeoff.judge.verdict import ValidationResult
from bakeoff.report.escape import one_line
from bakeoff.report.text_table import table
from bakeoff.report.words import amounts, counted, duration
from bakeoff.sampling.attempt.landing import work_of
from bakeoff.sampling.attempt.view import JOB_NAME, AttemptView, RunView

HEADS = ["attempt", "verdict", "checks", "diff", "cost", "time"]
REASON_LINES = 12
"""Lines of a failed check's output that are repeated."""

MOST_NAMED = 20

UNSEEN = "?"
"""Behind the sign of a check that is not known to have run a test."""

_SIGNS = {"passed": "✓", "failed": "✗", "skipped": "-"}


def table_lines(found: RunView) -> list[str]:
    """The table, with a column for scores where there are any; nothing when nothing began."""
    heads, rows = table_cells(found)
    return table(rows, heads) if rows else []


def table_cells(found: RunView) -> tuple[list[str], list[list[str]]]:
    """The table's heads, and its rows in the order of the attempts."""
    scored = found.options.score is not None
    more = [name for name, is_there in (("score", scored), ("speed-up", found.options.bench is not None)) if is_there]
    rows = [_row(found, view, scored) for view in found.attempts.values()]
    return [*HEADS[:3], *more, *HEADS[3:]], rows


def _row(found: RunView, view: AttemptView, scored: bool) -> list[str]:
    name = str(view.id)
    if found.options.refs:
        name += f" {found.options.refs[view.id - 1]}"
    elif found.options.repair:
        name += f" (lane {view.lane + 1}, repair {view.round})" if view.round else f" (lane {view.lane + 1})"
    marks = "".join(mark for mark, true in ((" *", view.id == found.winner), (" +", view.id == found.closest)) if true)
    verdict = view.status + (", tests changed" if view.facts.get("tests_changed") else "")
    score = ["-" if view.score is None else f"{view.score:g}"] if scored else []
    speed = [] if found.options.bench is None else [_speed(view)]
    row = [
        f"{name}{marks}",
        verdict,
        _checks(found, view),
        *score,
        *speed,
        _diff(view),
        _cost(view),
        # How long what was cut off had worked is on no record.
        "-" if view.status == "unfinished" and not view.seconds else duration(view.seconds),
    ]
    return [one_line(cell, 80) for cell in row]


def _speed(view: AttemptView) -> str:
    if view.speed is None:
        return "-"
    figure = "" if view.speed.speedup is None else f" {view.speed.speedup}"
    return f"{view.speed.verdict}{figure}"


def _checks(found: RunView, view: AttemptView) -> str:
    if view.error is not None:
        return view.kind or "error"
    signs = []
    for rank in range(len(found.options.checks)):
        verdict = view.verdicts.get(rank)
        said = "skipped" if verdict is None else verdict.verdict
        signs.append(_SIGNS.get(said, said) + (UNSEEN if verdict is not None and _unseen(verdict) else ""))
    return " ".join(signs)


def _unseen(verdict: ValidationResult) -> bool:
    """Whether a check passed of which nobody can say that it ran a test."""
    return verdict.result and (verdict.receipt or {}).get("tests") == "unknown"


def notes(found: RunView) -> list[str]:
    """Notes on what the table's signs do not say by themselves."""
    views = found.attempts.values()
    lines = []
    if any(
        _unseen(verdict)
        for view in views
        for rank, verdict in view.verdicts.items()
        if rank < len(found.options.checks)
    ):
        lines.append(f"  {UNSEEN} passed by its exit status alone: whether that command ran any test is not known")
    if found.options.bench is not None:
        lines.append(
            f"  speed-up: of `{one_line(found.options.bench, 200)}` against {found.options.base or 'your files'}"
        )
        if found.chosen is not None and (found.chosen.speed is None or found.chosen.speed.verdict != FASTER):
            lines.append("  ! none is faster than the base: the winner is the one that would win without a race")
    if found.chosen is not None and (useless := _passing_anyway(found, found.chosen)):
        lines.append(f"  ! passes without any change, too: {', '.join(useless)}")
    for view in views:
        if view.speed is not None and view.speed.detail:
            lines.append(f"  attempt {view.id}: {view.speed.verdict}: {one_line(view.speed.detail, 200)}")
        if named := view.facts.get("judges_changed"):
            said = ", ".join(one_line(str(path), 200) for path in named)
            lines.append(f"  ! attempt {view.id} changed what a check names: {said}")
        if place := view.facts.get("disk_full"):
            lines.append(
                f"  ! attempt {view.id}: no space was left in {one_line(str(place), 200)} when its agent ended: "
                "what it made may be cut off"
            )
        left_out = view.facts.get("refused") or ()
        lines += [f"  ! attempt {view.id}: left out of its result: {one_line(str(text), 200)}" for text in left_out]
    return lines + _skipped(found) + _unjudged(found)


def _unjudged(found: RunView) -> list[str]:
    """Why attempts could not be judged, those with the same reason together."""
    whose: dict[str, list[int]] = {}
    for view in found.attempts.values():
        for rank, verdict in sorted(view.verdicts.items()):
            name = f"`{one_line(found.names[rank], 200)}`"
            if verdict.verdict in ("invalid", "error"):
                why = why_unrunnable(found.names[rank], verdict) or verdict.reason.strip() or verdict.error or ""
                said = f"{verdict.verdict}: {name}: {one_line(why.partition(chr(10))[0], 300)}"
            elif (line := broken(verdict)) is not None:
                said = f"no test could say anything: {name}: {one_line(line, 300)}"
            else:
                continue
            whose.setdefault(said, []).append(view.id)
    return [f"  {_those(numbers)}: {said}" for said, numbers in whose.items()]


def _those(numbers: Sequence[int]) -> str:
    more = f", {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"attempt{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers[:MOST_NAMED]))}{more}"


def _passing_anyway(found: RunView, view: AttemptView) -> list[str]:
    """Checks that the snapshot passes as well, of those that were run there."""
    passed = [rank for rank, verdict in view.verdicts.items() if _base_passed(verdict)]
    return [f"`{one_line(found.names[rank], 200)}`" for rank in passed]


def _base_passed(verdict: ValidationResult) -> bool:
    base = (verdict.receipt or {}).get("base")
    if not base or base["exit_code"] != 0:
        return False
    return isinstance(base["tests"], dict) and bool(base["tests"]["ran"]) and not base["tests"]["failed"]


def _skipped(found: RunView) -> list[str]:
    """Of checks that passed: how many tests they left out; attempts with the same numbers together."""
    whose: dict[str, list[int]] = {}
    for view in found.attempts.values():
        for verdict in view.verdicts.values():
            tests = (verdict.receipt or {}).get("tests")
            if verdict.result and isinstance(tests, dict) and tests.get("skipped"):
                said = f"{counted(tests['skipped'], 'test')} skipped, {tests['ran']} ran"
                whose.setdefault(said, []).append(view.id)
    return [f"  ! {_those(numbers)}: {said}" for said, numbers in whose.items()]


def _diff(view: AttemptView) -> str:
    size = view.facts.get("diff")
    if not size:
        return "-"
    return f"{size['files']} file{'' if size['files'] == 1 else 's'} +{size['added']} -{size['deleted']}"


def _cost(view: AttemptView) -> str:
    usage = view.usage
    parts = []
    if usage.get("usd") is not None:
        parts.append(f"${usage['usd']:.4g}")
    if usage.get("tokens") is not None:
        parts.append(f"{usage['tokens']:,.0f} tokens")
    parts += [f"{kind} not reported" for kind in usage.get("assumed", {})]
    if parts and view.status == "unfinished":
        parts.append("so far")
    return " ".join(parts) or "-"


def unmet(found: RunView, view: AttemptView) -> list[str]:
    """Unmet requirements of an attempt, and why."""
    lines = []
    for rank, name in enumerate(found.names):
        verdict = view.verdicts.get(rank)
        if verdict is None or verdict.result:
            continue
        error = "" if verdict.error in (None, verdict.verdict) else f" ({one_line(str(verdict.error), 200)})"
        lines.append(f"  {verdict.verdict}: {one_line(name, 200)}{error}")
        said = verdict.reason.rstrip().splitlines()
        lines += [f"    {line}" for line in said[:1] + said[1:][-REASON_LINES:]]
    return lines


def explanation(found: RunView) -> list[str]:
    """Explanation of what was closest and why it failed; and what kept others from being judged."""
    lines = []
    if found.closest is not None:
        view = found.attempts[found.closest]
        lines = [f"  closest: attempt {view.id}, {view.met} of {len(found.names)} met", *unmet(found, view)]
    elif found.status is RunStatus.COMPLETED and found.winner is None:
        judged = [view for view in found.attempts.values() if view.status == "failed"]
        lines = [f"  none came close; of attempt {judged[0].id}:", *unmet(found, judged[0])] if judged else []
    for other in found.attempts.values():
        if other.error is not None:
            lines.append(f"  attempt {other.id}: {other.kind or 'error'}: {one_line(other.error, 300)}")
    return lines


def ending_lines(run: OpenRun, found: RunView, landing: LandingOptions) -> Iterator[str]:
    """Lines that are printed when a session is over: the table, what was used, the winner or why there is none."""
    name, history, ending = run.folder.id, run.history, run.ended
    assert ending is not None
    yield from (*table_lines(found), *notes(found))
    usage = history.usage
    paid = {kind: amount for kind, amount in usage.items() if kind in ("usd", "tokens", "calls")}
    total = amounts(paid, history.unreported)
    if total and not found.options.refs:
        over = {kind: most for kind, most in found.options.ceilings.items() if usage.get(kind, 0) > most * (1 + 1e-9)}
        yield f"used: {total}{f'; more than the {amounts(over)} allowed' if over else ''}"
    for kind in sorted(history.unreported & found.options.ceilings.keys()):
        yield f"  {kind} were not reported, so that all of the ceiling on them counts as used"
    for text in ending.facts.get("salvaged") or ():
        yield f"unfinished work is kept as {text}"
    if found.chosen is not None:
        yield from _winner_lines(run, found, found.chosen, landing)
    elif ending.status is RunStatus.COMPLETED:
        yield f"run {name}: nothing passed"
        yield from explanation(found)
    else:
        stopped, *way = stopped_lines(name, ending, JOB_NAME)
        yield from (stopped, *explanation(found), *way)


def _winner_lines(run: OpenRun, found: RunView, winner: AttemptView, landing: LandingOptions) -> Iterator[str]:
    name, work = run.folder.id, work_of(run.folder.id, found, winner)
    changed = winner.facts.get("tests_changed")
    yield f"run {name}: attempt {winner.id} wins{' (tests changed)' if changed else ''}"
    if changed:
        yield f"  it changed {', '.join(changed)}; judged without that, and landed without it but for --with-tests"
    files, diff = shown(run.project, work, landing.with_tests)
    yield from (f"  {line}" for line in files[:SHORT])
    if len(files) > SHORT:
        yield f"  and {len(files) - SHORT} more files"
    yield from diff_lines(name, diff, whole=landing.diff)
    if not landing.takes:
        yield f"  take it with: bakeoff apply {name}"
