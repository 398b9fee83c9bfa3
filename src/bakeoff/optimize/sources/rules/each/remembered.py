"""Memo in a loop: what a function of the project gives is remembered, for as long as the outer call lasts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, repeated
from bakeoff.optimize.sources.rules.facts.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.facts.purity import touched
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SCOPES, stored, without_docstring
from bakeoff.optimize.sources.rules.guards import plain
from bakeoff.optimize.sources.rules.hoisting import shareable
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.support import NODES

QUICK_MODULES = {"itertools", "math", "operator"}
"""Modules whose functions are as fast as a look-up, or give something new each time."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    found: dict[tuple[str, int], list[ast.Call]] = {}
    rest = without_docstring(subject.node)
    for node in (each for top in rest for each in ast.walk(top)):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as function, args=[_, *_] as arguments, keywords=[]):
                inner = any(isinstance(each, SCOPES) and each is not subject.node for each in subject.around(node))
                if inner or in_text(subject, node) or not repeated(subject, node):
                    continue
                keys = all(_may_be_key(subject, each) for each in arguments)
                if keys and _is_function(subject, function) and _fits(subject, node):
                    found.setdefault((ast.unparse(function), len(arguments)), []).append(node)
    for (name, _), calls in found.items():
        last = name.rpartition(".")[2]
        local, memo = subject.fresh(f"{last}_once"), subject.fresh(f"{last}_memo")
        text = subject.statements(rest, {id(call.func): local for call in calls})
        once = _once(subject, calls, local, memo, name)
        yield Rewrite([(rest, f"{memo} = {{}}\n{once}\n{text}")], assumes=["pure"])


def _once(subject: Subject, calls: list[ast.Call], local: str, memo: str, function: str) -> str:
    """A function that looks results up; a dict costs less than `functools.cache` where little is asked for."""
    count = len(calls[0].args)
    names = ["arg"] if count == 1 else [f"arg_{at}" for at in range(count)]
    given = ", ".join(names)
    key = given if count == 1 else f"({given})"
    condition = plain(subject, {name: [call.args[at] for call in calls] for at, name in enumerate(names)})
    lines = [f"if {key} not in {memo}:", f"    {memo}[{key}] = {function}({given})", f"return {memo}[{key}]"]
    if condition:
        lines[:0] = [f"if not ({condition}):", f"    return {function}({given})"]
    return f"def {local}({given}):\n    " + "\n    ".join(lines)


def _is_function(subject: Subject, function: ast.expr) -> bool:
    """Whether this names a function of the file or of a module, or a method of its own object, but no class."""
    path = ast.unparse(function).split(".")
    root, last = path[0], path[-1]
    if not all(part.isidentifier() for part in path) or not last.lstrip("_")[:1].islower():
        return False
    if root in QUICK_MODULES or last == subject.node.name:
        return False
    own = subject.parameters[0] if subject.definition.is_method and subject.parameters else None
    if len(path) == 2 and root == own:
        return root not in stored(*subject.node.body)
    return root not in subject.local and root in _known(subject)


def _fits(subject: Subject, call: ast.Call) -> bool:
    """Whether what is called changes nothing, does more than a look-up, and may give the same object again."""
    purity = subject.purity
    if not subject.calm_call(call) or not shareable(subject, call):
        return False
    for name in purity.called(call, subject.home):
        if name in NODES or not purity.works(name):
            return False
        needed = purity.reads(name)
        if needed and touched(subject.changes(*subject.node.body), needed):
            return False
    return True


def _known(subject: Subject) -> set[str]:
    """Functions that the file defines, and what it imports."""
    found: set[str] = set()
    for statement in subject.definition.file.tree.body:
        match statement:
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(alias.asname or alias.name).partition(".")[0] for alias in names}
    return found


def _may_be_key(subject: Subject, argument: ast.expr) -> bool:
    shown = ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
    return not isinstance(argument, ast.Starred | shown) and base(subject.kind(argument)) not in UNHASHABLE


WHY = "What a function gave for the same arguments is looked up in place of computed again."
RULE = Rule("remember", WHY, find, gamble=True)
