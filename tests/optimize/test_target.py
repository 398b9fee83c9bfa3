"""Targets are read and found; errors name what is near."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.target import Target, parse_target


def test_parse_target() -> None:
    assert parse_target("pkg/mod.py:Class.method") == Target(PurePosixPath("pkg/mod.py"), "Class.method")
    assert str(parse_target("pkg\\mod.py:f")) == "pkg/mod.py:f"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mod.py", "names no function"),
        (":f", "names no function"),
        ("mod.py:", "names no function"),
        ("mod.py:f.<locals>.g", "name the function around it"),
        ("mod.py:f-g", "no name of a function"),
        ("mod.txt:f", "no Python file"),
        ("/abs/mod.py:f", "not inside the project"),
        ("../mod.py:f", "not inside the project"),
    ],
)
def test_parse_target_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        parse_target(text)


def found(source: str | bytes, qualname: str) -> str:
    raw = source if isinstance(source, bytes) else source.encode()
    place = locate(raw, qualname)
    return raw[place.start : place.end].decode("latin-1")


def test_span_holds_decorators_and_no_trailing_comment() -> None:
    assert found("@(\n  # why\n  d\n)\n@e\ndef f():\n    return 1  # one\n# after\n", "f").startswith("@(\n  # why")
    assert found("@d\ndef f():\n    return 1  # one\n", "f") == "@d\ndef f():\n    return 1"


def test_method_of_nested_class() -> None:
    source = "class A:\n    class B:\n        async def f(self): return 1\n    def f(self): return 2\n"
    place = locate(source.encode(), "A.B.f")
    assert (place.is_async, place.is_method, place.indentation, place.line) == (True, True, "        ", 3)
    assert found(source, "A.f") == "def f(self): return 2"


def test_of_several_the_last_in_force_counts() -> None:
    assert found("def f(): return 1\ndef f(): return 2\n", "f") == "def f(): return 2"
    assert found("if A:\n    def f(): return 1\nelse:\n    def f(): return 2\n", "f") == "def f(): return 2"
    assert found("def f(): return 1\nif TYPE_CHECKING:\n    def f(): return 2\n", "f") == "def f(): return 1"
    assert found("def f(): return 1\nif t.FAST or 0:\n    def f(): return 2\n", "f") == "def f(): return 2"
    assert found("def f(): return 1\n@overload\ndef f(): ...\n", "f") == "def f(): return 1"
    source = "class A:\n    @property\n    def f(self): return 1\n    @f.setter\n    def f(self, x): pass\n"
    assert "return 1" in found(source, "A.f")
    assert found("try:\n    import f\nexcept E:\n    def f(): return 3\n", "f") == "def f(): return 3"
    assert found("match x:\n    case 1:\n        def f(): return 3\n", "f") == "def f(): return 3"


def test_spans_are_bytes() -> None:
    assert found("# é€\ns = 'ü'\ndef f(ä): return ä\n", "f") == "def f(ä): return ä".encode().decode("latin-1")
    assert found("# coding: latin-1\ns = 'ü'\ndef f(): return 'ü'\n".encode("latin-1"), "f") == "def f(): return 'ü'"
    assert found(b"\xef\xbb\xbfx = 1\r\ndef f():\r\n    return 1\r\n", "f") == "def f():\r\n    return 1"
    assert found("x = '\x0c'\n\x0cdef f():\n    return 1\n", "f") == "def f():\n    return 1"
    assert found(b"x = 1\rdef f():\r    return 1\r", "f") == "def f():\r    return 1"


def test_facts() -> None:
    place = locate(b"@a.b(1)\n@c\ndef f():\n    yield 1\n", "f")
    assert (place.decorators, place.name) == (("a.b", "c"), "f")
    assert locate(b"class A:\n  def f(self):\n     return 1", "A.f").text == "def f(self):\n     return 1"


@pytest.mark.parametrize(
    ("source", "qualname", "said"),
    [
        ("class A:\n    def work(self): pass\n", "work", "did you mean A.work"),
        ("def worker(): pass\n", "work", "did you mean worker"),
        ("x = 1\n", "work", "defines none at all"),
        ("\n".join(f"def abc{n}(): pass" for n in range(12)), "work", "and 4 more"),
        ("def f(:\n", "f", "mod.py is no Python"),
        ("# coding: nonsense\n", "f", "mod.py is no Python"),
        ("(" * 500 + ")" * 500, "f", "mod.py is no Python"),
        ("# coding: utf-8\nx = '\udcff'\n", "f", "mod.py is no Python"),
        ("x = 1\0\n", "f", "mod.py is no Python"),
    ],
)
def test_locate_says_what_is_wrong(source: str, qualname: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        locate(source.encode("utf-8", "surrogateescape"), qualname, "mod.py")


def test_encoding_that_does_not_come_back() -> None:
    with pytest.raises(TargetError, match="other bytes"):
        locate(b"# coding: utf-7\nx = '+AGE-'\n", "f")


def test_candidate_id_is_of_its_files_alone() -> None:
    one = Candidate("rules/a", {"a.py": b"1", "b.py": None})
    same = Candidate("model", {"b.py": None, "a.py": b"1"}, "note", "parent")
    assert one.id == same.id
    assert one != same
    assert len({one.id, Candidate("r", {"a.py": b"1"}).id, Candidate("r", {"a.py": None}).id}) == 3
    assert len({one, one}) == 1


@pytest.mark.parametrize("path", ["/a.py", "../a.py", "a/../b.py", "", "a//b.py", "./a.py", "a\0.py"])
def test_candidate_changes_files_of_the_project(path: str) -> None:
    with pytest.raises(ValueError, match="relative to its root"):
        Candidate("r", {path: b""})


def test_candidate_changes_something() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Candidate("r", {})
