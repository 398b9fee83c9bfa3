"""A call that is made twice with nothing changed in between is made once, and what it gave gets a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.each.steady_call import shareable
from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, in_text, statement_of
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import SCOPES, assignment, calm, has, stored
from bakeoff.optimize.sources.rules.purity import touched
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

WORK = {"sorted", "sum", "min", "max", "set", "list", "any", "all", "int", "float", "Decimal", "Fraction", "dict"}
FRESH = {"sorted", "set", "list", "dict"}
METHODS = {
    "split", "lower", "upper", "strip", "count", "index", "find", "join", "replace", "splitlines", "casefold", "title",
    "total_seconds", "strftime", "isoformat", "lstrip", "rstrip", "partition",
}  # fmt: skip
"""Methods of built-in types that take longer than looking at a local."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    groups: dict[str, list[ast.Call]] = {}
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Call) and _worth(subject, node) and statement_of(subject, node) is not None:
            groups.setdefault(ast.dump(node), []).append(node)
    for calls in sorted(groups.values(), key=lambda each: -len(ast.dump(each[0]))):
        if len(calls) > 1:
            calls.sort(key=lambda each: (each.lineno, each.col_offset))
            for first in calls:
                yield from _rewrite(subject, first, calls)


def _rewrite(subject: Subject, first: ast.Call, calls: list[ast.Call]) -> Iterator[Rewrite]:
    inner = any(isinstance(each, SCOPES) and each is not subject.node for each in subject.around(first))
    needed = subject.needs(first)
    lazy = any(base(subject.kind(ast.Name(each, ast.Load()))) in LAZY for each in needed)
    if inner or lazy or needed & subject.rebound or _in_source(subject, first):
        return
    watch = _Watch(subject, first, needed)
    later = [each for each in calls if each is not first and watch.holds(each)]
    alike = all(_may_share(subject, each) for each in [first, *later])
    if not later or not alike:
        return
    statement = statement_of(subject, first)
    assert statement is not None
    made = assignment(statement)
    if made is not None and made[1] is first and _bound_once(subject, made[0]):
        name, changed = made[0], {}
    else:
        name = subject.fresh(_name(first))
        changed = {id(first): f"({name} := {subject.code(first)})"}
    changed |= {id(each): name for each in later}
    block = _block(subject, statement)
    yield rewrite(*subject.edited(block, changed), assumes=["pure"])


def _worth(subject: Subject, node: ast.Call) -> bool:
    """Whether it does something that takes a while, gives the same again, and changes nothing."""
    if in_text(subject, node) or has(node, ast.NamedExpr, ast.Lambda, ast.Starred, ast.GeneratorExp):
        return False
    called = subject.purity.called(node, subject.home)
    local = stored(subject.node)
    inside = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    if not all(calm(each.func) and subject.purity.calm_call(each, subject.home, local) for each in inside):
        return False
    if called:
        return not (isinstance(node.func, ast.Name) and node.func.id in subject.local)
    match node.func:
        case ast.Name(id=name) if name in WORK and name not in subject.local:
            return bool(node.args) and not isinstance(node.args[0], ast.Constant)
        case ast.Attribute(attr=attr) if attr in METHODS:
            return True
    return False


def _may_share(subject: Subject, node: ast.Call) -> bool:
    called = subject.purity.called(node, subject.home)
    if called:
        return not any(subject.purity.makes_new(each) for each in called) or shareable(subject, node)
    match node.func:
        case ast.Name(id=name) if name in FRESH:
            return shareable(subject, node)
        case ast.Attribute(attr="split" | "splitlines"):
            return shareable(subject, node)
    return True


