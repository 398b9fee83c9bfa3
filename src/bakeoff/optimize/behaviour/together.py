"""Multi-function changes: further public functions of the target's file, each judged as a target of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.changes import changed_besides, is_public
from bakeoff.optimize.source_code.definitions import counterpart

MOST = 5
"""Further functions that are judged beside a target."""


@dataclass(frozen=True, slots=True)
class Together:
    """Public functions that one candidate changes.

    Attributes:
        names: of those that are judged as targets, the first one too; none where there is but one.
        refused: of others, and why they cannot be.
        first: whether the target in hand is the one that was asked for, with which all tests are run.
    """

    names: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    first: bool = True


def functions_besides(baseline: Baseline, candidate: Candidate) -> list[str]:
    """Names of the public functions that a candidate changes besides the target, where it changes nothing else public.

    Methods count where they stand in the target's class: the code of other classes is a part of their instances.
    """
    path, target = str(baseline.target.path), baseline.target.qualname
    own = candidate.files.get(path)
    if own is None or len(candidate.files) > 1:
        return []
    names = [name for name in changed_besides(baseline.source, own, target, baseline.line) if is_public(name)]
    if len(names) > MOST or target in names:  # another definition of its name, in a branch that does not run
        return []
    for name in names:
        try:
            one, other = counterpart(baseline.source, own, name)
        except (TargetError, SyntaxError, ValueError):
            return []
        if one.is_method and one.qualname.rpartition(".")[0] != target.rpartition(".")[0]:
            return []
        if type(one.node) is not type(other.node):
            return []
    return names


def with_function(judgement: Judgement, name: str, beside: Judgement) -> Judgement:
    """A judgement with that of a further function: its receipt is kept, and its reason where it has one."""
    kept = dict(judgement.receipt)
    kept["beside"] = {**kept.get("beside", {}), name: beside.receipt}
    if beside.same:
        return replace(judgement, receipt=kept)
    return replace(beside, detail=f"{name}, which it changes too: {beside.detail}", receipt=kept)
