"""`xs = xs + [x]` becomes `xs.append(x)` where nobody else holds the list."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import loops_around
from bakeoff.optimize.sources.rules.facts.kinds import base
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import names_in
from bakeoff.optimize.sources.rules.guards import is_original
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for statement in block:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(ast.Name(id=left), op, right)):
                    own = name == left and name not in subject.shared and name not in names_in(right)
                case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() as op, value=ast.List(elts=[_]) as right):
                    own = name not in subject.shared and name not in names_in(right)
                case _:
                    continue
            if is_original(subject, statement):
                continue
            text = _text(subject, name, op, right)
            if not own or not text or not loops_around(subject, statement) or not _alone(subject, name):
                continue
            if text.startswith(f"{name}.extend(") and subject.sure(right) != "list":
                part = subject.fresh("part")  # adding takes lists alone
                lead = f"{part} = {subject.code(right)}\n"
                text = f"{lead}if type({part}) is list:\n    {name}.extend({part})\nelse:\n    {name} = {name} + {part}"
            yield Rewrite([([statement], text)])


def _text(subject: Subject, name: str, op: ast.operator, right: ast.expr) -> str | None:
    match op, right:
        case ast.Add(), ast.List(elts=[item]) if not isinstance(item, ast.Starred):
            return f"{name}.append({subject.code(item)})"
        case ast.Add(), _ if base(subject.kind(right)) in ("list", None):  # a list takes nothing else
            return f"{name}.extend({subject.code(right)})"
        case ast.BitOr(), ast.Set(elts=[item]) if not isinstance(item, ast.Starred):
            return f"{name}.add({subject.code(item)})"
    return None


def _alone(subject: Subject, name: str) -> bool:
    """Whether all that is ever bound to the name is new, and nobody else holds it."""
    kinds = (ast.List, ast.ListComp, ast.Set, ast.SetComp)
    new = False
    for node in ast.walk(subject.node):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                made = isinstance(value, kinds) or ast.unparse(value) in ("list()", "set()")
                own = isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and value.left.id == name
                if not made and not own and not ast.unparse(value).startswith(f"sorted({name}"):
                    return False
                new = new or made
            case ast.BinOp(left=ast.Name(id=found)) | ast.BinOp(right=ast.Name(id=found)) if found == name:
                if not isinstance(subject.parents[id(node)], ast.Assign):
                    return False
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()) if found == name:
                if not isinstance(subject.parents[id(node)], ast.Assign | ast.AugAssign | ast.AnnAssign):
                    return False
    return new and subject.alone(name)


RULE = Rule("list-concat", "Appending changes the list; adding two lists copies both.", find)
