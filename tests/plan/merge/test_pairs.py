"""The pairwise matrix: what its merges make is not kept, but for what a clash names."""

from __future__ import annotations

from bakeoff.plan.merge.hunks import texts_of
from bakeoff.plan.merge.pairs import conflicting_pairs, touched, tried
from bakeoff.plan.merge.trees import merge_many

TEXT = "".join(f"line {number}\n" for number in range(40))


def objects(forge) -> int:
    """How many there are."""
    said = forge.git.run("count-objects", "-v").decode()
    counts = dict(line.split(": ") for line in said.splitlines())
    return int(counts["count"]) + int(counts["in-pack"])


def tree(forge, commit: str) -> str:
    return forge.git.line("rev-parse", f"{commit}^{{tree}}")


def test_trial_merges_leave_no_object_behind(forge):
    base = forge.commit({"hub": TEXT, "a/b/c": "c\n"})
    edits = [{"hub": TEXT.replace(f"line {number * 3}\n", "changed\n"), f"a/b/{number}": "x\n"} for number in range(10)]
    commits = [forge.commit(edit, base) for edit in (*edits, {"hub": TEXT.replace("line 3\n", "other\n")})]
    changes = touched(forge.git, tree(forge, base), [tree(forge, commit) for commit in commits])
    before = objects(forge)
    found = conflicting_pairs(forge.git, commits, changes)
    assert {pair: [clash.path for clash in clashes] for pair, clashes in found.items()} == {(1, 10): ["hub"]}
    assert objects(forge) == before
    assert list(forge.path.glob(".trial.*")) == []


def test_what_a_clash_names_is_there(forge):
    base = forge.commit({"f": TEXT})
    one = forge.commit({"f": None, "g": TEXT.replace("line 1\n", "one\n")}, base)
    two = forge.commit({"f": None, "h": TEXT.replace("line 30\n", "two\n")}, base)
    before = objects(forge)
    (found,) = tried(forge.git, [(one, two)])
    made = objects(forge) - before
    assert [found] == merge_many(forge.git, [(one, two)])
    named = {side.oid for clash in found.clashes for side in (clash.base, clash.ours, clash.theirs) if side}
    assert made >= 1  # git merged the contents, and put them where each had moved the file
    for oid in named:
        assert forge.git.line("cat-file", "-t", oid) == "blob"
    for clash in found.clashes:
        texts_of(forge.git, clash)
    assert tried(forge.git, []) == []
