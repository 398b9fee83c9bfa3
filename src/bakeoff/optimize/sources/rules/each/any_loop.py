"""`any` and `all` of a generator expression become a loop that ends at the first hit."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, has
from bakeoff.optimize.sources.rules.guards import is_original
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for each item: `hit` is whether what is found must be true, `word` what is then known."""

    generator: ast.GeneratorExp
    hit: bool
    word: bool


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for statement in block:
            text = None if is_original(subject, statement) else _text(subject, statement)
            if text is not None:
                yield Rewrite([([statement], text)])


def _text(subject: Subject, statement: ast.stmt) -> str | None:
    match statement:
        case ast.Return(value=ast.expr() as value) if asked := _asked(subject, value):
            return f"{_loop(subject, asked, f'return {asked.word}')}\nreturn {not asked.word}"
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if asked := _asked(subject, value):
            return _loop(subject, asked, f"{name} = {asked.word}\nbreak", f"{name} = {not asked.word}")
        case ast.If():
            return _branch(subject, statement)
    return None


def _branch(subject: Subject, branch: ast.If) -> str | None:
    """An `if`, or one of its `elif`, that asks; None where none does."""
    if asked := _asked(subject, branch.test):
        hit, other = (branch.body, branch.orelse) if asked.word else (branch.orelse, branch.body)
        return _followed(subject, asked, hit, other)
    match branch:
        case ast.If(test=ast.BoolOp(op=ast.And(), values=[*first, last])) if asked := _asked(subject, last):
            if asked.word and (_exits(branch.body) or not branch.orelse):
                loop = _followed(subject, asked, branch.body, [])
                test, rest = " and ".join(map(subject.part, first)), _block(subject, branch.orelse)
                return None if loop is None else f"if {test}:\n{subject.indented(loop)}" + (rest and f"\n{rest}")
        case ast.If(orelse=[ast.If() as further]) if text := _branch(subject, further):
            body = subject.indented(subject.statements(branch.body))
            head = f"if {subject.code(branch.test)}:\n{body}\n"
            return head + (text if _exits(branch.body) else f"else:\n{subject.indented(text)}")
    return None


def _followed(subject: Subject, asked: Asked, hit: list[ast.stmt], other: list[ast.stmt]) -> str | None:
    """The loop with what is done at a hit and what is done without one; None where a loop around is left at a hit."""
    rest = _block(subject, other)
    if not hit:
        return _loop(subject, asked, "break", rest)
    if has(hit, ast.Break, ast.Continue):
        return None
    if _exits(hit):
        return _loop(subject, asked, _block(subject, hit)) + (rest and f"\n{rest}")
    return _loop(subject, asked, f"{_block(subject, hit)}\nbreak", rest)


def _block(subject: Subject, statements: list[ast.stmt]) -> str:
    if not statements:
        return ""
    text = subject.statements(statements)
    return text.removeprefix("el") if text.startswith("elif") else text


def _exits(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Raise)


def _asked(subject: Subject, node: ast.expr) -> Asked | None:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand) if asked := _asked(subject, operand):
            return Asked(asked.generator, asked.hit, not asked.word)
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.GeneratorExp() as inner], keywords=[]) if (
            subject.builtin(name, "StopIteration", "RuntimeError")
        ):
            single = len(inner.generators) == 1 and not inner.generators[0].ifs and not inner.generators[0].is_async
            if single and not has(inner, ast.Lambda, ast.NamedExpr, *SUSPENDS) and not has(inner.elt, *INNER):
                return Asked(inner, name == "any", name == "any")
    return None


INNER = (ast.JoinedStr, *COMPREHENSIONS)
"""What the names of the loop cannot be changed in, or what looks at them later."""


def _loop(subject: Subject, asked: Asked, then: str, otherwise: str = "") -> str:
    """The loop; what ends a generator by `StopIteration` is an error, as it is in the generator."""
    scan, hit = asked.generator.generators[0], subject.fresh("hit")
    inside = {id(each) for each in ast.walk(asked.generator)}
    names = {each.id for each in ast.walk(scan.target) if isinstance(each, ast.Name)}
    new = {name: name if _only_inside(subject, name, inside) else subject.fresh(name) for name in names}
    target, found = (_renamed(subject, each, new) for each in (scan.target, asked.generator.elt))
    lines = (
        f"for {target.strip('()')} in {subject.code(scan.iter)}:\n"
        f"    try:\n        {hit} = {found}\n"
        "    except StopIteration as stop:\n"
        '        raise RuntimeError("generator raised StopIteration") from stop\n'
        f"    if {hit if asked.hit else f'not {hit}'}:\n{subject.indented(then, '        ')}"
    )
    return lines + (f"\nelse:\n{subject.indented(otherwise)}" if otherwise else "")


def _only_inside(subject: Subject, name: str, inside: set[int]) -> bool:
    every = [each for each in ast.walk(subject.node) if isinstance(each, ast.Name) and each.id == name]
    return name not in subject.local and all(id(each) in inside for each in every)


def _renamed(subject: Subject, node: ast.expr, new: Mapping[str, str]) -> str:
    if all(old == name for old, name in new.items()):
        return subject.code(node)
    renamed = copy.deepcopy(node)
    for each in ast.walk(renamed):
        if isinstance(each, ast.Name):
            each.id = new.get(each.id, each.id)
    return ast.unparse(renamed)


RULE = Rule("any-loop", "A loop makes no generator, whose making and resuming costs more than a short question.", find)
