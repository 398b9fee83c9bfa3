"""What is the same in other words, and what only looks so."""

from __future__ import annotations

import ast
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optimize.corpus import modules

from bakeoff.optimize.source_code.fingerprint import fingerprint
from bakeoff.optimize.source_code.names import table_of, tables

SOAK = bool(os.environ.get("BAKEOFF_SOAK"))


def mark(source: str | bytes) -> str:
    return fingerprint({"a.py": source.encode() if isinstance(source, str) else source})


def body(text: str) -> str:
    return "def f(a, b=1, *c, **d):\n" + "".join(f"    {line}\n" for line in text.split("\n"))


SAME = [
    ("x = a\nreturn x", "y = a\nreturn y"),
    ("return [x for x in a]", "return [y for y in a]"),
    ("return {k: [v for v in w] for k, w in a}", "return {x: [y for y in z] for x, z in a}"),
    ("items = a\nreturn items", "keys = a\nreturn keys"),
    ("get = a.get\nreturn get(1)", "copy = a.get\nreturn copy(1)"),
    ("try:\n    pass\nexcept E as e:\n    print(e)", "try:\n    pass\nexcept E as x:\n    print(x)"),
    ("'doc'\nreturn 'x'", 'return "x"'),
    ("return (a) # c", "\nreturn a"),
    ("return (\n    a +\n    b)", "return a + b"),
    ("def g(x):\n    return x\nreturn g(a)", "def h(x):\n    return x\nreturn h(a)"),
    ("x = 3\ng = lambda: x\nreturn g", "z = 3\nh = lambda: z\nreturn h"),
    ("b1 = 1\na1 = 2\ng = lambda: (a1, b1)\nreturn g", "a1 = 1\nb1 = 2\ng = lambda: (b1, a1)\nreturn g"),
    ("g = lambda: (x, y)\nx = 1\ny = 2\nreturn g", "g = lambda: (y, x)\ny = 1\nx = 2\nreturn g"),
    ("x: int = 3\nreturn x", "x = 3\nreturn x"),
    ("x = 0\ndef g():\n    nonlocal x\n    x += 1\nreturn g", "y = 0\ndef g():\n    nonlocal y\n    y += 1\nreturn g"),
    ("class K:\n    'd'\nreturn K", "class K:\n    pass\nreturn K"),
    ("for i, (j, *k) in a:\n    print(i, j, k)", "for x, (y, *z) in a:\n    print(x, y, z)"),
    ("with a as x:\n    return x", "with a as y:\n    return y"),
    ("match a:\n    case [x, *y]:\n        return x, y", "match a:\n    case [p, *q]:\n        return p, q"),
    ("if (n := len(a)) > 1:\n    return n", "if (m := len(a)) > 1:\n    return m"),
    ("return f'{a}' 'b'", 'return f"{a}b"'),
    ("return 0x10", "return 16"),
]

