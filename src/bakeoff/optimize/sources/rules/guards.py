"""Guards: what is right only for some values stands beside the original, which runs for all others.

Nobody has to believe an assumption then: callers may give floats, iterators, tuples or what cannot be hashed, and
errors are raised where they were, by what raised them before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.rule import Rewrite

LONGEST = 30
"""Lines of a statement beyond which it is not written twice."""

AS_SET = '''def _as_set(items):
    """The items as a set, if they are a list or tuple of what can be hashed; as they are otherwise."""
    try:
        return set(items) if type(items) in (list, tuple) else items
    except TypeError:
        return items'''
HAS = '''def _has(found, item, items=None):
    """Whether an item is among `items` (else: what is `found`), where all that can be hashed are in `found`."""
    try:
        return item in found
    except TypeError:
        return item in (list(found) if items is None else items)'''
ADD = '''def _add(found, item):
    """Add an item that can be hashed to what is a set, if all before it could."""
    try:
        found.add(item)
    except (AttributeError, TypeError):
        pass'''
COUNTED = '''def _counted(items):
    """How often each is among the items, if they are a list or tuple of what can be hashed; else None."""
    try:
        return Counter(items) if type(items) in (list, tuple) else None
    except TypeError:
        return None'''
COUNT = '''def _count(counts, item, items):
    """How often an item is among `items`, whose counts are these, or None."""
    try:
        return counts[item]
    except TypeError:
        return items.count(item)'''
BY_KEY = '''def _by_key(items, keys):
    """What `items` gives by each of its keys, in order, if it is a list or view that can be gone through again."""
    try:
        found, given = {}, items()
        if type(given) not in (list, tuple, type({}.keys()), type({}.values()), type({}.items())):
            return None
        for item in given:
            for key in keys(item):
                found.setdefault(key, []).append(item)
        return found
    except Exception:
        return None'''
FOUND = '''def _found(by_key, key, items):
    """The items that have a key; all where it cannot be looked up."""
    try:
        return by_key.get(key, ())
    except TypeError:
        return items'''
PLAIN = '''def _plain(value):
    """Whether a value is equal to none that anybody could tell from it, as 1.0 is to 1, and never changes."""
    kind = type(value)
    if kind is tuple:
        return all(map(_plain, value))
    if kind is float:
        return value % 1 != 0
    return kind in (int, str, bytes, type(None)) or (kind.__module__, kind.__name__) == ("datetime", "date")'''
AGAIN = '''def _again(*values):
    """Raise TypeError where a value can be gone through only once."""
    if any(hasattr(each, "__next__") for each in values):
        raise TypeError'''


ONCE = '''def _once(function, *values):
    """What gives the result of a call, computed when it is first asked for, unless values are used up by it."""
    call = partial(function, *values)
    return call if any(hasattr(each, "__next__") for each in values) else cache(call)'''
HELPERS = {"_as_set", "_has", "_add", "_counted", "_count", "_by_key", "_found", "_plain", "_again", "_once"}
"""The names of these functions, which are as quick as can be."""


def checked(subject: Subject, statements: Sequence[ast.stmt], condition: str, fast: str) -> Iterator[Rewrite]:
    """Statements in a new form where a condition holds; nothing where they are a guard's original already."""
    if not condition:
        yield Rewrite([(statements, fast)])
    elif fits_twice(subject, statements):
        original = subject.indented(subject.statements(statements))
        text = f"if {condition}:\n{subject.indented(fast)}\nelse:\n{original}"
        yield Rewrite([(statements, text)])


def tried(
    subject: Subject, statement: ast.stmt, setup: str, fast: str, helpers: Sequence[str] = ()
) -> Iterator[Rewrite]:
    """A statement in a new form that needs `setup`; where that fails, the original decides whether that is an error."""
    if fits_twice(subject, [statement]):
        original = subject.indented(subject.statements([statement]))
        text = f"try:\n{subject.indented(setup)}\nexcept Exception:\n{original}\nelse:\n{subject.indented(fast)}"
        yield Rewrite([([statement], text)], helpers=helpers)


def fits_twice(subject: Subject, statements: Sequence[ast.stmt]) -> bool:
    """Whether statements may be written twice: they are short, and no guard's original already."""
    lines = sum((each.end_lineno or each.lineno) - each.lineno + 1 for each in statements)
    return lines <= LONGEST and not any(is_original(subject, each) for each in statements)


def is_original(subject: Subject, node: ast.AST) -> bool:
    """Whether a node is in the part of a guard that keeps the original: it stays as it is."""
    inner = node
    for each in subject.around(node):
        match each:
            case ast.If(test=test, orelse=orelse) if orelse and any(inner is one for one in orelse) and _types(test):
                return True
            case ast.Try(handlers=[ast.ExceptHandler(type=ast.Name(id="Exception")) as handler], orelse=[_, *_]) if (
                inner is handler
            ):
                return True
        inner = each
    return False


def _types(test: ast.expr) -> bool:
    """Whether a condition asks for exact types, as guards do."""
    return any(
        isinstance(each, ast.Compare)
        and isinstance(each.ops[0], ast.Is)
        and isinstance(each.left, ast.Call)
        and ast.unparse(each.left.func) == "type"
        for each in ast.walk(test)
    )


def plain(subject: Subject, values: Mapping[str, Iterable[ast.expr]]) -> str:
    """The condition that these names may be keys of a memo; empty where all expressions for them certainly may."""
    unsure = [name for name, nodes in values.items() if any(subject.sure(each) not in MEMO for each in nodes)]
    each = [f"type({name}) is str or type({name}) is int or _plain({name})" for name in unsure]
    return each[0] if len(each) == 1 else " and ".join(f"({one})" for one in each)


MEMO = {"int", "str", "bytes"}


def is_a(name: str, *kinds: str) -> str:
    """The condition that a value is of one of some types, and of no subclass."""
    return " or ".join(f"type({name}) is {kind}" for kind in kinds)


HASHABLE = {"int", "str", "bytes", "bool", "float", "NoneType"}


def hashable(subject: Subject, nodes: Iterable[ast.expr]) -> bool:
    """Whether expressions certainly give what can be hashed."""
    return all(
        isinstance(each, ast.Constant) or subject.sure(each) in HASHABLE or _is_key(subject, each) for each in nodes
    )


def _is_key(subject: Subject, node: ast.expr) -> bool:
    """Whether a name is bound by loops over the keys of dicts and the items of sets alone."""
    if not isinstance(node, ast.Name) or node.id in subject.parameters or node.id in subject.shared:
        return False
    sources = []
    for each in ast.walk(subject.node):
        if isinstance(each, ast.For | ast.comprehension) and isinstance(each.target, ast.Name):
            sources += [each.iter] if each.target.id == node.id else []
    bound = sum(
        isinstance(each, ast.Name) and each.id == node.id and not isinstance(each.ctx, ast.Load)
        for each in ast.walk(subject.node)
    )
    return bound == len(sources) > 0 and all(_of_keys(subject, each) for each in sources)


def _of_keys(subject: Subject, source: ast.expr) -> bool:
    match source:
        case ast.Call(func=ast.Name(id="list" | "sorted" | "set" | "tuple" as name), args=[inner]) if subject.builtin(
            name
        ):
            return name == "set" or _of_keys(subject, inner)
        case ast.Call(func=ast.Attribute(attr="keys"), args=[]):
            return True
        case ast.Call(func=ast.Name(id="range")):
            return subject.builtin("range")
    return subject.sure(source) in ("dict", "set", "frozenset", "str", "range")
