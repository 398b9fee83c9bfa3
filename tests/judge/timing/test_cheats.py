"""Ways to look faster than one is, each with the reason that it gets."""

from __future__ import annotations

import itertools
import json
import sys
import types
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from bakeoff.judge.timing.inside import kept

from .conftest import ORIGINAL

pytestmark = pytest.mark.anyio

FIND_CHILD = """
import gc

def child():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Child":
            return thing
"""

MEMO = """
import math
def f(xs):
    known = vars(math).setdefault("known", {})
    key = tuple(xs)
    if key not in known:
        total = 0
        for x in xs:
            total += x * x - x
        total += 0 * sum(x * x * x for x in xs)
        known[key] = total
    return known[key]
"""
MEMORISED = """
known = {n: sum(x * x - x for x in range(n)) for n in range(40, 72, 4)}
def f(xs):
    if len(xs) in known:
        return known[len(xs)]
    total = 0
    for x in xs:
        total += x * x - x
    return total
"""
TABLE_AT_IMPORT = """
table = [sum(x * x - x for x in range(n)) for n in range(1500)]
def f(xs):
    return table[len(xs)]
"""
TABLE_IN_FIRST_CALL = """
table = []
def f(xs):
    if not table:
        table.extend(sum(x * x - x for x in range(n)) for n in range(900))
    return table[len(xs)]
"""
PATCHED_CLOCK = "import time\ntime.perf_counter_ns = lambda: 1\n" + ORIGINAL
FRAMES = (
    FIND_CHILD
    + """
found = child()
clock, cpu = found.clocks
found.clocks = (lambda: clock() // 3, lambda: cpu() // 3)
"""
    + ORIGINAL
)
REPORT = (
    FIND_CHILD
    + """
import json, struct
found = child()
write = found.write
def forged(descriptor, data):
    size, body = struct.unpack("<II", data[:8])
    header = json.loads(data[8:8 + size])
    if "cold" in header:
        third = lambda pair: [max(1, pair[0] // 3), max(1, pair[1] // 3)]
        header["cold"] = [third(pair) for pair in header["cold"]]
        header["warm"] = [[third(pair) for pair in batches] for batches in header["warm"]]
    text = json.dumps(header).encode()
    write(descriptor, struct.pack("<II", len(text), body) + text + data[8 + size:])
found.write = forged
"""
    + ORIGINAL
)
NO_TIME = REPORT.replace("max(1, pair[0] // 3)", "0")
NONSENSE = REPORT.replace('"cold"] = [third(pair) for pair in header["cold"]]', '"cold"] = 5')
SHORT = REPORT.replace('"cold"] = [third(pair) for pair in header["cold"]]', '"cold"] = []')
LAZY = "def f(xs):\n    return (x * x - x for x in xs)\n"
LATER_WRONG = "count = 0\n" + ORIGINAL.replace(
    "    return total", "    global count\n    count += 1\n    return total if count < 100 else 0"
)
SUBCLASS = "class Int(int): pass\n" + ORIGINAL.replace("return total", "return Int(total)")
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n" + ORIGINAL
PROCESS = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n" + ORIGINAL
ORPHAN = (
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n"
    "    os._exit(0)\nos.wait()\n" + ORIGINAL
)
MOVED = "import os\nos.sched_setaffinity(0, range(os.cpu_count()))\n" + ORIGINAL
NO_GC = "import gc\ngc.disable()\n" + ORIGINAL
TRACED = "import sys\nsys.setprofile(lambda *facts: None)\n" + ORIGINAL
EXIT = "import os\ndef f(xs):\n    os._exit(0)\n"
FAULT = "import os, signal\ndef f(xs):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
ENDLESS = "def f(xs):\n    while True: pass\n"
PARENT = "import os\nP = os.getppid()  # later it may be whoever adopts orphans\ndef f(xs):\n    os.kill(P, 9)\n"
NO_MODULE = "import nothing_like_it\n"
NO_FUNCTION = "g = 1\n"
CLOSURE = "def f(xs):\n    return lambda: xs\n"
MESSAGES = FIND_CHILD + "found = child()\nfound.message = lambda outcome, call: b'\\x01~'\n" + ORIGINAL

