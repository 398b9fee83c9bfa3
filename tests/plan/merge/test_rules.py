"""Rules by kind of file: what they merge, and when they say that they cannot tell."""

from __future__ import annotations

import ast
import json
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.merge.rules.keys import merge_keys
from searches import examples


def resolve(path, base, ours, theirs, rules=None):
    found = (rules or Rules()).resolve(path, Texts(*(text.encode() for text in (base, ours, theirs))))
    return None if found is None else found[1].decode()


JSON = '{\n  "name": "p",\n  "scripts": {\n    "a": "1"\n  },\n  "list": [1, 2]\n}\n'.replace(
    "[1, 2]", "[\n    1,\n    2\n  ]"
)


def test_json_by_key():
    ours = JSON.replace('"a": "1"', '"a": "1",\n    "b": "2"')
    theirs = JSON.replace('"a": "1"', '"a": "3",\n    "c": "ü"')
    merged = resolve("x/package.json", JSON, ours, theirs)
    assert merged == JSON.replace('"a": "1"', '"a": "3",\n    "b": "2",\n    "c": "ü"')
    assert resolve("a.json", JSON, ours, JSON.replace('    "a": "1"\n', "")) is not None
    assert json.loads(resolve("a.json", JSON, ours, JSON.replace('    "a": "1"\n', "")))["scripts"] == {"b": "2"}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ('{"a": 2}', '{"a": 3}'),
        ('{"a": true}', '{"a": 1.0}'),
        ("{}", '{"a": 3}'),
        ('{"a": [1]}', '{"a": [2]}'),
        ('{"a": 1, "b": 1}', '{"a": 1, "b": 2}'),
        ('{"a": 1, "b": {}, "b": 2}', '{"a": 2}'),
        ("[1]", "[2]"),
        ('{"a": 1,   "b": 1}', '{"a": 1, "c": 1}'),
        ('{"a": 1', '{"a": 1, "c": 1}'),
        ("[" * 3000, '{"a": 2}'),
    ],
)
def test_json_that_it_cannot_tell(ours, theirs):
    assert resolve("a.json", '{"a": 1}', ours, theirs) is None


def test_json_added_by_both():
    assert resolve("a.json", "", '{"a": {"x": 1}}\n', '{"a": {"y": 1}}\n') == '{"a": {"x": 1, "y": 1}}\n'


TOML = '# head\n[project]\nname = "p"  # the name\ndependencies = [\n  "a",\n]\n\n[tool.x]\nkey = 1\n'


def test_toml_by_key_keeps_comments():
    ours = TOML.replace("key = 1", "key = 1\nours = 1  # ours")
    theirs = TOML.replace("key = 1", "key = 2\ntheirs = 1979-05-27")
    merged = resolve("pyproject.toml", TOML, ours, theirs)
    assert tomllib.loads(merged)["tool"]["x"] == {
        "key": 2,
        "ours": 1,
        "theirs": tomllib.loads(theirs)["tool"]["x"]["theirs"],
    }
    assert "# head" in merged
    assert "# the name" in merged
    assert "# ours" in merged
    assert resolve("a.toml", TOML, ours, TOML + "\n[tool.y]\nz = 1\n").endswith("[tool.y]\nz = 1\n")
    assert resolve("a.toml", TOML, ours.replace("key = 1", "key = 3"), theirs) is None
    assert resolve("a.toml", TOML, ours + "[", theirs) is None


YML = "# head\non:\n  push: true\njobs:\n  test:\n    steps:\n      - run: a\n      - run: 'b'\n"


def test_yaml_by_key_keeps_comments_and_quotes():
    ours, theirs = YML + "  lint: {steps: []}  # lint\n", YML + "  build:\n    steps: []\n"
    merged = resolve(".github/ci.yml", YML, ours, theirs)
    assert merged == ours + "  build:\n    steps: []\n"
    assert list(YAML(typ="safe").load(merged)["jobs"]) == ["test", "lint", "build"]
    assert resolve("a.yaml", YML, ours, YML + "  lint: 1\n") is None
    assert resolve("a.yaml", YML, ours, YML + " bad: [\n") is None
    assert resolve("a.yaml", "a: &x 1\n", "a: &x 1\nb: *x\n", "a: &x 1\nc: 2\n") is None
    assert resolve("a.yaml", "", "a:  1\nb: [1,\n  2]\n", "c: 1\n") is None


@pytest.mark.soak
@settings(max_examples=examples(50))
@given(st.data())
def test_keys_merge_as_dictionaries_do(data):
    keys, values = st.sampled_from("abcd"), st.integers(0, 2)
    nested = st.dictionaries(keys, st.one_of(values, st.dictionaries(keys, values, max_size=3)), max_size=4)
    base, ours, theirs = (data.draw(nested) for _ in range(3))
    for form, write, read in (("json", json.dumps, json.loads), ("toml", to_toml, tomllib.loads)):
        texts = Texts(*(write(value).encode() for value in (base, ours, theirs)))
        merged = merge_keys(form, texts)
        wanted = three_way(base, ours, theirs)
        if merged is not None:
            assert read(merged.decode()) == wanted
        elif form == "json":
            assert wanted is CLASH


