"""Which functions of a file change nothing and give the same again, as far as their text tells."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from bakeoff.optimize.source_code.definitions import Function, definitions
from bakeoff.optimize.sources.rules.facts.aliases import Aliases, changed_by
from bakeoff.optimize.sources.rules.facts.making import (
    CALM_MODULES,
    CALM_NAMES,
    CHANGING,
    FILLING,
    MAKING,
    MORE_METHODS,
    MUTATORS,
    fresh,
    is_number,
    is_plain,
    written_out,
)
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, stored

LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
QUICK = {
    "len", "abs", "int", "float", "ord", "chr", "isinstance", "bool", "get", "append", "lower", "upper", "strip", "add",
    "startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "sqrt", "divmod", "floor", "ceil", "tuple",
}  # fmt: skip
"""Calls that take no longer than looking something up."""
DECORATORS = {"staticmethod", "classmethod", "property", "functools.cache", "cache", "lru_cache", "functools.lru_cache"}


@dataclass(eq=False)
class Purity:
    """Purity of the functions of one file: what they do, by qualified name."""

    tree: ast.Module
    functions: dict[str, Function] = field(init=False)
    pure: set[str] = field(init=False)
    _writes: dict[str, set[str] | None] = field(default_factory=dict)
    _own: dict[Function, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = {name: node for name, node, _ in definitions(self.tree)}
        # At first all are taken for pure, so that those which call each other can be; then what is not goes.
        self.pure = {name for name, node in self.functions.items() if _plain(node)}
        while impure := {name for name in self.pure if not self._is_pure(name)}:
            self.pure -= impure
            self._writes.clear()

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes of the module, by name."""
        return {each.name: each for each in self.tree.body if isinstance(each, ast.ClassDef)}

    @cached_property
    def methods(self) -> dict[str, list[str]]:
        """Qualified names of the methods of each name."""
        found: dict[str, list[str]] = {}
        for name in self.functions:
            if "." in name:
                found.setdefault(name.rpartition(".")[2], []).append(name)
        return found

    def called(self, call: ast.Call, home: str) -> list[str]:
        """Functions of the file that a call in a function of the class `home` may mean; none: it is another's."""
        match call.func:
            case ast.Name(id=name) if name in self.functions:
                return [name]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if f"{home}.{attr}" in self.functions:
                return [f"{home}.{attr}"]
            case ast.Attribute(value=ast.Constant() | ast.JoinedStr() | ast.List() | ast.ListComp()):
                return []  # `", ".join(...)`
            case ast.Attribute(attr=attr):
                return self.methods.get(attr, [])
        return []

    def changes(self, nodes: Sequence[ast.AST], function: Function, home: str) -> set[str] | None:
        """Side effects of a piece of a function: names, and `self.x` of its object; None: it may do anything."""
        own = self.own(function)
        parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        local = stored(*function.body) | parameters
        written = written_out(function)
        found: set[str] = set()
        for top in nodes:
            for node in ast.walk(top):
                root: str | None = None
                match node:
                    case ast.Global() | ast.Nonlocal() | ast.Import() | ast.ImportFrom() | ast.With() | ast.AsyncWith():
                        return None
                    case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                        root = _root(node)
                    case ast.AugAssign(target=ast.Name(id=name), value=value) if name not in own:
                        if isinstance(value, ast.Constant) or is_number(value) or name in written:
                            continue
                        root = name
                    case ast.Call(
                        func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="heapq" | "bisect"), attr=name)
                    ) if name in FILLING and node.args:
                        root = _root(node.args[0])
                    case ast.Call() if (method := self.own_method(node, home)) and method not in self.pure:
                        theirs = self.writes(method)
                        if theirs is None:
                            return None
                        found |= theirs
                        continue
                    case ast.Call() if not self.calm_call(node, home, local):
                        if not isinstance(node.func, ast.Attribute) or node.func.attr in self.methods:
                            return None
                        if node.func.attr not in MUTATORS or (home and ast.unparse(node.func.value) == "self"):
                            return None
                        root = _root(node.func)
                    case ast.Yield() | ast.YieldFrom() | ast.Await():
                        return None
                    case _:
                        continue
                if root is None or root not in own | parameters:
                    return None
                found.add(self._part(node, root) if root == "self" and home else root)
        return found

    def own(self, function: Function) -> set[str]:
        """Locals that hold what the function made itself."""
        if function not in self._own:
            self._own[function] = fresh(function, self.classes)
        return self._own[function]

    def own_method(self, call: ast.Call, home: str) -> str | None:
        """The method of its own object that a call means, where no other class of the file has one of that name."""
        match call.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if self.methods.get(attr) == [f"{home}.{attr}"]:
                return f"{home}.{attr}"
        return None

    def writes(self, name: str) -> set[str] | None:
        """Attributes of its own object that a method changes, as `self.x`; None: it may change anything."""
        if name not in self._writes:
            self._writes[name] = set()  # as long as it is not known, for those that call each other
            node, home = self.functions[name], name.rpartition(".")[0]
            changed = None if node.decorator_list or self._reaches_given(name) else self.changes(node.body, node, home)
            own = set() if changed is None else changed - fresh(node, self.classes)
            known = changed is not None and all(each.startswith("self.") for each in own)
            self._writes[name] = own if known else None
        return self._writes[name]

    def reads(self, name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        """Attributes of its own object that a function looks at, as `self.x`; `self.*` stands for all."""
        if name in seen:
            return set()
        return self.reads_of(self.functions[name].body, name.rpartition(".")[0], seen | {name})

    def reads_of(self, nodes: Sequence[ast.AST], home: str, seen: frozenset[str] = frozenset()) -> set[str]:
        """The same of a piece of a function."""
        found: set[str] = set()
        every = [each for top in nodes for each in ast.walk(top)]
        attributes = set()
        for node in every:
            match node:
                case ast.Attribute(value=ast.Name(id="self") as own, attr=attr):
                    attributes.add(id(own))
                    method = f"{home}.{attr}"
                    found |= self.reads(method, seen) if method in self.functions else {f"self.{attr}"}
        own_names = (each for each in every if isinstance(each, ast.Name) and each.id == "self")
        return found if all(id(each) in attributes for each in own_names) else found | {"self.*"}

    def _part(self, node: ast.AST, root: str) -> str:
        """`self.x` of `self.x.y[0]`."""
        inner: ast.AST = node.func if isinstance(node, ast.Call) else node
        while isinstance(inner, ast.Attribute | ast.Subscript):
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                return f"{root}.{inner.attr}"
            inner = inner.value
        return f"{root}.*"

    def calm_call(self, call: ast.Call, home: str, local: set[str]) -> bool:
        """Whether what is called changes nothing."""
        theirs = self.called(call, home)
        if theirs:
            return all(each in self.pure for each in theirs)
        match call.func:
            case ast.Name(id=name) if name in self.classes:
                return self._makes(self.classes[name])
            case ast.Name(id=name) if name not in local:
                value = getattr(builtins, name, None)
                error = isinstance(value, type) and issubclass(value, BaseException)
                return name in CALM_NAMES or error or name.endswith(("Error", "Exception"))
            case ast.Attribute(value=ast.Name(id=module), attr=attr) if module in CALM_MODULES:
                return attr not in CHANGING
            case ast.Attribute(value=ast.Name(id="datetime" | "decimal" | "fractions" | "collections"), attr=attr):
                return attr in MORE_METHODS | CALM_NAMES
            case ast.Attribute(value=ast.Name(id="dict" | "str" | "int" | "float")):
                return True
            case ast.Attribute(attr=attr):
                return attr in MORE_METHODS
        return False

    def makes_new(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a function gives a list, set, dict or object that it makes, so that no two calls may share it."""
        node, home = self.functions[name], name.rpartition(".")[0]
        if name in seen:
            return False
        own = {each for each in fresh(node, self.classes) if not is_plain(node, each)}

        def new(value: ast.expr | None) -> bool:
            match value:
                case ast.List() | ast.ListComp() | ast.Set() | ast.SetComp() | ast.Dict() | ast.DictComp():
                    return True
                case ast.GeneratorExp():
                    return True
                case ast.Name(id=found):
                    return found in own
                case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
                    return any(map(new, parts))
                case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
                    return new(one) or new(other)
                case ast.Call(func=ast.Name(id=called)) if called in MAKING or called in self.classes:
                    return True
                case ast.Call(func=ast.Attribute(attr="split" | "copy" | "splitlines" | "findall")):
                    return True
                case ast.Call():
                    return any(self.makes_new(each, seen | {name}) for each in self.called(value, home))
            return False

        return any(new(each.value) for each in ast.walk(node) if isinstance(each, ast.Return))

    def works(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a function does clearly more than it costs to look its result up."""
        node, home = self.functions[name], name.rpartition(".")[0]
        if name in seen or any(isinstance(each, LOOPS) for each in ast.walk(node)):
            return True  # what calls itself does, too
        calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
        if len(calls) > 2:
            return True
        for call in calls:
            called = self.called(call, home)
            if any(self.works(each, seen | {name}) for each in called):
                return True
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
            if not called and last not in QUICK:
                return True
        return False

    def _is_pure(self, name: str) -> bool:
        node, home = self.functions[name], name.rpartition(".")[0]
        changed = self.changes(node.body, node, home)
        if changed is None:
            return False
        making, own = name.endswith(".__init__"), self.own(node)
        alone = all(each in own or (making and each.startswith("self.")) for each in changed)
        return alone and not self._reaches_given(name)

    def _reaches_given(self, name: str) -> bool:
        """Whether a function may change what others hold through a container of its own: a copy has their items."""
        node, home = self.functions[name], name.rpartition(".")[0]
        own, local = self.own(node), stored(*node.body)

        def calm(call: ast.Call) -> bool:
            return not self.called(call, home) and self.calm_call(call, home, local)

        changed = [each for each in changed_by(node, calm) if not isinstance(each, ast.Name) and _root(each) in own]
        outside = [each for each in self.tree.body if isinstance(each, ast.Assign | ast.AnnAssign)]
        given = stored(*outside) | {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        return bool(changed) and Aliases(node, given, calm, lambda _: False).given(changed)

    def _makes(self, owner: ast.ClassDef) -> bool:
        """Whether making an object of a class does nothing but that."""
        usual = {"object", "NamedTuple", "Exception", "ValueError", "str", "Enum"}
        if any(not isinstance(each, ast.Name) or each.id not in usual | set(self.classes) for each in owner.bases):
            return False
        inits = [f"{owner.name}.{each}" for each in ("__init__", "__post_init__", "__new__")]
        return all(each in self.pure for each in inits if each in self.functions) and not owner.keywords


def touched(changed: set[str] | None, needed: set[str]) -> bool:
    """Whether a change may concern what is needed."""
    if changed is None:
        return True
    parts = {each for each in changed if each.startswith("self.")}
    return bool(changed & needed) or (
        bool(parts) and ("self.*" in needed or ("self.*" in parts and any(each.startswith("self.") for each in needed)))
    )


def _plain(node: Function) -> bool:
    if isinstance(node, ast.AsyncFunctionDef):
        return False
    decorators = {ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}
    return decorators <= DECORATORS and not any(isinstance(each, SUSPENDS) for each in ast.walk(node))


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


@lru_cache(maxsize=8)
def purity_of(text: str) -> Purity:
    """Purity of the functions of a file: what they do. Passes on SyntaxError."""
    return Purity(ast.parse(text))
