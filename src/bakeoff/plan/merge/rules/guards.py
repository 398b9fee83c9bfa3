"""Guards over a merged text: nothing is lost or invented, and every name still means something."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bakeoff.plan.merge.rules.node import UndecidedError

_WORD = re.compile(r"\w+")


def check_words(versions: Sequence[str], merged: str) -> None:
    """Refuse a text that has a word more often, or less often, than the changes of both sides can account for.

    Raises:
        UndecidedError: it has.
    """
    old, our, their, now = (Counter(_WORD.findall(text)) for text in (*versions, merged))
    for word in old.keys() | our.keys() | their.keys() | now.keys():
        both = our[word] + their[word] - old[word]
        if not min(our[word], their[word], both) <= now[word] <= max(our[word], their[word], both):
            raise UndecidedError


def check_python(versions: Sequence[str], merged: str) -> None:
    """Refuse Python that uses what one side took away, or cannot be parsed.

    That is: a name or an attribute that nothing defines, where no side used it so; a function that one side gave other
    parameters and the other one calls once more; a module from a package of which one side imports nothing any more.
    Versions that are no Python of today are not looked into, if both sides are none.

    Raises:
        UndecidedError: as said.
    """
    trees = [_tree(text) for text in (*versions, merged)]
    if trees[1] is None and trees[2] is None:
        return
    facts = [
        Facts() if tree is None else facts_of(tree, text) for tree, text in zip(trees, (*versions, merged), strict=True)
    ]
    if None in trees[1:]:
        raise UndecidedError
    old, our, their, now = facts
    if now.undefined - our.undefined - their.undefined or now.missing - our.missing - their.missing:
        raise UndecidedError
    for one, other in ((our, their), (their, our)):
        for name, parameters in one.parameters.items():
            if parameters != old.parameters.get(name, parameters) and other.calls[name] > old.calls[name]:
                raise UndecidedError
        added = other.modules - old.modules
        left = {_package(module) for module in old.modules} - {_package(module) for module in one.modules}
        if old.modules and any(_package(module) in left for module in added if _package(module)):
            raise UndecidedError


def _package(module: str) -> str:
    return module.rpartition(".")[0]


@dataclass(slots=True)
class Facts:
    """What a module defines and uses.

    Attributes:
        undefined: names that are looked up in the module and are not bound there.
        missing: attributes that are read and that nothing in the module sets or defines.
        parameters: those of each function that is defined once, by its name.
        calls: how often something of a name is called.
        modules: those that it imports from, dots included.
    """

    undefined: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    parameters: dict[str, str] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    modules: set[str] = field(default_factory=set)


def facts_of(tree: ast.Module, text: str) -> Facts:
    """The facts of a module. Raises UndecidedError: no table of its symbols can be made."""
    facts = Facts(undefined=_undefined(text))
    read: set[str] = set()
    bound: set[str] = set()
    twice: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()):
                read.add(name)
            case ast.Attribute(attr=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
                twice |= {name} if name in facts.parameters else set()
                facts.parameters[name] = ast.dump(node.args)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                facts.calls[name] += 1
            case ast.ImportFrom():
                facts.modules.add("." * node.level + (node.module or ""))
            case ast.alias(name=name):
                bound.add(node.asname or name)
    facts.missing = read - bound
    facts.parameters = {name: said for name, said in facts.parameters.items() if name not in twice}
    return facts


def _tree(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _undefined(text: str) -> set[str]:
    """Names that are looked up in the module and are not bound there.

    Raises:
        UndecidedError: no symbols can be made.
    """
    try:
        top = symtable.symtable(text, "merged", "exec")
    except (SyntaxError, ValueError, RecursionError):
        raise UndecidedError from None
    bound, used = set(), set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            name = symbol.get_name()
            here = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if here and (table is top or symbol.is_declared_global()):
                bound.add(name)
            if symbol.is_referenced() and (symbol.is_global() or table is top):
                used.add(name)
    return used - bound - set(dir(builtins)) - {"__file__", "__name__", "__path__", "__doc__", "__spec__"}
