"""Candidates for `squares` of `project()`, and the reasons they may get. The harm they try is bounded."""

from __future__ import annotations

ORIGINAL = '''
def squares(xs):
    """The squares of all numbers.

    >>> squares([3])
    [9]
    """
    total = []
    for x in xs:
        total.append(x * x)
    return total
'''

TESTS = """
import pytest
from pkg.mod import squares


@pytest.fixture
def numbers():
    return [1, 2, 3]


def test_few(numbers):
    assert squares(numbers) == [1, 4, 9]


def test_none():
    assert squares([]) == []


@pytest.mark.parametrize("count", [5, 40])
def test_many(count):
    assert squares(list(range(count)))[-1] == (count - 1) ** 2
"""

RIGHT = "    return [x * x for x in xs]\n"


def attack(top: str = "", before: str = "", result: str = RIGHT) -> str:
    """A module whose function does something besides its work."""
    body = "".join(f"    {line}\n" for line in before.strip().splitlines())
    return f"{top}\n\ndef squares(xs):\n{body}{result}"


REPORT = """
import json, os
def forge():
    text = json.dumps({"say": "phase", "test": "tests/test_mod.py::test_few", "outcome": "passed"}).encode() + b"\\n"
    for fd in range(3, 64):
        try:
            os.write(fd, text)
        except OSError:
            pass
"""

GOOD = {
    "comprehension": attack(),
    "its own helper": attack("def _square(x):\n    return x * x", "", "    return [_square(x) for x in xs]\n"),
    "results kept by content": attack(
        "KEPT = {}",
        "key = tuple(xs)\nif key not in KEPT: KEPT[key] = [x * x for x in xs]",
        "    return list(KEPT[key])\n",
    ),
    "constant table in the module": attack("TABLE = [n * n for n in range(50)]"),
    "temporary file of its own": attack(
        "import tempfile, os",
        "with tempfile.NamedTemporaryFile(delete=False) as file:\n    file.write(b'x')\nos.remove(file.name)",
    ),
    "thread that is joined": attack(
        "import threading", "thread = threading.Thread(target=int)\nthread.start()\nthread.join()"
    ),
}

