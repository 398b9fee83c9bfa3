from __future__ import annotations

import ast
import importlib
import io
import random
import socket
import sys
import time
import weakref
from array import array
from collections import OrderedDict, deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional
from xml.etree import ElementTree

import pytest

from bakeoff.judge.codec import Malformed, decode, encode
from bakeoff.judge.codec.tree import Writer
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour import evaluation, runs
from bakeoff.optimize.behaviour.derived_inputs import derived
from bakeoff.optimize.behaviour.differences import Difference, arguments_of, of_call, of_process, of_test, same
from bakeoff.optimize.behaviour.evaluation import _Confined, _listen
from bakeoff.optimize.behaviour.explanation import WIDE
from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.behaviour.inside.addopts import kept_options
from bakeoff.optimize.behaviour.inside.importing import ProjectFinder, decorated, target_in
from bakeoff.optimize.behaviour.inside.writeback import Restored, nodes
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Call, Watched
from bakeoff.optimize.behaviour.warm_server import Channel
from bakeoff.optimize.source_code.changes import changed_besides, is_public

OPTIONS = BehaviourOptions()


def test_one_reason_is_said_by_precedence() -> None:
    assert reasons.first([reasons.RETURN, reasons.TAMPERING, reasons.DERIVED]) == "tampering"
    assert reasons.first([]) is None
    assert len(set(reasons.PRECEDENCE)) == len(reasons.PRECEDENCE) == 32
    with pytest.raises(KeyError):
        reasons.first(["slow"])


def test_a_test_gets_time_by_what_the_original_takes() -> None:
    limit = BehaviourOptions(timeout=15, floor=5).time_limit
    assert [limit(0.001), limit(0.5), limit(2), limit(10)] == [5, 10, 15, 50]
    with pytest.raises(ValueError, match="derived or recorded"):
        BehaviourOptions(inputs="all")


# Frames


def test_a_frame_comes_as_it_went() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        frames.send(ours, {"a": 1}, [b"x" * 100_000, b""])
        assert frames.receive(theirs, None) == ({"a": 1}, [b"x" * 100_000, b""])
        with pytest.raises(frames.LateFrame):
            frames.receive(theirs, 0.0)
        ours.send(b"rubbish that is no frame")
        with pytest.raises(frames.BrokenFrame):
            frames.receive(theirs, None)
        theirs.recv(100)
        ours.close()
        assert frames.receive(theirs, None) is None


@pytest.mark.parametrize("data", [b"[]", b"{", b"[1, [2]]", b"[{}, [5]]", b"[{}, [-1, 1]]", b"[" * 100_000])
def test_what_is_no_header_is_refused(data: bytes) -> None:
    with pytest.raises(frames.BrokenFrame):
        frames.unpack(data, b"")


def test_a_frame_that_does_not_come_whole_is_the_end_or_late() -> None:
    whole = frames.pack({"a": 1}, [b"x" * 50])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(whole[:-10])
        with pytest.raises(frames.LateFrame):
            frames.receive(theirs, time.monotonic() + 0.05)
        ours.sendall(whole[:-10])
        theirs.settimeout(None)
        theirs.recv(1000)
        ours.sendall(whole[:-10])
        ours.close()
        assert frames.receive(theirs, None) is None
        assert frames.receive(theirs, None) is None


def test_the_names_of_many_tests_fit_into_a_frame() -> None:
    wanted = {"wanted": [f"tests/test_versions.py::test_compare[{n}-{'x' * 50}]" for n in range(50_000)]}
    whole = frames.pack(wanted)
    header, body = frames.sizes(whole[: frames.HEAD.size])
    assert frames.unpack(whole[frames.HEAD.size :], b"") == (wanted, [])
    assert (header + frames.HEAD.size, body) == (len(whole), 0)


def test_a_frame_that_is_too_large_is_refused() -> None:
    with pytest.raises(frames.BrokenFrame):
        frames.sizes(frames.HEAD.pack(frames.MARK, 10, 1 << 31))


# Importing

MODULE = """
import functools
class Outer:
    class Inner:
        @staticmethod
        @functools.lru_cache
        def work(x): return x
    @property
    def size(self): return 1
    @size.setter
    def size(self, value): pass
if True:
    def here(): return 1
else:
    def here(): return 2
try:
    def there(): return 1
except ImportError:
    def there(): return 2
TABLE = {"here": here}
"""


