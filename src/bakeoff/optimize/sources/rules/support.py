"""Support functions: what rewritten code calls, written beside it; they are as quick as can be."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from bakeoff.optimize.sources.rules.facts.syntax import names_in

TEXT = '''def _exact(value, depth=4):
    """Whether a value is of a type of Python's own whose hash tells what it is equal to."""
    kind = type(value)
    if kind is tuple:
        return depth > 0 and all(_exact(each, depth - 1) for each in value)
    return kind is str or kind is int or kind is float or kind is bool or kind is bytes or value is None

def _has(found, item, items):
    """Whether an item is among `items`, which `found` has, too."""
    return item in (found if found is not None and _exact(item) else items)

def _add(found, item, items):
    """A set with one more item of `items`; the list of them, from the first that is not found alike in both."""
    if found is items or not _exact(item):
        return items
    found.add(item)
    return found

def _as_set(items):
    """The items as a set, if they are a list or tuple of what is found in a set as in a list; else as they are."""
    return set(items) if (type(items) is list or type(items) is tuple) and all(map(_exact, items)) else items

def _counted(items):
    """How often each is among the items, if they are a list or tuple of what a dict finds like a list; else None."""
    return Counter(items) if (type(items) is list or type(items) is tuple) and all(map(_exact, items)) else None

def _count(counts, item, items):
    """How often an item is among `items`, whose counts are these, or None."""
    return counts[item] if counts is not None and _exact(item) else items.count(item)

def _at(items, key):
    """An item of a dict, list or tuple; raises TypeError for all others, whose look-up may do something."""
    if (type(items) is dict or type(items) is list or type(items) is tuple) and _exact(key):
        return items[key]
    raise TypeError

def _own(item, name):
    """Whether an attribute is a value that lies in an object, so that reading it runs nothing."""
    kind = type(item)
    if type(kind) is not type or kind.__getattribute__ is not object.__getattribute__:
        return False
    for each in kind.__mro__:
        if name in each.__dict__:
            found = each.__dict__[name]
            kind = type(found)
            return kind is MemberDescriptorType or (type(kind) is type and not hasattr(kind, "__get__"))
    return name in item.__dict__

def _field(item, name):
    """An attribute; raises TypeError where reading it may do something."""
    if _own(item, name):
        return getattr(item, name)
    raise TypeError

def _by_key(items, keys):
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
        return None

def _found(by_key, key, items):
    """The items that have a key; all where it cannot be looked up."""
    return by_key.get(key, ()) if _exact(key) else items

def _again(*values, depth=5):
    """Raise TypeError where a value, or one inside of it, may be used up, or do something when it is looked at."""
    for each in values if depth else [_again]:
        kind = type(each)
        if kind is dict:
            _again(*each, *each.values(), depth=depth - 1)
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            _again(*each, depth=depth - 1)
        elif not (kind is str or kind is int or kind is float or kind is bool or kind is bytes or kind is range):
            if each is not None:
                raise TypeError

def _at_place(kept, places, function, *values):
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
    return kept[places]

def _plain(value):
    """Whether a value is equal to none that anybody could tell from it, as 1.0 is to 1, and never changes."""
    kind = type(value)
    if kind is tuple:
        return all(map(_plain, value))
    if kind is float:
        return value % 1 != 0
    return kind is str or kind is int or kind is bytes or kind is _date or value is None

def _once(function, *values):
    """What gives the result of a call, computed when it is first asked for, unless that may not be the next one's."""
    call = partial(function, *values)
    try:
        _again(*values)
    except Exception:
        return call
    return cache(call)

def _affixes(items):
    """The items as a tuple, if they are texts in a list, tuple or set; else None."""
    kind = type(items)
    if not (kind is tuple or kind is list or kind is set or kind is frozenset):
        return None
    try:
        "".join(items)
    except TypeError:
        return None
    return tuple(items)

def _added(lists):
    """The sum of lists; from the first thing on that is none, whatever adding gives."""
    found, rest = [], iter(lists)
    for each in rest:
        if type(each) is not list:
            return sum(rest, found + each)
        found += each
    return found
'''
IMPORTS = {
    "MemberDescriptorType": "from types import MemberDescriptorType",
    "Counter": "from collections import Counter",
    "cache": "from functools import cache",
    "partial": "from functools import partial",
    "_date": "from datetime import date as _date",
}
"""What they use of other modules."""
NODES = {node.name: node for node in ast.parse(TEXT).body if isinstance(node, ast.FunctionDef)}


def needed(names: Iterable[str]) -> list[str]:
    """The support functions among some names, and those that they call; each after what it calls."""
    found = {name for name in names if name in NODES}
    while more := names_in(*(NODES[name] for name in found)) & NODES.keys() - found:
        found |= more
    return [name for name in NODES if name in found]
