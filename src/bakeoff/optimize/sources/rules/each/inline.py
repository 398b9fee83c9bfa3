"""A call of a function that is one short expression becomes that expression."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator

from bakeoff.optimize.source_code.definitions import Function
from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.looking import (
    SCOPES,
    SUSPENDS,
    USUAL_METHODS,
    bound_inside,
    calm,
    has,
    names_in,
    stored,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

LARGEST = 40
"""Nodes of an expression from which on it is no longer short."""
SLOW = {"sorted", "sum", "min", "max", "list", "set", "dict", "any", "all", "tuple", "map", "filter"}
"""Functions that go through something, besides which a call costs nothing."""
NEVER = (ast.Lambda, ast.NamedExpr, ast.JoinedStr, ast.Starred, ast.SetComp, ast.DictComp)


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    changed: dict[int, str] = {}
    inside: set[int] = set()
    assumes: list[str] = []
    for node in ast.walk(subject.node):  # the outermost first
        if not isinstance(node, ast.Call) or id(node) in inside or in_text(subject, node):
            continue
        name = _meant(subject, node) if statement_of(subject, node) is not None else None
        text = _text(subject, node, name) if name is not None else None
        if text is not None and name is not None:
            changed[id(node)] = text
            inside |= {id(each) for each in ast.walk(node)}
            if "." in name and not name.rpartition(".")[2].startswith("_"):
                assumes = ["not overridden"]
    if changed:
        yield rewrite(*subject.edited(subject.node.body, changed), assumes=assumes)


def _meant(subject: Subject, call: ast.Call) -> str | None:
    """The only function of the file that a call can mean."""
    match call.func:
        case ast.Name(id=name) if name not in subject.local and name in subject.purity.functions:
            return name
        case ast.Attribute(value=owner, attr=attr) if attr not in USUAL_METHODS and not attr.startswith("__"):
            found = subject.purity.methods.get(attr, [])
            if len(found) != 1 or isinstance(owner, ast.Call) or not _simple(owner):
                return None
            ours = isinstance(owner, ast.Name) and owner.id == "self"
            if ours and found[0] != f"{subject.home}.{attr}":
                return None
            root = owner
            while isinstance(root, ast.Attribute):
                root = root.value
            return found[0] if isinstance(root, ast.Name) and root.id in stored_here(subject) else None
    return None


def stored_here(subject: Subject) -> set[str]:
    """Names of values of the function, those of comprehensions included."""
    return stored(subject.node) | set(subject.parameters)


def _text(subject: Subject, call: ast.Call, name: str) -> str | None:
    function = subject.purity.functions[name]
    value = _expression(function)
    given = _arguments(function, call, "." in name)
    if value is None or given is None or name == subject.definition.qualname:
        return None
    uses: dict[str, list[ast.Name]] = {parameter: [] for parameter in given}
    if bound_inside(value) & (stored_here(subject) | set(given) | names_in(*given.values())):
        return None
    for each in ast.walk(value):
        if isinstance(each, ast.Name):
            if each.id in uses:
                uses[each.id].append(each)
            elif each.id in stored_here(subject) or (hasattr(builtins, each.id) and not subject.builtin(each.id)):
                return None  # it is another one here
    for parameter, argument in given.items():
        plain = isinstance(argument, ast.Name | ast.Constant)
        few = len(uses[parameter]) == 1 and calm(argument) and _certain(value, uses[parameter][0])
        if not plain and not few and not (_simple(argument) and len(uses[parameter]) == 2):
            return None
    places = {id(each): given[each.id] for each_uses in uses.values() for each in each_uses}
    new = _Filled(places).visit(_copied(value, places))
    text = ast.unparse(new)
    simple = isinstance(new, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Tuple)
    return text if simple else f"({text})"


class _Filled(ast.NodeTransformer):
    """Arguments in place of parameters."""

    def __init__(self, places: dict[int, ast.expr]) -> None:
        self.places = places

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return getattr(node, "_argument", node)


def _copied(value: ast.expr, places: dict[int, ast.expr]) -> ast.expr:
    new = copy.deepcopy(value)
    for old, each in zip(ast.walk(value), ast.walk(new), strict=True):
        if id(old) in places:
            each._argument = places[id(old)]  # type: ignore[attr-defined]
    return new


def _expression(function: Function) -> ast.expr | None:
    """Returned expression of a function, where that is all of it and short."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    match body:
        case [ast.Return(value=ast.expr() as value)] if isinstance(function, ast.FunctionDef):
            pass
        case _:
            return None
    nodes = list(ast.walk(value))
    called = {each.func.id for each in nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    unfit = has(value, *SUSPENDS, *NEVER, ast.GeneratorExp) or not _only_searched(value)
    hidden = any(isinstance(each, ast.Attribute) and each.attr.startswith("__") for each in nodes)
    own = any(isinstance(each, ast.Name) and each.id in ("super", "__class__", function.name) for each in nodes)
    many = sum(isinstance(each, ast.Call) for each in nodes) > 1
    if function.decorator_list or called & SLOW or many or unfit or hidden or own or len(nodes) > LARGEST:
        return None
    return value


def _only_searched(value: ast.expr) -> bool:
    """Whether all comprehensions in an expression are searched, which is what other rules look for."""
    searched = {
        id(right)
        for each in ast.walk(value)
        if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.In | ast.NotIn)
        for right in each.comparators
    }
    return all(id(each) in searched for each in ast.walk(value) if isinstance(each, ast.ListComp))


def _arguments(function: Function, call: ast.Call, method: bool) -> dict[str, ast.expr] | None:
    """Each parameter with what it is given."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        return None
    names = [each.arg for each in arguments.args]
    args = list(call.args)
    if method:
        if names[:1] != ["self"] or not isinstance(call.func, ast.Attribute):
            return None
        args = [call.func.value, *args]
    if any(isinstance(each, ast.Starred) for each in args) or len(args) > len(names):
        return None
    found = dict(zip(names, args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in names or keyword.arg in found:
            return None
        found[keyword.arg] = keyword.value
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    for name in names:
        if name not in found:
            if not isinstance(defaults.get(name), ast.Constant):
                return None
            found[name] = defaults[name]
    return found if not has(list(found.values()), *SCOPES, ast.NamedExpr, *SUSPENDS) else None


def _simple(node: ast.expr) -> bool:
    """Whether it is a name, a constant, or attributes of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


def _certain(value: ast.expr, use: ast.Name) -> bool:
    """Whether an expression evaluates a part of it once, whatever else is so."""
    for each in ast.walk(value):
        inside = [one for one in ast.iter_child_nodes(each) if any(part is use for part in ast.walk(one))]
        if not inside:
            continue
        match each:
            case ast.BoolOp(values=[first, *_]) if inside[0] is not first:
                return False
            case ast.IfExp(test=test) if inside[0] is not test:
                return False
            case ast.Compare(comparators=[_, *more]) if inside[0] in more:
                return False
    return True


RULE = Rule("inline", "An expression is evaluated where it stands; a call makes a frame first.", find)