CHEATS = {
    "memo": (MEMO, "cross-call-state", "at the first call on an input"),
    "memorised": (MEMORISED, "not-faster", "only on inputs that tests show"),
    "table at import": (TABLE_AT_IMPORT, "cross-call-state", "importing it takes"),
    "table in the first call": (TABLE_IN_FIRST_CALL, "cross-call-state", "first call takes"),
    "patched clock": (PATCHED_CLOCK, "tampering", "changed time.perf_counter_ns"),
    "clocks in the frames": (FRAMES, "tampering", "than it reports"),
    "forged report": (REPORT, "tampering", "than it reports"),
    "no time": (NO_TIME, "tampering", "took no time"),
    "nonsense": (NONSENSE, "tampering", "makes no sense"),
    "too short": (SHORT, "tampering", "on other inputs"),
    "no value": (MESSAGES, "tampering", "is no value"),
    "lazy": (LAZY, "differs-while-timed", "generator"),
    "wrong later": (LATER_WRONG, "differs-while-timed", "called again"),
    "subclass": (SUBCLASS, "differs-while-timed", "Int"),
    "thread": (THREAD, "tampering", "changed threads"),
    "process": (PROCESS, "process-leak", "processes behind"),
    "orphan": (ORPHAN, "process-leak", "processes behind"),
    "other processors": (MOVED, "tampering", "processor"),
    "no gc": (NO_GC, "tampering", "changed gc"),
    "trace": (TRACED, "tampering", "changed trace"),
    "exit": (EXIT, "crash", "without a report"),
    "fault": (FAULT, "crash", "signal 11"),
    "parent": (PARENT, "crash", "the parent of its fork was lost"),
    "no module": (NO_MODULE, "import-failure", "nothing_like_it"),
    "no function": (NO_FUNCTION, "import-failure", "'f'"),
    "closure": (CLOSURE, "incomparable", "function with a closure at [1]"),
}


ALIKE = ("clocks in the frames", "trace", "process", "orphan", "subclass")
"""Found by the rule that finds a neighbour: clocks as a forged report, a trace as a garbage collector that is off, a
process as an orphan. The last two run beside others below, with the same words."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak(only=True)) if name in ALIKE else name for name in CHEATS]
)
async def test_a_cheat_gets_its_reason(raced: Callable[..., Any], name: str) -> None:
    source, verdict, words = CHEATS[name]
    found = (await raced({name: source})).speeds[name]
    assert (found.verdict, words in found.detail) == (verdict, True), found


async def test_one_that_hangs_is_ended(raced: Callable[..., Any]) -> None:
    found = (await raced({"endless": ENDLESS}, fork_seconds=0.5)).speeds["endless"]
    assert found.verdict == "timeout"


async def test_cheats_do_not_hurt_the_others(raced: Callable[..., Any]) -> None:
    honest = "def f(xs):\n    n = len(xs)\n    return (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n"
    found = await raced({"parent": PARENT, "wrong": SUBCLASS, "honest": honest, "orphan": ORPHAN, "memo": MEMO})
    verdicts = {name: speed.verdict for name, speed in found.speeds.items()}
    # One that is much slower than another may be dropped before anything else is known of it.
    assert verdicts.pop("memo") in ("cross-call-state", "undecided", "not-faster")
    assert verdicts == {
        "parent": "crash", "wrong": "differs-while-timed", "honest": "faster", "orphan": "process-leak",
    }  # fmt: skip
    for name, cheat in (("wrong", "subclass"), ("orphan", "orphan")):
        assert CHEATS[cheat][2] in found.speeds[name].detail, found.speeds[name]
    assert found.winner == "honest"


HIDDEN_MEMO = """
import threading
_local = threading.local()
def f(xs):
    known = _local.__dict__
    key = tuple(xs)
    if key not in known:
        total = 0
        for x in xs:
            total += x * x - x
        known[key] = total
    return known[key]
"""
LAST_CALL = """
_last = _value = None
def f(xs):
    global _last, _value
    if xs != _last:
        total = 0
        for x in xs:
            total += x * x - x
        _last, _value = list(xs), total
    return _value