@pytest.mark.parametrize(
    ("name", "count"), [("Outer.Inner.work", 1), ("Outer.size", 1), ("here", 2), ("there", 2), ("no", 0)]
)
def test_definitions_are_decorated_where_they_are_functions_still(name: str, count: int) -> None:
    tree = ast.parse(MODULE)
    decorated(tree, name)
    text = ast.unparse(tree)
    assert text.count("@__bakeoff_decorate__") == count
    if name == "Outer.Inner.work":
        assert "@staticmethod\n        @__bakeoff_decorate__(7)\n        @functools.lru_cache" in text
        inner = ast.parse(MODULE)
        decorated(inner, name, inner=True)
        assert "@functools.lru_cache\n        @__bakeoff_decorate__(7)\n        def" in ast.unparse(inner)
    if name == "Outer.size":
        assert "@property\n    @__bakeoff_decorate__" in text


def test_the_projects_modules_are_compiled_anew_and_decorated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "behaviour_probe"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_other.py").write_text("VALUE = 1\n")
    seen = []

    def decorate(line):
        return lambda function: lambda *args: ("decorated", function(*args))

    target = (str(tmp_path / f"{name}.py"), "here")
    finder = ProjectFinder(str(tmp_path), {str(tmp_path / f"{name}_other.py"): b"VALUE = 2\n"}, target, decorate)
    finder.after = seen.append
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        module = importlib.import_module(name)
        assert module.TABLE["here"]() == ("decorated", 1)
        assert not hasattr(module, "__bakeoff_decorate__")
        assert seen == [module]
        assert finder.loaded == {name: str(tmp_path / f"{name}.py")}
        assert importlib.import_module(f"{name}_other").VALUE == 2
        assert not (tmp_path / "__pycache__").exists()
        assert target_in(module, "Outer.Inner.work")(3) == 3
        assert target_in(module, "Outer.size").__name__ == "size"
        with pytest.raises(AttributeError):
            target_in(module, "TABLE")
    finally:
        sys.modules.pop(name, None)
        sys.modules.pop(f"{name}_other", None)


# Options of pytest

