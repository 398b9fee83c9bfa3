"""Objects that a function makes itself, and what changes nothing: names and methods of Python that are known."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from bakeoff.optimize.source_code.definitions import Function
from bakeoff.optimize.sources.rules.facts.syntax import CALM, CALM_METHODS, assignment, calm, has, names_in, stored

CALM_MODULES = {"math", "re", "json", "string", "bisect", "statistics", "unicodedata", "textwrap", "cmath", "copy"}
"""Modules whose functions change nothing that they are given; but for the ones in `CHANGING`."""
CHANGING = {"insort", "insort_left", "insort_right", "dump", "load"}
FILLING = {"insort", "insort_left", "insort_right", "heappush", "heappop", "heapify", "heappushpop", "heapreplace"}
"""Functions that change their first argument alone."""
CALM_NAMES = CALM | {
    "complex", "bytearray", "slice", "object", "hasattr", "callable", "issubclass", "hex", "bin", "oct", "ascii",
    "OrderedDict", "permutations", "combinations", "product", "chain", "accumulate", "groupby", "reduce", "prod",
    "isclose", "floor", "ceil", "log", "exp", "itemgetter", "attrgetter", "gcd", "lcm", "isqrt", "filter", "map",
    "type", "Counter", "deque", "deepcopy", "defaultdict", "Decimal", "Fraction", "datetime", "date", "timedelta",
    "sqrt", "hypot", "bytes", "format",
}  # fmt: skip
"""Functions that change nothing, built-in or imported."""
MORE_METHODS = CALM_METHODS | {
    "strptime", "strftime", "fromisoformat", "toordinal", "fromordinal", "timestamp", "isoweekday", "year", "month",
    "match", "search", "fullmatch", "findall", "finditer", "group", "groups", "sub", "start", "end", "span", "decode",
    "rfind", "rindex", "rsplit", "swapcase", "ljust", "rjust", "center", "removeprefix", "removesuffix", "translate",
    "isdecimal", "isnumeric", "isidentifier", "isascii", "expandtabs", "issubset", "issuperset", "isdisjoint",
    "symmetric_difference", "fromkeys", "quantize", "conjugate", "as_integer_ratio", "is_integer", "hex", "format_map",
    "elements", "total", "to_bytes", "from_bytes", "from_iterable", "bit_count", "utcoffset", "replace", "combine",
}  # fmt: skip
"""Methods of built-in types, and of those of the standard library, that change nothing."""
MAKING = {"list", "dict", "set", "sorted", "Counter", "deque", "defaultdict", "OrderedDict", "bytearray"}
"""Functions that make a container which can be changed."""
MUTATORS = {
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "add", "discard", "update", "popleft",
    "appendleft", "setdefault", "popitem", "extendleft", "rotate", "subtract", "difference_update", "move_to_end",
    "intersection_update",
}  # fmt: skip
"""Methods of built-in containers that change nothing but their own."""


def fresh(function: Function, classes: Container[str] = ()) -> set[str]:
    """Locals that only ever hold what the function itself made, or what cannot change."""
    bad = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    bad -= {name for name, _ in renewed(function, classes)}
    good: set[str] = set()
    for node in (each for top in function.body for each in ast.walk(top)):
        match node:
            case ast.arg(arg=name):  # of a function inside
                bad.add(name)
            case ast.Assign() | ast.AnnAssign() if made := assignment(node):
                (good if _new(made[1], classes) else bad).add(made[0])
            case ast.Assign(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        for one, value in zip(target.elts, node.value.elts, strict=False):
                            new = isinstance(one, ast.Name) and _new(value, classes)
                            (good if new else bad).update(stored(one))
                    else:
                        bad |= stored(target)
            case ast.For(target=target) | ast.comprehension(target=target) | ast.NamedExpr(target=target):
                bad |= stored(target)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bad.add(name)
    return good - bad


def renewed(function: Function, classes: Container[str] = ()) -> Iterator[tuple[str, ast.expr]]:
    """Names that get something new before anything else is done with them, and that: `xs = list(xs)`."""
    for at, statement in enumerate(function.body):
        made, earlier = assignment(statement), names_in(*function.body[:at])
        if made and made[0] not in earlier and _new(made[1], classes) and calm(made[1], calls=CALM_NAMES):
            yield made


def _new(value: ast.expr, classes: Container[str]) -> bool:
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.BinOp() | ast.UnaryOp():
            return True
        case ast.List() | ast.ListComp() | ast.Set() | ast.SetComp() | ast.Dict() | ast.DictComp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in classes or name in CALM_NAMES - {"max", "min", "next", "iter", "reduce"}
        case ast.Call(
            func=ast.Attribute(attr="split" | "copy" | "deepcopy" | "splitlines" | "strip" | "lower" | "upper" | "join")
        ):
            return True
        case ast.Subscript(slice=ast.Slice()):
            return True
    return False


def is_plain(function: Function, name: str) -> bool:
    """Whether all that a local is bound to are numbers and texts written out, or computed from such."""
    values = [
        each.value for each in ast.walk(function) if isinstance(each, ast.Assign | ast.AnnAssign)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        if isinstance(target, ast.Name) and target.id == name
    ]  # fmt: skip
    plain = ast.Constant | ast.JoinedStr | ast.Compare | ast.UnaryOp
    return all(
        isinstance(each, plain)
        or (isinstance(each, ast.BinOp) and not has(each, ast.List, ast.ListComp))
        or (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id not in MAKING)
        for each in values
    )


def written_out(function: Function) -> set[str]:
    """Locals that hold numbers or texts, as far as the first value of each tells."""
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def is_number(value: ast.expr) -> bool:
    """Whether adding this changes no list in place: it is computed by arithmetic, or a length."""
    match value:
        case ast.BinOp(op=ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow()):
            return True
        case ast.Call(func=ast.Name(id=name)) if name in CALM_NAMES - MAKING - {"max", "min", "sum", "reversed"}:
            return True
    return False