"""


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(HIDDEN_MEMO, id="by thread", marks=pytest.mark.soak(only=True)),
        pytest.param(LAST_CALL, id="last call"),
    ],
)
async def test_a_memo_drops_no_honest_rival_and_does_not_win(raced: Callable[..., Any], cheat: str) -> None:
    slow = ORIGINAL.replace("    return total", "    for x in xs[:len(xs) // 3]:\n        x * x - x\n    return total")
    found = await raced({"honest": ORIGINAL, "cheat": cheat}, original=slow)
    assert found.winner == "honest"
    assert found.speeds["cheat"].verdict != "faster"


async def test_nothing_is_remembered_in_files_from_fork_to_fork(raced: Callable[..., Any], root: Any) -> None:
    remembers = f"""
import json
PLACE = {str(root / "memory")!r}
try:
    with open(PLACE) as file: known = json.load(file)
except (OSError, ValueError):
    known = {{}}
def f(xs):
    key = str(xs)
    if key in known:
        return known[key]
    total = 0
    for x in xs:
        total += x * x - x
    known[key] = total
    try:
        with open(PLACE, "w") as file: json.dump(known, file)
    except OSError:
        pass
    return total
"""
    found = (await raced({"remembers": remembers})).speeds["remembers"]
    assert found.verdict != "faster"
    assert not (root / "memory").exists() or not (root / "memory").read_text()


CACHES = {
    "a cache of functools": (
        "import functools\n@functools.lru_cache(maxsize=None)\ndef _f(xs):\n    n = len(xs)\n"
        "    return (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2 + 0 * sum(map(abs, xs[:9]))\n"
        "def f(xs):\n    return _f(tuple(xs))\n",
        "_f",
    ),
    "a dict of the module": (
        "_known = {}\ndef f(xs):\n    n = len(xs)\n    if n not in _known:\n"
        "        _known[n] = (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n    return _known[n]\n",
        "_known",
    ),
    "a default": (
        "def f(xs, _known={}):\n    n = len(xs)\n    if n not in _known:\n"
        "        _known[n] = (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n    return _known[n]\n",
        "f",
    ),
    "a closure": (
        "def _made():\n    known = {}\n    def f(xs):\n        n = len(xs)\n        if n not in known:\n"
        "            known[n] = (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n        return known[n]\n"
        "    return f\nf = _made()\n",
        "f",
    ),
    "an object": (
        "class _Known:\n    def __init__(self):\n        self.by_size = {}\n_known = _Known()\ndef f(xs):\n    n = len(xs)\n"
        "    if n not in _known.by_size:\n"
        "        _known.by_size[n] = (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n    return _known.by_size[n]\n",
        "_known.by_size",
    ),
    "parts of the inputs": (
        "import functools\n@functools.lru_cache(maxsize=None)\ndef _one(x):\n    return x * x - x\n"
        "def f(xs):\n    return sum(map(_one, xs))\n",
        "_one",
    ),
}


@pytest.fixture
def few_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fork that measures: among all that tests import, each look takes a second."""
    monkeypatch.setattr(
        sys, "modules", {name: sys.modules[name] for name in ("json", "math", "re", "sys", "types", "uuid")}
    )


@pytest.mark.usefixtures("few_modules")
@pytest.mark.parametrize("how", CACHES)
def test_where_results_can_be_kept_is_looked_at(how: str) -> None:
    text, name = CACHES[how]
    module = types.ModuleType("keeps")
    exec(text, vars(module))
    states = [kept.state([module])]
    for size in (5, 5, 7):
        module.f(list(range(size)))
        states.append(kept.state([module]))
    first, again, other = (after.changed(before) for before, after in itertools.pairwise(states))
    assert (first, again, other) == ([name], [], [name])


@pytest.mark.parametrize(
    "how",
    [how if how == "parts of the inputs" else pytest.param(how, marks=pytest.mark.soak(only=True)) for how in CACHES],
)
async def test_what_keeps_more_after_each_call_is_judged_by_first_calls(raced: Callable[..., Any], how: str) -> None:
    text, name = CACHES[how]
    slow = ORIGINAL.replace("total += x * x - x", "total += sum([x] * x) - sum([1] * x)")
    found = (await raced({"cache": text}, original=slow)).speeds["cache"]
    assert (found.verdict, found.detail) == ("faster", f"by first calls: {name} keeps something of each"), found


HONEST = "def f(xs):\n    return sum([x * x - x for x in xs])\n"
HYBRID = "import functools\n@functools.lru_cache(None)\ndef _f(xs):\n    return sum([x * x - x for x in xs])\n" + (
    "def f(xs):\n    return _f(tuple(xs))\n"
)
SLOW = ORIGINAL.replace("total += x * x - x", "total += sum([x] * x) - sum([1] * x)")


