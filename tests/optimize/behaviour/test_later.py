"""Side effects that show later: shared results, lazy results, state around the target, warnings, decorators."""

from __future__ import annotations

import itertools
import random
import sys
import types
from array import array
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge import codec
from bakeoff.optimize.behaviour.inside.later import LAZY, MOVED, LateReader, disturb, lazy
from bakeoff.optimize.behaviour.inside.module_state import ModuleState
from bakeoff.optimize.behaviour.observable import CHANGED, common_state, is_as_left, private_to

from .conftest import judges

MODULE = """import functools
import warnings

SEEN = []
_own = {}
_shared = {}


def noted(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def names(stock):
    return (name for name in [*stock])


def later(stock):
    return (name for name in stock)


def keys(words):
    for word in words:
        if word not in SEEN:
            SEEN.append(word)
        _own[word] = 1
    if not words:
        warnings.warn("no words", DeprecationWarning, stacklevel=2)
    return len(words)


@noted
def once(n):
    return n + 1


def shared(n):
    return _shared.setdefault(n, [n])
"""
TESTS = """
from mod import divisors, keys, later, names, once, shared

def test_divisors():
    assert divisors(6) == [1, 2, 3, 6]
    assert divisors(7) == [1, 7]

def test_names():
    assert list(names({"a": 1, "b": 2})) == ["a", "b"]
    assert list(later(["a", "b"])) == ["a", "b"]

def test_keys():
    assert keys(["a", "b"]) == 2
    assert keys([]) == 0

def test_rest():
    assert once(1) == 2
    assert shared(3) == [3]
"""
BUFFER = """
_BUFFER = []


def divisors(n):
    _BUFFER[:] = [d for d in range(1, n + 1) if n % d == 0]
    return _BUFFER
"""


def instead(name: str, text: str) -> str:
    """The module with another body, after its signature, of one function."""
    start = MODULE.index(f"def {name}(")
    begin, end = MODULE.index("\n", start), MODULE.find("\n\n\n", start)
    return MODULE[:begin] + "\n" + text + MODULE[end:]


CASES = {
    "divisors": (
        ("a cache that hands out its list", MODULE.replace("def divisors", "@functools.cache\ndef divisors"), "cross-call-state"),
        ("one list for all calls", MODULE.replace(MODULE[MODULE.index("def divisors") : MODULE.index("def names")], BUFFER + "\n\n"), "cross-call-state"),
        ("a copy from a cache", instead("divisors", "    return list(_divisors(n))\n\n\n@functools.cache\ndef _divisors(n):\n    return [d for d in range(1, n + 1) if n % d == 0]"), None),
    ),
    "names": (("read when it is used", instead("names", "    return (name for name in stock)"), "behaviour/return"),),
    "later": (
        ("read when it is called", instead("later", "    return (name for name in [*stock])"), "behaviour/return"),
        ("lazy in other words", instead("later", "    return (each for each in stock)"), None),
    ),
    "keys": (
        ("a list of the module is no longer filled", MODULE.replace("SEEN.append(word)", "pass"), "behaviour/mutation"),
        ("a warning is gone", MODULE.replace("    if not words:\n        warnings.warn(\"no words\", DeprecationWarning, stacklevel=2)\n", ""), "behaviour/stdout"),
        ("its own private name is gone", MODULE.replace("        _own[word] = 1\n", ""), None),
    ),
    "once": (
        ("a decorator is gone", MODULE.replace("@noted\ndef once", "def once"), "invalid"),
        ("a decorator more", MODULE.replace("@noted\ndef once", "@noted\n@functools.cache\ndef once"), None),
    ),
    "shared": (("the original shares its list", instead("shared", "    return [n]"), None),),
}  # fmt: skip


@pytest.mark.anyio
async def test_what_callers_see_later_is_compared(tmp_path: Path) -> None:
    async with judges(tmp_path / "p", {"mod.py": MODULE, "test_mod.py": TESTS}) as judge_of:
        for name, candidates in CASES.items():
            judge = await judge_of(f"mod.py:{name}")
            for what, text, reason in candidates:
                found = await judge(text)
                assert (what, found.reason) == (what, reason), found.detail


