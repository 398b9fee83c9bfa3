from __future__ import annotations

import array
import collections
import csv
import decimal
import importlib.util
import io
import itertools
import math
import operator
import random
import struct
import subprocess
import sys
import threading
import types
import weakref
import zlib
import zoneinfo
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.judge.codec import FOLDER, Incomparable, Limits, Malformed, decode, encode, explain
from bakeoff.judge.codec.wire import VERSION

from . import values
from .values import TRICKY, Colour, Failure, Gone, Items, Pair, Plain, Point, Remembers, Slotted, Text, Unlike


def test_tricky_values_are_pairwise_distinct() -> None:
    assert len(TRICKY) >= 53
    said: dict[bytes, Any] = {}
    for value in TRICKY:
        data = encode(value)
        assert data not in said, (value, said[data])
        said[data] = value


@pytest.mark.parametrize("value", TRICKY, ids=lambda value: type(value).__name__)
def test_tricky_values_come_back(value: Any) -> None:
    data = encode(value)
    back = decode(data)
    assert type(back) is type(value)
    assert encode(back) == data


@pytest.mark.parametrize(
    "value",
    [
        Gone(2, "no", "a"), Gone("x"), FileNotFoundError(2, "no", "a"), OSError(2, "no", "a", None, "b"), OSError(),
        UnicodeDecodeError("ascii", b"\xff", 0, 1, "no"), UnicodeEncodeError("ascii", "é", 0, 1, "no"), ImportError("no"),
        SyntaxError("no", ("a.py", 1, 2, "x", 1, 3)), KeyError("a"), StopIteration(1), SystemExit(2),
        ExceptionGroup("a", [ValueError(1)]), AttributeError("no"), Failure(1, 2),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_exception_comes_back_with_what_it_says(value: BaseException) -> None:
    back: Any = decode(encode(value))
    assert (type(back), str(back), repr(back.args)) == (type(value), str(value), repr(value.args))
    for name in ("errno", "strerror", "filename", "filename2", "value", "code", "object", "reason", "msg", "lineno"):
        assert getattr(back, name, None) == getattr(value, name, None)


def test_an_exception_that_hides_what_it_was_made_with_comes_back_with_what_it_shows() -> None:
    back: Any = decode(encode(Unlike("x")))
    assert (type(back), str(back), back.args) == (Unlike, "x", ("x",))


@pytest.mark.parametrize(("one", "other"), list(itertools.pairwise(TRICKY)))
def test_a_difference_is_put_in_words(one: Any, other: Any) -> None:
    said = explain(encode([0, {"a": one}]), encode([0, {"a": other}]))
    assert said.startswith("[1]['a']")
    assert explain(encode(one), encode(one)) == ""


ATOMS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text(st.characters())
    | st.binary() | st.decimals() | st.fractions() | st.datetimes() | st.timedeltas() | st.uuids()
    | st.sampled_from([*Colour, ..., NotImplemented, int, Point])
)  # fmt: skip
KEYS = st.integers() | st.text() | st.booleans() | st.tuples(st.integers(), st.text()) | st.frozensets(st.integers())
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner) | st.sets(KEYS)
        | st.lists(inner).map(collections.deque) | st.lists(inner).map(Items)
        | st.builds(Point, inner, inner) | st.builds(Slotted, inner, inner) | st.builds(Pair, inner, inner)
        | st.builds(Plain, a=inner, b=inner) | st.builds(ValueError, inner)
    ),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_what_is_decoded_is_what_was_encoded(value: Any) -> None:
    data = encode(value)
    assert encode(decode(data)) == data
    assert explain(data, encode(value)) == ""


@given(VALUES, VALUES)
def test_equal_bytes_are_equal_values(one: Any, other: Any) -> None:
    same = encode(one) == encode(other)
    assert (explain(encode(one), encode(other)) == "") is same
    if same and "nan" not in repr(one).lower() and one == one:
        assert repr(one) == repr(other) or " at 0x" in repr(one)


