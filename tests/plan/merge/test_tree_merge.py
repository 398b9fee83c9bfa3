"""Merging by trees: edits that commute are merged whichever comes first, others stay conflicts."""

from __future__ import annotations

import ast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules import structured
from bakeoff.plan.merge.rules.resolution import CHOSEN, PROVEN
from bakeoff.plan.merge.rules.trees import merge_tree
from searches import examples


def merge(base, ours, theirs, form="python"):
    found = merge_tree(form, Texts(*(text.encode() for text in (base, ours, theirs))))
    return None if found is None else found.content.decode()


STATEMENTS = [f"a{number} = {number}\n" for number in range(9)]
PLACES = st.integers(0, len(STATEMENTS) - 1)
KINDS = st.sampled_from(["change", "delete", "add"])


def edited(edits, mark):
    """The statements with edits: a place and what is done there; what is added there comes before it."""
    lines = []
    for number, line in enumerate(STATEMENTS):
        kind = edits.get(number)
        lines += [f"{mark}{number} = 'added'\n"] if kind == "add" else []
        lines += [] if kind == "delete" else [f"a{number} = '{mark}'\n" if kind == "change" else line]
    return lines


def in_function(lines):
    return "def f():\n" + "".join(f"    {line}" for line in lines) + "    return 0\n"


@pytest.mark.soak
@settings(max_examples=examples(70))
@given(st.dictionaries(PLACES, KINDS, max_size=4), st.dictionaries(PLACES, KINDS, max_size=4), st.booleans())
def test_edits_of_different_statements_commute(ours, theirs, inside):
    assume(not ours.keys() & theirs.keys())
    wrap = in_function if inside else "".join
    versions = [wrap(lines) for lines in (STATEMENTS, edited(ours, "o"), edited(theirs, "t"))]
    merged = merge(*versions)
    assert merged == merge(versions[0], versions[2], versions[1])
    both = [line for place in range(len(STATEMENTS)) for line in _both(place, ours, theirs)]
    assert merged == wrap(both)


def _both(place, ours, theirs):
    edits, mark = (ours, "o") if place in ours else (theirs, "t")
    kind = edits.get(place)
    added = [f"{mark}{place} = 'added'\n"] if kind == "add" else []
    return added + ([] if kind == "delete" else [f"a{place} = '{mark}'\n" if kind == "change" else STATEMENTS[place]])


@pytest.mark.soak
@settings(max_examples=examples(40))
@given(
    PLACES,
    st.sampled_from([("change", "change"), ("change", "delete"), ("delete", "change")]),
    st.dictionaries(PLACES, KINDS, max_size=3),
)
def test_different_edits_of_one_statement_stay_a_conflict(place, kinds, others):
    ours, theirs = ({**others, place: kinds[0]}, {place: kinds[1]})
    assert merge("".join(STATEMENTS), "".join(edited(ours, "o")), "".join(edited(theirs, "t"))) is None


@pytest.mark.soak
@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from("pqrs"), unique=True, max_size=3), st.lists(st.sampled_from("tuvw"), unique=True))
def test_items_that_both_added_are_all_there_once(ours, theirs):
    def module(names):
        return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in ["a", "b", *names]) + "]\n"

    merged = merge(module([]), module(ours), module(theirs))
    assert sorted(ast.literal_eval(merged.partition("=")[2].strip())) == sorted(["a", "b", *ours, *theirs])


