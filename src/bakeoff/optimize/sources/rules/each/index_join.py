"""A loop in a loop, or a comprehension, that looks for equal keys goes through what has the key alone.

The condition stays: the dict only leaves out what cannot meet it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.facts.purity import touched
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import bound_inside, calm, names_in, same, stored
from bakeoff.optimize.sources.rules.guards import is_a, is_method, looked_up
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

Scan = ast.For | ast.comprehension


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node) if subject.builtin("enumerate", "list", "type") else ():
        test = _asked(subject, node)
        if test is not None and isinstance(node, Scan) and not in_text(subject, node):
            yield from _rewrite(subject, node, test)


def _asked(subject: Subject, node: ast.AST) -> ast.expr | None:
    """What an item must meet, or else nothing is done with it."""
    match node:
        case ast.For(body=[ast.If(test=test, body=body, orelse=orelse), *rest]):
            if subject.read_outside(stored(node.target), [node]):
                return None
            match test, body, orelse:
                case ast.Compare(left, [ast.NotEq()], [right]), [ast.Continue()], []:
                    return ast.Compare(left, [ast.Eq()], [right])
                case ast.Compare(left, [ast.NotIn()], [right]), [ast.Continue()], []:
                    return ast.Compare(left, [ast.In()], [right])
                case _, _, [ast.If(test=other, orelse=[])] if not rest:
                    return ast.BoolOp(ast.Or(), [test, other])
            return None if rest or orelse else test
        case ast.comprehension(ifs=[test, *_], is_async=0):
            return test
    return None


def _rewrite(subject: Subject, scan: Scan, test: ast.expr) -> Iterator[Rewrite]:
    mine = stored(scan.target)
    root = _root(scan.iter)
    choices = [_keys(each, mine) for each in _alternatives(test)]
    name = root.partition(".")[0]
    if not all(choices) or name not in subject.local - subject.shared or (name != root and not subject.home):
        return
    ours = [pair[1] for pair in choices[0]]
    if not all(same(_key([pair[1] for pair in pairs]), _key(ours)) for pairs in choices):
        return
    theirs = [pair[0] for pairs in choices for pair in pairs]
    if isinstance(scan.target, ast.Tuple) and not all(isinstance(each, ast.Name) for each in scan.target.elts):
        return
    if not all(map(_is_plain, [*theirs, *ours])) or (name != root and is_method(subject, root.rpartition(".")[2])):
        return
    steady = names_in(*theirs) - mine | {root}

    def alters(place: ast.AST) -> bool:
        changed = any(subject.changed(each, place) for each in steady if "." not in each)
        if root != name:
            changed = changed or touched(subject.changes(place), {root})
        return changed or _stores(place, theirs)

    place = repeating(subject, scan.iter, steady, alters)
    if place is None or not names_in(*ours) & stored(place) or names_in(*ours) & mine:
        return
    if isinstance(scan, ast.For) and (names_in(*ours) | {name}) & stored(*scan.body):
        return
    index = subject.fresh(f"{root.rpartition('.')[2]}_by_key")
    items, item = subject.code(scan.iter), ast.unparse(scan.target)
    keys = ", ".join(dict.fromkeys(looked_up(subject, _key([pair[0] for pair in pairs])) for pairs in choices))
    key = f"lambda {item}: [{keys}]"
    if not isinstance(scan.target, ast.Name):
        key = f"lambda item: next([{keys}] for {item} in [item]) if {is_a('item', 'tuple', 'list')} else None"
    kinds = ("dict",) if items.endswith(")") and not items.startswith("enumerate(") else ("list", "tuple")
    listed = f"list({items})" if items.startswith("enumerate(") else items
    owners = [ast.unparse(each.value) for one in ours for each in ast.walk(one) if isinstance(each, ast.Subscript)]
    plain = [f"({is_a(each, 'dict', 'list', 'tuple')})" for each in dict.fromkeys(owners)]
    known = " and ".join([index, *plain, *_owned(ours)])
    found = f"(_found({index}, {ast.unparse(_key(ours))}, {items}) if {known} else {items})"
    start = f"{index} = _by_key(lambda: {listed} if {is_a(root, *kinds)} else None, {key})"
    yield Rewrite([before(subject, place, start, {id(scan.iter): found})])


def _owned(nodes: list[ast.expr]) -> list[str]:
    """The conditions that attributes are values in their objects."""
    parts = [each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Attribute)]
    return list(dict.fromkeys(f"_own({ast.unparse(each.value)}, {each.attr!r})" for each in parts))


def _is_plain(node: ast.expr) -> bool:
    """Whether it is a name, a constant, an item of a name by a constant, or a tuple of these."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=ast.Name(), attr=attr):
            return not attr.startswith("__")
        case ast.Subscript(value=ast.Name(), slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant())):
            return True
        case ast.Tuple(elts=elts):
            return all(map(_is_plain, elts))
    return False


def _root(source: ast.expr) -> str:
    """The local, or `self.x`, whose items, places with items, values or pairs are gone through; else empty."""
    match source:
        case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
            return ast.unparse(source)
        case ast.Call(func=ast.Attribute(value=inner, attr="values" | "items"), args=[], keywords=[]):
            return _root(inner)
        case ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=name)], keywords=[]):
            return name
    return ""


def _alternatives(test: ast.expr) -> list[ast.expr]:
    """Conditions one of which must hold."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return [one for each in values for one in _alternatives(each)]
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=elts) | ast.List(elts=elts)]):
            return [ast.Compare(left, [ast.Eq()], [each]) for each in elts]
    return [test]


def _keys(test: ast.expr, mine: set[str]) -> list[tuple[ast.expr, ast.expr]]:
    """Keys of the item and what they must equal, as far as nothing else is asked before.

    More than one only where what is sought is at hand: else it might not have been computed.
    """
    found: list[tuple[ast.expr, ast.expr]] = []
    for each in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
        pair = _sides(each, mine)
        if pair is None or not calm(*pair) or bound_inside(each):
            break
        if found and not isinstance(pair[1], ast.Name | ast.Constant):
            break
        found.append(pair)
    return found


def _sides(test: ast.expr, mine: set[str]) -> tuple[ast.expr, ast.expr] | None:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for theirs, ours in ((left, right), (right, left)):
                if names_in(theirs) & mine and not names_in(ours) & mine:
                    return theirs, ours
    return None


def _key(nodes: list[ast.expr]) -> ast.expr:
    return nodes[0] if len(nodes) == 1 else ast.Tuple(nodes, ast.Load())


def _stores(place: ast.AST, keys: list[ast.expr]) -> bool:
    """Whether something is stored to an attribute or item by which a key is read."""
    read = [each for key in keys for each in ast.walk(key)]
    attributes = {each.attr for each in read if isinstance(each, ast.Attribute)}
    slices = [each.slice for each in read if isinstance(each, ast.Subscript)]
    for node in ast.walk(place):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr in attributes:
                return True
            case ast.Subscript(slice=at, ctx=ast.Store() | ast.Del()) if any(same(at, each) for each in slices):
                return True
    return False


RULE = Rule("index-join", "A dict gives what has a key at once; a loop looks at all items for each key.", find)