@given(st.binary(max_size=60) | st.tuples(VALUES, st.integers(0), st.binary(max_size=3)).map(
    lambda made: encode(made[0])[: made[1] % 200] + made[2]
))  # fmt: skip
def test_garbage_is_refused_and_never_read_beyond_its_limits(data: bytes) -> None:
    for whole in (data, VERSION + data):
        try:
            parsed = explain(encode(0), whole)
        except Malformed:
            continue
        assert isinstance(parsed, str)


def test_sets_have_one_order() -> None:
    one = set()
    for text in ("b", "a", "c", "aa", 3, 2.5, (1, "x"), frozenset("q")):
        one.add(text)
    other = set(one)
    other.update(range(1000))
    other.difference_update(range(1000))
    other.add(3)
    assert encode(one) == encode(other)


def test_aliasing_is_a_part_of_the_value() -> None:
    part = [1]
    assert encode(([1], part)) == encode((part, [1])) == encode(([1], [1]))
    assert encode((part, part)) != encode(([1], [1]))
    point = Point(part, None)
    back = decode(encode({"a": point, "b": [point, part]}))
    assert back["b"][0] is back["a"]
    assert back["b"][1] is back["a"].x
    assert encode((("a", 1.5), ("a", 1.5))) == encode(tuple(("a", 1.5) for _ in range(2)))


def test_a_temporary_does_not_lend_its_id() -> None:
    items = [collections.deque([n]) for n in range(50)]
    assert encode(items) == encode([collections.deque([n]) for n in range(50)])
    assert "occurred before" not in explain(encode(items), encode(items[:-1]))


def test_objects_of_a_set_that_look_alike_cannot_be_referred_to() -> None:
    one, other = Plain(x=1), Plain(x=1)
    assert encode({one, other}) == encode({Plain(x=1), Plain(x=1)})
    with pytest.raises(Incomparable, match="look alike"):
        encode([{one, other}, one])
    assert encode([{one, Plain(x=2)}, one]) != encode([{Plain(x=2), one}, Plain(x=1)])
    one.me = {one}
    assert decode(encode(one)).x == 1


def test_cycles_through_what_is_made_whole_can_be_compared_only() -> None:
    loop: collections.deque[Any] = collections.deque()
    loop.append(loop)
    again: collections.deque[Any] = collections.deque()
    again.append(again)
    assert encode(loop) == encode(again)
    with pytest.raises(Malformed, match="holds itself"):
        decode(encode(loop))


def test_the_order_of_attributes_does_not_count_and_of_keys_does() -> None:
    assert encode(Plain(a=1, b=2)) == encode(Plain(b=2, a=1))
    assert encode({"a": 1, "b": 2}) != encode({"b": 2, "a": 1})
    used = Remembers()
    assert used.square == 4
    assert encode(used) == encode(Remembers())


@pytest.mark.parametrize("make", [
    lambda items: itertools.tee(items)[1], lambda items: iter(collections.OrderedDict.fromkeys(items)),
    lambda items: iter(memoryview(bytes(items))), lambda items: iter(array.array("i", items)),
    lambda items: struct.iter_unpack("B", bytes(items)), lambda items: csv.reader(map(str, items)),
    lambda items: ElementTree.fromstring(f"<{'a' * sum(items)}/>").iter(),
])  # fmt: skip
def test_iterators_of_the_library_are_what_they_give(make: Any) -> None:
    assert encode(make([1, 2])) == encode(make([1, 2])) != encode(make([1, 3]))


def test_iterators_are_read_to_their_end() -> None:
    def failing() -> Any:
        yield 1
        raise ValueError("later")

    assert encode(iter([1, 2])) == encode(iter([1, 2])) != encode(iter([1, 3]))
    assert encode(iter([1, 2])) != encode(iter((1, 2)))
    assert encode(x for x in (1, 2)) != encode([1, 2])
    said = explain(encode(x for x in (1,)), encode(failing()))
    assert "ValueError" in said
    back = decode(encode([failing(), map(str, [1])]))
    assert list(back[1]) == ["1"]
    with pytest.raises(ValueError, match="later"):
        list(back[0])
    for endless in (itertools.cycle("ab"), itertools.repeat(1), (n for n in itertools.count())):
        with pytest.raises(Incomparable, match="more than 100 items"):
            encode(endless, Limits(items=100))
    generator = (x for x in (1, 2))
    with pytest.raises(Incomparable, match="used up"):
        encode([generator], consume=False)
    assert list(generator) == [1, 2]


