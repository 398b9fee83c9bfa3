"""What is known of functions that change nothing."""

from __future__ import annotations

import pytest

from bakeoff.optimize.sources.rules.facts.purity import purity_of, touched

PURE = [
    "def g(xs):\n    xs = list(xs)\n    xs.append(1)\n    return xs",
    "def g(n):\n    n += 1\n    return n",
    "def g(day):\n    day += timedelta(days=1)\n    return day",
    "def g(xs):\n    a, b = [], {}\n    a.append(1)\n    b[1] = xs\n    return a, b",
    "def g(text):\n    found: str = ''\n    for c in text:\n        found += c.lower()\n    return found",
    "def g(n):\n    return 0 if n < 1 else h(n - 1)\ndef h(n):\n    return g(n)",
    "def g(x):\n    raise LookupError(x)",
    "class A:\n    def __init__(self):\n        self.x = 1\ndef g(n):\n    return A()",
    "class A:\n    def part(self):\n        return self.x\ndef g(a):\n    return a.part()",
    "import heapq\ndef g(xs):\n    rest = sorted(xs)\n    return heapq.heappop(rest)",
    "def g(text):\n    return datetime.strptime(text, '%Y')",
    "import re\ndef g(text):\n    return re.findall('a', text), dict.fromkeys(text)",
    "def g(xs):\n    return max(xs, key=lambda x: x[0])",
    "def g(xs):\n    ys = {}\n    for x in xs:\n        ys[x.n] = []\n        ys[x.n].append(x)\n    return ys",
    "def g(xs):\n    xs = copy.deepcopy(xs)\n    xs[0].append(1)\n    return xs",
    "def g(xs):\n    xs = [row[:] for row in xs]\n    xs[0].append(1)\n    return xs",
    "def g(n):\n    rows = [[0] * n for _ in range(n)]\n    rows[0][0] = 1\n    rows[1].append(n)\n    return rows",
]
IMPURE = [
    "def g(xs):\n    xs.append(1)",
    "def g(xs):\n    xs += [1]\n    return xs",
    "def g(xs):\n    for x in xs:\n        x.n = 1",
    "def g(xs):\n    ys = xs\n    ys.append(1)",
    "def g(xs):\n    a, b = xs\n    a.append(b)",
    "def g(xs):\n    del xs[0]",
    "def g(x):\n    print(x)",
    "def g(f):\n    return f(1)",
    "def g(x):\n    global seen\n    seen = x",
    "seen = []\ndef g(x):\n    seen.append(x)",
    "def g(x):\n    yield x",
    "async def g(x):\n    return x",
    "def g(name):\n    with open(name) as file:\n        return file.read()",
    "def g(n):\n    return random.choice(n)",
    "def g():\n    return datetime.now()",
    "def g():\n    return datetime.datetime.now()",
    "import bisect\ndef g(xs):\n    bisect.insort(xs, 1)",
    "class A:\n    def get(self):\n        self.x = 1\ndef g(a):\n    return a.get()",
    "class A:\n    def __init__(self, xs):\n        xs.append(self)\ndef g(xs):\n    return A(xs)",
    "class A(Base):\n    pass\ndef g():\n    return A()",
    "@register\ndef g(x):\n    return x",
    "def h(x):\n    print(x)\ndef g(x):\n    return h(x)",
    "def g(xs):\n    (x for x in xs).send(1)",
    "def g(xs):\n    xs.append(1)\n    xs = list(xs)\n    return xs",
    "def g(xs):\n    xs = list(xs)\n    xs[0].append(1)\n    return xs",
    "def g(xs):\n    xs = [row[:] for row in xs]\n    xs[0][0].append(1)\n    return xs",
    "def g(xs):\n    xs = [xs.pop()]\n    return xs",
    "def g(xs):\n    ys = xs[:]\n    ys[0].append(1)\n    return ys",
    "def g(xs):\n    ys = {1: xs}\n    ys[1][0] = 2\n    return ys",
    "def g(x):\n    ys = [x]\n    ys[0].n += 1\n    return ys",
    "seen = [[]]\ndef g(x):\n    ys = list(seen)\n    ys[0].append(x)\n    return ys",
    "def h(x):\n    return x\ndef g(x):\n    ys = [h(x)]\n    ys[0].append(1)\n    return ys",
    "def g(xs):\n    ys = []\n    def add(ys):\n        ys.append(1)\n    return list(map(add, xs))",
]


@pytest.mark.parametrize("text", PURE)
def test_what_changes_nothing(text: str) -> None:
    assert "g" in purity_of(text).pure


@pytest.mark.parametrize("text", IMPURE)
def test_what_may_change_something(text: str) -> None:
    assert "g" not in purity_of(text).pure


@pytest.mark.parametrize(
    ("returned", "new"),
    [
        ("[1]", True), ("list(xs)", True), ("xs", False), ("xs[0]", False), ("mine", True), ("len(xs)", False),
        ("xs or []", True), ("xs if xs else {}", True), ("(1, [2])", True), ("[0] + xs", True), ("total", False),
        ("xs.copy()", True), ("g(xs)", False), ("made(xs)", True), ("(x for x in xs)", True), ("None", False),
    ],
)  # fmt: skip
def test_what_gives_something_new(returned: str, new: bool) -> None:
    text = f"def made(xs):\n    return [1]\ndef g(xs):\n    mine = []\n    total = 1 + len(xs)\n    return {returned}"
    assert purity_of(text).makes_new("g") is new


BANK = """class A:
    def __init__(self):
        self.rows, self.sum = [], 0
    def add(self, x):
        self.rows.append(x)
        self.count(x)
    def count(self, x):
        self.sum += x
    def top(self):
        return max(self.rows) + self.more()
    def more(self):
        return self.sum
    def keep(self, other):
        other.rows = self
    def whole(self):
        return repr(self)
    def odd(self):
        self.rows[0].x = 1
"""


def test_what_methods_read_and_change() -> None:
    known = purity_of(BANK)
    assert known.writes("A.add") == {"self.rows", "self.sum"}
    assert known.writes("A.odd") == {"self.rows"}
    assert known.writes("A.keep") is None
    assert known.reads("A.top") == {"self.rows", "self.sum"}
    assert known.reads("A.whole") == {"self.*"}
    assert known.writes("A.top") == set()


@pytest.mark.parametrize(
    ("changed", "needed", "concerned"),
    [
        (None, set(), True), ({"xs"}, {"ys"}, False), ({"xs"}, {"xs"}, True), ({"self.a"}, {"self.b"}, False),
        ({"self.a"}, {"self.*"}, True), ({"self.*"}, {"self.b"}, True), ({"self.*"}, {"xs"}, False),
    ],
)  # fmt: skip
def test_what_a_change_concerns(changed: set[str] | None, needed: set[str], concerned: bool) -> None:
    assert touched(changed, needed) is concerned
