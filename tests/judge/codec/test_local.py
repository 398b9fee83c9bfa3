from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.judge.codec import FOLDER, Incomparable, Malformed, decode, encode

WRITTEN = """
import dataclasses

WIDTH = 2

def plain():
    from dataclasses import dataclass
    SIZE = 3

    class Base:
        size = SIZE

    @dataclass
    class Point(Base):
        x: int
        y: int = WIDTH

        def far(self):
            return self.x + self.y

    return Point

class Suite:
    def test(self):
        class Held:
            class Inner:
                pass

            def __init__(self):
                self.inner = Held.Inner()

        return Held()

def needs(width):
    class Wide:
        size = width

    return Wide()

def two():
    class Same:
        a = 1

    first = Same()

    class Same:
        a = 2

    return first

def functions():
    return [lambda x: x + WIDTH, lambda x: x * WIDTH, lambda x, y=1: x, lambda x: functions()]

def closed(width):
    return lambda x: x + width

class Table:
    pass

class Context:
    def __init__(self, width):
        self.table = type("table", (Table,), {"width": width})

WIDE, NARROW = Context(3), Context("3")
TWICE = [type("twin", (Table,), {}) for _ in range(2)]
"""

READING = """
import importlib.util, sys
folder = sys.argv[1]
spec = importlib.util.spec_from_file_location("codec", folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules["codec"] = codec = importlib.util.module_from_spec(spec)
spec.loader.exec_module(codec)
value = codec.decode(bytes.fromhex(sys.argv[2]))
print(sys.argv[3] and eval(sys.argv[3], {"value": value}), codec.encode(value).hex() == sys.argv[2])
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A module with functions that define classes and functions."""
    (tmp_path / "codec_written.py").write_text(WRITTEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "codec_written", raising=False)
    return __import__("codec_written")


def read_elsewhere(folder: Path, message: bytes, expression: str) -> str:
    """What an expression of the value gives in a process that never called the functions, and whether it is the same."""
    words = [sys.executable, "-c", READING, FOLDER, message.hex(), expression]
    done = subprocess.run(words, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_instances_of_local_classes_go_to_another_process(tmp_path: Path, written: object) -> None:
    point = written.plain()(1)
    assert read_elsewhere(tmp_path, encode(point), "value.far(), value.size, type(value).__qualname__") == (
        "(3, 3, 'plain.<locals>.Point') True"
    )
    held = written.Suite().test()
    assert read_elsewhere(tmp_path, encode(held), "type(value.inner).__qualname__") == (
        "Suite.test.<locals>.Held.Inner True"
    )


def test_here_the_class_is_the_one_that_was_written(written: object) -> None:
    first, second = written.plain(), written.plain()
    assert type(decode(encode(first(1)))) is first
    assert type(decode(encode(second(1)))) is second


def test_a_class_that_needs_a_call_of_its_function_cannot_be_had(tmp_path: Path, written: object) -> None:
    assert "cannot be had here" in read_elsewhere(tmp_path, encode(written.needs(3)), "value")
    assert "cannot be had here" in read_elsewhere(tmp_path, encode(written.two()), "value")


def test_local_functions_are_told_apart_by_their_code(tmp_path: Path, written: object) -> None:
    add, times, default, _ = written.functions()
    assert read_elsewhere(tmp_path, encode([add, times]), "[each(5) for each in value]") == "[7, 10] True"
    assert encode(add) != encode(times)
    assert decode(encode(times)) is times
    for odd in (default, written.closed(1)):
        with pytest.raises(Incomparable):
            encode(odd)


def test_classes_that_have_no_name_in_their_module_are_found_by_their_code(tmp_path: Path, written: object) -> None:
    both = [written.NARROW.table(), written.WIDE.table()]
    shown = "[type(value[0]) is sys.modules['codec_written'].NARROW.table, value[1].width]"
    assert read_elsewhere(tmp_path, encode(both), f"[sys := __import__('sys'), {shown}][1]") == "[True, 3] True"
    assert "no attribute" in read_elsewhere(tmp_path, encode(written.TWICE[0]()), "value")


def test_functions_within_what_is_being_changed_stay_incomparable(written: object) -> None:
    with pytest.raises(Incomparable):
        encode(written.functions()[0], unseen=frozenset(["codec_written:functions"]))


def test_a_local_function_that_no_module_has_is_refused(written: object) -> None:
    message = encode(written.functions()[0])
    with pytest.raises(Malformed):
        decode(message.replace(message[-8:], b"\1" * 8))


def test_what_a_decorator_compiles_when_it_is_called_does_not_count() -> None:
    lazy = """
import functools

def lazily(function):
    def made(*args):
        return 3
    return functools.update_wrapper(made, function)

class Held:
    @lazily
    def size(self):
        return {}
"""
    messages = []
    for text, called in (("3", False), ("3", True), ("4", False)):
        names = {"__name__": "codec_lazily"}
        exec(lazy.format(text), names)
        if called:
            names["Held"].size.__code__ = (lambda *args: sum(args)).__code__
        messages.append(encode(names["Held"]()))
    assert messages[0] == messages[1] != messages[2]
