"""`sum(xs[:i])` in a loop over the places of `xs` becomes a look-up in its running sums."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, statement_of
from bakeoff.optimize.sources.rules.kinds import base, element
from bakeoff.optimize.sources.rules.looking import calls, changed_in, is_number, length_of, range_of
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

ACCUMULATE = {
    "sum": "[*{accumulate}({xs}, initial=0)]",
    "max": "[*{accumulate}({xs}, max)]",
    "min": "[*{accumulate}({xs}, min)]",
}


@dataclass(frozen=True, slots=True)
class Part:
    """The beginning or the end of a list: before `bound`, or from it on."""

    xs: str
    bound: ast.expr
    end: bool = False


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in calls(subject.node):
        part = _summed(node)
        if part is None or node.keywords or not isinstance(node.func, ast.Name) or in_text(subject, node):
            continue
        name = node.func.id
        if name in ACCUMULATE and subject.builtin(name, "reversed"):
            kind = subject.kind(ast.Name(part.xs, ast.Load()))
            inexact = element(kind) == "float" and sys.version_info >= (3, 12) and name == "sum"
            # From its end, sums are rounded otherwise, and of equal items another one comes first.
            exact = element(kind) == "int" or (element(kind) == "str" and name != "sum")
            if base(kind) in ("list", "tuple", None) and not inexact and (exact or not part.end):
                yield from _rewrite(subject, node, name, part)


def _summed(node: ast.Call) -> Part | None:
    """The part of a list in `sum(xs[:end])`, also where the beginning is written as a comprehension."""
    match node.args:
        case [ast.Subscript(value=ast.Name(id=xs), slice=ast.Slice(lower=None, upper=ast.expr() as upper, step=None))]:
            return Part(xs, upper)
        case [ast.Subscript(value=ast.Name(id=xs), slice=ast.Slice(lower=ast.expr() as lower, upper=None, step=None))]:
            return Part(xs, lower, end=True)
        case [
            (
                ast.ListComp(elt=ast.Subscript(value=ast.Name(id=xs), slice=ast.Name(id=j)), generators=[one])
                | ast.GeneratorExp(elt=ast.Subscript(value=ast.Name(id=xs), slice=ast.Name(id=j)), generators=[one])
            )
        ]:
            bounds = range_of(one.iter) or []
            from_first = len(bounds) == 1 or (len(bounds) == 2 and is_number(bounds[0], 0))
            if from_first and not one.ifs and ast.unparse(one.target) == j:
                return Part(xs, bounds[-1])
    return None


def _rewrite(subject: Subject, node: ast.Call, name: str, part: Part) -> Iterator[Rewrite]:
    xs, found = part.xs, _index(part.bound)
    place = _place(subject, node, xs, found[0]) if found else None
    if found is None or place is None or changed_in(xs, place) or xs in subject.shared or xs not in subject.local:
        return
    index, more = found
    at = subject.code(part.bound)
    if name != "sum":
        if part.end and more:
            return  # nothing comes after the last one
        if not part.end and not more and not _guarded(subject, node, index, place):
            return  # nothing comes before the first one
        at = index if part.end or more else f"{index} - 1"
    line, accumulate = subject.imported("itertools", "accumulate")
    sums = subject.fresh(f"{xs}_{'last_' if part.end else ''}{name}s")
    source = f"reversed({xs})" if part.end else xs
    made = f"{sums} = " + ACCUMULATE[name].format(accumulate=accumulate, xs=source) + ("[::-1]" if part.end else "")
    yield rewrite(before(subject, place, made, {id(node): f"{sums}[{at}]"}), imports=[line])


def _guarded(subject: Subject, node: ast.Call, index: str, place: ast.stmt) -> bool:
    """Whether this is only reached where `index` is not 0."""
    match place:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as first), _])):
            return first >= 1
    above = (f"{index} > 0", index, f"{index} >= 1", f"{index} != 0")
    previous: ast.AST = node
    for each in subject.around(node):
        match each:
            case ast.BoolOp(op=ast.Or(), values=[test, *rest]) if any(previous is one for one in rest):
                if ast.unparse(test) in (f"{index} == 0", f"not {index}"):
                    return True
            case ast.BoolOp(op=ast.And(), values=[test, *rest]) if any(previous is one for one in rest):
                if ast.unparse(test) in above:
                    return True
            case ast.If(test=test, body=body) if any(previous is one for one in body) and ast.unparse(test) in above:
                return True
            case ast.IfExp(test=test, body=body) if previous is body and ast.unparse(test) in above:
                return True
        previous = each
    return False


def _index(upper: ast.expr) -> tuple[str, int] | None:
    match upper:
        case ast.Name(id=name):
            return name, 0
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=one) if is_number(one, 1):
            return name, 1
    return None


def _place(subject: Subject, node: ast.Call, xs: str, index: str) -> ast.stmt | None:
    """The loop, or the statement with the comprehension, in which `index` runs over the places of `xs`."""
    for each in subject.around(node):
        match each:
            case ast.For(target=target, iter=source) if _runs(target, source, xs, index):
                rebound = [
                    n
                    for n in ast.walk(each)
                    if isinstance(n, ast.Name) and n.id == index and isinstance(n.ctx, ast.Store)
                ]
                return each if len(rebound) == 1 else None
            case ast.ListComp(generators=[one]) if _runs(one.target, one.iter, xs, index):
                return statement_of(subject, node)
    return None


def _runs(target: ast.expr, source: ast.expr, xs: str, index: str) -> bool:
    match target, source:
        case ast.Name(id=name), _ if name == index:
            bounds = range_of(source)
            return (
                bounds is not None
                and len(bounds) <= 2
                and length_of(bounds[-1]) == xs
                and (
                    len(bounds) == 1
                    or (isinstance(bounds[0], ast.Constant) and type(bounds[0].value) is int and bounds[0].value >= 0)
                )
            )
        case ast.Tuple(elts=[ast.Name(id=name), _]), ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=of)]):
            return name == index and of == xs
    return False


RULE = Rule("prefix-sums", "Running sums are made in one pass; a sum of every beginning takes a pass for each.", find)