def closure() -> Any:
    value = 1
    return lambda: value


def held(lock: Any) -> Any:
    lock.acquire()
    return lock


def marked(stream: Any) -> Any:
    stream.mark = 1
    return stream


LOCK = held(threading.Lock())


def test_what_has_a_state_goes_on_from_there() -> None:
    before = values.Holder(3, "text")
    before.random.gauss(0, 1)
    after = decode(encode(before))
    assert encode(after) == encode(before)
    assert after.random.gauss(0, 1) == before.random.gauss(0, 1)
    assert after.random.random() == before.random.random()
    assert (next(after.ids), next(before.ids)) == (3, 3)
    assert after.log is before.log
    assert after.lock is not before.lock
    after.out.write("more")
    assert after.out.getvalue() == "textmore"
    sort = decode(encode(operator.methodcaller("center", 5, "x")))
    assert sort("a") == "xxaxx"
    with pytest.raises(TypeError):
        decode(encode(types.MappingProxyType({1: 2})))[1] = 3


def test_a_state_that_is_none_is_no_value() -> None:
    data = encode(random.Random(1))
    at = data.index(random_state := struct.pack("<625I", *random.Random(1).getstate()[1]))
    with pytest.raises(Malformed):
        decode(data[:at] + b"\xff" * len(random_state) + data[at + len(random_state) :])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (closure(), "function with a closure"), (lambda x=1: x, "function without a name in its module"),
        (held(threading.Lock()), "lock"), (held(threading.RLock()), "lock"), (sys.stdout.__class__, None), ([].append, None),
        (types.CodeType.__new__, None), (iter(object, 1).__class__, None), (types.ModuleType("made"), "module"),
        (compile("1", "", "eval"), "type builtins.code"),
        (marked(io.BytesIO()), "stream with attributes"), (itertools.count(decimal.Decimal(1)), "counter"), (weakref.ref(int, print), "weak reference that calls back"),
        (sys._getframe(), "frame"), (zlib.compressobj(), "type zlib.Compress"), (types.MethodType(len, 1), "method"),
    ],
)  # fmt: skip
def test_what_has_no_bytes_is_named(value: Any, kind: str | None) -> None:
    if kind is None:
        assert encode(value)
        return
    with pytest.raises(Incomparable) as raised:
        encode([1, {"a": Plain(x=(0, value))}])
    assert raised.value.kind.startswith(kind)
    assert raised.value.path == "[1]['a'].x[1]"
    assert str(raised.value).endswith(" at [1]['a'].x[1]")


def test_files_and_sockets_have_no_bytes(tmp_path: Any) -> None:
    import socket

    with open(tmp_path / "file", "wb") as file, socket.socket() as link:
        for value, kind in ((file, "file"), (link, "socket")):
            with pytest.raises(Incomparable, match=kind):
                encode(value)


@pytest.mark.parametrize(
    "value",
    [{1: LOCK}, {(1, 2): LOCK}, slice(LOCK), {Slotted(LOCK)}, {Slotted(LOCK): 1}, Plain(x=LOCK).method],
)  # fmt: skip
def test_the_path_leads_everywhere(value: Any) -> None:
    with pytest.raises(Incomparable) as raised:
        encode([value])
    assert raised.value.path.startswith("[0]")
    assert len(raised.value.path) > 3


class Liar:
    """Equal to anything, hashes as it likes, and calls itself an int."""

    calls: list[str] = []  # noqa: RUF012

    def __eq__(self, other: object) -> bool:
        self.calls.append("eq")
        return True

    def __hash__(self) -> int:
        return 1

    @property
    def __class__(self) -> Any:
        self.calls.append("class")
        return int

    def __reduce_ex__(self, version: Any) -> Any:
        self.calls.append("reduce")
        return (exec, ("raise SystemExit",))

    def __iter__(self) -> Any:
        self.calls.append("iter")
        return iter(())

    def __getattribute__(self, name: str) -> Any:
        if name != "calls":
            Liar.calls.append(name)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        Liar.calls.append("repr")
        return "1"


