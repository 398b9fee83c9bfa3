"""Loops in copies of functions that look through the same list for a key: a dict gives what has it.

The dict stands in the target and is filled when it is first asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bakeoff.optimize.sources.rules.below import Below, Changing
from bakeoff.optimize.sources.rules.joining import Join, conjunction, join_of
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import SCOPES, names_in, stored
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
        root = "".join(each for each in scan.source.rpartition(".")[2] if each.isalnum() or each == "_").strip("_")
        name = f"{root or 'items'}_with"
        while self.subject.fresh(name) != name or name in self.asked.values():
            name += "_"
        head = f"for {scan.target if simple else item} in {scan.source}:"
        lines = [
            f"{name}_key = {{}}",
            f"def {name}(key):",
            f"    if not {name}_key:",
            "        found = {}",
            f"        {head}",
        ]
        if not simple:
            lines.append(f"            {scan.target} = {item}")
        lines += ["            " + line for line in filling.splitlines()]
        lines += [f"        {name}_key.update(found)", f"    return {name}_key.get(key, ())"]
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
    if join is None or (skips and (join.rest or join.rest is None)):
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
    return None


def _source(below: Below, name: str, node: ast.expr) -> str | None:
    """What is gone through, if it is the same list in every call, as the target says it."""
    subject = below.reached[name]
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


class Narrowing(Changing):
    """Loops that go through what has the key, in a copy of a function."""

    def __init__(self, subject: Subject, places: Iterable[Scan], indexes: Indexes) -> None:
        self.subject, self.indexes = subject, indexes
        self.scans = {id(each.loop): each for each in reversed(list(places))}

    def _found(self, node: ast.AST) -> Scan | None:
        return self.scans.get(id(self.originals.get(id(node))))

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop over what has the key."""
        scan = self._found(node)
        self.generic_visit(node)
        if scan is not None:
            node.iter = self._items(scan)
            test = node.body[0]
            assert isinstance(test, ast.If)
            if scan.skips:
                node.body = node.body[1:]
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
        return _expression(conjunction(self.subject, scan.join.rest)) if scan.join.rest else None


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