def late(function: Any) -> LateReader:
    def made(call: bytes) -> tuple[Any, Any, Any]:
        args, kwargs = codec.decode(call)
        return function(*args, **kwargs), None, (args, kwargs)

    return LateReader(made, codec.encode, lambda value: codec.encode(value, consume=False))


def asked(reader: LateReader, *args: Any) -> tuple[str, str, Any]:
    header, data = reader.answer(codec.encode((args, {})))
    return header["kind"], header.get("message", ""), codec.decode(data) if data else None


def test_a_result_is_changed_and_asked_for_again() -> None:
    held = [1]
    assert asked(late(lambda: held))[2] == [1, 1, 1, 1014]
    assert asked(late(lambda: [1]))[2] == [1]
    assert asked(late(lambda: 5)) == ("counted", "", None)


def test_an_earlier_result_that_moves_is_said() -> None:
    held: list[int] = []

    def buffer(n: int) -> list[int]:
        held[:] = [n]
        return held

    reader = late(buffer)
    assert asked(reader, 1)[1] == ""
    assert asked(reader, 2)[1] == MOVED


def test_a_lazy_result_is_read_after_the_arguments_changed() -> None:
    kind, message, found = asked(late(lambda xs: (x for x in xs)), [1, 2])
    assert (kind, message, list(found[0])) == ("return", LAZY, [1, 2, 1, 2, 2, 1015])
    assert list(asked(late(lambda xs: iter([*xs])), [1, 2])[2][0]) == [1, 2]


def test_an_iterator_is_read_with_its_arguments_changed_behind_its_first_item() -> None:
    def above_the_mean(xs: list[int]) -> Iterator[int]:
        return (x for x in xs if x > sum(xs) / len(xs))

    def above_the_first_mean(xs: list[int]) -> Iterator[int]:
        for mean in [sum(xs) / len(xs)]:
            yield from (x for x in xs if x > mean)

    def read(function: Any, xs: list[int]) -> list[Any]:
        whole, first, rest = asked(late(function), xs)[2]
        return [list(whole), first, list(rest)]

    one, other = (read(function, [*range(40)]) for function in (above_the_mean, above_the_first_mean))
    assert one[:2] == other[:2]
    assert (one[2][0], other[2][0]) == (1052, 21)
    assert asked(late(lambda xs: iter(xs)), [])[2][1] is StopIteration


VIEWS: dict[str, tuple[Any, Any, Any]] = {
    "values": ({"a": 1}, lambda d: d.values(), lambda d: dict(d).values()),
    "keys in an instance": ({"a": 1}, lambda d: types.SimpleNamespace(n=d.keys()), lambda d: types.SimpleNamespace(n=dict(d).keys())),
    "read-only dictionary": ({"a": 1}, types.MappingProxyType, lambda d: types.MappingProxyType({**d})),
    "memory": (bytearray(b"ab"), memoryview, lambda b: memoryview(bytearray(b))),
    "array over memory": (bytearray(b"ab"), lambda b: frombuffer(b), lambda b: frombuffer(bytearray(b))),
    "reader of what is new": ([1, 1, 2], lambda xs: unique(xs), lambda xs: iter(dict.fromkeys(xs))),
}  # fmt: skip


def frombuffer(memory: bytearray) -> Any:
    import numpy

    return numpy.frombuffer(memory, dtype="u1")


def unique(items: Any) -> Iterator[Any]:
    seen = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item


@pytest.mark.parametrize("what", VIEWS)
def test_what_looks_at_an_argument_later_is_told_from_a_copy(what: str) -> None:
    given, looks, copies = VIEWS[what]
    one, other, again = (late(function).answer(codec.encode(((given,), {}))) for function in (looks, copies, copies))
    assert one[0]["message"] == other[0]["message"] == LAZY
    assert one[1] != other[1] == again[1]


def test_how_far_a_lazy_result_reads_an_iterator_is_seen_at_its_first_item() -> None:
    left = asked(late(unique), iter([1, 1, 2]))[2][3][0][0]
    assert list(left) == [1, 2]
    ahead = asked(late(lambda items: (item for item in [*unique(items)])), iter([1, 1, 2]))[2][3][0][0]
    assert list(ahead) == []