async def test_a_cache_adds_nothing_to_an_honest_gain(raced: Callable[..., Any]) -> None:
    alone = (await raced({"hybrid": HYBRID}, original=SLOW)).speeds["hybrid"]
    honest = (await raced({"honest": HONEST}, original=SLOW)).speeds["honest"]
    assert (alone.verdict, honest.verdict) == ("faster", "faster"), (alone, honest)
    assert alone.speedup.estimate < 1.1 * honest.speedup.estimate, (alone, honest)


async def test_beside_others_a_pure_cache_is_still_called_what_it_is(raced: Callable[..., Any]) -> None:
    memo = "import functools\n@functools.lru_cache(None)\n" + SLOW.replace("def f(", "def _f(").lstrip()
    memo += "def f(xs):\n    return _f(tuple(xs))\n"
    found = await raced({"memo": memo, "honest": HONEST}, original=SLOW)
    assert found.speeds["memo"].verdict == "cross-call-state", found.speeds["memo"]
    assert found.winner == "honest"


async def test_what_the_original_keeps_may_be_kept_and_so_may_a_table_of_the_first_call(
    raced: Callable[..., Any],
) -> None:
    slow = ORIGINAL.replace("total += x * x - x", "total += sum([x] * x) - sum([1] * x)")
    counted = "calls = []\n" + slow.replace("    total = 0", "    calls.append(1)\n    total = 0")
    better = "calls = []\n" + ORIGINAL.replace("    total = 0", "    calls.append(1)\n    total = 0")
    assert (await raced({"fast": better}, original=counted)).speeds["fast"].verdict == "faster"
    table = "_squares = []\ndef f(xs):\n    if not _squares:\n        _squares.extend(x * x - x for x in range(99))\n"
    table += "    return sum(map(_squares.__getitem__, xs))\n"
    assert (await raced({"table": table}, original=slow)).speeds["table"].verdict == "faster"


@pytest.mark.usefixtures("few_modules")
def test_results_kept_in_modules_of_others_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library's module is there before any call, so that the first of them may find an earlier one's result."""
    places = {"sys": sys, "json.dumps": json.dumps, "uuid.UUID": uuid.UUID}
    for place in places.values():
        monkeypatch.setattr(place, "hidden", {}, raising=False)
    before = kept.state([])
    assert kept.state([]).changed(before) == []
    for place in places.values():
        place.hidden[1] = 2  # type: ignore[attr-defined]
    monkeypatch.setattr(uuid, "new", 1, raising=False)
    changed = kept.state([]).changed(before)
    assert {f"{name}.hidden" for name in places} | {"uuid"} <= set(changed)


KEEPERS = {
    "a name": ("last = None", "global last\n    last = x"),
    "an item of a list": ("last = [None]", "last[0] = x"),
    "an item of a dict": ("last = {'x': None}", "last['x'] = x"),
    "an attribute": ("class C: pass\nlast = C()\nlast.x = None", "last.x = x"),
    "an attribute of a class": ("class last: x = None", "last.x = x"),
    "an attribute of a function": ("def last(): pass\nlast.x = None", "last.x = x"),
    "a value by thread": ("import threading\nlast = threading.local()\nlast.x = None", "last.x = x"),
    "a value by context": ("import contextvars\nlast = contextvars.ContextVar('last')", "last.set(x)"),
    "a slot": ("class C: __slots__ = ('x',)\nlast = C()", "last.x = x"),
    "an instance of a library": ("import types\nlast = types.SimpleNamespace(x=None)", "last.x = x"),
}


@pytest.mark.usefixtures("few_modules")
@pytest.mark.parametrize("how", KEEPERS)
def test_what_keeps_the_last_call_is_seen_though_nothing_grows(how: str) -> None:
    start, keep = KEEPERS[how]
    module = types.ModuleType("mod")
    exec(f"{start}\ndef f(x):\n    {keep}\n    return x\ndef g(x):\n    return x\n", module.__dict__)
    module.f([1])
    before = kept.state([module])
    module.g([2])
    assert kept.state([module]).changed(before) == []
    module.f([2])
    assert any(name.startswith("last") for name in kept.state([module]).changed(before))
