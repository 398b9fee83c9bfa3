"""Equal keys: which part of a condition belongs to an inner item, and which to whatever it is compared with."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.kinds import LAZY, UNHASHABLE, base
from bakeoff.optimize.sources.rules.looking import bound_inside, calm, names_in, same
from bakeoff.optimize.sources.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Join:
    """A condition that holds only where keys are equal.

    Attributes:
        theirs: texts of the keys of the inner item; any of them may be the equal one.
        nodes: the same as expressions.
        ours: text of the key that is looked for.
        our_nodes: the same as expressions.
        guards: conditions on the inner item alone, which are asked first.
        rest: what is left to be asked; None: the whole condition again.
    """

    theirs: tuple[str, ...]
    nodes: tuple[ast.expr, ...]
    ours: str
    our_nodes: tuple[ast.expr, ...]
    guards: tuple[ast.expr, ...] = ()
    rest: tuple[ast.expr, ...] | None = ()

    def filling(self, subject: Subject, index: str, item: str) -> str:
        """The statements that put one item into the dict `index`."""
        if len(self.theirs) == 1:
            text = f"{index}.setdefault({self.theirs[0]}, []).append({item})"
        else:
            key = subject.fresh("key")
            text = f"for {key} in {{{', '.join(self.theirs)}}}:\n    {index}.setdefault({key}, []).append({item})"
        if self.guards:
            return f"if {conjunction(subject, self.guards)}:\n{subject.indented(text)}"
        return text


def source_name(subject: Subject, node: ast.expr) -> str | None:
    """The name of the list that is gone through, or of the dict whose values or pairs are; None where it may change."""
    match node:
        case ast.Name(id=name) if base(subject.kind(node)) not in LAZY | {"dict", "str"}:
            pass
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="values" | "items" | "keys"), args=[]):
            pass
        case _:
            return None
    return name if name in subject.local and name not in subject.shared else None


def sides(test: ast.expr, mine: set[str]) -> tuple[ast.expr, ast.expr] | None:
    """Of `a == b` the side that reads a name of `mine`, and the other one, which reads none."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for theirs, ours in ((left, right), (right, left)):
                if names_in(theirs) & mine and not names_in(ours) & mine:
                    return theirs, ours
    return None


def join_of(subject: Subject, test: ast.expr, mine: set[str], steady: Iterable[str]) -> Join | None:
    """Join in a condition on an inner item, whose variables are `mine`: how it asks for an equal key.

    Args:
        subject: the function.
        test: the condition.
        mine: variables of the inner item.
        steady: other names that are the same for all items and all searches.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return several(subject, test.values, mine, steady)
    match test:
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=elts) | ast.List(elts=elts)]) if elts:
            tests = [ast.Compare(left, [ast.Eq()], [each]) for each in elts]
            return None if names_in(left) & mine else several(subject, tests, mine, steady)
    conditions = test.values if isinstance(test, ast.BoolOp) else [test]
    known = mine | set(steady)
    pairs = {id(each): pair for each in conditions if (pair := _keys(subject, each, mine, known))}
    varying = {each: pair for each, pair in pairs.items() if names_in(pair[1])} or dict(list(pairs.items())[:1])
    if not varying:
        return None
    last = max(at for at, each in enumerate(conditions) if id(each) in varying)
    first = min(at for at, each in enumerate(conditions) if id(each) in varying)
    others = [each for each in conditions if id(each) not in varying]
    if not calm(*(each for each in conditions[:last] if id(each) not in varying)):
        return None
    guards = [each for each in conditions[:first] if names_in(each) & mine and names_in(each) <= known]
    rest = tuple(each for each in others if not any(each is guard for guard in guards))
    theirs, ours = ([pair[at] for pair in varying.values()] for at in (0, 1))
    return Join(
        (_key(subject, theirs),), tuple(theirs), _key(subject, ours), tuple(ours), tuple(guards), rest
    )  # fmt: skip


def several(subject: Subject, tests: Iterable[ast.expr], mine: set[str], steady: Iterable[str]) -> Join | None:
    """The same where one of several conditions is enough, each of which asks for the same key."""
    found = [join_of(subject, each, mine, steady) for each in tests]
    joins = [each for each in found if each is not None]
    if not joins or len(joins) < len(found) or any(each.guards for each in joins):
        return None
    if len({each.ours for each in joins}) > 1:
        return None
    theirs = dict.fromkeys(text for each in joins for text in each.theirs)
    nodes = tuple(node for each in joins for node in each.nodes)
    return Join(tuple(theirs), nodes, joins[0].ours, joins[0].our_nodes, (), None)


def conjunction(subject: Subject, conditions: Iterable[ast.expr]) -> str:
    """All of these conditions in one."""
    every = list(conditions)
    return subject.code(every[0]) if len(every) == 1 else " and ".join(map(subject.part, every))


def _keys(subject: Subject, test: ast.expr, mine: set[str], known: set[str]) -> tuple[ast.expr, ast.expr] | None:
    """Both keys, if they can be keys of a dict as far as can be seen, or made so."""
    found = _solved(subject, test, mine) or sides(test, mine)
    if found is None or not calm(*found) or not _own(found[0]) <= known:
        return None
    kinds = [subject.kind(each) for each in found]
    lists = [base(each) == "list" for each in kinds]
    if "float" in kinds or {base(each) for each in kinds} & (UNHASHABLE - {"list"}) or any(lists) != all(lists):
        return None
    return found


def _own(node: ast.expr) -> set[str]:
    """Names that are read, besides those of functions that are called."""
    called = {
        id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and id(each) not in called} - bound_inside(
        node
    )


def _solved(subject: Subject, test: ast.expr, mine: set[str]) -> tuple[ast.expr, ast.expr] | None:
    """Of `theirs + ours == total`, with whole numbers, `theirs` and `total - ours`."""
    match test:
        case ast.Compare(left=ast.BinOp(left=one, op=ast.Add(), right=two), ops=[ast.Eq()], comparators=[total]):
            for theirs, ours in ((one, two), (two, one)):
                if names_in(theirs) & mine and not names_in(ours, total) & mine:
                    whole = all(subject.kind(each) in ("int", "bool") for each in (theirs, ours, total))
                    return (theirs, ast.BinOp(total, ast.Sub(), ours)) if whole else None
    return None


def _key(subject: Subject, nodes: list[ast.expr]) -> str:
    texts = [_single(subject, each) for each in nodes]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _single(subject: Subject, node: ast.expr) -> str:
    text = subject.code(node) if hasattr(node, "lineno") else ast.unparse(node)
    if isinstance(node, ast.Tuple) and not text.startswith("("):
        text = f"({text})"
    return f"tuple({text})" if base(subject.kind(node)) == "list" else text


def alters(place: ast.AST, keys: Iterable[ast.expr], mine: set[str]) -> bool:
    """Whether a statement stores to an attribute or item of an item by which one of its keys is read."""
    read = [each for key in keys for each in ast.walk(key)]
    attributes = {each.attr for each in read if isinstance(each, ast.Attribute)}
    slices = [each.slice for each in read if isinstance(each, ast.Subscript) and names_in(each.value) & mine]
    for node in ast.walk(place):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr in attributes:
                return True
            case ast.Subscript(slice=at, ctx=ast.Store() | ast.Del()) if any(same(at, each) for each in slices):
                return True
    return False
