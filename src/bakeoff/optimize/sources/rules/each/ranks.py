"""Rank queries (how many items lie above, below or between), asked again and again: two searches in the sorted list."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.joining import source_name
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.looking import calls, calm, is_number, names_in, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if not subject.builtin("sorted", "len", "max"):
        return
    for node in calls(subject.node):
        counted = _counted(node)
        if counted is None or in_text(subject, node):
            continue
        generator, tests = counted
        xs = source_name(subject, generator.iter)
        if xs is not None and isinstance(generator.target, ast.Name | ast.Tuple):
            yield from _rewrite(subject, node, generator, xs, tests)


def _counted(node: ast.Call) -> tuple[ast.comprehension, list[ast.expr]] | None:
    """The items and the conditions, in `sum(1 for x in xs if ...)` and what says the same."""
    match node:
        case ast.Call(
            func=ast.Name(id="sum"), args=[ast.GeneratorExp(one, [generator]) | ast.ListComp(one, [generator]), *begin]
        ) if all(isinstance(each, ast.Constant) for each in begin):
            if is_number(one, 1) and generator.ifs:
                return generator, generator.ifs
            return (generator, [one]) if isinstance(one, ast.Compare) and not generator.ifs else None
        case ast.Call(func=ast.Name(id="len"), args=[ast.ListComp(one, [generator])]) if calm(one) and generator.ifs:
            return generator, generator.ifs
    return None


def _rewrite(
    subject: Subject, node: ast.Call, generator: ast.comprehension, xs: str, tests: list[ast.expr]
) -> Iterator[Rewrite]:
    target, mine = generator.target, stored(generator.target)
    bounds = [bound for each in tests for bound in _bounds(each, mine)]
    keys = {ast.unparse(theirs) for theirs, _, _ in bounds}
    if not bounds or len(bounds) > 2 or len(keys) != 1 or len(bounds) < sum(map(_parts, tests)):
        return
    theirs = bounds[0][0]
    values = [value for _, _, value in bounds]
    kinds = {base(subject.kind(each)) for each in [theirs, *values]}
    if not calm(theirs, *values) or kinds & (UNHASHABLE | {"frozenset"}):
        return
    place = repeating(subject, node, {xs} | (names_in(theirs) - mine))
    if place is None or not set().union(*map(names_in, values)) & stored(place):
        return
    lower = [(op, value) for _, op, value in bounds if op in (ast.Gt, ast.GtE)]
    upper = [(op, value) for _, op, value in bounds if op in (ast.Lt, ast.LtE)]
    if len(lower) > 1 or len(upper) > 1:
        return
    ordered, imports = subject.fresh(f"{xs}_sorted"), []
    texts: dict[str, str] = {}
    for side, found in (("lower", lower), ("upper", upper)):
        for op, value in found:
            which = "bisect_left" if op in (ast.GtE, ast.Lt) else "bisect_right"
            line, called = subject.imported("bisect", which)
            imports.append(line)
            texts[side] = f"{called}({ordered}, {_alone(subject, value)})"
    if len(texts) == 2:
        text = f"max(0, {texts['upper']} - {texts['lower']})"
    else:
        text = texts.get("upper") or f"(len({ordered}) - {texts['lower']})"
    if len(node.args) == 2:
        text = f"({subject.code(node.args[1])} + {text})"
    shown = ast.unparse(target)
    shown = shown[1:-1] if isinstance(target, ast.Tuple) else shown
    whole = isinstance(theirs, ast.Name) and isinstance(target, ast.Name)
    source = subject.code(generator.iter)
    source = source if whole else f"[{_alone(subject, theirs)} for {shown} in {source}]"
    made = f"{ordered} = sorted({source})"
    yield rewrite(
        before(subject, place, made, {id(node): text}), imports=dict.fromkeys(imports), assumes=["total order"]
    )


def _alone(subject: Subject, node: ast.expr) -> str:
    text = subject.code(node)
    return f"({text})" if isinstance(node, ast.Tuple) and not text.startswith("(") else text


def _parts(test: ast.expr) -> int:
    """Count of the comparisons of a condition."""
    if isinstance(test, ast.BoolOp):
        return sum(map(_parts, test.values))
    return len(test.ops) if isinstance(test, ast.Compare) else 1


def _bounds(test: ast.expr, mine: set[str]) -> Iterator[tuple[ast.expr, type[ast.cmpop], ast.expr]]:
    """Each comparison as key of the item, operator, and what it is compared with."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for each in values:
                yield from _bounds(each, mine)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for one, op, two in zip([left, *comparators], ops, comparators, strict=False):
                if type(op) in TURNED:
                    if names_in(one) & mine and not names_in(two) & mine:
                        yield one, type(op), two
                    elif names_in(two) & mine and not names_in(one) & mine:
                        yield two, TURNED[type(op)], one


RULE = Rule("ranks", "A sorted list is searched in log n steps; counting compares all items.", find)
