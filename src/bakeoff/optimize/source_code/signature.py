"""Signature compatibility: whoever calls a definition can call another one in its place."""

from __future__ import annotations

import ast

from bakeoff.optimize.errors import InvalidCandidateError
from bakeoff.optimize.source_code.definitions import Function


def check_signature(old: Function, new: Function) -> None:
    """See that every call that `old` takes is taken by `new`, with the same meaning.

    Allowed are other annotations, further parameters with defaults behind the old ones, and other names of
    positional-only parameters. Not allowed are other names, kinds, order or defaults of what there is, and a change
    between `def` and `async def`.

    Raises:
        InvalidCandidateError: says what differs.
    """
    if type(old) is not type(new):
        kinds = ["async def" if isinstance(each, ast.AsyncFunctionDef) else "def" for each in (old, new)]
        raise InvalidCandidateError(f"{old.name} is {kinds[0]}, and the candidate makes it {kinds[1]}")
    differs = _differs(old.args, new.args)
    if differs:
        raise InvalidCandidateError(f"the signature of {old.name} differs: {differs}")


def check_decorators(old: Function, new: Function | None) -> None:
    """See that decorators stay, in their order: what they do around the function (registers, checks) is part of it.

    Further ones may stand between them. Where there are some, annotations stay, too, as they may be read. None stands
    for what is no `def`, and has no decorators.

    Raises:
        InvalidCandidateError: says what differs.
    """
    now = [] if new is None else list(map(_without_module, new.decorator_list))
    rest = iter(now)
    for decorator in map(_without_module, old.decorator_list):
        if decorator not in rest:
            how = "in another order" if decorator in now else "gone"
            raise InvalidCandidateError(f"@{decorator} of {old.name} is {how}")
    if new is not None and old.decorator_list and _annotations(old) != _annotations(new):
        raise InvalidCandidateError(
            f"the annotations of {old.name} differ, and @{ast.unparse(old.decorator_list[0])} may read them"
        )


def _without_module(decorator: ast.expr) -> str:
    """A decorator's text, however its module was imported."""
    called = decorator if isinstance(decorator, ast.Call) else None
    name = called.func if called is not None else decorator
    text = name.attr if isinstance(name, ast.Attribute) else ast.unparse(name)
    given = [] if called is None else [*map(ast.unparse, called.args), *map(ast.unparse, called.keywords)]
    return text if called is None else f"{text}({', '.join(given)})"


def _annotations(function: Function) -> list[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    found = [f"{each.arg}: {ast.unparse(each.annotation)}" for each in every if each is not None and each.annotation]
    return [*found, *([] if function.returns is None else [ast.unparse(function.returns)])]


def _differs(old: ast.arguments, new: ast.arguments) -> str | None:
    was, now = _positional(old), _positional(new)
    for at, (name, default, only) in enumerate(was):
        if at >= len(now):
            return f"parameter {name} is gone, or no longer positional"
        if now[at][0] != name and not (only and now[at][2]):
            return f"parameter {name} is now called {now[at][0]}"
        if now[at][2] and not only:
            return f"parameter {name} is now positional-only"
        if now[at][1] != default:
            return f"parameter {name} has another default"
    if old.vararg and not new.vararg:
        return f"*{old.vararg.arg} is gone"
    if old.vararg and len(now) > len(was):
        return f"parameter {now[len(was)][0]} takes what *{old.vararg.arg} took"
    if old.kwarg and not new.kwarg:
        return f"**{old.kwarg.arg} is gone"
    keywords, later = _keyword_only(old), _keyword_only(new)
    for name, default in keywords.items():
        if name not in later:
            return f"keyword {name} is gone, or no longer keyword-only"
        if later[name] != default:
            return f"keyword {name} has another default"
    added = [(name, default) for name, default, _ in now[len(was) :]]
    added += [(name, default) for name, default in later.items() if name not in keywords]
    for name, default in added:
        if default is None:
            return f"parameter {name} is new and has no default"
        if old.kwarg:
            return f"parameter {name} takes what **{old.kwarg.arg} took"
    return None


def _positional(arguments: ast.arguments) -> list[tuple[str, str | None, bool]]:
    """Name, default and whether it is positional-only, of each."""
    every = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(every) - len(arguments.defaults)) + [ast.dump(each) for each in arguments.defaults]
    return [
        (each.arg, default, at < len(arguments.posonlyargs))
        for at, (each, default) in enumerate(zip(every, defaults, strict=True))
    ]


def _keyword_only(arguments: ast.arguments) -> dict[str, str | None]:
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {each.arg: ast.dump(default) if default else None for each, default in pairs}