PY = '''import os


def f(x, y=1):
    """What it does.

    And how.
    """
    total = x + y  # the sum
    for number in range(x):
        total += number
    return total


def g():
    return os.sep
'''


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        # Beside each other, in lines that git takes for one place.
        (("total = x + y", "total = x * y"), ("range(x)", "range(y)"), None),  # `total` is used there, as before
        (("What it does", "What it is for"), ("And how", "And why"), None),
        # A comment and the code before it.
        (("# the sum", "# both"), ("x + y", "y + x"), None),
        # Parameters and result, defaults and annotations.
        (("x, y=1)", "x, y=1, *, z=2)"), ("y=1)", "y=1) -> int"), ("x, y=1)", "x, y=1, *, z=2) -> int")),
        # Layout on one side.
        (("f(x, y=1)", "f(\n    x,\n    y=1,\n)"), ("return total\n", "return -total\n"), None),
        (("import os\n", "import os\nimport re\n"), ("import os\n", "import sys\nimport os\n"),
         ("import os\n", "import sys\nimport os\nimport re\n")),
    ],
)  # fmt: skip
def test_changes_of_different_parts_are_merged(ours, theirs, merged):
    expected = PY.replace(*merged) if merged else PY.replace(*ours).replace(*theirs)
    assert merge(PY, PY.replace(*ours), PY.replace(*theirs)) == expected


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("def g():", "def h():"), ("    return total\n", "    return total + len(g())\n")),  # its name is gone
        (("x, y=1)", "x, z, y=1)"), ("return os.sep", "return os.sep * f(1)")),  # its parameters are others
        (("    return total\n", "    print(total)\n    return total\n"),
         ("    return total\n", "    if x:\n        return 0\n    return total\n")),  # which comes first matters
        (("    return total\n", "    a = total\n    return total\n"),
         ("    return total\n", "    total = a\n    return total\n")),
        (("def g():\n    return os.sep\n", ""), ("os.sep", "os.name")),
        (("def g():\n    return os.sep\n", "def h():\n    return os.sep\n"),
         ("def g():\n    return os.sep\n", "def i():\n    return os.sep\n")),
        (("y=1):", "y=[1, 2]):"), ("y=1):", "y={1, 2}):")),
        (("import os\n", "import os\nx = [1, 2, 3]\n"), ("import os\n", "import os\nx = [1, 2, 4]\n")),
        (("total += number", "total += ["), ("x + y", "x * y")),  # no Python
    ],
)  # fmt: skip
def test_what_does_not_commute_stays_a_conflict(ours, theirs):
    assert merge(PY, PY.replace(*ours), PY.replace(*theirs)) is None
    assert merge(PY, PY.replace(*theirs), PY.replace(*ours)) is None


def test_the_kind_of_brackets_is_no_layout():
    base = "x = {'a', 'b'}\n"
    assert merge(base, base.replace("'b'", "'b', 'c'"), "x = ['a', 'b']\n") is None


def test_what_one_side_added_to_a_data_file_is_kept_with_its_comments():
    base = "[tool]\na = 1\n\n[tool.x]\nb = 1\nd = 1\nc = 1\n"
    ours, theirs = base.replace("b = 1", "b = 2"), base.replace("c = 1", "# why\nc = 2")
    texts = Texts(*(text.encode() for text in (base, ours, theirs)))
    found = structured.merge_structured("toml", texts)
    assert found is not None
    assert found.content.decode() == base.replace("b = 1", "b = 2").replace("c = 1", "# why\nc = 2")


def test_a_module_that_moved_is_not_imported_from_its_old_place():
    base = "from p.util.text import a\n\n\ndef f():\n    return a\n"
    ours = base.replace("p.util.text", "p.core.text")
    theirs = base.replace("\n\n\n", "\nfrom p.util.typing import b\n\n\n").replace("return a", "return a, b")
    assert merge(base, ours, theirs) is None


def test_what_both_added_in_different_places_is_there_once_or_a_conflict():
    base = "def f():\n    a = 1\n    b = 2\n    c = 3\n"
    log = "    print('here')\n"
    assert merge(base, base.replace("    b", f"{log}    b"), base.replace("    c", f"{log}    c")) is None


def test_a_comment_stays_with_what_it_is_about():
    base = "class C:\n    a = 1\n    b = 2\n"
    ours = base.replace("    b", "    # About b.\n    b")
    theirs = base.replace("    b", "    # What c stands for\n    c = 3\n    b")
    both = base.replace("    b", "    # What c stands for\n    c = 3\n    # About b.\n    b")
    assert merge(base, ours, theirs) == both
    assert merge(base, ours, base.replace("    b", "    # Why b is 2.\n    b")) is None


LOG = """# Changes

## 2.0

### Added

- one

### Fixed

- two

## 1.0

- first
"""