class LyingMeta(type):
    def __hash__(cls) -> int:
        raise RuntimeError("hashed")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("compared")

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__qualname__", "__module__", "__mro__", "__dict__", "__flags__"):
            raise RuntimeError("asked")
        return super().__getattribute__(name)


def lying() -> Any:
    class Meant(metaclass=LyingMeta):
        pass

    return Meant()


class Many(dict):
    def items(self) -> Any:
        raise RuntimeError("items")

    keys = values = __iter__ = __getitem__ = __len__ = items


class Wide(tuple):
    def __iter__(self) -> Any:
        raise RuntimeError("iter")

    __len__ = __getitem__ = __iter__


class Digits(int):
    def __add__(self, other: Any) -> Any:
        raise RuntimeError("add")

    __index__ = __int__ = __radd__ = __add__


class Name(str):
    def __str__(self) -> str:
        raise RuntimeError("str")

    encode = __len__ = __iter__ = __str__


class Hidden:
    __dict__ = {}


class SlotsAndAll:
    __slots__ = ("__dict__", "one", "two")


def test_hostile_classes_are_never_asked() -> None:
    Liar.calls.clear()
    liar = Liar()
    object.__getattribute__(liar, "__dict__")["x"] = 1
    data = encode([liar, {liar}, {liar: 1}])
    assert Liar.calls == []
    assert data != encode([1, {1}, {1: 1}])
    assert encode(liar) != encode(1)
    assert encode([lying()] * 9) == encode([lying()] * 9)
    assert encode(Many(a=1)) != encode(Many(a=2)) != encode({"a": 2})
    assert encode(Wide((1, 2))) != encode(Wide((1, 3)))
    assert encode(Digits(3)) != encode(Digits(4))
    assert encode(Name("ab")) != encode(Name("ac")) != encode(Text("ac"))
    with pytest.raises(Incomparable, match="hides its __dict__"):
        encode(Hidden())
    made = SlotsAndAll()
    made.two, made.three = 2, 3
    assert encode(made) != encode(SlotsAndAll())
    assert decode(encode(made)).three == 3


def test_odd_attributes_are_said_to_be_odd() -> None:
    odd = Plain()
    odd.__dict__[1] = 2
    with pytest.raises(Incomparable, match="name is no text"):
        encode(odd)


def named_class(source: str) -> Any:
    names: dict[str, Any] = {"__name__": "project"}
    exec(source, names)
    return names["Thing"]


def test_the_code_of_a_class_counts() -> None:
    first = named_class("class Thing:\n    def size(self, n=1, *, m=2):\n        'text'\n        return n in {1, 2}")
    moved = named_class(
        "\n\nclass Thing:\n    def size(self, n=1, *, m=2):\n        'text'\n        return n in {2, 1}"
    )
    other = named_class("class Thing:\n    def size(self, n=1, *, m=3):\n        'text'\n        return n in {1, 2}")
    rich = named_class(
        "class Thing:\n    @property\n    def a(self): return 1\n    @staticmethod\n    def b(): return (1, 2.5, None)\n    c = [1]"
    )
    data = {name: encode(cls()) for name, cls in (("first", first), ("moved", moved), ("other", other), ("rich", rich))}
    assert data["first"] == data["moved"]
    assert len(set(data.values())) == 3
    assert explain(data["first"], data["other"]) == "its class Thing has other code"
    unseen = frozenset(["project:Thing"])
    assert encode(first(), unseen=unseen) == encode(other(), unseen=unseen)
    assert encode(first) != encode(other)
    assert "other code" in explain(encode([first]), encode([other]))


