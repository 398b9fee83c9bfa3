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

EXACT = '''def _exact(value, depth=4):
    """Whether a value is of a type of Python's own whose hash tells what it is equal to."""
    kind = type(value)
    if kind is tuple:
        return depth > 0 and all(_exact(each, depth - 1) for each in value)
    return kind is str or kind is int or kind is float or kind is bool or kind is bytes or value is None'''
AS_SET = '''def _as_set(items):
    """The items as a set, if they are a list or tuple of what is found in a set as in a list; else as they are."""
    return set(items) if (type(items) is list or type(items) is tuple) and all(map(_exact, items)) else items'''
HAS = '''def _has(found, item, items):
    """Whether an item is among `items`, which `found` has, too."""
    return item in (found if found is not None and _exact(item) else items)'''
ADD = '''def _add(found, item, items):
    """A set with one more item of `items`; the list of them, from the first that is not found alike in both."""
    if found is items or not _exact(item):
        return items
    found.add(item)
    return found'''
COUNTED = '''def _counted(items):
    """How often each is among the items, if they are a list or tuple of what a dict finds like a list; else None."""
    return Counter(items) if (type(items) is list or type(items) is tuple) and all(map(_exact, items)) else None'''
COUNT = '''def _count(counts, item, items):
    """How often an item is among `items`, whose counts are these, or None."""
    return counts[item] if counts is not None and _exact(item) else items.count(item)'''
AT = '''def _at(items, key):
    """An item of a dict, list or tuple; raises TypeError for all others, whose look-up may do something."""
    if (type(items) is dict or type(items) is list or type(items) is tuple) and _exact(key):
        return items[key]
    raise TypeError'''
OWN = '''def _own(item, name):
    """Whether an attribute is a value that lies in an object, so that reading it runs nothing."""
    kind = type(item)
    if type(kind) is not type or kind.__getattribute__ is not object.__getattribute__:
        return False
    for each in kind.__mro__:
        if name in each.__dict__:
            found = each.__dict__[name]
            kind = type(found)
            return kind is MemberDescriptorType or (type(kind) is type and not hasattr(kind, "__get__"))
    return name in item.__dict__'''
FIELD = '''def _field(item, name):
    """An attribute; raises TypeError where reading it may do something."""
    if _own(item, name):
        return getattr(item, name)
    raise TypeError'''
BY_KEY = '''def _by_key(items, keys):
    """What `items` gives by each of its keys, in order; None where finding the keys might do anything else."""
    try:
        found, given = {}, items()
        for item in given:
            mine = keys(item)
            if not all(map(_exact, mine)):
                return None
            for key in set(mine):
                found.setdefault(key, []).append(item)
        return found
    except Exception:
        return None'''
FOUND = '''def _found(by_key, key, items):
    """The items that have a key; all where it cannot be looked up."""
    return by_key.get(key, ()) if _exact(key) else items'''
PLACED = '''def _placed(by_key, key, start, stop, items):
    """The places from `start` to `stop` of items that have a key; all where that cannot be looked up."""
    every = range(start, stop)
    if by_key is None or type(start) is not int or type(stop) is not int or not 0 <= start <= stop <= len(items):
        return every
    try:
        sought = key()
    except Exception:
        return every
    found = by_key.get(sought, ()) if _exact(sought) else every
    return every if found is every else found[bisect_left(found, start) : bisect_left(found, stop)]'''
AT_PLACE = '''def _at_place(kept, places, function, *values):
    """What a function gives for values that stand at places; kept where it is the same each time."""
    for each in places:
        if type(each) is not int and type(each) is not str:
            return function(*values)
    if places not in kept:
        try:
            _again(*values)
        except Exception:
            return function(*values)
        kept[places] = function(*values)
    return kept[places]'''
PLAIN = '''def _plain(value):
    """Whether a value is equal to none that anybody could tell from it, as 1.0 is to 1, and never changes."""
    kind = type(value)
    if kind is tuple:
        return all(map(_plain, value))
    if kind is float:
        return value % 1 != 0
    return kind is str or kind is int or kind is bytes or kind is _date or value is None'''
DATE = "from datetime import date as _date"
"""The import that `_plain` needs."""
AGAIN = '''def _again(*values, depth=5):
    """Raise TypeError where a value, or one inside of it, may be used up, or do something when it is looked at."""
    for each in values if depth else [_again]:
        kind = type(each)
        if kind is dict:
            _again(*each, *each.values(), depth=depth - 1)
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            _again(*each, depth=depth - 1)
        elif not (kind is str or kind is int or kind is float or kind is bool or kind is bytes or kind is range):
            if each is not None:
                raise TypeError'''


ONCE = '''def _once(function, *values):
    """What gives the result of a call, computed when it is first asked for, unless that may not be the next one's."""
    call = partial(function, *values)
    try:
        _again(*values)
    except Exception:
        return call
    return cache(call)'''
HELPERS = {
    "_as_set", "_has", "_add", "_counted", "_count", "_at", "_by_key", "_found", "_plain", "_again", "_once", "_exact",
    "_own", "_at_place", "_field", "_placed", "_added", "_affixes",
}  # fmt: skip
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
    subject: Subject,
    statement: ast.stmt,
    setup: str,
    fast: str,
    helpers: Sequence[str] = (),
    imports: Sequence[str] = (),
) -> Iterator[Rewrite]:
    """A statement in a new form that needs `setup`; where that fails, the original decides whether that is an error."""
    if fits_twice(subject, [statement]):
        original = subject.indented(subject.statements([statement]))
        text = f"try:\n{subject.indented(setup)}\nexcept Exception:\n{original}\nelse:\n{subject.indented(fast)}"
        yield Rewrite([([statement], text)], helpers=helpers, imports=imports)


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


def is_method(subject: Subject, attribute: str) -> bool:
    """Whether reading an attribute may run a function of the file."""
    names = {attribute, "__getattr__", "__getattribute__"}
    return any(
        isinstance(each, ast.FunctionDef) and each.name in names for each in ast.walk(subject.definition.file.tree)
    )


def looked_up(subject: Subject, node: ast.expr) -> str:
    """A chain of attributes and items read in such a way that nothing else can happen; else what it is."""
    match node:
        case ast.Attribute(value=value, attr=attr):
            return f"_field({looked_up(subject, value)}, {attr!r})"
        case ast.Subscript(value=value, slice=at):
            return f"_at({looked_up(subject, value)}, {ast.unparse(at)})"
    return subject.code(node)
