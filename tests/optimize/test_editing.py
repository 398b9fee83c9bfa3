"""What a candidate's text may hold, and what it becomes in the file."""

from __future__ import annotations

import pytest

from bakeoff.optimize.errors import InvalidCandidateError
from bakeoff.optimize.source_code.editing import apply_definition
from bakeoff.optimize.source_code.imports import imported_by

FILE = '''"""Doc."""
from __future__ import annotations

import os, sys  # both
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from collections import deque
try:
    import json
except ImportError:
    json = None

LIMIT = 3


def helper(x):
    return x + 1


# About work.
@trace
def work(xs, n=2):
    return [helper(x) for x in xs][:n]  # slow


class Box:
    size = 1

    @staticmethod
    def make(x):
        return Box()

    def area(self):
        return self.size * LIMIT
'''


def apply(text: str, qualname: str = "work", file: str = FILE) -> str:
    return apply_definition(file.encode(), qualname, text).decode()


def test_only_the_definition_changes_and_decorators_stay() -> None:
    assert apply("def work(xs, n=2):\n    return xs\n") == FILE.replace(
        "return [helper(x) for x in xs][:n]", "return xs"
    )


def test_decorators_may_be_added() -> None:
    assert "# About work.\n@cache\n@trace\ndef work" in apply("@cache\n@trace\ndef work(xs, n=2):\n    return xs\n")


def test_imports_go_behind_the_first_ones_and_what_is_there_is_not_repeated() -> None:
    text = "import sys\nimport json\nimport os.path\nfrom collections import deque\nimport heapq as hq\n"
    result = apply(text + "def work(xs, n=2):\n    return deque(xs)\n")
    assert "import TYPE_CHECKING\nimport os.path\nfrom collections import deque\nimport heapq as hq\nif TYPE" in result
    assert result.count("import json") == 1


def test_import_below_the_target_is_repeated_above() -> None:
    file = "def work(x):\n    return x\n\nimport math\n"
    assert apply("import math\n@math.f\ndef work(x):\n    return x\n", file=file).startswith("import math\n@math.f")


def test_helpers_stand_before_and_compound_statements_stay_whole() -> None:
    text = "try:\n    import fast\nexcept ImportError:\n    fast = None\n\n\ndef work(xs, n=2):\n    return go(xs)\n"
    result = apply(text + "def go(xs):\n    return xs\nprint(1)\n")
    assert "LIMIT = 3" in result
    assert "try:\n    import fast\nexcept ImportError:\n    fast = None\n\n\n# About work.\n@trace\ndef work" in result
    assert "return go(xs)  # slow\n\n\ndef go(xs):\n    return xs\n\n\nprint(1)\n" in result


def test_what_the_file_has_already_is_left_or_replaced() -> None:
    text = "LIMIT = 3\ndef helper(x):\n    return 1 + x\ndef work(xs, n=2):\n    return xs\n"
    assert apply(text) == FILE.replace("x + 1", "1 + x").replace("return [helper(x) for x in xs][:n]", "return xs")


def test_methods_alone_or_in_their_class() -> None:
    expected = FILE.replace("return self.size * LIMIT", "return LIMIT")
    assert apply("def area(self):\n    return LIMIT\n", "Box.area") == expected
    assert apply("    def area(self):\n        return LIMIT\n", "Box.area") == expected
    assert (
        apply("class Box:\n    ...\n    size = 1\n    def area(self):\n        return LIMIT\n", "Box.area") == expected
    )
    text = "class Box:\n  _table = {}\n  def area(self):\n    return LIMIT\n  def make(x):\n    return x\n"
    result = apply(text, "Box.area")
    assert "    _table = {}\n\n    def area(self):\n      return LIMIT\n" in result
    assert "@staticmethod\n    def make(x):\n      return x\n" in result


def test_nested_classes() -> None:
    file = "class A:\n    class B:\n        def f(self):\n            return 1\n"
    new = "class A:\n    class B:\n        N = 1\n        def f(self):\n            return 2\n"
    expected = "class A:\n    class B:\n        N = 1\n\n        def f(self):\n            return 2\n"
    assert apply(new, "A.B.f", file) == expected


def test_no_newline_at_the_end_and_no_imports() -> None:
    assert apply("import a\ndef f(): return 2\nx = 1", "f", "# c\ndef f(): return 1") == (
        "# c\nimport a\ndef f(): return 2\n\n\nx = 1\n"
    )
    assert apply("import a\ndef f(): return 2", "f", '"""Doc."""\ndef f(): return 1') == (
        '"""Doc."""\n\nimport a\ndef f(): return 2'
    )
    assert apply("import a\ndef f(): return 2", "f", "import b; b.x()\ndef f(): return 1").startswith(
        "import b; b.x()\nimport a\ndef"
    )
    assert apply("import a\ndef f(): return 2", "f", "import b \\\n\n@d\ndef f(): return 1").startswith(
        "import b \\\n\nimport a\n@d"
    )