@pytest.mark.parametrize(
    ("wrap", "levels"),
    [
        (lambda value: [value], 1), (lambda value: (value,), 1), (lambda value: {"a": value}, 1),
        (lambda value: frozenset({value}), 1), (lambda value: slice(0, value), 1),
        (lambda value: Plain(a=value), 1), (lambda value: Slotted(value), 1), (lambda value: Items([value]), 2),
        (lambda value: collections.deque([value]), 3), (lambda value: ValueError(value), 3),
    ],
)  # fmt: skip
def test_whatever_holds_a_value_is_a_level_and_ends_with_it(wrap: Callable[[Any], Any], levels: int) -> None:
    one: Any = 1
    for _ in range(7):
        one = wrap(one)
    needed = 7 * levels
    for value, depth in ((one, needed), ((one, one, one), needed + 1)):
        data = encode(value, Limits(depth=depth))
        assert encode(decode(data, Limits(depth=depth))) == data
        with pytest.raises(Incomparable, match=f"deeper than {depth - 1} levels"):
            encode(value, Limits(depth=depth - 1))


@pytest.mark.parametrize(
    ("value", "nodes", "size"),
    [
        (1, 1, 3), ([1, 2, 3], 4, 9), (list(range(20)), 21, 161), ("a" * 40, 1, 42), ([b"a" * 40] * 3, 4, 126),
        ({"a": 1, "b": [2]}, 6, 12), (["ab"] * 9, 10, 55),
    ],
)  # fmt: skip
def test_a_message_may_hold_what_its_limits_say_and_no_more(value: Any, nodes: int, size: int) -> None:
    data = encode(value, Limits(nodes=nodes, size=size))
    assert encode(decode(data, Limits(nodes=nodes, size=size))) == data
    for limits, said in ((Limits(nodes=nodes - 1), f"{nodes - 1} nodes"), (Limits(size=size - 1), f"{size - 1} bytes")):
        with pytest.raises(Incomparable, match=f"more than {said}"):
            encode(value, limits)