def test_sections_of_a_changelog_are_merged_each_for_itself():
    ours = LOG.replace("- one\n", "- one\n- green apples\n")
    theirs = LOG.replace("- one\n", "- one\n- a new kind of bread\n").replace("- two\n", "- two\n- three\n")
    merged = merge(LOG, ours, theirs, "prose")
    assert merged == LOG.replace("- one\n", "- one\n- green apples\n- a new kind of bread\n").replace(
        "- two\n", "- two\n- three\n"
    )
    new = "## Unreleased\n\n### Fixed\n\n- {}\n\n## 2.0"
    ours, theirs = (LOG.replace("## 2.0", new.format(text)) for text in ("the roof", "all of the windows"))
    assert merge(LOG, ours, theirs, "prose") == LOG.replace("## 2.0", new.format("the roof\n- all of the windows"))
    assert merge(LOG, ours, theirs.replace("## Unreleased", "## [Unreleased]"), "prose") is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("- one", "- one apple"), ("- one", "- one pear")),
        (("## 2.0", "## 2.1\n\n- x\n\n## 2.0"), ("## 2.0", "## 2.1")),  # one version in two ways
        (("- one\n", "- one\n- Fix the roof of the old house\n"), ("- one\n", "- one\n- Fix the roof of the house\n")),
    ],
)
def test_two_versions_of_one_entry_stay_a_conflict(ours, theirs):
    assert merge(LOG, LOG.replace(*ours), LOG.replace(*theirs), "prose") is None
    assert merge("", LOG, LOG.replace("first", "last"), "prose") is None


PEOPLE = "# People\n\n- [Ann Lee](https://github.com/ann)\n- [Bo](https://github.com/bo)\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (PEOPLE, "- [Cy Orr](https://github.com/cy)\n", "- [Di](https://github.com/dee)\n"),
        ("Tools\n=====\n\n.. autofunction:: one\n", ".. autofunction:: two\n", ".. autofunction:: three\n"),
        ("# Log\n\n- One #1\n", "- Fix links in tables #22\n", "- Fix text in tables #23\n"),
    ],
)
def test_entries_that_are_alike_but_for_their_names_both_stay(base, ours, theirs):
    assert merge(base, base + ours, base + theirs, "prose") == base + ours + theirs


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("- Fix the links #22\n", "- Repaired links in tables, thanks to Ann #22\n"),  # one issue
        ("- Fix the links in all of the tables #22\n", "- Fix the links in all of the tables #23\n"),
        ("- [Cy](https://github.com/cy)\n", "- [Cy Orr](https://github.com/cy)\n"),
    ],
)
def test_two_versions_of_one_entry_do_not_both_stay(ours, theirs):
    base = "# Log\n\n- One #1\n"
    assert merge(base, base + ours, base + theirs, "prose") is None


def test_names_that_both_added_under_a_directive_both_stay():
    base = "Functions\n=========\n\n.. autosummary::\n   :toctree: made/\n\n   one\n   two\n"
    texts = Texts(*(f"{base}{more}\nEnd.\n".encode() for more in ("", "   three\n", "   four\n")))
    found = merge_tree("prose", texts)
    assert found is not None
    assert found.content.decode() == f"{base}   three\n   four\n\nEnd.\n"
    assert found.chosen
    both = base.replace("   one\n", "   three\n   one\n")
    assert merge(base, both, base + "   three\n", "prose") is None  # it would be there twice
    assert merge(base, base.replace("   two\n", ""), base + "   three\n", "prose") is None


def test_calls_side_by_side_are_no_proof():
    base = "def f(a):\n    a.open()\n    a.read()\n    return a\n"
    ours, theirs = base.replace("    a.read()\n", ""), base.replace("    a.read()\n", "    a.read()\n    a.log()\n")
    for versions in ((base, ours, theirs), (base, theirs, ours)):
        found = merge_tree("python", Texts(*(text.encode() for text in versions)))
        assert found is None or found.chosen
    found = merge_tree("python", Texts(*(f"x = 1\ny = 2\n{more}".encode() for more in ("", "z = 3\n", ""))))
    assert found is not None
    assert not found.chosen


