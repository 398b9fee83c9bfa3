"""Loops in copies of functions that look through the same list for a key: a dict gives what has it.

The dict stands in the target and is filled when it is first asked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bakeoff.optimize.sources.rules.below import Below, Changing
from bakeoff.optimize.sources.rules.joining import Join, join_of
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import SCOPES, assignment, calm, names_in, stored
from bakeoff.optimize.sources.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Scan:
    """A loop, or part of a comprehension, that uses only what has a key.

    Attributes:
        source: what is gone through, as the target says it.
        target: the variables of an item, as text.
        join: the keys.
        loop: the `for`, or the part of the comprehension.
        test: the condition.
        skips: the condition says which items are left out.
    """

    source: str
    target: str
    join: Join
    loop: ast.For | ast.comprehension
    test: ast.expr
    skips: bool = False


@dataclass(eq=False)
class Indexes:
    """The dicts, by what they hold, with the functions that ask them."""

    subject: Subject
    asked: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def of(self, scan: Scan) -> str:
        """The name of the function that gives the items of a key."""
        item = self.subject.fresh("item")
        simple = scan.target.isidentifier()
        filling = scan.join.filling(self.subject, "found", scan.target if simple else item)
        known = f"{scan.source}|{scan.target}|{filling}"
        if known in self.asked:
            return self.asked[known]
        words = re.findall(r"[A-Za-z]\w*", scan.source.partition(", key=")[0])
        root = next((each for each in reversed(words) if each not in ("values", "items", "keys", "self")), "items")
        name = f"{root}_with"
        while self.subject.fresh(name) != name or name in self.asked.values():
            name += "_"
        head = f"for {scan.target if simple else item} in {scan.source}:"
        lines = [
            f"{name}_key = {{}}",
            f"def {name}(wanted):",
            f"    if not {name}_key:",
            "        found = {}",
            f"        {head}",
        ]
        if not simple:
            lines.append(f"            {scan.target} = {item}")
        lines += ["            " + line for line in filling.splitlines()]
        lines += [f"        {name}_key.update(found)", f"    return {name}_key.get(wanted, ())"]
        self.texts.append("\n".join(lines))
        self.asked[known] = name
        return name


def scans(below: Below, name: str) -> Iterator[Scan]:
    """The places in a function of `below` that go through the same list whenever it is called, for items with a key."""
    subject = below.reached[name]
    if not below.unchanged(name) or not below.quiet(name):
        return
    for node in ast.walk(subject.node):
        if any(isinstance(each, SCOPES) and each is not subject.node for each in subject.around(node)):
            continue
        match node:
            case ast.For(body=[ast.If(test=test, orelse=[])], orelse=[]):
                yield from _scan(below, name, node, test)
            case ast.For(body=[ast.If(test=test, body=[ast.Continue()], orelse=[]), _, *_], orelse=[]):
                yield from _scan(below, name, node, test, skips=True)
            case ast.comprehension(ifs=[test, *_], is_async=0):
                yield from _scan(below, name, node, test)


def _scan(
    below: Below, name: str, loop: ast.For | ast.comprehension, test: ast.expr, skips: bool = False
) -> Iterator[Scan]:
    subject, renamed = below.reached[name], below.renamed(name)
    mine = stored(loop.target)
    plain = isinstance(loop.target, ast.Name) or (
        isinstance(loop.target, ast.Tuple) and all(isinstance(each, ast.Name) for each in loop.target.elts)
    )
    source = _source(below, name, loop.iter) if renamed is not None else None
    if source is None or not plain or renamed is None:
        return
    if isinstance(loop, ast.For) and (subject.read_outside(mine, [loop]) or stored(*loop.body) & mine):
        return
    asked = _negated(test) if skips else test
    if asked is None:
        return
    steady = {each for each in names_in(test) if each not in subject.local} | {
        each for each, origin in renamed.items() if each == origin
    }
    join = join_of(subject, asked, mine, steady - mine)
    if join is None or (skips and join.rest is None):
        return
    theirs = names_in(*join.nodes, *join.guards) - mine
    ours = names_in(*join.our_nodes)
    if not theirs <= steady or not ours & subject.local or all(each in renamed for each in ours & subject.local):
        return
    if isinstance(loop, ast.For) and ours & stored(*loop.body):
        return
    target = ast.unparse(loop.target)
    target = target[1:-1] if isinstance(loop.target, ast.Tuple) else target
    yield Scan(source, target, join, loop, test, skips)


def _negated(test: ast.expr) -> ast.expr | None:
    """The condition for those that are not left out."""
    match test:
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            return ast.Compare(left, [ast.Eq()], [right])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.BoolOp(op=ast.Or(), values=values):
            parts = [_negated(each) for each in values]
            return None if None in parts else ast.BoolOp(ast.And(), [each for each in parts if each is not None])
        case ast.Compare():
            return ast.UnaryOp(ast.Not(), test)
    return None


def _source(below: Below, name: str, node: ast.expr) -> str | None:
    """Source of what is gone through, if it is the same list in every call, as the target says it."""
    subject = below.reached[name]
    if isinstance(node, ast.Name) and node.id in subject.local and (made := made_of(subject, node.id)) is not None:
        return _source(below, name, made) if isinstance(made, ast.Call) else None
    match node:
        case ast.Call(func=ast.Name(id="sorted"), args=[inner], keywords=keywords) if subject.builtin("sorted"):
            told = all(isinstance(each.value, ast.Constant) or _of_item(each.value) for each in keywords)
            source = _source(below, name, inner) if told else None
            more = "".join(f", {ast.unparse(each)}" for each in keywords)
            return f"sorted({source}{more})" if source is not None else None
    own: ast.expr = node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        if node.func.attr not in ("values", "items", "keys"):
            return None
        own = node.func.value
    elif base(subject.kind(node)) in LAZY | {"dict", "str"}:
        return None
    parts: list[str] = []
    while isinstance(own, ast.Attribute):
        parts.insert(0, own.attr)
        own = own.value
    if not isinstance(own, ast.Name) or len(parts) > 2:
        return None
    root = below.fixed.get((name, own.id))
    if root is None:
        constant = not parts and own.id not in subject.local and own.id.isupper()
        if not constant:
            return None
        root = own.id
    call = f".{node.func.attr}()" if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return ".".join([root, *parts]) + call


def made_of(subject: Subject, name: str) -> ast.expr | None:
    """Value of a local that is bound once, at the top of a function, and only gone through."""
    bound = [each for each in ast.walk(subject.node) if isinstance(each, ast.Name) and each.id == name]
    loads = [each for each in bound if isinstance(each.ctx, ast.Load)]
    looped = all(
        isinstance(parent := subject.parents[id(each)], ast.For | ast.comprehension) and parent.iter is each
        for each in loads
    )
    for statement in subject.node.body:
        made = assignment(statement)
        if made is not None and made[0] == name and len(bound) == len(loads) + 1 and looped:
            return made[1]
    return None


def _of_item(key: ast.expr) -> bool:
    """Whether a key is told by the item alone."""
    match key:
        case ast.Lambda(args=arguments, body=body):
            return calm(body) and names_in(body) <= {each.arg for each in arguments.args}
    return False


class Narrowing(Changing):
    """Loops that go through what has the key, in a copy of a function."""

    def __init__(self, subject: Subject, places: Iterable[Scan], indexes: Indexes) -> None:
        self.subject, self.indexes = subject, indexes
        self.scans = {id(each.loop): each for each in reversed(list(places))}
        names = [each.loop.iter.id for each in self.scans.values() if isinstance(each.loop.iter, ast.Name)]
        self.sources = {each for each in names if each in subject.local and made_of(subject, each) is not None}

    def _found(self, node: ast.AST) -> Scan | None:
        return self.scans.get(id(self.originals.get(id(node))))

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Nothing where only loops that are narrowed went through what it binds."""
        original = self.originals.get(id(node))
        made = assignment(original) if original is not None else None
        if made is not None and made[0] in self.sources:
            loads = self.subject.loads.get(made[0], [])
            loops = [each.loop.iter for each in self.scans.values()]
            if all(any(each is one for one in loops) for each in loads):
                return None
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop over what has the key."""
        scan = self._found(node)
        self.generic_visit(node)
        if scan is not None:
            node.iter = self._items(scan)
            test = node.body[0]
            assert isinstance(test, ast.If)
            if scan.skips:
                rest = self._rest(scan)
                node.body = node.body[1:] if rest is None else [ast.If(rest, node.body[1:], [])]
            elif scan.join.rest is not None:
                rest = self._rest(scan)
                node.body = test.body if rest is None else [ast.If(rest, test.body, [])]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """The same in a comprehension."""
        scan = self._found(node)
        self.generic_visit(node)
        if scan is not None:
            node.iter = self._items(scan)
            if scan.join.rest is not None:
                rest = self._rest(scan)
                node.ifs = [*([rest] if rest is not None else []), *node.ifs[1:]]
        return node

    def _items(self, scan: Scan) -> ast.expr:
        return _expression(f"{self.indexes.of(scan)}({scan.join.ours})")

    def _rest(self, scan: Scan) -> ast.expr | None:
        return (
            _expression(" and ".join(f"({ast.unparse(each)})" for each in scan.join.rest)) if scan.join.rest else None
        )


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