OTHER = [
    ("class A:\n    x = 1\nreturn A", "class A:\n    y = 1\nreturn A"),
    ("x = 3\ng = lambda x: x\nreturn g", "z = 3\ng = lambda x: z\nreturn g"),
    ("x = 3\ng = lambda x: x\nreturn g", "z = 3\ng = lambda y: y\nreturn g"),
    ("global x\nx = 1", "global y\ny = 1"),
    ("global x\nx = 1", "x = 1"),
    ("x = 0\ndef g():\n    nonlocal x\n    x += 1\nreturn g", "x = 0\ndef g():\n    x = 0\n    x += 1\nreturn g"),
    ("x = 1\nreturn locals()", "y = 1\nreturn locals()"),
    ("x = 1\nreturn vars()", "y = 1\nreturn vars()"),
    ("x = 1\nreturn eval(a)", "y = 1\nreturn eval(a)"),
    ("x = 1\nexec(a)", "y = 1\nexec(a)"),
    ("x = 1\nreturn sys._getframe().f_locals", "y = 1\nreturn sys._getframe().f_locals"),
    ("return g(x=1)", "return g(y=1)"),
    ("return a.x", "return a.y"),
    ("return f'{a} x'", "return f'{a} y'"),
    ("return f'{a!r}'", "return f'{a!s}'"),
    ("return f'{a:2}'", "return f'{a:3}'"),
    ("return 1", "return 1.0"),
    ("return 1", "return True"),
    ("return (1, 2)", "return (1, 2.0)"),
    ("return a in {1}", "return a in {True}"),
    ("return 0.0", "return -0.0"),
    ("return 0j", "return -0j"),
    ("return 'a'", "return b'a'"),
    ("return g(a), h(a)", "x = h(a)\nreturn g(a), x"),
    ("return a + b", "return b + a"),
    ("return a < b", "return b > a"),
    ("return [x for x in a]", "return list(a)"),
    ("return (x for x in a)", "return [x for x in a]"),
    ("def g(x):\n    return x\nreturn g", "def h(x):\n    return x\nreturn h"),
    ("def g(x):\n    yield x\nreturn g(a)", "def h(x):\n    yield x\nreturn h(a)"),
    ("def g(x):\n    return x\nreturn g(x=a)", "def g(y):\n    return y\nreturn g(y=a)"),
    ("class K:\n    def m(self): pass\nreturn K", "class K:\n    def n(self): pass\nreturn K"),
    ("x = y = a\nreturn x", "y = a\nreturn y"),
    ("import math\nreturn math", "import cmath as math\nreturn math"),
    ("assert a", "pass"),
    ("g = lambda: x\nx = 1\ny = 2\nreturn g", "g = lambda: y\nx = 1\ny = 2\nreturn g"),
    ("return a and b", "return a or b"),
    ("return lambda p: p", "return lambda q: q"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert mark(body(one)) == mark(body(other))


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_can_be_told_apart(one: str, other: str) -> None:
    assert mark(body(one)) != mark(body(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LIMIT = 1\n", "TOP = 1\n"),
        ("def f(x): return x\n", "def f(y): return y\n"),
        ("def f(x): return x\n", "def g(x): return x\n"),
        ("import math\n", "from math import sqrt\n"),
        ("def f(x: int): return x\n", "def f(x: str): return x\n"),
        ("def f(x=1): return x\n", "def f(x=1.0): return x\n"),
        ("def f(x): return x\n", "async def f(x): return x\n"),
        ("class A:\n def f(self): return self.__x\n", "class B:\n def f(self): return self.__x\n"),
        ("def f(:\n", "def f( :\n"),
    ],
)
def test_modules_that_differ(one: str, other: str) -> None:
    assert mark(one) != mark(other)


def test_files_that_are_not_python_count_by_their_bytes() -> None:
    assert fingerprint({"a.txt": b"x=1"}) != fingerprint({"a.txt": b"x = 1"})
    assert fingerprint({"a.py": b"x=1"}) == fingerprint({"a.py": b"x = 1"})
    assert len({fingerprint({"a.py": each}) for each in (None, b"", b"\xff", b"(" * 300)}) == 4
    assert fingerprint({"a.py": b"", "b.py": None}) != fingerprint({"a.py": b""})


def renamed(tree: ast.Module, chance: random.Random) -> int:
    """Give locals of each function other names; how many were."""
    top = table_of(ast.unparse(tree))
    local, other = set(), set()
    for table in tables(top):
        for symbol in table.get_symbols():
            name = symbol.get_name()
            plain = (symbol.is_local() or symbol.is_free()) and table.get_type() != "class" and table is not top
            if plain and not (symbol.is_parameter() and name[:1] != ".") and not symbol.is_namespace():
                local.add(name)
            else:
                other.add(name)
    new = {name: f"zz_{chance.random():.12f}".replace(".", "_") for name in sorted(local - other)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in new:
                node.id = new[name]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                node.name = new.get(name, name)
            case ast.MatchMapping(rest=str(name)):
                node.rest = new.get(name, name)
            case ast.Nonlocal():
                node.names = [new.get(name, name) for name in node.names]
            case ast.alias(asname=asname, name=name):
                root = name.partition(".")[0]
                if asname in new:
                    node.asname = new[asname]
                elif asname is None and name in new:
                    node.asname = new[name]
                elif asname is None and root in new:
                    return 0  # import a.b binds a: no other name can be given
    return len(new)


def mutations(tree: ast.Module) -> Iterator[None]:
    """Change what one node means, and back."""
    for node in list(ast.walk(tree)):
        match node:
            case ast.BinOp(left=left, right=right) if ast.dump(left) != ast.dump(right):
                if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
                    continue
                node.left, node.right = right, left
                yield
                node.left, node.right = left, right
            case ast.Attribute(attr=attr):
                node.attr = attr + "_"
                yield
                node.attr = attr
            case ast.keyword(arg=str(arg)):
                node.arg = arg + "_"
                yield
                node.arg = arg
            case ast.Compare(ops=[ast.Lt()]):
                node.ops = [ast.LtE()]
                yield
                node.ops = [ast.Lt()]


def parsed(paths: list[Path]) -> Iterator[tuple[Path, ast.Module]]:
    for path in paths:
        try:
            yield path, ast.parse(ast.unparse(ast.parse(path.read_bytes())))
        except (SyntaxError, RecursionError, ValueError):
            continue


@pytest.mark.soak
def test_locals_of_the_library_renamed_keep_the_fingerprint() -> None:
    total = 0
    for path, tree in parsed(modules(None if SOAK else 40)):
        text = path.read_text("utf-8", "ignore")
        if any(
            word in text for word in ("locals()", "vars(", "eval(", "exec(", "dir(", "_getframe", "f_locals", "f_back")
        ):
            continue
        before = mark(path.read_bytes())
        count = renamed(tree, random.Random(1))
        if any(
            word in text for word in ("__code__", "stack", "trace", "currentframe", "breakpoint", "f_code", "co_name")
        ):
            continue
        total += count
        alike = before == mark(ast.unparse(ast.fix_missing_locations(tree)))
        assert alike, path
    assert total > 300


@pytest.mark.soak
def test_mutations_of_the_library_change_the_fingerprint() -> None:
    total = 0
    for path, tree in parsed(modules(None if SOAK else 25, 30_000)):
        before = mark(ast.unparse(tree))
        for at, _ in enumerate(mutations(tree)):
            if at % 15 == 0:
                total += 1
                differs = mark(ast.unparse(tree)) != before
                assert differs, (path, at)
    assert total > 100