def test_a_package_is_required_once():
    base = "attrs\nclick>=8\n"
    assert merge(base, base + "rich\n", base + "rich>=13\n", "list") is None
    assert merge(base, base + "rich\n", base + "zstd>=1\n", "list") == base + "rich\nzstd>=1\n"
    assert merge(base, base.replace("8", "9"), base.replace("8", "10"), "list") is None


def test_an_item_and_a_paragraph_that_both_added_are_a_conflict():
    new = "## 3.0\n\n{}\n\n## 2.0"
    ours, theirs = (LOG.replace("## 2.0", new.format(text)) for text in ("- new", "It came out in May."))
    assert merge(LOG, ours, theirs, "prose") is None


def test_a_resolution_says_whether_anything_was_chosen():
    lines = "alpha\nbeta\ngamma\n"
    apart = [lines.replace("beta", "b"), lines.replace("gamma", "c")]
    added = [lines + "delta\n", lines + "epsilon\n"]
    for versions, why in ((apart, PROVEN), (added, CHOSEN)):
        texts = Texts(lines.encode(), *(text.encode() for text in versions))
        found = structured.merge_structured("list", texts)
        assert found is not None
        assert (found.rule, found.why, bool(found.choices)) == ("list", why, why == CHOSEN)
    assert structured.merge_structured("lines", Texts(lines.encode(), *(text.encode() for text in added))) is None


def test_a_file_that_takes_too_long_is_a_conflict(monkeypatch):
    lines = [f"{number % 7} {number % 5}\n" for number in range(40_000)]
    versions = ["".join(rows) for rows in (lines, lines[::-1], sorted(lines))]
    monkeypatch.setattr(structured, "SECONDS", 0.5)
    assert structured.merge_structured("lines", Texts(*(text.encode() for text in versions))) is None


CHAIN = """def rate(member, staff):
    if member:
        price = 5
        return price
    elif staff == 1:
        return 3
    else:
        return 10


def read(path):
    try:
        found = open(path)
    except OSError:
        found = None
    finally:
        print(path)
    match found:
        case 1:
            return found
        case 2:
            return path
    with open(path) as other:
        return other.read()
    return found
"""


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        # A branch that is gone, under another condition, or in another place; its body edited.
        (("    if member:\n        price = 5\n        return price\n    elif", "    if"), ("price = 5", "price = 4")),
        (("    if member:", "    if not member:"), ("price = 5", "price = 4")),
        (("    if member:\n        price = 5\n        return price\n    elif staff == 1:\n        return 3\n",
          "    if staff == 1:\n        return 3\n    elif member:\n        price = 5\n        return price\n"),
         ("        return price\n", "        print(price)\n        return price\n")),
        (("    elif staff == 1:\n        return 3\n", ""), ("return 10", "return 11")),  # what `else` stands for
        (("    elif staff", "    elif member == 2:\n        return 1\n    elif staff"),
         ("    else", "    elif staff == 2:\n        return 2\n    else")),  # both added one
        (("    except OSError:\n        found = None\n", ""), ("found = None", "found = 0")),
        (("    except OSError:", "    except ValueError:"), ("found = None", "found = 0")),
        (("        case 1:\n            return found\n", ""), ("return found\n        case", "return 1\n        case")),
        (("        case 1:", "        case 3:"), ("return found\n        case", "return 1\n        case")),
        (("with open(path) as", "with open(path, 'rb') as"), ("other.read()", "other.read(9)")),
    ],
)  # fmt: skip
def test_a_body_is_not_merged_under_another_condition(ours, theirs):
    assert ours[0] in CHAIN
    assert theirs[0] in CHAIN
    assert merge(CHAIN, CHAIN.replace(*ours), CHAIN.replace(*theirs)) is None
    assert merge(CHAIN, CHAIN.replace(*theirs), CHAIN.replace(*ours)) is None


