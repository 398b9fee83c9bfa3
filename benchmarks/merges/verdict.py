"""What is wrong with a merged file, told without its rules: lines and statements that it lost, invented or doubled."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.plan.merge.hunks import Texts

_PARTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call, ast.arguments, ast.FunctionDef, ast.ClassDef)

Parts = Counter[tuple[str, str]]
"""What a text is made of: statements, items, lines or words, each with the definition or line that it stands in, and
how often."""

_VERSION = re.compile(r"\bv?\d+(?:\.\d+)+(?:[-.]?[a-z]+[-.]?\d*)*|\b[0-9a-f]{40}\b")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a merged file stands to its versions and to what people made.

    Attributes:
        wrong: what is lost, invented or doubled, in words; empty where nothing is.
        equal: `bytes`, `tree` for the same syntax tree, `words` for the same words in another order, or empty.
    """

    wrong: tuple[str, ...]
    equal: str


def judge(texts: Texts, merged: bytes, people: bytes | None, kind: str) -> Verdict:
    """The verdict on a merged file: by statements for Python of today, by lines for plain files, else by words."""
    python = kind == "python"
    found = merged.decode("utf-8", "replace")
    sides = _settled([text.decode("utf-8", "replace") for text in (texts.base, texts.ours, texts.theirs)], found)
    trees = [_tree(text) for text in (*sides, found)] if python else []
    if python and trees[1] is not None and trees[2] is not None:
        wrong = list(_faults_of_trees(trees)) if trees[3] is not None else ["is no Python"]
    else:
        parts = _lines if kind in ("plain", "lock") else _words  # what else is told by layout alone is no fault
        wrong = list(_faults(*map(parts, (*sides, found))))
    equal = _equal(merged, people, python)
    return Verdict(() if equal in ("bytes", "tree") else tuple(wrong), equal)


def _settled(sides: list[str], merged: str) -> list[str]:
    """The sides with the merged line in place of theirs, where all have it but for a version that both sides moved.

    Only one of the two can stand; it is not lost if the other one does.
    """
    rows = [text.splitlines(keepends=True) for text in sides]
    of_sides = [{_VERSION.sub("version", line): line for line in row if _VERSION.search(line)} for row in rows]
    for line in set(merged.splitlines(keepends=True)):
        shape = _VERSION.sub("version", line)
        was = [lines.get(shape) for lines in of_sides]
        if None not in was and len(set(was)) == len(was) and line in was[1:]:
            rows = [[line if each in was else each for each in row] for row in rows]
    return ["".join(row) for row in rows]


def _equal(merged: bytes, people: bytes | None, python: bool) -> str:
    if people is None:
        return ""
    if merged == people:
        return "bytes"
    trees = [_tree(text.decode("utf-8", "replace")) for text in (merged, people)] if python else [None]
    if None not in trees and len({ast.dump(tree) for tree in trees if tree is not None}) == 1:
        return "tree"
    return "words" if sorted(merged.split()) == sorted(people.split()) else ""


def _faults_of_trees(trees: list[ast.Module | None]) -> Iterator[str]:
    base, ours, theirs, merged = (tree or ast.Module([], []) for tree in trees)
    yield from _faults(*map(_statements, (base, ours, theirs, merged)))
    known = _undefined(ours) | _undefined(theirs)
    yield from (f"undefined: {name}" for name in _undefined(merged) - known)
    counts = [_twice(tree) for tree in (ours, theirs, merged)]
    for path, count in counts[2].items():
        if count > max(1, counts[0][path], counts[1][path]):
            yield f"defined twice: {path}"


def _faults(base: Parts, ours: Parts, theirs: Parts, merged: Parts) -> Iterator[str]:
    """What is there more or less often than what both sides did can account for, in the file or place by place."""
    rows: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)
    for key in {**base, **ours, **theirs, **merged}:
        rows[key[1]].append(tuple(side[key] for side in (base, ours, theirs, merged)))
    for part, places in rows.items():
        whole = [sum(counts) for counts in zip(*places, strict=True)]
        ranges = [_range(*whole[:3]), tuple(map(sum, zip(*(_range(*each[:3]) for each in places), strict=True)))]
        most = max(each[1] for each in ranges)
        if whole[3] > most:
            yield f"{'doubled' if most > 0 else 'invented'}: {part}"
        elif whole[3] < min(each[0] for each in ranges):
            yield f"lost: {part}"


def _range(base: int, ours: int, theirs: int) -> tuple[int, ...]:
    """How often at least and at most something is there after both changes; both may have done the same."""
    counts = [max(0, ours + theirs - base), *([ours, theirs] if base not in (ours, theirs) else [])]
    return min(counts), max(counts)


def _words(text: str) -> Parts:
    return Counter((line.strip(), word) for line in text.splitlines() for word in re.findall(r"\w+", line))


def _lines(text: str) -> Parts:
    lines = (" ".join(line.replace("'", '"').split()) for line in text.splitlines())
    return Counter(("", line) for line in lines if line)


def _tree(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _statements(tree: ast.Module | None) -> Parts:
    """Statements without their bodies, and what stands in brackets each for itself."""
    found: Parts = Counter()
    if tree is not None:
        _outline(tree, found, "")
    return found


def _outline(node: object, found: Parts, place: str) -> str:
    """A node without its statements and items; these are counted by themselves."""
    if isinstance(node, list):
        return ",".join(_outline(each, found, place) for each in node)
    if isinstance(node, str) and "\n" in node:  # each line of a text for itself
        found.update((place, line) for _, line in _lines(node).elements())
        return "text"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.ImportFrom | ast.Import):
        source = f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
        found.update((place, f"{source}import {ast.unparse(alias)}") for alias in node.names)
        return source
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        place = f"{place}.{node.name}"
    parts = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, list) and value and (isinstance(value[0], _PARTS) or isinstance(node, _CONTAINERS)):
            found.update((place, _outline(each, found, place)) for each in value)
        else:
            parts.append(f"{name}={_outline(value, found, place)}")
    return f"{type(node).__name__}({' '.join(parts)})"


def _undefined(tree: ast.Module) -> set[str]:
    """Names that are read somewhere and bound nowhere in the module."""
    read, bound = set(), set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name):
                bound.add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias():
                bound.add(node.asname or node.name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    return read - bound


def _twice(tree: ast.AST) -> Counter[str]:
    """Definitions by the path to each."""
    found: Counter[str] = Counter()
    rows: list[tuple[str, ast.AST]] = [("", tree)]
    while rows:
        path, node = rows.pop()
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            inside = f"{path}.{child.name}" if named else path  # type: ignore[attr-defined] # it has one
            found.update([inside] if named else [])
            rows.append((inside, child))
    return found
