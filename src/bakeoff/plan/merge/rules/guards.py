"""Guards over a merged text: nothing is lost or invented, and every name still means something."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from bakeoff.plan.merge.rules.node import Node, UndecidedError
from bakeoff.plan.merge.rules.origins import Origin, check_origins, origins_of

_KNOWN = {*dir(builtins), "__file__", "__name__", "__path__", "__doc__", "__spec__"}

_WORD = re.compile(r"\w+")


def check_words(versions: Sequence[str], merged: str) -> None:
    """Refuse a text that has a word more often, or less often, than the changes of both sides can account for.

    What both did alike, by whole lines or with the same word, may be there once or twice.

    Raises:
        UndecidedError: it has.
    """
    old, our, their, now = (Counter(_WORD.findall(text)) for text in (*versions, merged))
    lines = [Counter(map(str.strip, text.splitlines())) for text in versions]
    added = _words_of((lines[1] - lines[0]) & (lines[2] - lines[0]))
    gone = _words_of((lines[0] - lines[1]) & (lines[0] - lines[2]))
    for word in (old.keys() | our.keys() | their.keys() | now.keys()) - {"from", "import"}:
        both = our[word] + their[word] - old[word]
        counts = {both - added[word], both + gone[word]}
        if old[word] not in (our[word], their[word]):
            counts |= {our[word], their[word]}
        if not min(counts) <= now[word] <= max(counts):
            raise UndecidedError


def _words_of(lines: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for line, count in lines.items():
        for word in _WORD.findall(line):
            found[word] += count
    return found


def check_python(versions: Sequence[Node], merged: Node) -> Iterator[str]:
    """Refuse Python that uses what one side took away, or cannot be parsed; what was chosen all the same, in words.

    That is: a name or an attribute that nothing defines, where no side used it so; a function that one side gave other
    parameters and the other one calls once more; a module from a package of which one side imports nothing any more;
    a name that has one meaning from each side.
    Versions that are no Python of today are not looked into, if both sides are none.

    Raises:
        UndecidedError: as said.
    """
    facts = [facts_of(module) for module in (*versions, merged)]
    if facts[1].unreadable and facts[2].unreadable:
        yield "no Python of today: what it uses is taken as defined"
        return
    if any(each.unreadable for each in facts[1:]):
        raise UndecidedError
    old, our, their, now = facts
    check_origins(our.origins, their.origins, now.origins)
    if now.undefined - our.undefined - their.undefined or now.missing - our.missing - their.missing:
        raise UndecidedError
    for one, other in ((our, their), (their, our)):
        _check_parameters(old, one, other)
        stale = [word for word in old.words if not one.words[word] and other.words[word] > old.words[word]]
        if any(now.words[word] for word in stale):
            yield f"one side left `{min(stale)}`, the other uses it once more: taken as if it may"
        added = other.modules - old.modules
        left = {_package(module) for module in old.modules} - {_package(module) for module in one.modules}
        if old.modules and any(_package(module) in left for module in added if _package(module)):
            raise UndecidedError


def _check_parameters(old: Facts, one: Facts, other: Facts) -> None:
    """Refuse a function that one side gave other parameters, wherever it is defined, if the other calls it once more.

    Raises:
        UndecidedError: there is one.
    """
    for name, was in old.parameters.items():
        now = one.parameters.get(name)
        if now and not was & now and other.calls[name] > old.calls[name]:
            raise UndecidedError


def _package(module: str) -> str:
    return module.rpartition(".")[0]


@dataclass(slots=True)
class Facts:
    """What a module, or a statement at its top, defines and uses.

    Attributes:
        bound, used: names that it binds at the top, and those that are looked up there.
        attributes, read: attributes and names that something in it sets or defines, and attributes that it reads.
        parameters: of each function, by its name: all that it is defined with.
        calls: how often something of a name is called.
        words: how often it uses a name, an attribute or a parameter.
        modules: those that it imports from, dots included.
        origins: names that are bound at the top, each with what it comes from.
        unreadable: whether it is no Python of today.
    """

    bound: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    parameters: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    calls: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    modules: set[str] = field(default_factory=set)
    origins: set[Origin] = field(default_factory=set)
    unreadable: bool = False

    @property
    def undefined(self) -> set[str]:
        """Names that are looked up and not bound."""
        return self.used - self.bound - _KNOWN

    @property
    def missing(self) -> set[str]:
        """Attributes that are read, and that nothing in it sets or defines."""
        return self.read - self.attributes


def facts_of(module: Node) -> Facts:
    """The facts of a module."""
    facts = Facts()
    for node in module.body or ():
        if node.kind in ("comment", "stray", "end"):
            continue
        part = _facts_of(node.said(""))
        facts.bound |= part.bound
        facts.used |= part.used
        facts.attributes |= part.attributes
        facts.read |= part.read
        for name, parameters in part.parameters.items():
            facts.parameters[name] |= parameters
        facts.calls.update(part.calls)
        facts.words.update(part.words)
        facts.modules |= part.modules
        facts.origins |= part.origins
        facts.unreadable |= part.unreadable
    return facts


@lru_cache(maxsize=4096)
def _facts_of(text: str) -> Facts:
    """The facts of one statement at the top; most stand in all versions."""
    facts = Facts()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            _look_up(symtable.symtable(text, "merged", "exec"), facts)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Facts(unreadable=True)
    facts.origins |= set(origins_of(tree.body))
    for node in ast.walk(tree):
        facts.words.update(_words_used(node))
        match node:
            case ast.Attribute(attr=name):
                (facts.read if isinstance(node.ctx, ast.Load) else facts.attributes).add(name)
            case ast.Name(id=name):
                facts.attributes |= {name} if isinstance(node.ctx, ast.Store) else set()
            case ast.ClassDef(name=name):
                facts.attributes.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                facts.attributes.add(name)
                facts.parameters[name].add(ast.dump(node.args))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                facts.calls[name] += 1
            case ast.ImportFrom():
                facts.modules.add("." * node.level + (node.module or ""))
            case ast.alias(name=name):
                facts.attributes.add(node.asname or name)
    return facts


def _words_used(node: ast.AST) -> list[str]:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            return [name]
    return []


def _look_up(top: symtable.SymbolTable, facts: Facts) -> None:
    """Names that are bound at the top, and those that are looked up there."""
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            name = symbol.get_name()
            here = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if here and (table is top or symbol.is_declared_global()):
                facts.bound.add(name)
            if symbol.is_referenced() and (symbol.is_global() or table is top):
                facts.used.add(name)