def test_strings_keep_their_lines() -> None:
    text = 'class Box:\n    def area(self):\n        s = f"""\n  {1}\n"""\n # odd\n        return s\n'
    assert '        s = f"""\n  {1}\n"""\n    # odd\n        return s\n' in apply(text, "Box.area")


def test_comments_left_of_an_indented_definition() -> None:
    text = "    def area(self):\n# left\n        return LIMIT\n"
    assert "    def area(self):\n    # left\n        return LIMIT\n" in apply(text, "Box.area")


def test_submodules_beside_their_package() -> None:
    file = "import os\ndef f(): return 1\n"
    assert apply("import os.path\ndef f(): return 2\n", "f", file).startswith("import os\nimport os.path\n")


def test_names_known_to_type_checkers_alone_may_be_bound() -> None:
    file = "if TYPE_CHECKING:\n    from a import deque\ndef f(): return 1\n"
    text = "from collections import deque\ndef f(): return deque()\n"
    assert apply(text, "f", file).startswith("from collections import deque\nif TYPE")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def work(xs, n=2:\n", "is no Python"),
        ("  def work(xs, n=2:\n", "is no Python"),
        ("def work(xs, n=2):\n    return '\udcff'\n", "is no Python"),
        ("def other(xs): pass\n", "does not define work"),
        ("if x:\n    def work(xs, n=2): pass\n", "inside another statement"),
        ("async def work(xs, n=2): pass\n", "makes it async def"),
        ("def work(xs, n=3): pass\n", "n has another default"),
        ("def work(ys, n=2): pass\n", "now called ys"),
        ("def work(xs): pass\n", "n is gone"),
        ("def work(xs, n=2, m): pass\n", "is no Python"),
        ("def work(xs, n=2, *, m): pass\n", "m is new and has no default"),
        ("def work(xs, n=2, /): pass\n", "positional-only"),
        ("def work(xs, n=2): nonlocal a\n", "with the candidate in it is no Python"),
        ("@other\ndef work(xs, n=2): pass\n", "drops the decorator @trace"),
        ("from __future__ import generator_stop\ndef work(xs, n=2): pass\n", "from __future__"),
        ("from math import *\ndef work(xs, n=2): pass\n", "imports \\* from math"),
        ("import other as json\ndef work(xs, n=2): pass\n", "defines json, which"),
        ("from math import trace\ndef work(xs, n=2): pass\n", "defines trace, which"),
        ("LIMIT = 4\ndef work(xs, n=2): pass\n", "defines LIMIT, which"),
        ("class Box: pass\ndef work(xs, n=2): pass\n", "defines Box, which"),
        ("def work(xs, n=2): pass\nwork = cache(work)\n", "defines work, which"),
    ],
)
def test_what_cannot_be_applied_is_said(text: str, said: str) -> None:
    with pytest.raises(InvalidCandidateError, match=said):
        apply(text)


def test_clash_in_a_class() -> None:
    with pytest.raises(InvalidCandidateError, match="class Box has size already"):
        apply("class Box:\n    size = 2\n    def area(self): pass\n", "Box.area")


def test_characters_that_the_encoding_lacks() -> None:
    with pytest.raises(InvalidCandidateError, match="iso-8859-1, which has no '€'"):
        apply_definition(b"# coding: latin-1\ndef f(): return 1\n", "f", "def f(): return '\u20ac'\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a, *b", "a", r"\*b is gone"),
        ("a, *b", "a, c=1, *b", r"takes what \*b took"),
        ("a, **b", "a", r"\*\*b is gone"),
        ("a, **b", "a, c=1, **b", r"takes what \*\*b took"),
        ("*, a, b=1", "*, b=1", "keyword a is gone"),
        ("*, a=1", "*, a=2", "keyword a has another default"),
        ("*, a=1", "a=1", "keyword a is gone"),
        ("a", "a=1", "another default"),
        ("a, /", "b, /", None),
        ("a, /", "a", None),
        ("a: int", "a", None),
        ("a", "a, b=1, *c, d=2, **e", None),
    ],
)
def test_signatures(old: str, new: str, said: str | None) -> None:
    file, text = f"def f({old}): pass\n", f"def f({new}): return 1\n"
    if said is None:
        assert apply(text, "f", file) == text
    else:
        with pytest.raises(InvalidCandidateError, match=said):
            apply(text, "f", file)


def test_imports_of_changes_are_found_wherever_they_stand() -> None:
    files: dict[str, bytes | None] = {
        "a.py": b"import os.path, heapq as h\nfrom . import b\nfrom .c import d\n"
        b"def f():\n    from collections import abc\n",
        "latin.py": b"# coding: latin-1\nimport re # \xe9\n",
        "broken.py": b"import (",
        "deep.py": b"(" * 5000,
        "gone.py": None,
    }
    assert imported_by([files, {"a.py": b"import bisect, heapq\n"}]) == [
        "os.path", "heapq", "collections", "re", "bisect",
    ]  # fmt: skip