def test_a_generator_that_fails_when_it_is_made_once_more_gives_what_it_gave() -> None:
    times = itertools.count()

    def fails_once(items: Iterator[int]) -> Iterator[int]:
        if next(times) == 1:
            raise ValueError
        yield from items

    kind, message, found = asked(late(fails_once), iter([1, 2]))
    assert (kind, message, list(found[0])) == ("return", LAZY, [1, 2])


def test_an_instance_or_table_that_is_shared_is_handed_out_changed() -> None:
    import pandas

    class Point:
        def __init__(self) -> None:
            self.x = 1

    for made in (
        Point,
        lambda: [Point()],
        lambda: pandas.Series([1]),
        lambda: pandas.DataFrame({"a": [1]}),
        lambda: array("i", [1]),
    ):
        held = made()
        reader = LateReader(lambda call, made=made: (made(), None, ()), said, said)
        sharing = LateReader(lambda call, held=held: (held, None, ()), said, said)
        assert reader.answer(b"")[0]["kind"] == "return"
        assert reader.answer(b"")[1] != sharing.answer(b"")[1]


def said(value: Any) -> bytes:
    """Stands for the codec, which does not know classes of a test's function."""
    shown = value[0] if type(value) is list else value
    if hasattr(shown, "attrs"):
        return repr((shown.attrs, shown.to_dict())).encode()
    return repr(vars(shown) if hasattr(shown, "__dict__") else shown).encode()


def test_lazy_results_are_told_from_others() -> None:
    assert all(map(lazy, [iter([]), map(str, []), (1, iter([])), {"a": iter([])}]))
    assert not any(map(lazy, [[], "text", range(3), {"a": 1}, (1, 2)]))


def test_every_container_is_disturbed() -> None:
    import numpy

    values: list[Any] = [
        [1],
        [],
        {"a": 1},
        {},
        {1},
        set(),
        bytearray(b"x"),
        array("d", [1.0]),
        array("u", "x"),
        deque([1]),
        numpy.zeros(3),
        numpy.arange(3),
    ]
    before = [codec.encode(value) for value in values]
    for value in values:
        disturb(value)
    assert all(codec.encode(value) != was for value, was in zip(values, before, strict=True))


def test_state_is_common_where_all_processes_have_it_alike() -> None:
    states = [
        {"mod.SEEN": "1", "mod._own": "2", "random": "3", "cwd": ""},
        {"mod.SEEN": "1", "mod._own": "2", "random": "4", "cwd": ""},
    ]
    assert common_state(MODULE.encode(), "keys", "mod", states) == {"mod.SEEN": "1", "random": CHANGED, "cwd": ""}
    assert common_state(MODULE.encode(), "keys", "mod", [states[0], None]) == {}


def test_private_names_are_the_target_s_own_where_nothing_else_reads_them() -> None:
    assert "_own" in private_to(MODULE.encode(), "keys")
    assert "_own" not in private_to(MODULE.encode() + b"\n\ndef told():\n    return dict(_own)\n", "keys")
    assert "SEEN" not in private_to(MODULE.encode(), "keys")


def test_what_chance_has_a_part_in_has_to_change_and_all_else_to_be_the_same() -> None:
    assert is_as_left(CHANGED, "any digest")
    assert not is_as_left(CHANGED, "")
    assert is_as_left("1", "1")
    assert not any(is_as_left(*pair) for pair in [("1", "2"), ("1", ""), ("", "1")])