CONFIGURATIONS = {
    "pytest.ini": "[pytest]\naddopts = -n 4 -p no:cov -p mine --import-mode=importlib -W error\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['-n', '4', '-pno:cov', '-p', 'mine', '--import-mode=importlib', '-W', 'error']\n",
    "setup.cfg": "[tool:pytest]\naddopts = --cov=x -p mine --import-mode=importlib -W error -x\n",
    "pytest.toml": "[pytest]\naddopts = '-p mine --import-mode=importlib -W error --lf'\n",
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_options_that_say_how_tests_are_found_are_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(CONFIGURATIONS[name])
    assert kept_options(str(tmp_path)) == (["-p", "mine", "--import-mode=importlib", "-W", "error"], [])


@pytest.mark.parametrize(
    ("written", "options", "places"),
    [
        ("-m 'not stress'", ["-m", "not stress"], []),
        ("-ra -q -m 'not (slow or net)' -k 'not x' tests docs",
         ["-m", "not (slow or net)", "-k", "not x"], ["tests", "docs"]),
        ("--ignore=a --ignore b --deselect t.py::test_a --ignore-glob='*x' -n 4 c",
         ["--ignore=a", "--ignore", "b", "--deselect", "t.py::test_a", "--ignore-glob=*x"], ["c"]),
        ("--doctest-modules src --cov src --cov-report term --durations 5 -n auto --dist loadfile -vv",
         ["--doctest-modules"], ["src"]),
        ("-xvs -n4 -rsx --strict-markers -Werror --tb=short tests", ["--strict-markers", "-Werror"], ["tests"]),
        ("--new-option 7 --no-cov --cache-clear tests -o xfail_strict=true",
         ["--new-option", "7", "-o", "xfail_strict=true"], ["tests"]),
        ("--maxfail 2 --reruns 3 --random-order-seed=1 -p randomly -p no:doctest -c other.ini",
         ["-p", "no:doctest"], []),
    ],
)  # fmt: skip
def test_the_projects_own_selection_is_kept(
    tmp_path: Path, written: str, options: list[str], places: list[str]
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {written}\n")
    assert kept_options(str(tmp_path)) == (options, places)


def test_without_a_configuration_there_are_no_options(tmp_path: Path) -> None:
    assert kept_options(str(tmp_path)) == ([], [])
    (tmp_path / "pytest.ini").write_text("[other]\n")
    assert kept_options(str(tmp_path)) == ([], [])
    (tmp_path / "pytest.ini").write_text("no ini file")
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    (tmp_path / "setup.cfg").write_text("[other]\n")
    assert kept_options(str(tmp_path)) == ([], [])


# Writing back


class Slotted:
    __slots__ = ("__hidden", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self.__hidden = value

    def both(self) -> tuple[object, object]:
        return self.value, self.__hidden


def sent_and_come(sent: object, change, consume: bool = True):
    """As it is in another process: what is sent is decoded there, changed, and comes back."""
    there = decode(encode(sent))
    theirs = nodes(there)
    result = change(there)
    _, came, value = decode(encode((there, theirs, result)))
    restored = Restored(nodes(sent), came)
    restored.write()
    return restored.real(value)


def test_changes_come_back_into_the_same_objects() -> None:
    inner = [3]
    sent = (
        {"list": inner, "set": {1}, "bytes": bytearray(b"x"), "queue": deque([1])},
        SimpleNamespace(at=inner),
        inner,
    )

    def change(there):
        there[0]["list"].append(there[0])
        there[0]["set"].add(2)
        there[0]["bytes"].extend(b"y")
        there[0]["queue"].append(5)
        there[0]["new"] = there[1]
        there[1].more = there[2]
        del there[1].at
        return there[2], [there[0]], "text", (1, 2)

    result = sent_and_come(sent, change)
    assert inner[1] is sent[0]
    assert sent[0]["set"] == {1, 2}
    assert sent[0]["bytes"] == b"xy"
    assert list(sent[0]["queue"]) == [1, 5]
    assert sent[0]["new"] is sent[1]
    assert vars(sent[1]) == {"more": inner}
    assert result[0] is inner
    assert result[1][0] is sent[0]
    assert result[2:] == ("text", (1, 2))


def test_order_streams_and_buffers_come_back_too() -> None:
    memory = bytearray(b"abc")
    order = OrderedDict(a=1, b=2, c=3)
    order.move_to_end("a")
    sent = (order, io.StringIO("one\ntwo\n"), io.BytesIO(), array("i", [1]), memoryview(memory)[::2], io.StringIO())

    def change(there):
        there[0].move_to_end("b")
        there[0].popitem(last=False)
        there[1].readline()
        there[2].write(b"x")
        there[3].append(2)
        there[4][1] = 7
        there[5].close()
        return there[2]

    result = sent_and_come(sent, change)
    assert list(order.items()) == [("a", 1), ("b", 2)]
    assert sent[1].read() == "two\n"
    assert (sent[2].getvalue(), sent[2].tell(), result) == (b"x", 1, sent[2])
    assert list(sent[3]) == [1, 2]
    assert memory == b"ab\x07"
    assert sent[5].closed


def test_slots_and_arrays_come_back_too() -> None:
    numpy = pytest.importorskip("numpy")
    sent = (Slotted([1]), numpy.arange(3), numpy.array([[1], None], dtype=object))

    def change(there):
        there[0].value = "new"
        there[1][0] = 9
        there[2][1] = 7
        return there[1]

    result = sent_and_come(sent, change)
    assert sent[0].both() == ("new", [1])
    assert sent[1].tolist() == [9, 1, 2]
    assert sent[2][1] == 7
    assert result is sent[1]


def test_tables_of_pandas_come_back_into_the_same_objects() -> None:
    pandas = pytest.importorskip("pandas")
    sent = (
        pandas.DataFrame({"a": [1, 2]}), pandas.Series([1, 2], name="b"), pandas.array([1, None]), pandas.Index([1], name="c"),
        pandas.DataFrame({"kept": [1]}),
    )  # fmt: skip

    def change(there):
        there[0]["new"] = ["x", None]
        there[0].attrs["unit"] = "m"
        there[0].loc[9] = [3, "z"]
        there[1].name = "d"
        there[1][5] = 3
        there[2][1] = 7
        return there[0], there[1]

    result = sent_and_come(sent, change)
    assert result[0] is sent[0]
    assert result[1] is sent[1]
    assert list(sent[0].columns) == ["a", "new"]
    assert sent[0].index.tolist() == [0, 1, 9]
    assert sent[0].attrs == {"unit": "m"}
    assert (sent[1].name, sent[1].tolist()) == ("d", [1, 2, 3])
    assert sent[2].tolist() == [1, 7]
    assert encode(sent[4]) == encode(pandas.DataFrame({"kept": [1]}))


def test_an_array_of_pandas_that_became_another_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    restored = Restored([pandas.array([1, 2])], [pandas.array([1, 2, 3])])
    with pytest.raises(ValueError, match="cannot take"):
        restored.write()


def test_elements_and_syntax_trees_come_back_too() -> None:
    tree, text = ElementTree.fromstring("<a><b/>t<c x='1'/></a>"), ast.parse("x + y")
    first = tree[0]

    def change(there):
        there[0].remove(there[0][1])
        there[0].text = "new"
        there[0].set("y", "2")
        made = ElementTree.SubElement(there[0], "d")
        there[1].body[0].value.left.id = "z"
        return made

    made = sent_and_come((tree, text), change)
    assert ElementTree.tostring(tree) == b'<a y="2">new<b />t<d /></a>'
    assert tree[0] is first
    assert tree[1] is made
    assert ast.unparse(text) == "z + y"
    one = ast.Load()
    assert nodes([one]) == [[one]]


def test_random_numbers_go_on_where_the_call_left_them() -> None:
    def change(there):
        return [each.random() for each in there]

    sources: list[Any] = [random.Random(1)]
    fresh: list[Any] = [random.Random(1)]
    numpy = pytest.importorskip("numpy")
    for found in (sources, fresh):
        found += [numpy.random.default_rng(2), numpy.random.RandomState(3)]
    assert sent_and_come(tuple(sources), change) == [each.random() for each in fresh]
    assert [each.random() for each in sources] == [each.random() for each in fresh]


def test_what_is_bound_is_bound_to_the_real_object() -> None:
    items: list[int] = []
    holder = Slotted([1])
    number = {1}
    sent = (items.append, holder.both, weakref.ref(number), number, [3].__contains__)

    def change(there):
        there[0](5)
        there[1].__self__.value = "new"
        there[3].add(2)
        return there[:3]

    result = sent_and_come(sent, change)
    assert items == [5]
    assert holder.both()[0] == "new"
    assert number == {1, 2}
    result[0](6)
    assert items == [5, 6]
    assert result[1].__self__ is holder
    assert result[2]() is number


HINT = Optional[int]  # noqa: UP045 - an object of typing, not of the language


def test_what_goes_over_by_name_is_not_looked_into() -> None:
    sent = ([1], pytest, nodes, len, deque, pytest.fixture, str.lower, int.real, list[int], int | None, HINT)
    nodes.hung_on = [2]  # type: ignore[attr-defined]
    try:
        assert nodes(sent) == [[1]]
        assert sent_and_come(sent, lambda there: there[1:]) == sent[1:]
    finally:
        del nodes.hung_on  # type: ignore[attr-defined]


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(ValueError, match="something else"):
        Restored([[]], [{}])


# Comparing


def nested(depth: int) -> list:
    found: list = []
    for _ in range(depth):
        found = [found]
    return found


def call(result: object, before: object = ((), {}), after: object = ((), {}), kind: str = "return", **more) -> Call:
    whole = encode((after, result), WIDE)
    done = after if isinstance(after, bytes) else encode(after, WIDE)
    return Call("t", 0, kind, encode(before), whole, encode(result, WIDE), done, type=type(result).__name__, **more)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (call(1), call(2), "behaviour/return"),
        (call(1), call(1.0), "behaviour/type"),
        (call([1, 2]), call([1]), "behaviour/return"),
        (call({1: 2}), call({1: True}), "behaviour/type"),
        (call([[1]] * 2), call([[1], [1]]), "behaviour/aliasing"),
        (call(0.0), call(-0.0), "behaviour/return"),
        (call(SimpleNamespace(a=1)), call(SimpleNamespace(a=2)), "behaviour/return"),
        (call(SimpleNamespace(a=1)), call(deque([1])), "behaviour/type"),
        (call(1), call(1, out=b"x"), "behaviour/stdout"),
        (call(1), call(1, err=b"x"), "behaviour/stdout"),
        (call(1), call(1, after=(([],), {})), "behaviour/mutation"),
        (call(1), call(ValueError("x"), kind="raise"), "behaviour/exception"),
        (call(ValueError("x"), kind="raise"), call(1), "behaviour/exception"),
        (call(ValueError("x"), kind="raise"), call(KeyError("x"), kind="raise"), "behaviour/exception"),
        (call(1), call(MemoryError(), kind="raise"), "memory-limit"),
        (call(1), call(OSError(28, "full"), kind="raise", errno=28), "disk-limit"),
        (call(1), call(1, kind="incomparable", message="lock at [0]"), "incomparable"),
        (call(1), call(1, kind="incomparable", message="more than 5 bytes at [0]"), "output-limit"),
        (call(1), call(1, kind="unfit", message="no class"), "incomparable"),
        (call(1), Call("t", 0, "return", b"", b"w", b"\0digest123", type="int"), "behaviour/return"),
        (Call("t", 200, "return", digest="a"), Call("t", 200, "return", digest="b"), "behaviour/return"),
        (Call("t", 200, "return", type="int", digest="a"), Call("t", 200, "return", digest="b"), "behaviour/type"),
        (Call("t", 200, "raise", digest="a"), Call("t", 200, "raise", digest="b"), "behaviour/exception"),
        (
            call(ValueError("x"), kind="raise"),
            Call("t", 0, "raise", b"", b"other class", after=encode(((), {})), type="ValueError"),
            "behaviour/exception",
        ),
        (call([[1], [2]] * 2), call([[1], [2], [1], [2]]), "behaviour/aliasing"),
        (call(1, after=b"\0digest1"), call(1, after=b"\0digest2"), "behaviour/mutation"),
        (call(1), Call("t", 0, "return", b"", b"w", b"rubbish", type="int"), "incomparable"),
        (call(1), Call("t", 0, "return", b"", b"w", b"", type="int"), "incomparable"),
        (call(1), Call("t", 0, "return", b"", b"w", b"\x01" + b"l\x01*" * 100_000, type="int"), "incomparable"),
        (call(1), call(10**5000), "behaviour/return"),
        (call(10**5000), call(10**5000 + 1), "behaviour/return"),
        (call([10**5000], before=((10**5000,), {"a": 10**5000})), call([1]), "behaviour/return"),
        (call({10**5000: 1}), call({10**5001: 1}), "behaviour/return"),
        (call({10**5000}), call({10**5001}), "behaviour/return"),
        (call(nested(3000)), call(nested(2999)), "behaviour/return"),
        (call("\ud800"), call("\udfff"), "behaviour/return"),
        (call(1, after=((nested(900),), {})), call(1, after=((nested(899),), {})), "behaviour/mutation"),
    ],
)
def test_each_difference_has_its_reason(one: Call, other: Call, reason: str) -> None:
    found = of_call(one, other, "t", OPTIONS)
    assert found is not None
    assert found.reason == reason
    assert found.detail
    assert of_call(one, one, "t", OPTIONS) is None


def test_what_is_compared_is_a_choice() -> None:
    told = BehaviourOptions(messages=True)
    one, other = call(1, message="a"), call(1, message="b")
    assert same(one, other, OPTIONS)
    assert of_call(one, other, "t", told).reason == "behaviour/exception"  # type: ignore[union-attr]
    warned = call(1, warned=(("builtins", "UserWarning", "old"),))
    assert same(call(1), warned, BehaviourOptions(warnings=False))
    assert of_call(call(1), warned, "t", OPTIONS).reason == "behaviour/stdout"  # type: ignore[union-attr]
    again = call(1, warned=(("builtins", "UserWarning", "new"),))
    assert same(again, warned, OPTIONS)
    assert not same(again, warned, told)
    assert same(call(1), call(1, err=b"x"), BehaviourOptions(stderr=False))


def test_iterators_are_compared_by_what_they_give() -> None:
    def made(items, kind=iter):
        return Call("t", 0, "return", b"", encode(((), {}, [], kind(items))), type="iterator")

    assert of_call(made([1, 2]), made([1, 3]), "t", OPTIONS).reason == "behaviour/return"  # type: ignore[union-attr]
    assert of_call(made([1, 2]), made([1, 2], list), "t", OPTIONS).reason == "behaviour/type"  # type: ignore[union-attr]


def test_missing_more_and_other_calls_are_differences() -> None:
    one, two = call(1), call(2, before=((5,), {}))
    assert of_test("t", [one, two], [one, two], OPTIONS) == []
    for found in ([one], [one, two, two], [two, one]):
        (difference,) = of_test("t", [one, two], found, OPTIONS)
        assert difference.reason == "behaviour/missing"
    (first,) = of_test("t", [one, two], [call(3)], OPTIONS)
    assert first.reason == "behaviour/return"


def test_calls_are_shown() -> None:
    assert arguments_of(encode(((1, "x"), {"key": [2]}))) == "(1, 'x', key=list(2))"
    assert arguments_of(b"") == ""
    assert arguments_of(b"\0digestx") == "(...)"
    assert arguments_of(b"rubbish") == "(?)"
    assert len(arguments_of(encode((("x" * 5000,), {})))) < 300
    assert arguments_of(encode(((10**5000,), {"b": -(10**5000)}))) == "(of 16610 bits, b=of 16610 bits)"
    assert len(arguments_of(encode((tuple(range(100_000)), {f"k{n}": n for n in range(10_000)})))) < 300
    shown = Difference("timeout", "t", "(1)", "late")
    assert str(shown) == "t: (1): late"
    assert str(Difference("timeout", "", "", "late")) == "late"


def test_what_the_original_does_too_is_no_escape() -> None:
    watched = Watched(
        status=9, evidence=[("files", "open /x"), ("process", "os.fork")], left=["sh"], forged=True, ended="memory"
    )
    found = [one.reason for one in of_process(watched, [("process", "os.fork")], "")]
    assert found == ["tampering", "memory-limit", "process-leak", "fs-escape"]
    assert watched.how == "it died of SIGKILL"
    assert Watched(status=256).how == "it ended with status 1"
    assert Watched(status=50).how == "it died of signal 50"
    assert Watched(failed="no room").how == "no room"


# Derived inputs


def test_derived_inputs_stay_within_what_was_seen() -> None:
    calls = [
        encode((([3, 1, 2], "ab", 5), {"key": 1.5})),
        encode((([9], "abc", 7), {"key": 0.5})),
        encode((([4, 5], "a", 6), {"key": 1.0})),
    ]
    made = derived(calls, 30, keep_first=False)
    assert len(set(made) - set(calls)) == len(made) == 30
    for message in made:
        (numbers, text, count), named = decode(message)
        assert all(type(number) is int and 1 <= number <= 9 for number in numbers)
        assert 1 <= len(numbers) <= 3
        assert set(text.lower()) <= set("abc")
        assert count in (5, 6, 7)
        assert 0.5 <= named["key"] <= 1.5
    assert derived(calls, 30, keep_first=False) == made


def test_values_of_every_kind_are_derived() -> None:
    numpy = pytest.importorskip("numpy")
    samples = [
        (
            {"a": 1, "b": [True, None]},
            {1, 2},
            frozenset("ab"),
            (1, 2),
            b"xyz",
            numpy.arange(4),
            SimpleNamespace(n=1),
            2j,
        ),
        ({"a": 5, "b": [False]}, {3}, frozenset("c"), (4, 5), b"z", numpy.ones(4), SimpleNamespace(n=9), ...),
    ]
    calls = [encode((sample, {})) for sample in samples]
    for message in derived(calls, 40, keep_first=False):
        first, *rest = decode(message)[0]
        assert set(first) == {"a", "b"}
        assert [type(value) for value in rest[:6]] == [set, frozenset, tuple, bytes, numpy.ndarray, SimpleNamespace]
        assert 1 <= rest[5].n <= 9
    long = [encode(((list(range(200)), [float(n) for n in range(100)], "word " * 50, {n: n for n in range(5)}), {}))]
    for message in derived(long, 20, keep_first=False):
        ints, floats, text, table = decode(message)[0]
        assert set(ints) <= set(range(200))
        assert all(0.0 <= n <= 99.0 for n in floats)
        assert set(text) <= set("word ")
        assert set(table) <= set(range(5))
    assert derived([encode(((), {})), b"rubbish"], 5, keep_first=False) == []
    kept = derived([encode(((SimpleNamespace(a=4), [5, 6]), {}))], 5, keep_first=True)
    assert kept
    assert all(decode(message)[0][0].a == 4 for message in kept)


def test_where_nothing_can_be_derived_what_was_seen_stays() -> None:
    empty = encode(((float("nan"), "", b"", [], {}, object, SimpleNamespace(), {(1, 0): 1}, 1), {}))
    assert derived([empty], 10, keep_first=False) == []
    other = encode(((float("nan"), "", b"", [], {}, object, SimpleNamespace(), {(1, 0): 1}, 2), {}))
    assert derived([empty, other], 10, keep_first=False) == []
    third = encode(((float("nan"), "", b"", [], {}, object, SimpleNamespace(), {(1, 0): 1}, 5), {}))
    made = derived([empty, other, third], 10, keep_first=False)
    assert {decode(message)[0][8] for message in made} <= {3, 4}
    for message in made:
        nan, *rest = decode(message)[0]
        assert nan != nan
        assert rest[:5] == ["", b"", [], {}, object]


def test_what_is_shared_stays_shared_or_is_left_out() -> None:
    shared = [1, 2]
    for message in derived([encode(((shared, shared, 5), {})), encode((([3], [4], 9), {}))], 30, keep_first=False):
        one, other, _ = decode(message)[0]
        assert one is not other or one == other
    from bakeoff.judge.codec.tree import Node

    with pytest.raises(Malformed):
        Writer().message(Node(b"^", (7,)))


@pytest.mark.parametrize(
    "value",
    [range(3), slice(1, 2), Path, len, iter([1, 2]), bytearray(b"x"), 1j, NotImplemented, 10**30, -1, sys, "\ud800"],
)
def test_what_is_parsed_can_be_written_again(value: object) -> None:
    from bakeoff.judge.codec import DEFAULT
    from bakeoff.judge.codec.tree import parse

    data = encode((value,))
    assert encode(decode(Writer().message(parse(data, DEFAULT)))) == encode(decode(data))


# What else a candidate changes


def test_what_is_changed_besides_is_named() -> None:
    before = b'"""Doc."""\nimport os\nLIMIT = 1\n_low = 2\nclass A(B):\n    x = 1\n    def work(self): pass\n    def other(self): pass\nfor i in range(2):\n    print(i)\n'
    assert changed_besides(before, before + b"NEW = 1\n", "A.work") == []
    after = before.replace(b"work(self): pass", b"work(self): return 1").replace(b"Doc", b"Other")
    assert changed_besides(before, after, "A.work") == []
    assert changed_besides(before, before.replace(b"LIMIT = 1", b"LIMIT = 2"), "A.work") == ["LIMIT"]
    assert changed_besides(before, before.replace(b"other(self): pass", b"other(self): 1"), "A.work") == ["A.other"]
    assert changed_besides(before, before.replace(b"A(B)", b"A(C)"), "A.work") == ["A."]
    assert changed_besides(before, before.replace(b"range(2)", b"range(3)"), "A.work") == [
        "for i in range(2):",
        "for i in range(3):",
    ]
    assert changed_besides(before, before.replace(b"A(B)", b"A(B, metaclass=C)"), "A.work") == ["A."]
    assert changed_besides(before, b"def (", "A.work") == []


PROPERTY = """import json
import os
from a import helper

__all__ = ["os"]


class A:
    @property
    def names(self): return json.loads(self.text)
    @names.setter
    def names(self, value): self.text = value
    def work(self): return helper(1)


class C(A):
    def run(self): return 1
"""


def test_definitions_of_one_name_are_told_apart() -> None:
    before = PROPERTY.encode()
    assert changed_besides(before, before.replace(b"return helper(1)", b"return 2"), "A.work") == []
    assert changed_besides(before, before.replace(b"loads(self.text)", b"loads(self.text[:])"), "A.names") == []
    setter = b"    @names.setter\n    def names(self, value): self.text = value\n"
    assert changed_besides(before, before.replace(setter, b""), "A.names") == ["A.names"]
    assert changed_besides(before, before.replace(b"self.text = value", b"pass"), "A.names") == ["A.names"]


@pytest.mark.parametrize(
    ("qualname", "old", "new", "said"),
    [
        ("A.work", "import json\n", "", ["import of json"]),
        ("A.work", "import json\n", "import ujson as json\n", ["import of json"]),
        ("A.work", "import os\n", "", ["import of os"]),
        ("A.work", "from a import helper\n", "", []),
        ("A.work", "from a import helper\n", "from a import helper\nfrom bisect import insort\n", []),
        ("A.work", "class C(A)", "from b import C as A\nclass C(A)", ["import of A"]),
    ],
)
def test_imports_count_where_others_use_them(qualname: str, old: str, new: str, said: list[str]) -> None:
    assert changed_besides(PROPERTY.encode(), PROPERTY.replace(old, new).encode(), qualname) == said


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("import gc\ngc.disable()\n", ["gc.disable()"]),
        ("import sys\nsys.setrecursionlimit(9000)\n", ["sys.setrecursionlimit(9000)"]),
        ("os.environ['FAST'] = '1'\n", ["os.environ['FAST']"]),
        ("print('hello')\n", ["print('hello')"]),
        ("def __getattr__(name): return 1\n", ["__getattr__"]),
        ("if True:\n    def A(): pass\n", ["if True:"]),
        ("if os.name == 'x':\n    A = 1\n", ["if os.name == 'x':"]),
        ("del A\n", ["del A"]),
        ("TABLE = [0] * 9\nfor i in range(9):\n    TABLE[i] = i\n", []),
        ("TABLE = []\nTABLE.append(1)\nTABLE.size = 1\n", []),
        ("try:\n    import numpy\nexcept ImportError:\n    numpy = None\n", []),
        ("def _filled(): return {}\n_known = _filled()\n", []),
        ("f.calls = 0\n", []),
    ],
)
def test_what_a_new_statement_does_to_what_exists_is_a_change(new: str, said: list[str]) -> None:
    before = PROPERTY + "def f(): pass\n"
    assert changed_besides(before.encode(), (before + new).encode(), "f") == said


