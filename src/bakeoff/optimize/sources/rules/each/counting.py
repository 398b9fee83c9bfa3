"""A loop that counts in a dict becomes a Counter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.collecting import Collecting, starts, usable
from bakeoff.optimize.sources.rules.looking import SUSPENDS, assignment, calm, has, is_empty, is_number, plain_for, same
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start, loop in starts(block):
            made = assignment(start)
            if made is None or not plain_for(loop) or has(loop, *SUSPENDS, ast.Lambda):
                continue
            assert isinstance(loop, ast.For)
            empty = is_empty(made[1], "dict")
            default = ast.unparse(made[1]) in ("defaultdict(int)", "collections.defaultdict(int)")
            found = _loop(loop, made[0], default)
            if not (empty or default) or found is None or not usable(subject, loop, found):
                continue
            if (
                not calm(found.values[0])
                or (found.inline and not calm(found.inline[1]))
                or not subject.builtin("dict", "int")
            ):
                continue
            line, name = subject.imported("collections", "Counter")
            identity = len(found.parts) == 1 and same_name(found.values[0], loop.target)
            items = (
                subject.code(loop.iter)
                if identity
                else f"[{found.item(subject, found.values[0])} {found.clauses(subject)}]"
            )
            text = f"dict({name}({items}))" if empty else f"{ast.unparse(made[1])[:-1]}, {name}({items}))"
            yield rewrite(([start], ""), ([loop], f"{made[0]} = {text}"), imports=[line])


def same_name(one: ast.expr, other: ast.expr) -> bool:
    """Whether both are the same variable, read or bound."""
    return isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id


def _loop(loop: ast.For, name: str, default: bool) -> Collecting | None:
    parts: list[ast.For | ast.expr | tuple[ast.expr]] = []
    body: list[ast.stmt] = [loop]
    inline: tuple[str, ast.expr] | None = None
    while True:
        key = _counted(body, name, default)
        if key is not None and parts and (inline is None or ast.unparse(key) == inline[0]):
            return Collecting(name, "count", (key,), tuple(parts), inline)
        if inline is None and len(body) > 1 and (inline := assignment(body[0])):
            body = body[1:]
            continue
        if inline is not None:
            return None
        match body:
            case [ast.For(orelse=[]) as inner]:
                parts.append(inner)
                body = inner.body
            case [ast.If(test=test, body=inside, orelse=[])]:
                parts.append(test)
                body = inside
            case [ast.If(test=test, body=[ast.Continue()], orelse=[]), *rest]:
                parts.append((test,))
                body = rest
            case _:
                return None


def _counted(body: list[ast.stmt], name: str, default: bool) -> ast.expr | None:
    """The key that is counted up by one."""
    match body:
        case [ast.If(test=test, body=[one], orelse=[other])]:
            key = _missing(test, name)
            first, again = (one, other) if key is not None else (other, one)
            key = key if key is not None else _present(test, name)
            if key is not None and _set_one(first, name, key) and _plus_one(again, name, key):
                return key
        case [ast.If(test=test, body=[zero], orelse=[]), plus]:
            key = _missing(test, name)
            if key is not None and _set_to(zero, name, key, 0) and _plus_one(plus, name, key):
                return key
        case [ast.Try(body=[plus], handlers=[ast.ExceptHandler(type=ast.Name(id="KeyError"), body=[one])],
                      orelse=[], finalbody=[])]:  # fmt: skip
            key = _key(plus, name)
            if key is not None and _plus_one(plus, name, key) and _set_one(one, name, key):
                return key
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name(id=owner), "setdefault"), [key, zero], [])), plus]:
            if owner == name and is_number(zero, 0) and _plus_one(plus, name, key):
                return key
        case [ast.AugAssign(target=ast.Subscript(slice=key)) as plus] if default and _plus_one(plus, name, key):
            return key
        case [ast.Assign(targets=[ast.Subscript(slice=key)], value=value) as statement] if _key(statement, name):
            got = f"{name}.get({ast.unparse(key)}, 0)"
            if ast.unparse(value) in (f"{got} + 1", f"1 + {got}"):
                return key
    return None


def _missing(test: ast.expr, name: str) -> ast.expr | None:
    match test:
        case ast.Compare(left=key, ops=[ast.NotIn()], comparators=[ast.Name(id=owner)]) if owner == name:
            return key
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _present(inner, name)
    return None


def _present(test: ast.expr, name: str) -> ast.expr | None:
    match test:
        case ast.Compare(left=key, ops=[ast.In()], comparators=[ast.Name(id=owner)]) if owner == name:
            return key
    return None


def _key(statement: ast.stmt, name: str) -> ast.expr | None:
    match statement:
        case ast.AugAssign(target=target) | ast.Assign(targets=[target]):
            match target:
                case ast.Subscript(value=ast.Name(id=owner), slice=key) if owner == name:
                    return key
    return None


def _set_to(statement: ast.stmt, name: str, key: ast.expr, value: int) -> bool:
    found = _key(statement, name)
    return (
        isinstance(statement, ast.Assign)
        and found is not None
        and same(found, key)
        and is_number(statement.value, value)
    )


def _set_one(statement: ast.stmt, name: str, key: ast.expr) -> bool:
    return _set_to(statement, name, key, 1)


def _plus_one(statement: ast.stmt, name: str, key: ast.expr) -> bool:
    found = _key(statement, name)
    if found is None or not same(found, key):
        return False
    match statement:
        case ast.AugAssign(op=ast.Add(), value=value):
            return is_number(value, 1)
        case ast.Assign(value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            return is_number(right, 1) and ast.unparse(left) == f"{name}[{ast.unparse(key)}]"
    return False


RULE = Rule("counter", "Counter counts in C, with one look-up an item in place of two or three.", find)