STATE = """
import threading
from collections import Counter, defaultdict
from contextvars import ContextVar

COUNT = 0
CURRENT = ContextVar("current")
LOCAL = threading.local()
BY_KEY = defaultdict(list)
COUNTS = Counter()
TABLE = {"a": [{1}]}
NAMES = []
_last = None
LIMITS = (1, 2)


class Seen:
    count = 0
    names = set()


class Stats:
    def __init__(self):
        self.calls = 0
        self.names = []


STATS = Stats()


def work():
    pass
"""


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("global COUNT; COUNT += 1", "COUNT"),
        ("NAMES.append(1)", "NAMES"),
        ("global _last; _last = 'x'", "_last"),
        ("global LIMITS; LIMITS = (1, 3)", "LIMITS"),
        ("Seen.count += 1", "Seen.count"),
        ("Seen.names.add(1)", "Seen.names"),
        ("STATS.calls += 1", "STATS.__dict__"),
        ("STATS.names.append(1)", "STATS.__dict__"),
        ("work.calls = 1", "work.__dict__"),
        ("BY_KEY['a'].append(1)", "BY_KEY"),
        ("COUNTS['a'] += 1", "COUNTS"),
        ("TABLE['a'][0].add(2)", "TABLE"),
        ("CURRENT.set(3)", "CURRENT"),
        ("LOCAL.last = 3", "LOCAL"),
    ],
)
def test_each_global_that_changes_is_named(change: str, name: str) -> None:
    module = types.ModuleType("mod_of_state")
    module.__file__ = "mod.py"
    exec(STATE + f"\n\ndef change():\n    {change}\n", vars(module))
    sys.modules[module.__name__] = module
    try:
        state = ModuleState(module, lambda path: path == "mod.py", codec.encode, (codec.Incomparable,))
        assert not any(state.after().values())
        module.change()
        assert [each for each, digest in state.after().items() if digest] == [f"mod_of_state.{name}"]
    finally:
        del sys.modules[module.__name__]


def test_environment_and_random_numbers_are_state(monkeypatch: pytest.MonkeyPatch) -> None:
    state = ModuleState(types.ModuleType("nothing"), lambda path: False, codec.encode, (codec.Incomparable,))
    monkeypatch.setenv("TOTAL", "1")
    random.random()
    assert {name for name, digest in state.after().items() if digest} == {"os.environ", "random.getstate()"}


def test_what_instances_in_a_registry_compute_when_they_are_asked_is_their_own() -> None:
    module = types.ModuleType("mod_of_state")
    module.__file__ = "mod.py"
    exec(STATE + "\n\nREGISTRY = {'stats': Stats(), 'huge': [0] * 200_000}\n", vars(module))
    sys.modules[module.__name__] = module
    try:
        state = ModuleState(module, lambda path: path == "mod.py", codec.encode, (codec.Incomparable,))
        module.REGISTRY["stats"].signature = "computed"
        assert not any(state.after().values())
        module.REGISTRY["more"] = 1
        assert [name for name, digest in state.after().items() if digest] == ["mod_of_state.REGISTRY"]
    finally:
        del sys.modules[module.__name__]


def test_private_attributes_of_functions_are_their_own() -> None:
    module = types.ModuleType("mod_of_state")
    module.__file__ = "mod.py"
    exec(STATE, vars(module))
    sys.modules[module.__name__] = module
    try:
        state = ModuleState(module, lambda path: path == "mod.py", codec.encode, (codec.Incomparable,))
        module.work._memo = {1: 2}
        assert not any(state.after().values())
    finally:
        del sys.modules[module.__name__]


def test_what_another_class_counts_for_itself_is_its_own() -> None:
    own, other = types.ModuleType("mods_of_state.own"), types.ModuleType("mods_of_state.other")
    for module in (own, other):
        module.__file__ = "mod.py"
        exec("class Made:\n    __count = 0\n    __names = []\n    total = 0\n", vars(module))
        sys.modules[module.__name__] = module
    try:
        state = ModuleState(own, lambda path: path == "mod.py", codec.encode, (codec.Incomparable,))
        other.Made._Made__count += 1
        assert not any(state.after().values())
        own.Made._Made__count += 1
        other.Made._Made__names.append(1)
        other.Made.total += 1
        assert sorted(name for name, digest in state.after().items() if digest) == [
            "mods_of_state.other.Made._Made__names",
            "mods_of_state.other.Made.total",
            "mods_of_state.own.Made._Made__count",
        ]
    finally:
        del sys.modules[own.__name__], sys.modules[other.__name__]