def test_a_body_stays_under_its_condition_where_a_branch_is_added_before_it():
    ours = CHAIN.replace("    if member:", "    if staff == 2:\n        return 0\n    elif member:")
    theirs = CHAIN.replace("        price = 5\n", "        price = 5\n        print(price)\n")
    both = ours.replace("        price = 5\n", "        price = 5\n        print(price)\n")
    assert merge(CHAIN, ours, theirs) == merge(CHAIN, theirs, ours) == both


def test_of_two_alike_statements_one_is_gone_and_the_other_changed():
    base = "def f():\n    with lock:\n        one()\n        two()\n    with lock:\n        three()\n        four()\n"
    ours = "def f():\n    with lock:\n        three(3)\n        four()\n"
    assert merge(base, ours, base.replace("        two()", "        also()\n        two()")) is None
    assert merge("a.b(1)\na.b(2)\n", "a.b(2, k=1)\n", "a.b(1, m=1)\na.b(2)\n") is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("import marshal as json\n", "import json\n"),
        ("from b import thing\n", "from c import thing\n"),
        ("from b import *\n", "from c import *\n"),
        ("from b import thing\n", "thing = 1\n"),
        ("import thing\n", "def thing():\n    pass\n"),
    ],
)
def test_a_name_comes_from_one_thing(ours, theirs):
    base = "import os\n\n\ndef f():\n    return os\n"
    texts = [base.replace("import os\n", "import os\n" + text) for text in (ours, theirs)]
    assert merge(base, *texts) is None
    assert merge("from a import x\n", "from a.b import x\n", "from .a import x\n") is None


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("send(a, b)\n", "send(a, b, 3)\n", "send(0, a, b)\n"),
        ("send(a, b)\n", "send(a, b, 3)\n", "send(a, b, 4)\n"),
        ("x = (a, b)\n", "x = (a, b, c)\n", "x = (d, a, b)\n"),
        ("def f(a, b): pass\n", "def f(a, b, c): pass\n", "def f(d, a, b): pass\n"),
    ],
)
def test_what_stands_for_a_place_is_not_added_by_both(base, ours, theirs):
    assert merge(base, ours, theirs) is None
    assert merge("f(a, x=1, y=2)\n", "f(a, x=3, y=2)\n", "f(a, x=1, y=2, z=4)\n") == "f(a, x=3, y=2, z=4)\n"


def test_the_order_of_annotated_fields_is_a_choice():
    base = "class C:\n    x: int = 1\n"
    found = merge_tree(
        "python", Texts(*(f"{base}{more}".encode() for more in ("", "    y: int = 2\n", "    z: int = 3\n")))
    )
    assert found is not None
    assert found.chosen


def test_the_order_of_members_is_a_choice_and_one_value_is_not_given_twice():
    base = "class C(IntEnum):\n    A = 1\n"
    assert merge(base, base + "    B = 4\n", base + "    C = 4\n") is None
    assert merge(base, base + "    B = 'x'\n", base + "    C = 'x'  # also\n") is None
    more = ("", "    B = 2\n", "    C = 3\n")
    found = merge_tree("python", Texts(*(f"{base}{text}".encode() for text in more)))
    assert found is not None
    assert found.chosen


INI = "[a]\nx = 1\n\n[b]\ndeps = one\n    two\ny = 2\n\n[c]\nz = 3\n"
SHELL = "if test -f a; then\n  rm a\n  echo done\nfi\n\nbuild() {\n  make\n}\n"
MAKE = "all: test\n\ntest:\n\tpip install x\n\tpytest\n\ntox:\n\ttox\n\naudit:\n\techo\n"
JS = "function one()\n{\n  log();\n  return 1;\n}\n\nrun();\n"