@pytest.mark.parametrize(
    ("qualname", "new", "said"),
    [
        ("A.work", "    def __eq__(self, other): return True\n", ["A.__eq__"]),
        ("A.work", "    __slots__ = ()\n", ["A.__slots__"]),
        ("A.work", "    def further(self): return 1\n    size = 3\n", []),
        ("C.run", "    def work(self): return 2\n", ["C.work"]),
    ],
)
def test_new_names_of_a_class_count_where_python_or_a_caller_would_find_them(
    qualname: str, new: str, said: list[str]
) -> None:
    at = PROPERTY.index("\n\nclass C") + 1 if qualname == "A.work" else len(PROPERTY)
    assert changed_besides(PROPERTY.encode(), (PROPERTY[:at] + new + PROPERTY[at:]).encode(), qualname) == said


def test_a_target_that_is_no_def_any_more_is_changed_for_callers_that_look() -> None:
    assert changed_besides(b"def f(x): pass\n", b"f = lambda x: None\n", "f") == ["f"]


def test_what_python_calls_by_itself_is_public() -> None:
    assert [is_public(name) for name in ("A.__eq__", "work", "A._own", "_own", "__own")] == [
        True,
        True,
        False,
        False,
        False,
    ]


FORGED = [
    {"say": "begin"},
    {"say": "begin", "test": [[[]]]},
    {"say": "phase", "test": "t", "phase": "call", "outcome": "passed", "seconds": {}},
    {"say": "phase", "test": "t", "phase": "call", "outcome": "passed", "seconds": 10**400},
    {"say": "phase", "test": "t"},
    {"say": "call", "test": "t", "index": "x"},
    {"say": "call", "test": "t", "index": 1e999},
    {"say": "collected", "tests": 7},
    {"say": "lost", "why": "ended"},
    {"say": "uncollected"},
    {"say": "unready"},
    {"say": []},
]


