"""Functions of many kinds: a module, its tests, what keeps its behaviour, and what does not and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Kind:
    module: str
    tests: str
    right: str
    wrong: str
    reason: str
    target: str = "work"
    judged: str = "out of process"


STEPS = (
    "class Steps:\n    def __init__(self, start, width):\n        self.start, self.width = start, width\n\n"
    "    def __eq__(self, other):\n        return vars(self) == vars(other)\n\n"
    "    def __hash__(self):\n        return hash((self.start, self.width))\n\n"
)

KINDS = {
    "method": Kind(
        "class Bag:\n    def __init__(self, items):\n        self.items = list(items)\n\n"
        "    def add(self, item):\n        self.items.append(item)\n        return len(self.items)\n",
        "from mod import Bag\n\ndef test_add():\n    bag = Bag([1])\n    assert bag.add(2) == 2\n"
        "    assert bag.items == [1, 2]\n",
        "class Bag:\n    def __init__(self, items):\n        self.items = list(items)\n\n"
        "    def add(self, item):\n        self.items += [item]\n        return len(self.items)\n",
        "class Bag:\n    def __init__(self, items):\n        self.items = list(items)\n\n"
        "    def add(self, item):\n        self.items.insert(0, item)\n        return len(self.items)\n",
        "behaviour/mutation",
        "Bag.add",
    ),
    "class method": Kind(
        "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
        "    @classmethod\n    def read(cls, text):\n        return cls(*text.split(','))\n",
        "from mod import Pair\n\ndef test_read():\n    assert Pair.read('x,y').b == 'y'\n",
        "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
        "    @classmethod\n    def read(cls, text):\n        a, b = text.split(',')\n        return cls(a, b)\n",
        "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
        "    @classmethod\n    def read(cls, text):\n        a, b = text.split(',')\n        return cls(b, b)\n",
        "behaviour/return",
        "Pair.read",
    ),
    "called while its tests are collected, with a result that cannot go over": Kind(
        "def work(name):\n    if not name:\n        raise ValueError('no name')\n    return type(name, (), {})\n",
        "import pytest\nfrom mod import work\n\nMade = work('Made')\n\n"
        "def test_it():\n    with pytest.raises(ValueError):\n        work('')\n    assert Made.__name__ == 'Made'\n",
        "def work(name):\n    if name:\n        return type(name, (), {})\n    raise ValueError('no name')\n",
        "def work(name):\n    if name:\n        return type(name, (), {})\n    raise KeyError('no name')\n",
        "behaviour/exception",
    ),
    "asynchronous": Kind(
        "import asyncio\n\nasync def work(n):\n    await asyncio.sleep(0)\n    return n + 1\n",
        "import asyncio\nfrom mod import work\n\ndef test_it():\n    assert asyncio.run(work(1)) == 2\n\n"
        "def test_many():\n    async def both():\n        return await asyncio.gather(work(1), work(2))\n"
        "    assert asyncio.run(both()) == [2, 3]\n",
        "async def work(n):\n    return n + 1\n",
        "async def work(n):\n    return n + 1.0\n",
        "behaviour/type",
    ),
    "generator": Kind(
        "def work(n):\n    for i in range(n):\n        yield i * i\n",
        "from mod import work\n\ndef test_it():\n    assert list(work(3)) == [0, 1, 4]\n",
        "def work(n):\n    i = 0\n    while i < n:\n        yield i ** 2\n        i += 1\n",
        "def work(n):\n    return [i * i for i in range(n)]\n",
        "behaviour/type",
    ),
    "dataclass": Kind(
        "from dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int\n    y: int\n\n"
        "def work(points):\n    return Point(sum(p.x for p in points), sum(p.y for p in points))\n",
        "from mod import Point, work\n\ndef test_it():\n    assert work([Point(1, 2), Point(3, 4)]) == Point(4, 6)\n",
        "from dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int\n    y: int\n\n"
        "def work(points):\n    made = Point(0, 0)\n    for p in points:\n        made.x += p.x\n        made.y += p.y\n"
        "    return made\n",
        "from dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int\n    y: int\n\n"
        "def work(points):\n    made = Point(0, 0)\n    for p in points:\n        made.x += p.x\n        made.y += p.y\n"
        "        p.x = 0\n    return made\n",
        "behaviour/mutation",
    ),
    "own exception": Kind(
        "class Odd(ValueError):\n    pass\n\ndef work(n):\n    if n % 2:\n        raise Odd(n)\n    return n // 2\n",
        "import pytest\nfrom mod import Odd, work\n\ndef test_it():\n    assert work(4) == 2\n\n"
        "def test_odd():\n    with pytest.raises(Odd, match='3'):\n        work(3)\n",
        "class Odd(ValueError):\n    pass\n\ndef work(n):\n    half, odd = divmod(n, 2)\n    if odd:\n"
        "        raise Odd(n)\n    return half\n",
        "class Odd(ValueError):\n    pass\n\ndef work(n):\n    if n % 2:\n        raise ValueError(n)\n    return n // 2\n",
        "behaviour/exception",
    ),
    "printing": Kind(
        "import warnings\n\ndef work(text):\n    print(text)\n    warnings.warn('old', DeprecationWarning)\n",
        "import pytest\nfrom mod import work\n\ndef test_it(capsys):\n    with pytest.warns(DeprecationWarning):\n"
        "        work('x')\n    assert capsys.readouterr().out == 'x\\n'\n",
        "import sys, warnings\n\ndef work(text):\n    sys.stdout.write(text + '\\n')\n"
        "    warnings.warn('old', DeprecationWarning)\n",
        "import warnings\n\ndef work(text):\n    print(text, '')\n    warnings.warn('old', DeprecationWarning)\n",
        "behaviour/stdout",
    ),
    "unittest, indirectly": Kind(
        "def work(xs):\n    return max(xs)\n\ndef spread(xs):\n    return work(xs) - min(xs)\n",
        "import unittest\nimport mod\n\nclass Spread(unittest.TestCase):\n    def setUp(self):\n        self.xs = [3, 9]\n"
        "    def test_it(self):\n        self.assertEqual(mod.spread(self.xs), 6)\n",
        "def work(xs):\n    best = xs[0]\n    for x in xs:\n        if x > best:\n            best = x\n    return best\n\n"
        "def spread(xs):\n    return work(xs) - min(xs)\n",
        "def work(xs):\n    return xs[0]\n\ndef spread(xs):\n    return work(xs) - min(xs)\n",
        "behaviour/return",
    ),
    "recursive, cached": Kind(
        "from functools import lru_cache\n\n@lru_cache\ndef work(n):\n    return n if n < 2 else work(n - 1) + work(n - 2)\n",
        "from mod import work\n\ndef test_it():\n    work.cache_clear()\n    assert work(10) == 55\n    assert work.__name__ == 'work'\n",
        "from functools import lru_cache\n\n@lru_cache\ndef work(n):\n    a, b = 0, 1\n    for _ in range(n):\n"
        "        a, b = b, a + b\n    return a\n",
        "from functools import lru_cache\n\n@lru_cache\ndef work(n):\n    a, b = 0, 1\n    for _ in range(n - 1):\n"
        "        a, b = b, a + b\n    return a\n",
        "behaviour/return",
    ),
    "many calls in a test, which the first error ends": Kind(
        "def work(xs):\n    return sum(xs)\n",
        "from mod import work\n\ndef test_it():\n    for n in range(4):\n        assert work([n, 1]) == n + 1\n",
        "def work(xs):\n    total = 0\n    for x in xs:\n        total += x\n    return total\n",
        "def work(xs):\n    return sum({tuple: xs}[xs])\n",
        "behaviour/exception",
    ),
    "numbers": Kind(
        "def work(x):\n    return [x * 0.0, float('nan'), x / 3]\n",
        "from mod import work\n\ndef test_it():\n    assert work(-1.0)[2] == -1 / 3\n",
        "def work(x):\n    return [0.0 * x, float('nan'), x / 3]\n",
        "def work(x):\n    return [0.0, float('nan'), x / 3]\n",
        "behaviour/return",
    ),
    "hash order": Kind(
        "def work(words):\n    return sorted(set(words))\n",
        "from mod import work\n\ndef test_it():\n    assert len(work(['a', 'b', 'c', 'd', 'e', 'f', 'a'])) == 6\n",
        "def work(words):\n    return sorted(frozenset(words))\n",
        "def work(words):\n    return list(set(words))\n",
        "flaky|behaviour/return",
    ),
    "callback, trusted": Kind(
        "def work(f, xs):\n    return [f(x) for x in xs]\n",
        "from mod import work\n\ndef test_it():\n    seen = []\n    def f(x):\n        seen.append(x)\n        return -x\n"
        "    assert work(f, [1, 2]) == [-1, -2]\n    assert seen == [1, 2]\n\n"
        "def test_plain():\n    assert work(abs, [-1]) == [1]\n",
        "def work(f, xs):\n    return list(map(f, xs))\n",
        "def work(f, xs):\n    return list(map(f, xs[::-1]))[::-1]\n",
        "test-failed",
        judged="out of process and in-process",
    ),
    "names that tests change, trusted": Kind(
        "FACTOR = 2\n\ndef work(x):\n    print(x)\n    return x * FACTOR\n",
        "import mod\n\ndef test_it(monkeypatch):\n    monkeypatch.setattr(mod, 'FACTOR', 3)\n    assert mod.work(2) == 6\n",
        "FACTOR = 2\n\ndef work(x):\n    print(x)\n    return FACTOR * x\n",
        "FACTOR = 2\n\ndef work(x):\n    print(x, end='')\n    return x * FACTOR\n",
        "behaviour/stdout",
        judged="in-process",
    ),
    "another function, trusted": Kind(
        "def other(x):\n    return x\n\ndef work(x):\n    return other(x)\n",
        "from mod import other, work\n\ndef test_it():\n    assert work(1) == 1\n\ndef test_other():\n    assert other(3) == 3\n",
        "def other(x):\n    return +x\n\ndef work(x):\n    return x\n",
        "def other(x):\n    return 4\n\ndef work(x):\n    return x\n",
        "test-failed",
        judged="out of process and in-process",
    ),
    "imported with its tests only": Kind(
        "import only_here\n\ndef work(x):\n    return x\n",
        "import sys, types\nsys.modules['only_here'] = types.ModuleType('only_here')\nfrom mod import work\n\n"
        "def test_it():\n    assert work(1) == 1\n",
        "import only_here\n\ndef work(x):\n    return +x\n",
        "import only_here\n\ndef work(x):\n    work.told = x\n    return float(x)\n",
        "behaviour/return|behaviour/type",
        judged="in-process",
    ),
    "ends elsewhere": Kind(
        "import os\n\ndef work(x):\n    if 'PYTEST_CURRENT_TEST' not in os.environ: os._exit(3)\n    return x\n",
        "from mod import work\n\ndef test_it():\n    assert work(1) == 1\n",
        "def work(x):\n    return +x\n",
        "def work(x):\n    return x, x\n",
        "behaviour/type|test-failed",
        judged="in-process",
    ),
    "differs elsewhere, often": Kind(
        "import os\n\ndef work(x):\n    return x if 'PYTEST_CURRENT_TEST' in os.environ else -x\n",
        "from mod import work\n\ndef test_it():\n    for n in range(250):\n        assert work(n) == n\n",
        "import os\n\ndef work(x):\n    return x if os.environ.get('PYTEST_CURRENT_TEST') else -x\n",
        "import os\n\ndef work(x):\n    return (x if x < 240 else float(x)) if os.environ.get('PYTEST_CURRENT_TEST') else -x\n",
        "behaviour/type|behaviour/return",
        judged="in-process",
    ),
    "inputs by chance": Kind(
        "def work(x):\n    return x * 2\n",
        "import random\nfrom mod import work\n\ndef test_it():\n    x = random.random()\n    assert work(x) == x * 2\n",
        "def work(x):\n    return x + x\n",
        "def work(x):\n    return x * 3\n",
        "behaviour/return",
    ),
    "numpy": Kind(
        "import numpy as np\n\ndef work(a):\n    return np.array([x * 2 for x in a])\n",
        "import numpy as np\nfrom mod import work\n\ndef test_it():\n    assert work(np.arange(5.0)).sum() == 20\n",
        "import numpy as np\n\ndef work(a):\n    return a * 2\n",
        "import numpy as np\n\ndef work(a):\n    return (a * 2).astype('float32')\n",
        "behaviour/type",
    ),
    "instances that get a private slot": Kind(
        "class Rule:\n    __slots__ = ('text',)\n\n    def __init__(self, text):\n        self.text = text\n\n"
        "    def fits(self, word):\n        return word.split('.')[:len(self.text.split('.'))] == self.text.split('.')\n",
        "from mod import Rule\n\ndef test_it():\n    rule = Rule('a.b')\n"
        "    assert [rule.fits(word) for word in ('a.b.c', 'a', 'a.b')] == [True, False, True]\n",
        "class Rule:\n    __slots__ = ('text', '_parts')\n\n    def __init__(self, text):\n        self.text = text\n"
        "        self._parts = None\n\n    def fits(self, word):\n        if self._parts is None:\n"
        "            self._parts = self.text.split('.')\n        return word.split('.')[:len(self._parts)] == self._parts\n",
        "class Rule:\n    __slots__ = ('text', '_found')\n\n    def __init__(self, text):\n        self.text = text\n"
        "        self._found = None\n\n    def fits(self, word):\n        if self._found is None:\n"
        "            self._found = word.split('.')[:len(self.text.split('.'))] == self.text.split('.')\n"
        "        return self._found\n",
        "cross-call-state",
        "Rule.fits",
        "out of process and in-process",
    ),
    "instances that get a private attribute, made of others": Kind(
        STEPS + "    def at(self, place):\n        return self.start + place * (self.width + 1)\n",
        "from mod import Steps\n\ndef test_it():\n    assert Steps(1, 2).at(3) == 10\n    assert Steps(0, 5).at(2) == 12\n",
        STEPS.replace("= start, width", "= start, width\n        self._step = self.width + 1")
        + "    def at(self, place):\n        return self.start + place * self._step\n",
        STEPS.replace("= start, width", "= start, width\n        self._step = self.width + 2")
        + "    def at(self, place):\n        return self.start + place * self._step\n",
        "behaviour/return",
        "Steps.at",
        "out of process and in-process",
    ),
    "instances that keep what they computed, though they can change": Kind(
        "class Bag:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total(self):\n        found = 0\n        for item in self.items:\n            found += item\n        return found\n",
        "from mod import Bag\n\ndef test_it():\n    assert Bag([1, 2]).total() == 3\n    assert Bag([4]).total() == 4\n",
        "class Bag:\n    def __init__(self, items):\n        self.items = items\n        self._add = None\n\n"
        "    def total(self):\n        if self._add is None:\n            self._add = sum\n        return self._add(self.items)\n",
        "class Bag:\n    def __init__(self, items):\n        self.items = items\n        self._total = None\n\n"
        "    def total(self):\n        if self._total is None:\n            self._total = sum(self.items)\n        return self._total\n",
        "cross-call-state",
        "Bag.total",
        "out of process and in-process",
    ),
    "what is compared by identity": Kind(
        "class Last:\n    __slots__ = ()\n\n    def __eq__(self, other):\n        return other is self\n\n\nLAST = Last()\n\n"
        "def work(items):\n    return [item == LAST for item in items]\n",
        "from mod import LAST, work\n\ndef test_it():\n    assert work([1, LAST]) == [False, True]\n",
        "class Last:\n    __slots__ = ()\n\n    def __eq__(self, other):\n        return other is self\n\n\nLAST = Last()\n\n"
        "def work(items):\n    return [item is LAST for item in items]\n",
        "class Last:\n    __slots__ = ()\n\n    def __eq__(self, other):\n        return other is self\n\n\nLAST = Last()\n\n"
        "def work(items):\n    return [item is Last() for item in items]\n",
        "behaviour/return",
    ),
    "instances of a class that a fixture defines": Kind(
        "def work(item, names):\n    return {name: getattr(item, name) for name in names}\n",
        "import pytest\nfrom mod import work\n\n@pytest.fixture\ndef Point():\n    from dataclasses import dataclass\n\n"
        "    @dataclass\n    class Point:\n        x: int\n        y: int = 2\n\n    return Point\n\n"
        "def test_it(Point):\n    assert work(Point(1), 'xy') == {'x': 1, 'y': 2}\n",
        "def work(item, names):\n    held = vars(item)\n    return {name: held[name] for name in names}\n",
        "def work(item, names):\n    return {name: getattr(item, name) for name in reversed(names)}\n",
        "behaviour/return",
    ),
    "functions that tests write in place": Kind(
        "def work(xs, key=None):\n    return sorted(xs, key=key)[:2]\n",
        "from mod import work\n\ndef last(x):\n    return x[-1:]\n\ndef test_it():\n"
        "    assert work(['ab', 'ba', 'cc'], lambda x: last(x)) == ['ba', 'ab']\n    assert work([2, 1, 3]) == [1, 2]\n",
        "import heapq\n\ndef work(xs, key=None):\n    return heapq.nsmallest(2, xs, key)\n",
        "def work(xs, key=None):\n    return sorted(xs)[:2]\n",
        "behaviour/return",
    ),
    "a table beside it, while other tests write files": Kind(
        "MARKS = {'a', 'b'}\n\ndef work(text):\n    return any(text.startswith(mark) for mark in sorted(MARKS))\n",
        "import os, subprocess, sys\nfrom mod import work\n\ndef test_it():\n    assert work('ax') and not work('xa')\n\n"
        "def test_other():\n    with open(os.path.join(os.path.dirname(__file__), 'kept.txt'), 'w') as file:\n"
        "        file.write('x')\n    assert subprocess.run([sys.executable, '-c', '']).returncode == 0\n",
        "MARKS = ('a', 'b')\n\ndef work(text):\n    return text.startswith(MARKS)\n",
        "MARKS = ('a', 'b')\n\ndef work(text):\n    open('other.txt', 'w').close()\n    return text.startswith(MARKS)\n",
        "fs-escape",
        judged="out of process and in-process",
    ),
}  # fmt: skip