@pytest.mark.parametrize(
    ("form", "base", "ours", "theirs"),
    [
        ("lines", INI, ("[b]\ndeps = one\n    two\ny = 2\n\n", ""), ("y = 2\n", "y = 2\nw = 4\n")),
        ("lines", INI, ("[b]\n", "[bb]\n"), ("y = 2\n", "y = 2\nw = 4\n")),
        ("lines", INI, ("deps = one\n    two\n", ""), ("    two\n", "    two\n    three\n")),
        ("lines", INI, ("deps = one\n", "needs = one\n"), ("    two\n", "    two\n    three\n")),
        ("lines", SHELL, ("if test -f a; then\n  rm a\n  echo done\nfi\n", "rm a\n"), ("  rm a\n", "  rm a\n  rm -rf b\n")),
        ("lines", SHELL, ("if test -f a", "if test -d a"), ("  echo done\n", "  echo done\n  rm -rf b\n")),
        ("lines", SHELL, ("build() {\n  make\n}\n", ""), ("  make\n", "  make\n  make install\n")),
        ("lines", MAKE, ("tox:\n", "tox:\n\tpip install -q x\n"),
         ("\tpip install x\n\tpytest\n\ntox:\n\ttox\n", "\tpip install x\n\ttox -e py\n")),
        ("lines", MAKE, ("test:\n", "check:\n"), ("\tpytest\n", "\tpytest\n\tpytest --slow\n")),
        ("lines", JS, ("function one()\n", "function two()\n"), ("  return 1;\n", "  return 1;\n  stop();\n")),
        ("toml", "[a]\nx = 1\n\n[b]\ny = 2\n\n[c]\nz = 3\n", ("[b]\ny = 2\n\n", ""), ("y = 2\n", "y = 2\nw = 4\n")),
        ("toml", "[a]\nx = 1\n\n[b]\ny = 2\n", ("[b]\n", "[bb]\n"), ("y = 2\n", "y = 2\nw = 4\n")),
        ("yaml", "a:\n  x: 1\nb:\n  y: 2\nc:\n  z: 3\n", ("b:\n  y: 2\n", ""), ("  y: 2\n", "  y: 2\n  w: 4\n")),
        ("yaml", "a:\n  - x: 1\n    y: 2\n  - x: 3\n", ("  - x: 1\n    y: 2\n", ""), ("    y: 2\n", "    y: 5\n")),
        ("json", '{\n  "a": {\n    "x": 1\n  },\n  "b": 2\n}\n', ('  "a": {\n    "x": 1\n  },\n', ""),
         ('    "x": 1\n', '    "x": 1,\n    "y": 3\n')),
        ("prose", "# A\n\nThese:\n\n- one\n- two\n\nEnd.\n", ("These:\n\n- one\n- two\n", "None of them.\n"),
         ("- one\n", "- one\n- and a half\n")),
        ("prose", "# A\n\n- one\n\n  - inner\n\n- two\n", ("- one\n", "- something else entirely\n"),
         ("  - inner\n", "  - inner\n  - another\n")),
        ("prose", "# A\n\n1. Open.\n2. Close.\n", ("2. Close.\n", "2. Close.\n3. Lock it.\n"),
         ("2. Close.\n", "2. Close.\n3. Leave.\n")),
        ("prose", "# Log\n\n## 1.0\n\n- old\n", ("## 1.0", "## 1.1\n\n- new\n\n## 1.0"), ("## 1.0", "- loose\n\n## 1.0")),
        ("list", "build/\n*.pyc\n", ("build/\n", "build/\n!build/keep\n"), ("build/\n", "build/\nbuild/*\n")),
        ("list", "# tests\npytest\n\n# docs\nsphinx\n", ("# tests\npytest\n\n", ""), ("pytest\n", "pytest\nrich\n")),
    ],
)  # fmt: skip
def test_nothing_is_left_beside_or_under_what_the_other_side_took_out(form, base, ours, theirs):
    assert ours[0] in base
    assert theirs[0] in base
    versions = [base.encode(), base.replace(*ours, 1).encode(), base.replace(*theirs, 1).encode()]
    assert structured.merge_structured(form, Texts(*versions)) is None
    assert structured.merge_structured(form, Texts(versions[0], versions[2], versions[1])) is None


def test_lines_that_stand_for_themselves_may_stand_beside_one_that_is_gone():
    base = "ant\nbee\ncat\n"
    assert merge(base, "ant\ncat\n", "ant\nbee\nbug\ncat\n", "list") == "ant\nbug\ncat\n"
    assert merge(base, "ant\ncat\n", "ant\nbee\nbug\ncat\n", "lines") is None
