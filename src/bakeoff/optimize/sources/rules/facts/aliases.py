"""Alias analysis, Steensgaard's: which names of a function may hold one object, or what lies in it.

Names and what lies in them are classes of a union-find: an assignment makes one of two. What callers hand over may be
one object, and so may all that lies in it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from bakeoff.optimize.source_code.definitions import Function
from bakeoff.optimize.sources.rules.facts.making import FILLING, MUTATORS, is_number, renewed
from bakeoff.optimize.sources.rules.facts.syntax import TEXTS_METHODS, names_in

GIVEN, IN_GIVEN = "*", "*in"
"""What callers hold, and what lies in it."""
PLAIN = TEXTS_METHODS | {
    "len", "int", "float", "str", "bool", "repr", "ord", "chr", "abs", "hash", "isinstance", "any", "all", "range",
    "round", "divmod", "hex", "bin", "print", "join", "format", "count", "index", "find", "startswith", "endswith",
    "deepcopy",
}  # fmt: skip
"""Functions and methods whose results hold nothing that others hold, too, and that can change."""
COPIES = {"list", "tuple", "set", "frozenset", "sorted", "dict", "reversed", "iter", "deque", "copy", "values", "keys"}
PAIRS = {"zip", "enumerate", "items"}
ADDING = FILLING | {"append", "add", "insert", "appendleft", "setdefault"}
TAKING = {"get", "next", "max", "min", "sum"}


class Aliases:
    """Aliases among the names of one function.

    Args:
        function: it.
        given: its parameters that may hold what can change.
        calm: whether a call keeps nothing of what it is given.
        plain: whether what an expression gives surely never changes.
    """

    def __init__(
        self,
        function: Function,
        given: Iterable[str],
        calm: Callable[[ast.Call], bool],
        plain: Callable[[ast.expr], bool],
    ) -> None:
        self._calm, self._plain = calm, plain
        self._above: dict[str, str] = {}
        self._inside: dict[str, str] = {IN_GIVEN: IN_GIVEN, GIVEN: IN_GIVEN}
        new = list(renewed(function))
        self._old = {id(each) for name, value in new for each in ast.walk(value) if getattr(each, "id", "") == name}
        self._unite([GIVEN, *({*given} - {name for name, _ in new})])
        self._names = names_in(function)
        for node in ast.walk(function):
            self._flow(node)

    def changed(self, names: Iterable[str], *nodes: ast.AST, deep: bool = False) -> bool:
        """Whether a piece may change, by any name, what these names hold; `deep`: or what lies in it."""
        return self._held_by((each for node in nodes for each in changed_by(node, self._calm)), names, deep)

    def given(self, nodes: Iterable[ast.expr]) -> bool:
        """Whether one of these expressions may give what callers hold, or what lies in it."""
        return self._held_by(nodes, [GIVEN], deep=True)

    def _held_by(self, nodes: Iterable[ast.expr], names: Iterable[str], deep: bool) -> bool:
        sought: set[str] = set()
        waiting = [self._find(each) for each in names]
        while waiting:
            if (one := self._find(waiting.pop())) not in sought:
                sought.add(one)
                waiting += [self._inside[one]] if deep and one in self._inside else []
        return any(self._find(key) in sought for each in nodes for key in self._held(each))

    def alone(self, name: str) -> bool:
        """Whether no other name, and nothing that anything else holds, may be what a name holds."""
        mine = self._find(name)
        inside = any(self._find(each) == mine for each in self._inside.values())
        return not inside and all(self._find(each) != mine for each in (GIVEN, *(self._names - {name})))

    def _find(self, key: str) -> str:
        while (above := self._above.get(key, key)) != key:
            key = above
        return key

    def _part(self, key: str) -> str:
        """What lies in an object."""
        root = self._find(key)
        return self._find(self._inside.setdefault(root, f"{root}*"))

    def _unite(self, keys: Iterable[str]) -> None:
        first, *others = keys
        for other in others:
            one, two = self._find(first), self._find(other)
            if one != two:
                self._above[two] = one
                inner = self._inside.pop(two, None)
                if inner is not None:
                    self._unite([self._inside.setdefault(one, inner), inner])

    def _flow(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, self._held(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, self._held(value))
            case ast.AugAssign(target=target, value=value):
                inner = [self._part(each) for each in self._held(value)]
                for key in self._held(target):
                    self._unite([self._part(key), *inner])
            case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
                self._bind(target, [self._part(each) for each in self._held(source)])
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._bind(target, [GIVEN, *self._held(value)])
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                self._unite([GIVEN, *self._held(value)])
            case ast.Call():
                self._held(node)

    def _bind(self, target: ast.expr, keys: list[str]) -> None:
        match target:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for each in elts:
                    self._bind(each, [self._part(key) for key in keys])
            case ast.Starred(value=value):
                self._bind(value, keys)
            case ast.Name(id=name):
                self._unite([name, *keys])
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                for key in self._held(value):
                    self._unite([self._part(key), *keys])

    def _held(self, node: ast.expr) -> list[str]:
        """The classes of what an expression may give."""
        match node:
            case ast.Name(id=name):
                return [GIVEN if id(node) in self._old else name]
            case ast.Subscript(value=value, slice=ast.Slice()) | ast.Starred(value=value):
                return [self._new(node, [self._part(each) for each in self._held(value)])]
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return [self._part(each) for each in self._held(value)]
            case ast.IfExp(body=body, orelse=orelse):
                return [*self._held(body), *self._held(orelse)]
            case ast.BoolOp(values=values):
                return [key for each in values for key in self._held(each)]
            case ast.NamedExpr(value=value):
                return self._held(value)
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                return [self._new(node, [key for each in elts for key in self._held(each)])]
            case ast.Dict(keys=names, values=values):
                parts = [each for each in (*names, *values) if each is not None]
                return [self._new(node, [key for each in parts for key in self._held(each)])]
            case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt):
                return [self._new(node, self._held(elt))]
            case ast.DictComp(key=key, value=value):
                return [self._new(node, [*self._held(key), *self._held(value)])]
            case ast.BinOp(left=left, right=right):
                return [self._new(node, [self._part(each) for side in (left, right) for each in self._held(side)])]
            case ast.Call():
                return self._given_by(node)
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return [GIVEN]
        return []

    def _given_by(self, call: ast.Call) -> list[str]:
        owner = self._held(call.func.value) if isinstance(call.func, ast.Attribute) else []
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        values = [key for each in (*call.args, *(each.value for each in call.keywords)) for key in self._held(each)]
        if name in PLAIN:
            return []
        if name in MUTATORS | FILLING:
            into, added = (owner, values) if owner and name not in FILLING else (values[:1], values[1:])
            kept = added if name in ADDING else [self._part(each) for each in added]
            for key in into:
                self._unite([self._part(key), *kept])
            return [*(self._part(key) for key in into), *added]
        inner = [self._part(each) for each in (*owner, *values)]
        if name in COPIES:
            return [self._new(call, inner)]
        if name in PAIRS:
            return [self._new(call, [self._new(call.func, inner)])]
        if name in TAKING:
            return [*inner, *(values if owner or len(call.args) > 1 else ())]
        every = [*owner, *values, *([] if self._calm(call) else [GIVEN])]
        if self._plain(call) or not every:
            return []
        self._unite([*every, *inner])
        return every

    def _new(self, node: ast.expr, parts: list[str]) -> str:
        """The class of an object that an expression makes, in which these lie."""
        key = str(id(node))
        if parts:
            self._unite([self._part(key), *parts])
        return key


def changed_by(top: ast.AST, calm: Callable[[ast.Call], bool]) -> Iterator[ast.expr]:
    """What a piece changes by storing to it, or by a method; `calm`: whether what is called changes nothing."""
    for node in ast.walk(top):
        match node:
            case ast.Attribute(value, ctx=ctx) | ast.Subscript(value, ctx=ctx) if not isinstance(ctx, ast.Load):
                yield value
            case ast.AugAssign(target=target, value=value) if not (isinstance(value, ast.Constant) or is_number(value)):
                yield target
            case ast.Call(func=ast.Attribute(value=ast.Name(id="heapq" | "bisect")), args=[first, *_]):
                yield first
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in FILLING:
                yield first
            case ast.Call(func=ast.Attribute(value=value)) if not calm(node):
                yield value
