"""Property of every rule: what it makes of generated functions gives the same, on hostile arguments, too."""

from __future__ import annotations

import ast
import os
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest
from tests.optimize.rules.cases import Case, every
from tests.optimize.rules.examples import function
from tests.optimize.rules.hostile import ANYTHING, MORE_LINES, outcome

from bakeoff.judge.codec import decode, encode, wire
from bakeoff.judge.codec.tree import parse
from bakeoff.optimize.behaviour.annotations import Annotations
from bakeoff.optimize.behaviour.hostile_inputs import MOST, hostile_calls
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.source import Version, apply_rule

CALLS = 20_000 if os.environ.get("BAKEOFF_SOAK") else 100
"""Calls of both versions, for each rule."""
EACH = 25 if os.environ.get("BAKEOFF_SOAK") else 10
"""Calls of one generated function."""
SILENT = 400
"""Generated functions in a row that a rule may be silent on."""

CASES = {
    rule.name: [case for case in every() if case.rule == rule.name and case.after and case.calls] for rule in RULES
}


class Mutation(ast.NodeTransformer):
    """Changes a function here and there: operators, comparisons, numbers, conditions, the order of statements.

    Args:
        chance: decides.
        share: of the places that are changed.
    """

    COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn)
    COMPUTED = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.Div)

    def __init__(self, chance: random.Random, share: float) -> None:
        self.chance = chance
        self.share = share

    def changes(self) -> bool:
        return self.chance.random() < self.share

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if self.changes():
            node.ops = [self.chance.choice(self.COMPARED)() for _ in node.ops]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if self.changes():
            node.op = self.chance.choice(self.COMPUTED)()
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if self.changes():
            node.op = self.chance.choice(self.COMPUTED)()
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int and self.changes():
            return ast.copy_location(ast.Constant(node.value + self.chance.choice((-1, 1, 2))), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self.changes():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if len(node.body) > 1 and self.changes():
            one, two = self.chance.sample(range(len(node.body)), 2)
            node.body[one], node.body[two] = node.body[two], node.body[one]
        elif self.changes():
            node.body.append(self.chance.choice((ast.Break(), ast.Continue(), ast.Pass())))
        return node


def generated(case: Case, chance: random.Random) -> str:
    """A function like that of the case; sometimes the very same."""
    tree = Mutation(chance, chance.choice((0.0, 0.05, 0.1, 0.25))).visit(ast.parse(case.before))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def arguments(case: Case, chance: random.Random) -> Sequence[Any]:
    """Arguments like those of the case, with up to two hostile values among them."""
    seen: Sequence[Any] = eval(f"[{chance.choice(case.calls)}]")
    given = seen
    for most in chance.choice(((), (MOST,), (MOST,), (MOST, 100))):
        others = hostile_to(encode((tuple(given), {}), consume=False), most)
        given = decode(chance.choice(others))[0] if others else given
    return given if allowed(case, given, seen) else seen


@lru_cache(maxsize=300)
def hostile_to(call: bytes, most: int) -> list[bytes]:
    """What the judge would give in place of a call, as messages."""
    return hostile_calls({call: b""}, ANYTHING, most)


def allowed(case: Case, given: Sequence[Any], seen: Sequence[Any]) -> bool:
    """Whether the annotations of the case's function allow arguments."""
    annotations = Annotations(locate(case.before.encode(), case.qualname).node)
    shift = "." in case.qualname
    pairs = zip(map(_tree, given), map(_tree, seen), strict=True)
    return all(annotations.allow(place + shift, value, one) for place, (value, one) in enumerate(pairs))


def _tree(value: Any) -> Any:
    return parse(encode(value), wire.DEFAULT)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(CASES))
def test_generated_functions_give_the_same(name: str) -> None:
    rule = next(rule for rule in RULES if rule.name == name)
    chance, calls, silent = random.Random(int(os.environ.get("BAKEOFF_SEEDS", "1"))), 0, 0
    while calls < CALLS:
        case = chance.choice(CASES[name])
        text = generated(case, chance)
        types = case.types if chance.random() < 0.5 else {}
        version = apply_rule(rule, Version(text.encode()), case.qualname, types)
        silent = silent + 1 if version is None else 0
        assert silent < SILENT
        if version is None:
            continue
        before, after = function(case, text), function(case, version.source.decode())
        for _ in range(EACH):
            given = arguments(case, chance)
            calls += 1
            expected = outcome(before, given)
            if expected is not None:
                assert outcome(after, given, MORE_LINES) == expected, f"{given}\n{text}\n{version.source.decode()}"
