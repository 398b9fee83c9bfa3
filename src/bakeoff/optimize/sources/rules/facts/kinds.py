"""Types that expressions certainly give, as far as literals, annotations and the types that were seen tell."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bakeoff.optimize.sources.rules.facts.syntax import stored

if TYPE_CHECKING:
    from bakeoff.optimize.sources.rules.facts.subject import Subject

MAKERS = {
    "int": "int", "len": "int", "ord": "int", "str": "str", "repr": "str", "chr": "str", "float": "float",
    "bool": "bool", "list": "list", "sorted": "list", "dict": "dict", "set": "set", "frozenset": "frozenset",
    "tuple": "tuple", "range": "range", "isinstance": "bool", "any": "bool", "all": "bool", "enumerate": "enumerate",
    "zip": "zip", "map": "map", "filter": "filter", "iter": "iterator", "Counter": "Counter", "deque": "deque",
    "defaultdict": "defaultdict", "OrderedDict": "dict",
}  # fmt: skip
TEXT_METHODS = {
    "lower", "upper", "strip", "lstrip", "rstrip", "title", "casefold", "replace", "zfill", "capitalize", "format",
    "ljust", "rjust", "center", "swapcase",
}  # fmt: skip
UNHASHABLE = {"list", "dict", "set", "Counter", "deque", "defaultdict", "bytearray"}
LAZY = {"enumerate", "zip", "map", "filter", "iterator", "generator", "Iterator", "Generator"}
NUMBERS = {"int", "bool", "float"}
OF_ONE_KIND = {"list", "set", "frozenset", "tuple", "Iterable", "Sequence", "deque"}


def base(kind: str | None) -> str | None:
    """`list` of `list[int]`."""
    return kind.partition("[")[0].rpartition(".")[2] if kind else None


def element(kind: str | None) -> str | None:
    """Element kind: what iterating over a kind gives, when that is one kind."""
    name = base(kind)
    if name in ("str", "range"):
        return "str" if name == "str" else "int"
    if not kind or "[" not in kind or name not in OF_ONE_KIND:
        return "str" if kind and kind.startswith("dict[str") else None
    inner = kind.partition("[")[2].removesuffix("]")
    if name == "tuple":
        inner = inner.removesuffix(", ...")
    depth = 0
    for sign in inner:
        depth += (sign == "[") - (sign == "]")
        if sign in ",|" and depth == 0:
            return None
    return inner if inner and inner not in ("Any", "object") else None


def kind_of(node: ast.expr, subject: Subject, depth: int = 0) -> str | None:
    """See `Subject.kind`."""
    if depth > 6:
        return None

    def again(inner: ast.expr) -> str | None:
        return kind_of(inner, subject, depth + 1)

    match node:
        case ast.Constant(value=value):
            return type(value).__name__
        case ast.JoinedStr():
            return "str"
        case ast.List(elts=elts) | ast.Set(elts=elts) | ast.Tuple(elts=elts):
            kinds = {again(each) for each in elts}
            name = type(node).__name__.lower()
            return f"{name}[{kinds.pop()}]" if len(kinds) == 1 and None not in kinds and name != "tuple" else name
        case ast.ListComp() | ast.SetComp():
            return "list" if isinstance(node, ast.ListComp) else "set"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.GeneratorExp():
            return "generator"
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return "bool"
        case ast.UnaryOp(operand=operand):
            return again(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _operation(op, again(left), again(right))
        case ast.IfExp(body=body, orelse=orelse):
            one = again(body)
            return one if one == again(orelse) else None
        case ast.Call(func=ast.Name(id=name), args=args) if name in MAKERS:
            if name in ("list", "sorted", "set", "tuple", "reversed") and len(args) == 1:
                inner = element(again(args[0]))
                return f"{MAKERS[name]}[{inner}{', ...' if name == 'tuple' else ''}]" if inner else MAKERS[name]
            return MAKERS[name]
        case ast.Call(func=ast.Name(id=name)) if name in subject.purity.functions and name not in subject.local:
            function = subject.purity.functions[name]
            plain = isinstance(function, ast.FunctionDef) and not function.decorator_list
            return annotated(function.returns) if plain and subject.believes else None
        case ast.Call(func=ast.Name(id="sum"), args=[values, *_]):
            inner = element(again(values))
            return "int" if inner in ("int", "bool") else inner
        case ast.Call(func=ast.Name(id="min" | "max" | "abs"), args=[only]):
            inner = again(only)
            return inner if inner in NUMBERS else element(inner)
        case ast.Call(func=ast.Attribute(attr="split" | "rsplit"), args=[ast.Constant(value=str()), *_]):
            return "list[str]"
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return _method(attr, again(value))
        case ast.Subscript(value=value, slice=index):
            whole = again(value)
            return whole if isinstance(index, ast.Slice) else element(whole)
        case ast.Name(id=name):
            return _variable(name, subject, depth)
    return None


def _operation(op: ast.operator, left: str | None, right: str | None) -> str | None:
    if left == "str" and isinstance(op, ast.Mod):
        return "str"
    if left in NUMBERS and right in NUMBERS:
        if isinstance(op, ast.Div) or "float" in (left, right):
            return "float"
        return None if isinstance(op, ast.Pow) else "int"
    if isinstance(op, ast.Add) and base(left) == base(right) and base(left) in ("str", "list", "tuple"):
        return left if left == right else base(left)
    if isinstance(op, ast.Mult) and "int" in (left, right):
        other = left if right == "int" else right
        return other if base(other) in ("str", "list", "tuple") else None
    return None


def _method(attr: str, owner: str | None) -> str | None:
    if attr in TEXT_METHODS and owner in ("str", None):
        return "str" if owner == "str" or attr not in ("replace", "format") else None
    if attr in ("split", "rsplit", "splitlines") and owner in ("str", None):
        return "list[str]" if owner == "str" else "list"
    if attr == "join" and owner == "str":
        return "str"
    if attr in ("startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower"):
        return "bool"
    if attr == "fromkeys":
        return "dict"
    if attr == "copy":
        return owner
    return "int" if attr == "count" and base(owner) in ("str", "list", "tuple") else None


def _variable(name: str, subject: Subject, depth: int) -> str | None:
    """The kind that all bindings of a name agree on."""
    kinds: set[str | None] = set()
    arguments = subject.node.args
    if name in subject.shared:
        return None
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.arg == name:
            seen = set(subject.types.get(name, ()))
            told = seen.pop() if len(seen) == 1 else annotated(each.annotation)
            kinds.add(told if subject.believes else None)
    if not kinds and name in subject.parameters:
        kinds.add(None)
    for node in ast.walk(subject.node):
        match node:
            case ast.Assign(targets=targets, value=value) if name in stored(*targets):
                plain = len(targets) == 1 and isinstance(targets[0], ast.Name)
                kinds.add(kind_of(value, subject, depth + 1) if plain else None)
            case ast.AnnAssign(target=ast.Name(id=found), annotation=annotation, value=value) if found == name:
                bare = kind_of(value, subject, depth + 1) if value else None
                kinds.add(annotated(annotation) if subject.believes else bare)
            case ast.AugAssign(target=ast.Name(id=found), op=op, value=value) if found == name:
                before = next((kind for kind in kinds if kind), None)
                kinds.add(_operation(op, before, kind_of(value, subject, depth + 1)) if len(kinds) == 1 else None)
            case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
                if name in stored(target):
                    kinds.add(_item(name, target, source, subject, depth))
            case ast.With(items=items) | ast.AsyncWith(items=items):
                if any(each.optional_vars and name in stored(each.optional_vars) for each in items):
                    kinds.add(None)
            case ast.NamedExpr(target=ast.Name(id=found), value=value) if found == name:
                kinds.add(kind_of(value, subject, depth + 1))
            case ast.ExceptHandler(name=found) | ast.MatchAs(name=found) | ast.MatchStar(name=found) if found == name:
                kinds.add(None)
    bases = {base(kind) for kind in kinds}
    if len(kinds) == 1:
        return kinds.pop()
    return bases.pop() if len(bases) == 1 else None


def _item(name: str, target: ast.expr, source: ast.expr, subject: Subject, depth: int) -> str | None:
    """The kind of a variable of a loop."""
    match target, source:
        case ast.Name(), _:
            return element(kind_of(source, subject, depth + 1))
        case ast.Tuple(elts=[first, second]), ast.Call(func=ast.Name(id="enumerate"), args=[values, *_]):
            if isinstance(first, ast.Name) and first.id == name:
                return "int"
            return element(kind_of(values, subject, depth + 1)) if isinstance(second, ast.Name) else None
    return None


def annotated(annotation: ast.expr | None) -> str | None:
    """The kind that an annotation names; None where it is none, or one of several."""
    text = ast.unparse(annotation).strip("'\"") if annotation else ""
    if "|" in text or text.startswith(("Optional", "Union", "Any")) or "Callable" in text:
        return None
    lowered = {"List": "list", "Dict": "dict", "Set": "set", "Tuple": "tuple", "FrozenSet": "frozenset"}
    name = base(text) or ""
    kind = lowered.get(name, name) + text[len(text.partition("[")[0]) :]
    known = {*MAKERS.values(), *lowered, "Iterable", "Iterator", "Sequence", "Generator", "bytes"}
    return kind if name in known else None