def test_limits_end_it_without_harm() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Incomparable, match="deeper than 1000 levels"):
        encode(deep)
    nested: Any = []
    for _ in range(990):
        nested = [nested]
    assert encode(decode(encode(nested))) == encode(nested)
    before = sys.getrecursionlimit()
    bomb: Any = ()
    for _ in range(60):
        bomb = (bomb, bomb)
    with pytest.raises(Incomparable, match="more than 1000000 nodes"):
        encode(bomb)
    for big in (list(range(2000)), [[] for _ in range(2000)]):
        with pytest.raises(Incomparable, match="more than 1000 nodes"):
            encode(big, Limits(nodes=1000))
    for big in ("a" * 2000, b"a" * 2000, bytearray(2000), {"a" * 2000}, [1.0] * 2000, 1 << 20_000):
        with pytest.raises(Incomparable, match="more than 1000 bytes"):
            encode(big, Limits(size=1000))
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends"), (b"\x02N", "version"), (b"\x01", "ends"), (b"\x01NN", "too many"), (b"\x01?", "no tag"),
        (b"\x01s\xff", "ends"), (b"\x01s\x01\xff", "no text"), (b"\x01l\xff\xff\xff\xff\xff\x7f*", "more nodes"),
        (b"\x01l" + b"\xff" * 12, "without end"), (b"\x01l\x01?", "ends"), (b"\x01l\x01~", "no form"),
        (b"\x01^\x00", "never came"), (b"\x01d\x01*N\x00*", "without values"),
        (b"\x01t\x01s\x01\x00\x00\x00\xff", "no text"), (b"\x01" + b"l\x01*" * 60_000 + b"N", "deeper"),
    ],
)  # fmt: skip
def test_malformed_messages_say_why(data: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        explain(data, encode(1))


def test_a_message_is_capped_before_it_is_read() -> None:
    with pytest.raises(Malformed, match="of which 10 are allowed"):
        decode(encode("a" * 100), Limits(size=10))
    with pytest.raises(Malformed, match="more nodes"):
        decode(encode([[] for _ in range(100)]), Limits(nodes=20))


@pytest.mark.parametrize(
    "value",
    [
        named_class("class Thing: pass")(), {}.__class__.fromkeys, zoneinfo.ZoneInfo("UTC"), array.array("i", [1, 2]),
        memoryview(bytearray(b"abcd")).cast("H"), collections.ChainMap({1: 2}), Plain(a=print),
    ],
)  # fmt: skip
def test_more_of_the_library(value: Any) -> None:
    data = encode(value)
    assert encode(decode(data)) == data


def test_what_cannot_be_made_is_said() -> None:
    data = encode(Point(1, 2)).replace(b"Point", b"Pilot")
    with pytest.raises(Malformed, match="values:Pilot cannot be had here"):
        decode(data)
    data = encode(collections.deque([1])).replace(b":deque", b":dequ1")
    with pytest.raises(Malformed, match="no way back"):
        decode(data)
    data = encode(range(1, 2)).replace(b"i\x01\x01", b"i\x01\x00").replace(b"i\x01\x02", b"s\x01a")
    with pytest.raises(Malformed, match="cannot be made: TypeError"):
        decode(data)


def test_words_of_differences() -> None:
    one = {"a": [Point(1, 2.0), {1, "x"}], "b": (1, 2)}
    other = {"a": [Point(1, 2), {1, "y"}], "b": (1, 2, 3)}
    assert explain(encode(one), encode(other)) == "['a'][0].y: int 2 instead of float 2.0"
    one["a"][0].y = 2  # type: ignore[index]
    assert explain(encode(one), encode(other)) == "['a'][1]: a set without 'x', with 'y' besides"
    assert explain(encode([1, 2]), encode([1])) == "1 items instead of 2"
    assert explain(encode({1: 2}), encode({2: 2})) == ".keys()[0]: int 2 instead of int 1"
    assert explain(encode(Plain(a=1)), encode(Plain(b=1))) == "without .a, with .b besides"
    assert explain(encode(2**300), encode(1)) == "int 1 instead of int of 301 bits"
    assert "Slotted(1, None)" in explain(encode(Point(1, 2)), encode(Slotted(1)))
    assert explain(encode("a" * 200), encode("b")).endswith("...")
    part = [1]
    said = explain(encode([part, part, [2]]), encode([part, [1], part]))
    assert said == "[1]: list(1) instead of an object that occurred before"
    said = explain(encode([part, [1], part]), encode([[1], part, part]))
    assert said == "[2]: another object that occurred before"
    points = [Point(1, 1), Point(1, 2)]
    assert explain(encode(points), encode([Point(1, 1), Slotted(1, 2)])).startswith("[1]: Slotted(1, 2)")
    assert explain(encode(len), encode(print)).startswith("function builtins.print instead")
    assert math.isnan(decode(encode(math.nan)))


def test_it_works_by_path_in_an_interpreter_without_bakeoff() -> None:
    program = """
import importlib.util, sys
place = sys.argv[1]
spec = importlib.util.spec_from_file_location("codec_here", place + "/__init__.py", submodule_search_locations=[place])
codec = importlib.util.module_from_spec(spec)
sys.modules["codec_here"] = codec
spec.loader.exec_module(codec)
value = [1, {"a": 2.5}, {3}]
assert codec.decode(codec.encode(value)) == value
assert not any(name.startswith("bakeoff") for name in sys.modules)
print(codec.encode(value).hex())
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, FOLDER], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert bytes.fromhex(done.stdout.strip()) == encode([1, {"a": 2.5}, {3}])


def test_it_imports_nothing_heavy() -> None:
    code = "import sys; from bakeoff.judge.codec import encode; encode([1]); print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {FOLDER!r} + '/../../..'); " + code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not {"numpy", "pandas", "decimal", "dataclasses", "typing_extensions", "anyio"} & set(done.stdout.split())


def test_modules_that_lie_about_their_names_do_not_reach_rules() -> None:
    names: dict[str, Any] = {"__name__": "decimal"}
    exec("class Decimal:\n    def __str__(self): raise RuntimeError\n", names)
    assert encode(names["Decimal"]()) != encode(values.function)
    names = {"__name__": "builtins"}
    exec(
        "class generator:\n    def __iter__(self): raise RuntimeError\n    def __next__(self): raise RuntimeError\n",
        names,
    )
    assert encode(names["generator"]())


def test_the_spec_helper_is_in_the_standard_library() -> None:
    assert importlib.util.find_spec("bakeoff.judge.codec") is not None