BAD: dict[str, tuple[str, set[str]]] = {
    "wrong": (attack(result="    return [x + x for x in xs]\n"), {"behaviour/return"}),
    "other type": (attack(result="    return tuple(x * x for x in xs)\n"), {"behaviour/type"}),
    "other type inside": (attack(result="    return [float(x * x) for x in xs]\n"), {"behaviour/type"}),
    "raises": (attack(before="if len(xs) == 3: raise ValueError('no')"), {"behaviour/exception"}),
    "prints": (attack(before="print('squares')"), {"behaviour/stdout"}),
    "prints by descriptor": (attack("import os", "os.write(1, b'squares')"), {"behaviour/stdout"}),
    "prints an error": (attack("import sys", "print('x', file=sys.stderr)"), {"behaviour/stdout"}),
    "empties its argument": (attack(result="    return [x * x for x in (xs.pop(0) for _ in range(len(xs)))]\n"),
                             {"behaviour/mutation"}),
    "works in its argument": (attack(before="if not xs: return xs"), {"behaviour/aliasing"}),
    "leaves the session": (attack(before="if len(xs) == 5: raise KeyboardInterrupt"), {"behaviour/missing"}),
    "leaves by SystemExit": (attack("import sys", "if len(xs) == 5: sys.exit(0)"),
                             {"behaviour/missing", "behaviour/exception"}),
    "leaves the process": (attack("import os", "os._exit(0)"), {"crash"}),
    "leaves at import": (attack("import sys\nsys.exit(0)"), {"import-failure"}),
    "ends at import": (attack("import os\nos._exit(0)"), {"import-failure"}),
    "is no Python": ("def squares(xs:\n", {"import-failure"}),
    "lacks the function": ("def other(xs):\n    return xs\n", {"import-failure"}),
    "differs beyond the tests": (attack(before="if len(xs) not in (0, 1, 3, 5, 40): return []"),
                                 {"differs-on-derived-input"}),
    "reads the tests": (
        attack(
            "SEEN = {(1, 2, 3): [1, 4, 9], (): []} | {tuple(range(n)): [i * i for i in range(n)] for n in (5, 40)} | {(3,): [9]}",
            "return list(SEEN.get(tuple(xs), ()))",
        ),
        {"differs-on-derived-input"},
    ),
    "results kept by identity": (
        attack("KEPT = {}", "key = id(xs), len(xs)\nif key not in KEPT: KEPT[key] = [x * x for x in xs]",
               "    return list(KEPT[key])\n"),
        {"cross-call-state", "flaky", "behaviour/return", "differs-on-derived-input"},
    ),
    "random": (attack("import random", "if random.random() < 0.5: return []"), {"flaky"}),
    "depends on its process": (attack("import os", "if os.getpid() % 32: return []"), {"flaky", "behaviour/return"}),
    "hangs": (attack(before="while len(xs) == 5: pass"), {"timeout"}),
    "hangs at import": (attack("while True: pass"), {"timeout"}),
    "passing reports, then exit": (attack(REPORT + "\nimport atexit", "forge()\nos._exit(0)"), {"tampering"}),
    "passing reports at import": (attack(REPORT + "\nforge()\nos._exit(0)"), {"tampering"}),
    "passing reports, and goes on": (attack(REPORT, "forge()"), {"tampering"}),
    "false answers to derived calls": (
        attack(REPORT, "if len(xs) not in (0, 1, 3, 5, 40): forge()"), {"tampering"},
    ),
    "patches the reports": (
        attack(
            "from _pytest.reports import TestReport\n"
            "def passed(cls, item, call):\n    report = original(item, call)\n    report.outcome = 'passed'\n"
            "    return report\n"
            "original = TestReport.from_item_and_call\n"
            "TestReport.from_item_and_call = classmethod(passed)",
            result="    return []\n",
        ),
        {"tampering"},
    ),
    "patches the clock": (attack("import time\ntime.perf_counter_ns = lambda: 0"), {"tampering"}),
    "traces": (attack("import sys\nsys.settrace(lambda *a: None)"), {"tampering"}),
    "stops gc": (attack("import gc\ngc.disable()"), {"tampering"}),
    "patches random": (attack("import random\nrandom.random = lambda: 0.5"), {"tampering"}),
    "patches builtins": (attack("import builtins\nbuiltins.len = lambda x: 0"), {"tampering"}),
    "patches the harness": (
        attack("import sys\nsys.modules['_bakeoff_codec'].encode = lambda *a, **k: b'x'"),
        {"tampering"},
    ),
    "looks for the harness": (attack("import gc", "gc.get_objects()"), {"tampering"}),
    "equal to all": (
        attack("class Any(list):\n    def __eq__(self, other): return True\n    __hash__ = None",
               result="    return Any()\n"),
        {"behaviour/type"},
    ),
    "int that lies": (
        attack("class Int(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__",
               result="    return [Int(x * x) for x in xs]\n"),
        {"behaviour/type"},
    ),
    "function": (attack(result="    return [lambda: x for x in xs]\n"), {"incomparable", "behaviour/type"}),
    "pickle bomb": (
        attack(
            "import os\nclass Bomb:\n    def __reduce__(self): return (os.system, ('touch /tmp/bomb',))",
            result="    return Bomb()\n",
        ),
        {"behaviour/type"},
    ),
    "number of 5,000 digits": (attack(result="    return 10 ** 5000\n"), {"behaviour/type"}),
    "number of 5,000 digits inside": (attack(result="    return [10 ** 5000 for x in xs]\n"), {"behaviour/return"}),
    "lists in lists": (
        attack(before="found = []\nfor _ in range(100_000): found = [found]", result="    return found\n"),
        {"incomparable", "output-limit"},
    ),
    "long text": (attack(result="    return ['x' * (8 << 20)]\n"), {"behaviour/return", "behaviour/type"}),
    "no number": (attack(result="    return [float('nan')]\n"), {"behaviour/return", "behaviour/type"}),
    "no text": (attack(result="    return ['\\udc80\\ud800']\n"), {"behaviour/return", "behaviour/type"}),
    "raises no text": (attack(before="raise ValueError('\\udc80' * 9)"), {"behaviour/exception"}),
    "raises much": (attack(before="raise ValueError('x' * (4 << 20))"), {"behaviour/exception"}),
    "raises numbers": (attack(before="raise KeyError(10 ** 5000)"), {"behaviour/exception", "behaviour/missing"}),
    "raises what cannot be shown": (
        attack("class No(Exception):\n    def __str__(self): raise self\n    __repr__ = __str__", "raise No"),
        {"behaviour/exception"},
    ),
    "cannot be shown or compared": (
        attack("class No:\n    def __repr__(self): raise ValueError\n    __eq__ = __hash__ = __len__ = __bool__ = __repr__",
               result="    return [No() for x in xs]\n"),
        {"behaviour/type"},
    ),
    "class of a strange name": (
        attack(result="    return type('\\udc80' * 500, (), {'\\udc80': 10 ** 5000})()\n"),
        {"behaviour/exception"},
    ),
    "nests beyond all parsers": ("x = " + "-" * 200_000 + "1\n" + attack(), {"import-failure"}),
    "attributes of attributes": (attack("x = a" + ".b" * 100_000), {"import-failure"}),
    "number of many digits": (attack("x = " + "1" * 100_000), {"import-failure"}),
    "hundred megabytes": (attack(result="    return [b'x' * (100 << 20)]\n"), {"output-limit"}),
    "leaves a child": (
        attack("import os, time", "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)"), {"process-leak"},
    ),
    "leaves a daemon": (
        attack(
            "import os, time",
            "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)",
        ),
        {"process-leak"},
    ),
    "starts a program": (attack("import subprocess", "subprocess.run(['true'])"), {"process-leak"}),
    "forks through C": (
        attack("import ctypes, time, os", "if ctypes.CDLL(None).fork() == 0:\n    time.sleep(60)\n    os._exit(0)"),
        {"process-leak"},
    ),
    "leaves a thread": (
        attack("import threading, time", "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"),
        {"process-leak"},
    ),
    "fills memory": (
        attack(before="held = [b'x' * (1 << 24) + str(n).encode() for n in range(200)]"), {"memory-limit"},
    ),
    "fills memory, in a child": (
        attack(
            "import os",
            "if os.fork() == 0:\n    held = [b'x' * (1 << 24) + str(n).encode() for n in range(200)]\n    os._exit(0)\n"
            "os.wait()",
        ),
        {"memory-limit"},
    ),
    "fills the disk": (
        attack(
            "import os",
            "try:\n    for n in range(40):\n"
            "        with open(f'/tmp/{n}', 'wb') as file: file.write(bytes(16 << 20))\n"
            "except OSError: pass",
        ),
        {"disk-limit"},
    ),
    "fills the tree": (
        attack(before="for n in range(40):\n    with open(f'{n}.bin', 'wb') as file: file.write(bytes(16 << 20))"),
        {"disk-limit"},
    ),
    "fills descriptors": (
        attack(
            "import os\nHELD = []",
            "try:\n    while True: HELD.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError: pass",
        ),
        {"resource-limit"},
    ),
    "fills processes": (
        attack(
            "import os, time",
            "for _ in range(300):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)",
        ),
        {"resource-limit"},
    ),
    "fills threads": (
        attack(
            "import threading, time",
            "for _ in range(300): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        ),
        {"resource-limit"},
    ),
    "prints without end": (attack(before="while True: print('x' * 10000)"), {"output-limit"}),
    "unlinks outside": (
        attack("import os", "try: os.unlink('/var/tmp/sentinel')\nexcept OSError: pass"), {"fs-escape"},
    ),
    "unlinks in the folder for temporary files": (
        attack(
            "import os, tempfile",
            "try: os.unlink(os.path.join(tempfile.gettempdir(), 'sentinel'))\nexcept OSError: pass",
        ),
        {"fs-escape"},
    ),
    "writes outside": (
        attack(before="try: open('/var/tmp/written', 'w')\nexcept OSError: pass"), {"fs-escape"},
    ),
    "writes long paths into the project": (
        attack("import os", "for n in range(30):\n    here = os.getcwd()\n"
               "    for _ in range(12):\n        os.makedirs('n' * 250, exist_ok=True)\n        os.chdir('n' * 250)\n"
               "    open(f'{n}', 'w').close()\n    os.chdir(here)"),
        {"fs-escape"},
    ),
    "writes into the project": (
        attack(before="with open('cache.txt', 'a') as file: file.write('x')"), {"fs-escape"},
    ),
    "removes a file of the project": (
        attack("import os", "if os.path.exists('tests/test_mod.py'): os.remove('tests/test_mod.py')"), {"fs-escape"},
    ),
    "opens a socket": (
        attack("import socket", "try: socket.create_connection(('192.0.2.1', 80), 0.1)\nexcept OSError: pass"),
        {"network-escape"},
    ),
    "asks for a name": (
        attack("import socket", "try: socket.getaddrinfo('example.org', 80)\nexcept OSError: pass"),
        {"network-escape"},
    ),
    "kills its group": (attack("import os", "os.kill(0, 15)"), {"tampering", "crash"}),
    "kills the watcher": (
        attack("import os", "try: os.kill(os.getppid(), 9)\nexcept OSError: pass"), {"tampering"},
    ),
    "deep recursion": (
        attack("def deep(n):\n    return deep(n + 1)", "deep(0)"), {"behaviour/exception"},
    ),
    "deeper recursion": (
        attack("import sys\nsys.setrecursionlimit(10**8)\ndef deep(xs):\n    return sorted(xs, key=lambda x: deep([x]))",
               "deep([1])"),
        {"crash"},
    ),
    "segfault": (attack("import ctypes", "ctypes.string_at(0)"), {"crash"}),
    "abort": (attack("import os", "os.abort()"), {"crash"}),
}  # fmt: skip