CLASH = object()


def to_toml(value):
    import tomlkit

    return tomlkit.dumps(value)


def three_way(base, ours, theirs):
    """The same in other words: the result, or that there is none."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if not (isinstance(ours, dict) and isinstance(theirs, dict) and isinstance(base, dict | type(None))):
        return CLASH
    found = {}
    for key in {**ours, **theirs, **(base or {})}:
        sides = [(side or {}).get(key) for side in (base, ours, theirs)]
        value = three_way(*sides)
        if value is CLASH:
            return CLASH
        if value is not None:
            found[key] = value
    return found


def test_union():
    rules = Rules(union=("CHANGELOG.md", "src/**/__init__.py"))
    log = "# Changes\n\n- first\n"
    merged = resolve("CHANGELOG.md", log, log + "- ours\n", log + "- theirs\n", rules)
    assert merged == log + "- ours\n- theirs\n"
    exports = "from .a import A\n"
    merged = resolve(
        "src/p/__init__.py", exports, exports + "from .b import B\n", exports + "from .c import C\n", rules
    )
    assert merged == exports + "from .b import B\nfrom .c import C\n"
    other = Rules(union=("CHANGELOG.md",), structured=False)
    assert resolve("other.md", log, log + "- ours\n", log + "- theirs\n", other) is None


def test_which_lockfile_is_made_how():
    rules = Rules(lockfiles=(("uv.lock", "uv lock"), ("web/*.lock", "make lock")))
    assert [rules.lockfile_command(path) for path in ("uv.lock", "sub/uv.lock", "web/a.lock", "a.lock")] == [
        "uv lock", "uv lock", "make lock", None,
    ]  # fmt: skip


PY = '''"""Module."""

import os


LIMIT = 1


def f(x):
    return x


# About C.
class C:
    """C."""

    size = 1

    def m(self):
        return 1

    def n(self):
        return 2


if __name__ == "__main__":
    f(1)
'''


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a, OLD, b", "a, b", "a, new, b", "a, new, b"),  # what both took out stays out
        ("a, OLD", "a", "a, OLD, b", "a, b"),  # what one took out is not brought back
        ("a", "a, b", "a, c", "a, b, c"),
        ("a", "(\n    a,\n    b,\n)", "c, a", "(\n    c,\n    a,\n    b,\n)"),
        ("a", "b, a", "(\n    a,\n    c as d,\n)", "(\n    b,\n    a,\n    c as d,\n)"),
        ("a, OLD, \\\n    b", "a, \\\n    b", "a, OLD, new, \\\n    b, c", "a, new, \\\n    b, c"),
        (None, "a", "b, a", "b, a"),
        ("a", "a as x", "a as y", "a as x, a as y"),
        ("a, b", None, "a, b, c", ValueError),
        ("a, b", "a", "b", ValueError),
        ("a", "a, b as n", "a, c as n", ValueError),
        ("a", "a, b", "*", ValueError),
    ],
)
def test_an_import_that_both_changed_is_merged_by_its_names(base, ours, theirs, merged):
    def module(names):
        return ("" if names is None else f"from .m.n import {names}\n") + "import os\n\nx = 1\n"

    found = python(module(ours), module(theirs), module(base))
    assert found == (None if merged is ValueError else module(merged))


def python(ours, theirs, base=PY):
    merged = resolve("a.py", base, ours, theirs)
    if merged is not None:
        ast.parse(merged)
    return merged


def test_functions_added_in_one_place_both_stay():
    def with_(name):
        return PY.replace("# About C.", f"def {name}(x):\n    return {name!r}\n\n\n# About C.")

    assert python(with_("g"), with_("h")) == with_("g").replace(
        "# About C.", "def h(x):\n    return 'h'\n\n\n# About C."
    )
    assert python(with_("g"), with_("g")) == with_("g")


def test_each_definition_is_merged_for_itself():
    ours = (
        PY.replace("return 1", "return 10")
        .replace("import os\n", "import os\nimport sys\n")
        .replace("LIMIT = 1", "LIMIT = 2")
    )
    theirs = (
        PY.replace("return 2", "return 20")
        .replace("import os\n", "import os\nimport re\n")
        .replace("size = 1", "size = 3")
    )
    merged = python(ours, theirs)
    assert merged == (
        PY.replace("return 1", "return 10")
        .replace("return 2", "return 20")
        .replace("import os\n", "import os\nimport sys\nimport re\n")
        .replace("LIMIT = 1", "LIMIT = 2")
        .replace("size = 1", "size = 3")
    )
    assert python(PY.replace("class C:", "class C(B):"), PY.replace("return 2", "return 20")) == PY.replace(
        "class C:", "class C(B):"
    ).replace("return 2", "return 20")


TOP = "class X:\n    a = 1\n\n    def f(self):\n        return 1\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("", "import os\n\n\n", "class A:\n    pass\n\n\n", "import os\n\n\nclass A:\n    pass\n\n\n"),
        ("", "import os\n\n\n", "import re\n\n\n", "import os\nimport re\n\n\n"),
        ("", "def g():\n    pass\n\n\n", "def h():\n    pass\n\n\n",
         "def g():\n    pass\n\n\ndef h():\n    pass\n\n\n"),
        ("import os\n\n\n", "", "import os\n\n\ndef h():\n    pass\n\n\n", "def h():\n    pass\n\n\n"),
        ("import os\n\n", "import os\nimport re\n\n\n", "import os\nx = 1\n\n", "import os\nimport re\nx = 1\n\n\n"),
        ("import os\n\n\n", "import os\n\nx = 1\n\n\n", "import os\n\n\n# About X.\n",
         "import os\n\nx = 1\n\n\n# About X.\n"),
    ],
)  # fmt: skip
def test_what_stands_before_a_class_keeps_its_empty_lines(base, ours, theirs, merged):
    assert python(ours + TOP, theirs + TOP, base + TOP) == merged + TOP
    assert python(ours + TOP, theirs + TOP.replace("1\n\n", "2\n\n"), base + TOP) == merged + TOP.replace(
        "1\n\n", "2\n\n"
    )
    methods = [f"class Y:\n    def {name}(self):\n        pass\n\n    def f(self):\n        pass\n" for name in "ab"]
    assert python(*methods, "class Y:\n    def f(self):\n        pass\n") == methods[0].replace(
        "    def f", "    def b(self):\n        pass\n\n    def f"
    )


def test_deleted_on_one_side_and_methods_added_on_the_other():
    ours = PY.replace("def f(x):\n    return x\n\n\n", "").replace("    f(1)", "    pass")
    theirs = PY.replace("        return 2\n", "        return 2\n\n    def o(self):\n        return 3\n")
    merged = python(ours, theirs)
    assert "def f" not in merged
    assert "def o" in merged


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("return x", "return x + 1"), ("return x", "return x + 2")),
        (("return 1", "return 10"), ("return 1", "return 11")),
        (("LIMIT = 1", "LIMIT = 2"), ("LIMIT = 1", "LIMIT = 3")),
        (("def f(x):\n    return x\n\n\n", ""), ("return x", "return x + 2")),
        (("    f(1)", "    f(2)"), ("    f(1)", "    f(3)")),
        (("class C:", "class C(A):"), ("class C:", "class C(B):")),
        (("LIMIT = 1", "LIMIT = (1"), ("LIMIT = 1", "LIMIT = 3")),
        (('"""Module."""', "# coding: utf-8"), ('"""Module."""', "# coding: latin-1")),
        (("LIMIT = 1", "LIMIT = 1\nx = 1"), ("LIMIT = 1", "LIMIT = 1\nx = 2")),
    ],
)
def test_python_that_it_cannot_tell(ours, theirs):
    assert python(PY.replace(*ours), PY.replace(*theirs)) is None


PROPERTY = """class C:
    @property
    def x(self):
        return 1

    @x.setter
    def x(self, value):
        pass

    # the end
