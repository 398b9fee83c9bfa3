"""Subplans from outside: what is wrong with them is named, and owners' files stay apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bakeoff.plan.decompose.assemble import leaf_id
from bakeoff.plan.decompose.codeowners import owners_of, read_rules
from bakeoff.plan.decompose.proposed import Subplan, by_groups, from_subplans, problems
from bakeoff.plan.errors import DecomposeError
from bakeoff.settings import PlanSettings
from plan.decompose.trees import check, files, regular

CONFIG = PlanSettings(max_files_per_subplan=3, max_tokens_per_subplan=4000)
KNOWN = [*files(["a/x.py", "a/y.py", "b/z.py", "b/w.py", "c/v.py"]), *files(["big.py"], 5000)]


def test_subplans_are_the_leaves():
    asked = [Subplan("two", ("b/z.py", "a/y.py")), Subplan("one", ("a/x.py",)), Subplan("big", ("big.py",), "shrink")]
    made = from_subplans(asked, KNOWN, CONFIG, imports={"b/z.py": ["a/x.py"]})
    check(made, [file for file in KNOWN if file.path in made.leaf_of], CONFIG)
    assert set(made.order) == {leaf_id(sorted(subplan.files)) for subplan in asked}
    assert made.order.index(leaf_id(["a/x.py"])) < made.order.index(leaf_id(["a/y.py", "b/z.py"]))
    assert made.nodes[leaf_id(["big.py"])].oversize
    assert "c/v.py" not in made.leaf_of
    assert from_subplans([], KNOWN).root is None


def test_many_subplans_are_grouped():
    given = regular(6, 6)
    asked = [Subplan(file.path, (file.path,)) for file in given]
    made = from_subplans(asked, given, replace(CONFIG, max_children=7))
    check(made, given, CONFIG)
    assert made.metrics["fan_out"] <= 7


def test_everything_that_is_wrong_is_named_at_once():
    asked = [
        Subplan("one", ("a/x.py", "a/x.py", "nowhere.py")),
        Subplan("one", ("b/z.py",)),
        Subplan("empty", ()),
        Subplan("other", ("b/z.py", "c/v.py")),
        Subplan("many", ("a/y.py", "b/w.py", "big.py")),
    ]
    assert list(problems(asked, KNOWN, CONFIG)) == [
        "subplan 'one': a/x.py is twice in it: a file has one subplan",
        "subplan 'one': nowhere.py is not among the project's files",
        "there are two subplans called 'one'",
        "subplan 'empty' has no files",
        "subplan 'other': b/z.py is in 'one', too: a file has one subplan",
        "subplan 'many' is too large: 3 files and 7000 tokens, where 3 and 4000 are allowed",
    ]
    with pytest.raises(DecomposeError, match=r"cannot be used:\n(.*\n){5}subplan 'many'"):
        from_subplans(asked, KNOWN, CONFIG)
    wrong = [Subplan(f"s{number}", ()) for number in range(30)]
    with pytest.raises(DecomposeError, match="and 10 more"):
        from_subplans(wrong, KNOWN, CONFIG)


def test_groups_stay_apart_and_are_split_each():
    given = regular(4, 4, 5)
    groups = {file.path: "odd" if "b1" in file.path or "b3" in file.path else "even" for file in given}
    hubs = {file.path: ["a0/b0/c0.py"] for file in given}
    config = PlanSettings(max_files_per_subplan=10)
    for deepest in (1, 2, 8):
        limited = replace(config, max_depth=deepest)
        made = by_groups(given, groups, limited, imports=hubs)
        check(made, given, limited)
        assert all(len({groups[path] for path in leaf.files}) == 1 for leaf in made.leaves)
    assert [leaf.files for leaf in made.leaves if leaf.hub] == [("a0/b0/c0.py",)]
    assert made.why("a0/b0/c0.py")[0] == "its group is even"
    assert len(made.nodes[made.root or ""].children) == 2
    assert by_groups([], {}).root is None


OWNERS = r"""
# the whole
*               @all
*.js            @js  # in every folder
/build/logs/    @logs
docs/*          docs@example.org
apps/           @octocat
/scripts/ @a @b
**/deep/        @deep
lib/**/gen/*.py @gen
/with\ space.md @space
nobody.txt
one?.c          @c

[Section][2] @section
src/pkg
src/pkg/own.py  @own
^[Open]
loose.x
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("readme", "@all"),
        ("x/y.js", "@js"),
        ("build/logs/a/b.txt", "@logs"),
        ("x/build/logs/a.txt", "@all"),
        ("docs/a.md", "docs@example.org"),
        ("docs/in/a.md", "@all"),
        ("x/apps/y/z", "@octocat"),
        ("scripts/run", "@a @b"),
        ("x/scripts/run", "@all"),
        ("x/y/deep/z/w", "@deep"),
        ("deep/z", "@deep"),
        ("lib/gen/a.py", "@gen"),
        ("lib/x/y/gen/a.py", "@gen"),
        ("lib/gen/a/b.py", "@all"),
        ("with space.md", "@space"),
        ("x/nobody.txt", ""),
        ("one1.c", "@c"),
        ("one12.c", "@all"),
        ("src/pkg/any/file.py", "@section"),
        ("src/pkg/own.py", "@own"),
        ("src/pkgs.py", "@all"),
        ("x/loose.x", ""),
        ("new\nline.js", "@js"),
    ],
)
def test_the_last_rule_that_matches_says_who_owns_a_file(path: str, owners: str):
    assert owners_of(read_rules(OWNERS), [path]) == {path: tuple(owners.split())}


def test_without_a_rule_nobody_owns_a_file():
    assert owners_of(read_rules("docs/** @d\n"), ["docs/a/b", "docs", "x"]) == {
        "docs/a/b": ("@d",),
        "docs": (),
        "x": (),
    }
