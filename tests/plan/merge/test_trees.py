"""What git's merge-tree is asked and how its answer is read, also where it is too old to take many merges at once."""

from __future__ import annotations

import pytest

from bakeoff.plan.merge import trees
from bakeoff.plan.merge.trees import UNRELATED, merge_many
from bakeoff.workspace.errors import GitError

LINK = ("160000", "1" * 40)


@pytest.fixture(params=["batch", "alone"])
def how(request, monkeypatch):
    if request.param == "alone":
        monkeypatch.setattr(trees, "_version", lambda: (2, 38))
    return request.param


def test_many_merges_keep_their_order_whatever_they_print(forge, how):
    base = forge.commit({"f": "1\n", "g": "1\n", "s": LINK})
    edits = [
        {"f": "2\n"},
        {"f": "3\n", "g": "3\n"},
        {"g": "2\n"},
        {"s": ("160000", "2" * 40)},
        {"s": ("160000", "3" * 40)},
    ]
    commits = [forge.commit(edit, base) for edit in edits]
    pairs = [(one, two) for one in commits for two in commits]
    found = merge_many(forge.git, pairs)
    assert [[clash.path for clash in one.clashes] for one in found] == [
        [path for path in ("f", "g", "s") if path in one and path in two and one[path] != two[path]]
        for one in edits
        for two in edits
    ]
    for (one, two), merged in zip(pairs, found, strict=True):
        if merged.clean:
            assert set(forge.files(one).items()) & set(forge.files(two).items()) <= set(
                forge.files(merged.tree).items()
            )
    assert merge_many(forge.git, []) == []


def test_attributes_choose_among_gits_own_drivers(forge, how):
    base = forge.commit(dict.fromkeys(("list", "in/list", "in/kept", "text"), "1\n2\n3\n4\n"))
    first, last = (
        forge.commit({"list": added, "in/list": added, "text": added, "in/kept": edited}, base)
        for added, edited in (("a\n1\n", "0\n2\n3\n4\n"), ("b\n1\n", "1\n2\n3\n5\n"))
    )
    rules = {b".gitattributes": b"* merge=program\nlist merge=union", b"in/.gitattributes": b"kept -merge"}
    (merged,) = merge_many(forge.git, [(first, last)], rules)
    assert [clash.path for clash in merged.clashes] == ["in/kept", "text"]
    assert [clash.path for clash in merge_many(forge.git, [(first, last)])[0].clashes] == ["in/list", "list", "text"]
    files = forge.files(merged.tree)
    assert files["list"] == files["in/list"] == ("100644", b"a\nb\n1\n")
    assert not list(forge.path.glob(".merge.*"))


def test_what_cannot_be_merged_at_all(forge, how):
    one, other = forge.commit({"f": "1"}), forge.commit({"g": "1"})
    found = merge_many(forge.git, [(one, one), (one, other), (other, one), (other, other)])
    assert [[clash.kind for clash in merged.clashes] for merged in found] == [[], [UNRELATED], [UNRELATED], []]
    assert [merged.clean for merge in ([], [(one, other)]) for merged in merge_many(forge.git, merge)] == [False]
    with pytest.raises(GitError, match="f" * 12):
        merge_many(forge.git, [(one, "f" * 40)])
    tree = forge.git.line("rev-parse", f"{one}^{{tree}}")
    with pytest.raises(GitError):
        merge_many(forge.git, [(one, tree)])
