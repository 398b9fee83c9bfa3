"""The table of a run's attempts, and why nothing passed."""

from __future__ import annotations

from bakeoff.cli.say import table
from bakeoff.judge.timing.speed import FASTER
from bakeoff.judge.verdict import ValidationResult
from bakeoff.report.escape import one_line
from bakeoff.report.words import counted, duration
from bakeoff.sampling.attempt.standing import AttemptView, Standing

HEADS = ["attempt", "verdict", "checks", "diff", "cost", "time"]
REASON_LINES = 12
"""Lines of a failed check's output that are repeated."""

UNSEEN = "?"
"""Behind the sign of a check that is not known to have run a test."""

_SIGNS = {"passed": "✓", "failed": "✗", "skipped": "-"}


def table_lines(found: Standing) -> list[str]:
    """The table, with a column for scores where there are any; nothing when nothing began."""
    if not found.attempts:
        return []
    scored = found.options.score is not None
    more = [name for name, is_there in (("score", scored), ("speed-up", found.options.bench is not None)) if is_there]
    heads = [*HEADS[:3], *more, *HEADS[3:]]
    return table([_row(found, view, scored) for view in found.attempts.values()], heads)


def _row(found: Standing, view: AttemptView, scored: bool) -> list[str]:
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
        duration(view.seconds),
    ]
    return [one_line(cell, 80) for cell in row]


def _speed(view: AttemptView) -> str:
    if view.speed is None:
        return "-"
    figure = "" if view.speed.speedup is None else f" {view.speed.speedup}"
    return f"{view.speed.verdict}{figure}"


def _checks(found: Standing, view: AttemptView) -> str:
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


def notes(found: Standing) -> list[str]:
    """What the table's signs do not say by themselves."""
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
        lines += _skipped(view)
        if named := view.facts.get("judges_changed"):
            said = ", ".join(one_line(str(path), 200) for path in named)
            lines.append(f"  ! attempt {view.id} changed what a check names: {said}")
        left_out = view.facts.get("refused") or ()
        lines += [f"  ! attempt {view.id}: left out of its result: {one_line(str(text), 200)}" for text in left_out]
    return lines


def _passing_anyway(found: Standing, view: AttemptView) -> list[str]:
    """Checks that the snapshot passes as well, of those that were run there."""
    passed = [rank for rank, verdict in view.verdicts.items() if _base_passed(verdict)]
    return [f"`{one_line(found.names[rank], 200)}`" for rank in passed]


def _base_passed(verdict: ValidationResult) -> bool:
    base = (verdict.receipt or {}).get("base")
    if not base or base["exit_code"] != 0:
        return False
    return isinstance(base["tests"], dict) and bool(base["tests"]["ran"]) and not base["tests"]["failed"]


def _skipped(view: AttemptView) -> list[str]:
    """Of checks that passed: how many tests they left out, of which nothing is known."""
    lines = []
    for verdict in view.verdicts.values():
        tests = (verdict.receipt or {}).get("tests")
        if verdict.result and isinstance(tests, dict) and tests.get("skipped"):
            lines.append(f"  ! attempt {view.id}: {counted(tests['skipped'], 'test')} skipped, {tests['ran']} ran")
    return lines


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
    return " ".join(parts) or "-"


def explanation(found: Standing) -> list[str]:
    """What was closest and why it failed; and what kept others from being judged."""
    lines = []
    view = None if found.closest is None else found.attempts.get(found.closest)
    if view is not None:
        lines.append(f"  closest: attempt {view.id}, {view.met} of {len(found.names)} met")
        for rank, name in enumerate(found.names):
            verdict = view.verdicts.get(rank)
            if verdict is None or verdict.result:
                continue
            error = "" if verdict.error in (None, verdict.verdict) else f" ({one_line(str(verdict.error), 200)})"
            lines.append(f"  {verdict.verdict}: {one_line(name, 200)}{error}")
            said = verdict.reason.rstrip().splitlines()
            lines += [f"    {line}" for line in said[:1] + said[1:][-REASON_LINES:]]
    for other in found.attempts.values():
        if other.error is not None:
            lines.append(f"  attempt {other.id}: {other.kind or 'error'}: {one_line(other.error, 300)}")
    return lines