"""


def test_names_that_are_defined_twice_and_comments_at_the_end():
    getter, setter = PROPERTY.replace("return 1", "return 2"), PROPERTY.replace("pass", "self.y = value")
    assert python(getter, setter, PROPERTY) == getter.replace("pass", "self.y = value")
    assert python(getter, PROPERTY.replace("the end", "done"), PROPERTY) == getter.replace("the end", "done")
    assert python(getter, PROPERTY.replace("    # the end", "    y = 1\n    # the end"), PROPERTY) is not None


@pytest.mark.parametrize(
    "deep", ["(" * 5000 + ")" * 5000, "-" * 20000 + "1", "a" + ".b" * 50000, "[" * 150 + "]" * 150]
)
def test_what_nests_too_deeply_is_left_alone(deep):
    assert python(f"{PY}\nx = {deep}\n", PY.replace("return 1", "return 3"), PY) in (
        None,
        f"{PY}\nx = {deep}\n".replace("return 1", "return 3"),
    )


def test_line_ends_are_merged_for_themselves():
    lines = "one\ntwo\nthree\n"
    dos = lines.replace("\n", "\r\n")
    assert resolve("a.txt", dos, lines, dos.replace("two", "2")) == lines.replace("two", "2")
    assert resolve("a.txt", lines, dos, lines.replace("two", "2")) == dos.replace("two", "2")
    assert resolve("a.txt", lines, lines.replace("\n", "\r\n", 1), lines.replace("two", "2")) is None
    assert resolve("a.cfg", lines[:-1], lines[:-1].replace("one", "1"), lines.replace("two", "2")) == "1\n2\nthree\n"


def test_large_files_are_left_alone():
    large = json.dumps({"a": "x" * (1 << 20)})
    assert resolve("a.json", "{}", large, '{"b": 1}') is None


NAMES = st.sampled_from(["f", "g", "h", "i"])
MODULES = st.tuples(
    st.dictionaries(NAMES, st.integers(0, 2), max_size=4),
    st.dictionaries(NAMES, st.integers(0, 2), max_size=3),
)


def module(functions, methods):
    """Functions in the order of their names, and a class with methods; each returns its number."""
    text = "".join(f"def {name}():\n    return {value}\n\n\n" for name, value in sorted(functions.items()))
    text += "class C:\n    x = 1\n"
    return text + "".join(
        f"\n    def {name}(self):\n        return {value}\n" for name, value in sorted(methods.items())
    )


@pytest.mark.soak
@settings(max_examples=examples(50))
@given(MODULES, MODULES, MODULES)
def test_definitions_merge_as_dictionaries_do(base, ours, theirs):
    merged = python(module(*ours), module(*theirs), module(*base))
    wanted = [three_way(*sides) for sides in zip(base, ours, theirs, strict=True)]
    if merged is None:
        # What both did to one definition, though it is the same, may hide what one did to another.
        both = [
            name
            for old, our, their in zip(base, ours, theirs, strict=True)
            for name in {**old, **our, **their}
            if old.get(name) not in (our.get(name), their.get(name))
        ]
        assert CLASH in wanted or both
        return
    tree = ast.parse(merged)
    found = [
        {node.name: node.body[0].value.value for node in body if isinstance(node, ast.FunctionDef)}
        for body in (tree.body, next(node for node in tree.body if isinstance(node, ast.ClassDef)).body)
    ]
    assert found == wanted
    # Formatted as each version is: two empty lines around what stands at the top, one around methods.
    assert re.sub(r"\n\n\n(?=def|class)|\n\n(?=    def)", "\n", merged).count("\n\n") == 0
    assert not re.search(r"[^\n]\n{1,2}(?=def|class)|[^\n]\n(?=    def)", merged)


def test_statements_of_other_sorts_and_classes_in_one_line():
    ours = PY.replace("LIMIT = 1", "LIMIT = 1\nx.y = 1\nn: int = 2\na = b = 3")
    theirs = PY.replace("return 2", "return 20")
    assert python(ours, theirs) == ours.replace("return 2", "return 20")
    short = "class A: x = 1\n"
    assert python(short.replace("1", "2"), short.replace("1", "3"), short) is None


def test_what_one_moved_has_the_changes_of_the_other():
    moved = PY.replace("def f(x):\n    return x\n\n\n", "") + "\n\ndef f(x):\n    return x\n"
    assert python(PY.replace("return 1", "return 10"), moved) == moved.replace("return 1", "return 10")
    assert python(PY.replace("return x", "return x + 1"), moved) == moved.replace("return x", "return x + 1")
    assert python(PY.replace("return x", "return x + 1"), moved.replace("return x", "return x + 2")) is None
    assert python(PY.replace("def f(x):\n    return x\n\n\n", ""), moved) is None


def test_no_structure_is_looked_for_where_that_is_off_or_unknown():
    log = '{"a": 1}\n'
    assert resolve("a.json", log, '{"a": 1, "b": 1}\n', '{"a": 1, "c": 1}\n', Rules(structured=False)) is None
    assert resolve("a.txt", "x\n", "y\n", "z\n") is None


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
)


@pytest.mark.parametrize(
    ("path", "hostile"),
    [
        ("a.yml", BOMB),
        ("a.yml", "a: " + "[" * 20_000),
        ("a.yml", "? " * 20_000),
        ("a.json", '{"a":' * 100_000),
        ("a.json", '{"a": ' + "1" * 100_000 + "}"),
        ("a.toml", "a = " + "[" * 20_000 + "]" * 20_000),
        ("a.py", "x = " + "-" * 100_000 + "1\n"),
        ("a.py", "x = a" + ".b" * 100_000 + "\n"),
        ("a.py", "x = " + "(" * 100_000 + ")" * 100_000),
        ("a.py", "\0"),
    ],
)
def test_what_no_parser_can_take_is_no_more_than_a_conflict(path, hostile, monkeypatch):
    monkeypatch.setattr("bakeoff.plan.merge.rules.structured.SECONDS", 1.0)
    assert resolve(path, "", hostile, "a: 1\n") is None
