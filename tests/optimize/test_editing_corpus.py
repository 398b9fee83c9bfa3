"""Definitions of the standard library, replaced: whatever is outside the edited spans stays the same bytes."""

from __future__ import annotations

import ast
import os
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.corpus import modules

from bakeoff.optimize.source_code.definitions import Definition, definitions, locate
from bakeoff.optimize.source_code.editing import apply_definition
from bakeoff.optimize.source_code.indentation import dedented, lines_in_strings, reindented
from bakeoff.optimize.source_code.python_file import PythonFile
from searches import examples

SOAK = bool(os.environ.get("BAKEOFF_SOAK"))
MARK = "\n\nimport zz_module as zz_alias\nZZ_CONSTANT = '''\n  kept\n'''\n"


def sources(paths: list[Path]) -> list[tuple[Path, bytes]]:
    found = []
    for path in paths:
        raw = path.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(raw, "x", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        found.append((path, raw))
    return found


def own_text(place: Definition) -> str:
    """The definition as a model would write it: not indented."""
    text = place.text.replace("\r\n", "\n")
    whole = PythonFile(place.file.text.replace("\r\n", "\n"))
    return reindented(text, place.indentation, "", lines_in_strings(whole.text), place.line)


def check(path: Path, raw: bytes, qualname: str) -> None:
    place = locate(raw, qualname)
    text = own_text(place)
    same = apply_definition(raw, qualname, text)
    kept = same.startswith(raw[: place.start]) and same.endswith(raw[place.end :])
    parsed_alike = ast.dump(ast.parse(same)) == ast.dump(ast.parse(raw))
    assert (kept, parsed_alike) == (True, True), (path, qualname)

    node = locate(dedented(text).encode("utf-8"), place.name).node
    mark = 'zz = """\nzz\n"""' if not isinstance(node.body[0], ast.Expr) else '"""\nzz\n"""'
    node.body.insert(0, ast.parse(mark).body[0])
    changed = ast.unparse(node) + MARK
    result = apply_definition(raw, qualname, changed)
    after = locate(result, qualname)
    other = raw[: place.start], raw[place.end :]
    # What was put in besides the definition can be taken out again, and gives the same bytes.
    newline = place.file.newline.encode()
    head = result[: after.start].replace(b"import zz_module as zz_alias" + newline, b"", 1)
    imported = result.count(b"import zz_module as zz_alias")
    assert imported == 1
    tail = result[after.end :].replace(
        newline * 2 + b"ZZ_CONSTANT = '''\n  kept\n'''\n".replace(b"\n", newline), b"", 1
    )
    alike = ast.dump(after.node) == ast.dump(node)
    assert alike, (path, qualname)
    # A line end may stand between docstring and import. No comparison of long bytes by pytest: its diff takes minutes.
    same_head = head.replace(newline, b"") == other[0].replace(newline, b"")
    same_tail = tail.strip() == other[1].strip()
    assert (same_head, same_tail) == (True, True), (path, qualname)


@pytest.mark.soak
def test_library() -> None:
    """A sample; the whole library in the soak."""
    for path, raw in sources(modules(None if SOAK else 10)):
        names = [name for name, _, _ in definitions(PythonFile.read(raw).tree)]
        for qualname in dict.fromkeys(names[:: max(1, len(names) // (6 if SOAK else 3))]):
            check(path, raw, qualname)


PIECES = st.sampled_from(
    [
        "import os\n",
        "from a import (b,\n    c)\n",
        "x = 1  # one\n",
        "\x0c\n",
        "# a comment\n",
        "if x:\n\ty = 1\n",
        "try:\n    import json\nexcept ImportError:\n    json = None\n",
        "class A:\n  '''doc'''\n  def g(self): return 2;\n",
        "def g(a, *b, c=1):\n\treturn a\n",
        "s = '''\nraw\n   text'''\n",
        "import sys; sys.path\n",
        "z = 1 + \\\n  2\n",
        "'ü€'\n",
        "@d\nclass B: pass\n",
        "\n\n",
    ]
)


@pytest.mark.soak
@settings(deadline=None, max_examples=examples(50))
@given(
    before=st.lists(PIECES, max_size=5),
    after=st.lists(PIECES, max_size=4),
    head=st.sampled_from(["", "\ufeff", "# -*- coding: utf-8 -*-\n", "#!/usr/bin/python\n", '"""Doc."""\n']),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    wrap=st.sampled_from(["", "class W:\n    ", "if x:\n\t", "class W:\n  class V:\n    "]),
    last=st.booleans(),
)
def test_random_modules(before: list[str], after: list[str], head: str, newline: str, wrap: str, last: bool) -> None:
    indentation = wrap.rpartition("\n")[2]
    definition = f"@old\n{indentation}def work(x):\n{indentation}  return '''\n  {{x}}'''  # last"
    text = head + "".join(before) + wrap + definition + ("\n" if after or not last else "") + "".join(after)
    raw = text.replace("\n", newline).encode()
    qualname = {"class W:\n    ": "W.work", "class W:\n  class V:\n    ": "W.V.work"}.get(wrap, "work")
    place = locate(raw, qualname)
    new = "import math\ndef work(x):\n    y = '''\n a'''\n    return math.floor(x) + y\nUSED = work\n"
    result = apply_definition(raw, qualname, new)
    after_place = locate(result, qualname)
    assert ast.unparse(after_place.node) == "@old\n" + ast.unparse(ast.parse(new).body[1])
    rest = result[: after_place.start] + b"|" + result[after_place.end :]
    expected = raw[: place.start] + b"|" + raw[place.end :]
    for added in (b"import math", b"USED = work"):
        assert rest.count(added) == 1
        rest = rest.replace(added, b"", 1)
    assert rest.replace(newline.encode(), b"") == expected.replace(newline.encode(), b"")
    tree = ast.parse(result)
    first_import = next(at for at, each in enumerate(tree.body) if isinstance(each, ast.Import | ast.ImportFrom))
    assert first_import <= 1 + len(before)
