"""Memo in a loop: what a function of the project gives is remembered, for as long as the outer call lasts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.looking import assignment, stored
from bakeoff.optimize.sources.rules.purity import touched
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject
from bakeoff.optimize.sources.rules.traits import shows_type

CHANGING = {
    "asyncio", "glob", "io", "itertools", "logging", "log", "logger", "math", "operator", "os", "pathlib", "random",
    "secrets", "shutil", "socket", "subprocess", "sys", "threading", "time", "uuid",
}  # fmt: skip
"""Modules whose functions do something, give something else each time, or are as fast as a look-up."""
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    found: dict[str, list[ast.Call]] = {}
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as function, args=[_, *_] as arguments, keywords=[]):
                fits = _is_function(subject, function) and _in_loop(subject, node) and not in_text(subject, node)
                if fits and all(_may_be_key(subject, each) for each in arguments) and _fits(subject, node):
                    found.setdefault(ast.unparse(function), []).append(node)
    body = subject.node.body
    doc = body[0] if ast.get_docstring(subject.node, clean=False) is not None else None
    rest = body[1:] if doc is not None else body
    if not rest:
        return
    for name, calls in found.items():
        last = name.rpartition(".")[2]
        local, memo = subject.fresh(f"{last}_once"), subject.fresh(f"{last}_memo")
        text = subject.statements(rest, {id(call.func): local for call in calls})
        head = f"{memo} = {{}}"
        if (
            name.partition(".")[0] in subject.parameters
        ):  # what a closure reads is slower for everybody, and others stop at it
            original = subject.fresh(last)
            head, name = f"{original}, {memo} = {name}, {{}}", original
        yield rewrite(
            (rest, f"{head}\n{_once(subject, calls, local, memo, name)}\n{text}"), assumes=("pure", "hashable")
        )


def _once(subject: Subject, calls: list[ast.Call], local: str, memo: str, function: str) -> str:
    """A function that looks results up; a dict costs less than `functools.cache` where little is asked for."""
    many = {len(call.args) for call in calls}
    names = ["arg"] if many == {1} else [f"arg_{at}" for at in range(min(many))]
    given, key = ", ".join(names), names[0] if many == {1} else f"({', '.join(names)})"
    shown = _shown(subject, calls[0])
    if len(many) > 1:
        given, key = "*args", "(args, *map(type, args))" if shown else "args"
    elif shown:
        key = f"({given}, {', '.join(f'type({each})' for each in names)})"
    lines = [f"if {key} not in {memo}:", f"    {memo}[{key}] = {function}({given})", f"return {memo}[{key}]"]
    if shown:
        lines = [f"key = {key}", *(line.replace(key, "key") for line in lines)]
    return f"def {local}({given}):\n    " + "\n    ".join(lines)


def _shown(subject: Subject, call: ast.Call) -> bool:
    """Whether 1 and 1.0 may give something else, although they are equal."""
    called = [subject.purity.functions[name] for name in subject.purity.called(call, subject.home)]
    return any(shows_type(each, argument.arg) for each in called for argument in each.args.args)


def _is_function(subject: Subject, function: ast.expr) -> bool:
    """Whether this names a function of the file or of a module, or a method of its own object, but no class."""
    path = ast.unparse(function).split(".")
    root, last = path[0], path[-1]
    if not all(part.isidentifier() for part in path) or not last.lstrip("_")[:1].islower() or last in NOISY:
        return False
    if root in CHANGING or last == subject.node.name:
        return False
    own = subject.parameters[0] if subject.definition.is_method and subject.parameters else None
    if len(path) == 2 and root == own:
        return root not in stored(*subject.node.body)
    if root in subject.local:
        return False
    return root in _known(subject)


def _fits(subject: Subject, call: ast.Call) -> bool:
    """Whether a function of the file is not seen to change something, nor to use what it is given as no keys."""
    for name in subject.purity.called(call, subject.home):
        if subject.purity.takes_containers(name, len(call.args)) or subject.purity.writes(name):
            return False
        if name in subject.purity.pure and not subject.purity.works(name):
            return False
        if name not in subject.purity.pure:
            continue  # nothing is known of it: the tests tell
        needed = subject.purity.reads(name)
        if needed and touched(subject.changes(*subject.node.body), needed):
            return False
    return True


NOISY = {"print", "input", "open", "next", "send", "append", "write", "now", "today", "utcnow"}


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


def _in_loop(subject: Subject, node: ast.AST) -> bool:
    previous: ast.AST = node
    for each in subject.around(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
        if isinstance(each, LOOPS) and not (isinstance(each, ast.For) and previous is each.iter):
            return True
        previous = each
    return False


def _may_be_key(subject: Subject, argument: ast.expr) -> bool:
    shown = ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
    if isinstance(argument, ast.Starred | shown):
        return False
    if isinstance(argument, ast.Name) and _made(subject, argument.id):
        return False
    return base(subject.kind(argument)) not in UNHASHABLE


def _made(subject: Subject, name: str) -> bool:
    """Whether a local holds what a function of the file made anew: a list, as a rule."""
    for statement in ast.walk(subject.node):
        found = assignment(statement)
        if found is not None and found[0] == name and isinstance(found[1], ast.Call):
            called = subject.purity.called(found[1], subject.home)
            if any(subject.purity.makes_new(each) for each in called):
                return True
    return False


RULE = Rule(
    "remember",
    "What a function gave for the same arguments is looked up in place of computed again.",
    find,
    gamble=True,
)