class _Watch:
    """Where what a call gave still holds."""

    def __init__(self, subject: Subject, first: ast.Call, needed: set[str]) -> None:
        self.subject, self.first, self.needed = subject, first, needed
        self.own = subject.purity.own(subject.node, subject.home)
        match first.func:
            case ast.Attribute(value=ast.Name(id="self")):
                self.foreign = False
            case ast.Attribute():
                self.foreign = bool(subject.purity.called(first, subject.home))
            case _:
                self.foreign = bool(subject.purity.called(first, subject.home)) and bool(first.args)
        self.around = [first, *subject.around(first)]
        self.path = {id(each): child for child, each in zip(self.around, self.around[1:], strict=False)}

    def changes(self, *nodes: ast.AST) -> bool:
        """Whether running these may make the call give something else."""
        if stored(*nodes) & self.needed:
            return True
        changed = self.subject.changes(*nodes)
        if touched(changed, self.needed):
            return True
        return self.foreign and any(each not in self.own and not each.startswith("self.") for each in changed or ())

    def holds(self, later: ast.Call) -> bool:
        """Whether the first call is made, and nothing changed, whenever this one is reached."""
        child: ast.AST = later
        for each in self.subject.around(later):
            if id(each) in self.path:
                return self._before(each, self.path[id(each)], child)
            if isinstance(each, SCOPES):
                return False
            if isinstance(each, COMPREHENSIONS) and stored(*(one.target for one in each.generators)) & self.needed:
                return False
            if isinstance(each, ast.For | ast.While) and self.changes(each):
                return False
            child = each
        return False

    def _before(self, common: ast.AST, one: ast.AST, two: ast.AST) -> bool:
        """Whether in `common` the part `one` with the first call always runs before the part `two`."""
        match common:
            case ast.BoolOp(values=values):
                order = values.index(one) < values.index(two)  # type: ignore[arg-type]
                return order and self._always(common) and not self.changes(common)
            case ast.IfExp(test=test):
                return one is test and self._always(common) and not self.changes(common)
            case ast.comprehension(ifs=ifs):
                fits = one in ifs and two in ifs and ifs.index(one) < ifs.index(two)
                return fits and self._certain(common) and not self.changes(*ifs)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                if not isinstance(one, ast.comprehension):
                    return not isinstance(two, ast.comprehension) and _ahead(one, two) and self._always(common)
                ordered = not isinstance(two, ast.comprehension) or common.generators.index(
                    one
                ) < common.generators.index(two)
                return ordered and self._certain(one) and not self._rebound(common, one)
            case ast.expr() | ast.keyword() | ast.slice():
                return _ahead(one, two) and self._always(common) and not self.changes(common)
            case ast.If(test=test) if one is test:
                certain = self._certain(common) if two in common.body else self._always(common)
                return certain and self._until(common.body if two in common.body else common.orelse, two)
            case ast.While(test=test) if one is test:
                return two in common.body and self._certain(common) and self._until(common.body, two)
            case ast.AugAssign() if isinstance(one, ast.expr):  # of other statements what is bound comes last
                return one is common.target and self._always(common) and not self.changes(common)
            case ast.stmt() | ast.ExceptHandler():
                return self._in_block(common, one, two)
        return False

    def _rebound(self, node: ast.AST, one: ast.comprehension) -> bool:
        """Whether a later loop of a comprehension binds what the call depends on."""
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        after = generators[generators.index(one) + 1 :]
        return bool(stored(*(each.target for each in after)) & self.needed) or self.changes(
            *(condition for each in generators for condition in each.ifs)
        )

    def _in_block(self, common: ast.AST, one: ast.AST, two: ast.AST) -> bool:
        for block in (getattr(common, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and one in block and two in block:
                at, to = block.index(one), block.index(two)
                return at < to and self._ends(one) and self._until(block[at + 1 :], two)
        return False

    def _ends(self, statement: ast.AST) -> bool:
        """Whether a statement makes the call for certain, and changes nothing that it depends on."""
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.If):
            return False
        header = statement.test if isinstance(statement, ast.If) else None
        if header is not None and not any(each is self.first for each in ast.walk(header)):
            return False
        return self._always(statement) and not self.changes(statement)

    def _until(self, block: list[ast.stmt], two: ast.AST) -> bool:
        """Whether nothing changes in a block before `two` is reached, nor in it."""
        for each in block:
            if each is two:
                return not self.changes(*_ahead_of_changes(each))
            if self.changes(each):
                return False
        return False

    def _always(self, top: ast.AST) -> bool:
        """Whether the call is made whenever `top` runs."""
        return self._reached(top, conjunctions=False)

    def _certain(self, top: ast.AST) -> bool:
        """The same, where it is enough that it is made whenever a condition turns out to be true."""
        return self._reached(top, conjunctions=True)

    def _reached(self, top: ast.AST, conjunctions: bool) -> bool:
        child: ast.AST = self.first
        for each in self.around[1:]:
            if each is top:
                return True
            match each:
                case ast.BoolOp(op=op, values=values) if child is not values[0]:
                    above = self.subject.parents.get(id(each))
                    if not (conjunctions and isinstance(op, ast.And) and above is top):
                        return False
                case ast.IfExp(test=test) if child is not test:
                    return False
                case ast.Compare(comparators=[_, *more]) if child in more:
                    return False
                case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    return False
            child = each
        return False


def _ahead_of_changes(statement: ast.stmt) -> list[ast.AST]:
    """Nodes that a statement evaluates before it binds or changes anything; of one with a block all of it."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name()), args=args, keywords=keywords)):
            return [*args, *keywords]
        case ast.Assign(targets=[ast.Name()], value=value):
            return [value]
        case ast.AugAssign(target=ast.Name(), value=value):
            return [value]
    return [statement]


def _ahead(one: ast.AST, two: ast.AST) -> bool:
    places = [getattr(each, "value", each) if isinstance(each, ast.keyword) else each for each in (one, two)]
    first, second = ((getattr(each, "lineno", 0), getattr(each, "col_offset", 0)) for each in places)
    return first < second


def _in_source(subject: Subject, node: ast.AST) -> bool:
    """Whether it stands in what a comprehension goes through, where nothing can be named."""
    previous = node
    for each in subject.around(node):
        if isinstance(each, ast.comprehension) and previous is each.iter:
            return True
        previous = each
    return False


def _bound_once(subject: Subject, name: str) -> bool:
    bindings = [
        each
        for each in ast.walk(subject.node)
        if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
    ]
    return len(bindings) == 1 and name not in subject.shared and name not in subject.parameters


def _block(subject: Subject, statement: ast.stmt) -> list[ast.stmt]:
    """The block that holds a statement, or the one around it where it is an `elif`."""
    for block in subject.blocks():
        if any(each is statement for each in block):
            above = subject.parents[id(statement)]
            if isinstance(above, ast.If) and len(block) == 1 and above.orelse == block:
                return _block(subject, above)
            return block
    return [statement]


def _name(node: ast.Call) -> str:
    match node.func:
        case ast.Attribute(value=ast.Name(id=of), attr="split" | "splitlines" | "partition"):
            return f"{of}_parts"
        case ast.Attribute(attr=last) | ast.Name(id=last):
            return f"the_{last.lstrip('_')}"
    return "found"


RULE = Rule("once", "What was just computed is looked up; calling again does all the work again.", find)
