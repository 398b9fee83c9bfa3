"""Loops that do nothing but fill one new container."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.looking import assignment, has, is_empty, method_call, names_in, stored
from bakeoff.optimize.sources.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Collecting:
    """`name = []` and a loop around `name.append(value)`, with what is between them.

    Attributes:
        name: the container.
        method: `append`, `add`, `setitem`, or `+=` for numbers and texts.
        values: what is put in; of `setitem` key and value.
        parts: the loops and conditions around it, outermost first; a condition that is negated is a tuple.
        inline: a local that is bound to an expression right before, and used once.
    """

    name: str
    method: str
    values: tuple[ast.expr, ...]
    parts: tuple[ast.For | ast.expr | tuple[ast.expr], ...]
    inline: tuple[str, ast.expr] | None = None

    @property
    def loops(self) -> list[ast.For]:
        """The loops, outermost first."""
        return [each for each in self.parts if isinstance(each, ast.For)]

    def clauses(self, subject: Subject) -> str:
        """The `for` and `if` of a comprehension."""
        texts = []
        for part in self.parts:
            match part:
                case ast.For():
                    target = ast.unparse(part.target)
                    target = target[1:-1] if isinstance(part.target, ast.Tuple) else target
                    source = subject.code(part.iter)
                    bare = isinstance(part.iter, ast.Tuple | ast.IfExp | ast.Lambda) and not source.startswith("(")
                    texts.append(f"for {target} in " + (f"({source})" if bare else source))
                case (negated,):
                    texts.append(f"if {negation(subject, negated)}")
                case ast.expr():
                    text = subject.code(part)
                    texts.append("if " + (f"({text})" if isinstance(part, ast.IfExp) else text))
        return " ".join(texts)

    def item(self, subject: Subject, value: ast.expr) -> str:
        """The text of a value, with what was inlined in its place."""
        text = subject.code(value)
        if self.inline is not None:
            name, inner = self.inline
            if isinstance(value, ast.Name) and value.id == name:
                text = subject.code(inner)
                value = inner
        return f"({text})" if isinstance(value, ast.Tuple) and not text.startswith("(") else text


def negation(subject: Subject, node: ast.expr) -> str:
    """The text of `not node`, told by an operator where that means the same."""
    opposite = {ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in opposite:
            return f"{subject.part(left)} {opposite[type(op)]} {subject.part(right)}"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return subject.part(operand)
    return f"not {subject.part(node)}"


def collecting_loops(subject: Subject, before: ast.stmt, loop: ast.stmt) -> Iterator[Collecting]:
    """Collecting by a loop in the container that the statement before it makes; nothing if it does more."""
    start = assignment(before)
    if start is None or not isinstance(loop, ast.For):
        return
    found = inside(loop, start[0])
    if found is None:
        return
    kind = {"append": "list", "add": "set", "setitem": "dict"}.get(found.method, "")
    if kind and (not is_empty(start[1], kind) or not subject.builtin(kind)):
        return
    if usable(subject, loop, found):
        yield found


def starts(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.For]]:
    """Each loop of a block with the assignments shortly before it whose names nothing between them mentions."""
    for at, loop in enumerate(block):
        if not isinstance(loop, ast.For) or loop.orelse:
            continue
        for back in range(at - 1, max(-1, at - 5), -1):
            made = assignment(block[back])
            if made is not None and made[0] not in names_in(*block[back + 1 : at]):
                yield block[back], loop


def usable(subject: Subject, loop: ast.For, found: Collecting) -> bool:
    """Whether the container is nobody else's while it is filled, and the loop's variables end with it."""
    name, targets = found.name, stored(*(each.target for each in found.loops))
    sources = [each.iter if isinstance(each, ast.For) else each for each in found.parts]
    flat = [each[0] if isinstance(each, tuple) else each for each in sources]
    inlined = [found.inline[1]] if found.inline else []
    if subject.caught(loop, name):
        return False
    if name in subject.shared or name in names_in(*flat, *found.values, *inlined) | targets:
        return False
    if any(not isinstance(node, ast.Name | ast.Tuple | ast.Load | ast.Store | ast.Starred)
           for each in found.loops for node in ast.walk(each.target)):  # fmt: skip
        return False
    leaking = targets | ({found.inline[0]} if found.inline else set())
    return not subject.read_outside(leaking, [loop]) and not has([*flat, *found.values], ast.NamedExpr)


def inside(loop: ast.For, name: str) -> Collecting | None:
    """Collecting that a loop does to `name`, if it does nothing else."""
    parts: list[ast.For | ast.expr | tuple[ast.expr]] = []
    statement: ast.stmt = loop
    inline: tuple[str, ast.expr] | None = None
    while True:
        match statement:
            case ast.For(body=body, orelse=[]):
                parts.append(statement)
            case ast.If(test=test, body=body, orelse=[]) if parts:
                parts.append(test)
            case ast.If(test=test, body=[ast.Pass() | ast.Continue()], orelse=body) if body and parts:
                parts.append((test,))
            case _:
                found = _action(statement, name)
                if found is None or not parts:
                    return None
                method, values = found
                if inline and not _used_once(inline[0], values, parts):
                    return None
                return Collecting(name, method, values, tuple(parts), inline)
        while len(body) > 1:
            first = body[0]
            if isinstance(first, ast.If) and not first.orelse and isinstance(first.body[0], ast.Continue):
                parts.append((first.test,))
            elif (value := assignment(first)) and len(body) == 2 and inline is None and not has(first, ast.AnnAssign):
                inline = value
            else:
                return None
            body = body[1:]
        statement = body[0]


def _used_once(name: str, values: tuple[ast.expr, ...], parts: list[ast.For | ast.expr | tuple[ast.expr]]) -> bool:
    """Whether the local is just handed on: evaluated at the same place when it is put in."""
    alone = isinstance(values[-1], ast.Name) and values[-1].id == name and len(values) == 1
    asked = [each if isinstance(each, ast.expr) else each[0] for each in parts if not isinstance(each, ast.For)]
    free = all(name not in names_in(each.target) for each in parts if isinstance(each, ast.For))
    return alone and free and name not in names_in(*asked)


def _action(statement: ast.stmt, name: str) -> tuple[str, tuple[ast.expr, ...]] | None:
    for method in ("append", "add"):
        call = method_call(statement, method) if isinstance(statement, ast.Expr) else None
        if call and call[0] == name and len(call[1]) == 1:
            return method, (call[1][0],)
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=owner), slice=key)], value=value):
            if owner == name and not isinstance(key, ast.Slice):
                return "setitem", (key, value)
        case ast.AugAssign(target=ast.Name(id=owner), op=ast.Add(), value=value) if owner == name:
            return "+=", (value,)
        case ast.Assign(targets=[ast.Name(id=owner)], value=ast.BinOp(ast.Name(id=left), ast.Add(), right)):
            if owner == left == name:
                return "+=", (right,)
    return None
