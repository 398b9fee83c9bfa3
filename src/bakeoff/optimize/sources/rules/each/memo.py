"""A function that calls itself more than once keeps its results, for one call from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.source_code.definitions import own_nodes
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.looking import CALM, CALM_METHODS, SUSPENDS, assignment, has, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    node = subject.node
    arguments = node.args
    usual = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or node.decorator_list)
    if isinstance(node, ast.AsyncFunctionDef) or not usual or has(node.body, *SUSPENDS, ast.Global, ast.Nonlocal):
        return
    method = subject.definition.is_method
    own = subject.parameters[0] if method and subject.parameters else None
    again = [each for each in ast.walk(node) if isinstance(each, ast.Call) and _itself(each, node.name, own)]
    inner = [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef | ast.Lambda | ast.ClassDef)]
    branching = len(again) > 1 or any(_in_loop(subject, each) for each in again)
    pure = subject.definition.qualname in subject.purity.pure or _pure(subject, again)
    if not branching or len(inner) > 1 or not pure:
        return
    parameters = [name for name in subject.parameters if name != own]
    keys = [name for at, name in enumerate(parameters) if not _handed_on(subject, again, at, name)]
    if (
        not keys
        or not _hashable(subject, again, parameters, keys)
        or (_gives_new(subject) and _changed_again(subject, again))
    ):
        return
    yield Rewrite([(node.body, _text(subject, again, parameters, keys))], assumes=("pure", "hashable"))


def _text(subject: Subject, again: list[ast.Call], parameters: list[str], keys: list[str]) -> str:
    node = subject.node
    inner, memo, key = (subject.fresh(name) for name in (f"{node.name}_once", "memo", "key"))
    result = subject.fresh("result")
    body = node.body
    doc = (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    )
    changed: dict[int, str] = {}
    for call in again:
        changed[id(call.func)] = inner
    returned: dict[int, str] = {}
    for each in own_nodes(node):
        if isinstance(each, ast.Return) and each.value is not None and not isinstance(each.value, ast.Constant):
            value = subject.statements([each], changed).partition("return")[2].strip()
            returned[id(each)] = f"{result} = {memo}[{key}] = {value}\nreturn {result}"
    outer = {id(call.func): inner for call in again if not _under(subject, call, returned)}
    rest = body[1:] if doc else body
    text = subject.statements(rest, outer | returned)
    defaults = subject.code_of_parameters(parameters)
    whole = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
    lines = [f"{memo} = {{}}", f"def {inner}({defaults}):"]
    lines += [f"    {key} = {whole}", f"    if {key} in {memo}:", f"        return {memo}[{key}]"]
    lines += [subject.indented(text), f"return {inner}({', '.join(parameters)})"]
    head = [subject.statements(body[:1])] if doc else []
    return "\n".join([*head, *lines])


def _under(subject: Subject, call: ast.Call, returned: dict[int, str]) -> bool:
    return any(id(each) in returned for each in subject.around(call))


def _itself(call: ast.Call, name: str, own: str | None) -> bool:
    if call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    match call.func:
        case ast.Name(id=called):
            return called == name and own is None
        case ast.Attribute(value=ast.Name(id=owner), attr=called):
            return called == name and owner == own
    return False


def _pure(subject: Subject, again: list[ast.Call]) -> bool:
    """Whether it changes nothing that outlives it, as far as its text tells."""
    own = {id(each) for each in again}
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = node.value
            if not isinstance(root, ast.Name) or root.id in subject.parameters:
                return False
        if isinstance(node, ast.Call) and id(node) not in own:
            match node.func:
                case ast.Name(id=name) if name in CALM and subject.builtin(name):
                    pass
                case ast.Attribute(value=ast.Name(id="math")):
                    pass
                case ast.Attribute(value=ast.Name(id=owner), attr=attr):
                    local = owner in subject.local and owner not in subject.parameters
                    if attr not in CALM_METHODS and not local:
                        return False
                case ast.Attribute(attr=attr) if attr in CALM_METHODS:
                    pass
                case _:
                    return False
    return True


def _handed_on(subject: Subject, again: list[ast.Call], at: int, name: str) -> bool:
    """Whether every call hands a parameter on as it is: then it need not be part of the key."""
    same = all(len(each.args) > at and ast.unparse(each.args[at]) == name for each in again)
    return same and name not in stored(*subject.node.body)


def _hashable(subject: Subject, again: list[ast.Call], parameters: list[str], keys: list[str]) -> bool:
    """Whether what differs from call to call may be a key of a dict, as far as can be seen."""
    for name in keys:
        if base(subject.kind(ast.Name(name, ast.Load()))) in UNHASHABLE:
            return False
    for argument in (
        each.args[at] for each in again for at, name in enumerate(parameters) if name in keys and at < len(each.args)
    ):
        kind = base(subject.kind(argument))
        part = isinstance(argument, ast.Subscript) and isinstance(argument.slice, ast.Slice)
        if (
            kind in UNHASHABLE
            or (part and kind is None)
            or (isinstance(argument, ast.BinOp) and has(argument, ast.List, ast.Set))
        ):
            return False
    return True


def _gives_new(subject: Subject) -> bool:
    """Whether what it returns may be a list, set or dict, which could be changed later."""
    values = [each.value for each in own_nodes(subject.node) if isinstance(each, ast.Return) and each.value is not None]
    known = any(base(subject.kind(each)) in UNHASHABLE for each in values)
    return known or subject.purity.makes_new(subject.definition.qualname)


def _changed_again(subject: Subject, again: list[ast.Call]) -> bool:
    """Whether it may change what an inner call of it gave, which is kept."""
    changed = subject.changes(*subject.node.body)
    if changed is None:
        return True
    given: set[str] = set()
    calls = {id(each) for each in again}
    while True:
        more = set()
        for node in ast.walk(subject.node):
            found = assignment(node)
            if found is not None and any(
                id(each) in calls or (isinstance(each, ast.Name) and each.id in given) for each in _as_it_is(found[1])
            ):
                more.add(found[0])
        if more <= given:
            return bool(given & changed)
        given |= more


def _as_it_is(value: ast.expr) -> Iterator[ast.expr]:
    """Expressions that an expression may give without making anything of it."""
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            yield from _as_it_is(body)
            yield from _as_it_is(orelse)
        case ast.BoolOp(values=values):
            for each in values:
                yield from _as_it_is(each)
        case _:
            yield value


def _in_loop(subject: Subject, node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.For | ast.While | ast.comprehension | ast.ListComp | ast.GeneratorExp)
        for each in subject.around(node)
    )


RULE = Rule(
    "memo", "Subproblems that come up again are looked up in a dict that lives as long as the outer call.", find
)
