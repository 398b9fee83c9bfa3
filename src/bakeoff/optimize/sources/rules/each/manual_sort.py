"""Bubble, selection and insertion sort written out become `sort`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.looking import assignment, is_empty
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

N = r"(?:n|len\(xs\))"
BUBBLE = re.compile(
    rf"for i in range\((?:0, )?{N}(?: - 1)?\):\n(?:    (?P<flag>\w+) = (?:False|True)\n)?"
    rf"    for j in range\((?:0, )?(?:{N} - i - 1|{N} - 1 - i|{N} - 1)\):\n"
    r"        if (?P<left>.*xs\[j\].*?) (?P<op>[<>]) (?P<right>.*xs\[j \+ 1\].*):\n"
    r"            xs\[j\], xs\[j \+ 1\] = \(?xs\[j \+ 1\], xs\[j\]\)?"
    r"(?:\n            (?P=flag) = (?:True|False)\n    if (?:not )?(?P=flag):\n        break)?"
)
SELECTION = re.compile(
    rf"for i in range\({N}(?: - 1)?\):\n    (?P<m>\w+) = i\n    for j in range\(i \+ 1, {N}\):\n"
    r"        if xs\[j\] (?P<op>[<>]) xs\[(?P=m)\]:\n            (?P=m) = j\n"
    r"(?:    if (?P=m) != i:\n    )?    \(?xs\[i\], xs\[(?P=m)\]\)? = \(?xs\[(?P=m)\], xs\[i\]\)?"
)
INSERTION = re.compile(
    rf"for i in range\(1, {N}\):\n    (?P<k>\w+) = xs\[i\]\n    j = i - 1\n"
    r"    while j >= 0 and (?:xs\[j\] (?P<op>[<>]) (?P=k)|(?P=k) (?P<po>[<>]) xs\[j\]):\n"
    r"        xs\[j \+ 1\] = xs\[j\]\n        j -= 1\n    xs\[j \+ 1\] = (?P=k)"
)
INSERTING = re.compile(
    r"for x in (?P<source>.+):\n    i = len\(xs\)\n"
    r"    while (?:i|i > 0) and (?:xs\[i - 1\] (?P<op>[<>]) x|x (?P<po>[<>]) xs\[i - 1\]):\n"
    r"        i -= 1\n    xs\.insert\(i, x\)"
)


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, statement in enumerate(block):
            if not isinstance(statement, ast.For) or statement.orelse:
                continue
            made = assignment(block[at - 1]) if at else None
            if made and is_empty(made[1], "list") and subject.builtin("sorted"):
                found = INSERTING.fullmatch(_canonical(subject, statement, made[0], statement.target, None))
                if found and not subject.read_outside(_own(statement, made[0]), [statement]):
                    source = subject.code(statement.iter)
                    reverse = ", reverse=True" if _descending(found) else ""
                    yield rewrite((block[at - 1 : at + 1], f"{made[0]} = sorted({source}{reverse})"))
            for name in sorted(_sorted_names(statement)):
                yield from _in_place(subject, statement, name)


def _in_place(subject: Subject, statement: ast.For, name: str) -> Iterator[Rewrite]:
    if base(subject.kind(ast.Name(name, ast.Load()))) not in ("list", None):
        return
    lengths = [n for n, value in _lengths(subject) if value == name]
    for length in [*lengths, None]:
        text = _canonical(subject, statement, name, statement.target, length)
        found = SELECTION.fullmatch(text) or INSERTION.fullmatch(text)
        key: str | None = ""
        if found is None and (found := BUBBLE.fullmatch(text)):
            key = _key(found)
        if found is None or key is None or subject.read_outside(_own(statement, name), [statement]):
            continue
        arguments = [each for each in (key, "reverse=True" if _descending(found) else "") if each]
        yield rewrite(([statement], f"{name}.sort({', '.join(arguments)})"))
        return


def _descending(found: re.Match[str]) -> bool:
    groups = found.groupdict()
    selection = "m" in groups
    if groups.get("po"):
        return groups["po"] == ">"
    return groups["op"] == (">" if selection else "<")


def _key(found: re.Match[str]) -> str | None:
    """The `key` of a comparison of two neighbours; empty: the items themselves; None: not the same of both."""
    left, right = found["left"].replace("xs[j]", "item"), found["right"].replace("xs[j + 1]", "item")
    if left != right or re.search(r"\b(i|j|xs|n)\b|\(", left):
        return None
    return "" if left == "item" else f"key=lambda item: {left}"


def _own(statement: ast.stmt, name: str) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - {name}


def _sorted_names(statement: ast.For) -> set[str]:
    """Names whose items the loop stores."""
    return {
        each.value.id
        for each in ast.walk(statement)
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)
    }


def _lengths(subject: Subject) -> Iterator[tuple[str, str]]:
    for node in ast.walk(subject.node):
        match node:
            case ast.Assign(targets=[ast.Name(id=n)], value=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=xs)])):
                yield n, xs


def _canonical(subject: Subject, loop: ast.For, xs: str, target: ast.expr, length: str | None) -> str:
    """The text of a loop with the names that the patterns use."""
    names = {xs: "xs"}
    inner = [each for each in ast.walk(loop) if isinstance(each, ast.For | ast.While) and each is not loop]
    stores = [n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    if isinstance(target, ast.Name):
        names[target.id] = (
            "i" if not (inner and isinstance(inner[0], ast.While) and "range" not in ast.unparse(loop.iter)) else "x"
        )
    if inner and isinstance(inner[0], ast.For) and isinstance(inner[0].target, ast.Name):
        names[inner[0].target.id] = "j"
    elif inner and isinstance(inner[0], ast.While):
        counted = [n for n in ast.walk(inner[0]) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
        if counted and isinstance(counted[0].target, ast.Name):
            names[counted[0].target.id] = "j" if "range" in ast.unparse(loop.iter) else "i"
    if length is not None:
        names[length] = "n"
    if len(set(names.values())) != len(names) or not stores:
        return ""
    copy = ast.parse(ast.unparse(loop))
    names |= {other: f"{other}_" for other in set(names.values()) - set(names)}
    for node in ast.walk(copy):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return re.sub(r"\((xs\[[^]]*\], xs\[[^]]*\])\)", r"\1", ast.unparse(copy))


RULE = Rule("sort", "The built-in sort runs in C and needs n log n comparisons, not n squared.", find)