@pytest.mark.anyio
@pytest.mark.parametrize("header", FORGED)
async def test_a_report_that_makes_no_sense_is_forged(header: dict) -> None:
    ours, theirs = socket.socketpair()
    frames.send(theirs, header)
    theirs.close()
    channel, run = Channel(ours), runs.TestRun()
    await _listen(channel, run, 1.0, lambda run, test: None)
    channel.close()
    assert run.forged or run.end is None
    assert run.forged == (header != {"say": "begin", "test": [[[]]]})


@pytest.mark.anyio
async def test_reports_have_room_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "REPORTS", 3 * evaluation.FRAME + 10)
    for sizes, forged in (([5, 5], False), ([5, 6, 300], True), ([0, 0, 0, 0], True)):
        ours, theirs = socket.socketpair()
        for number, size in enumerate(sizes):
            frames.send(theirs, {"say": "call", "test": "t", "index": number}, [b"x" * size])
        theirs.close()
        channel, run = Channel(ours), runs.TestRun()
        await _listen(channel, run, 1.0, lambda run, test: None)
        channel.close()
        assert run.forged is forged


def test_what_was_seen_may_be_cut_off() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        confined = _Confined(ours, theirs)
        confined._understand(b'{"status": 0, "wrote": ["aaa')
    assert confined.watched.failed == "it left more than can be told of"
