"""Random histories: what the chain makes is what `git merge` makes, one branch after the other, in a work tree."""

from __future__ import annotations

import os
import re
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.plan.merge.chain import Merger
from bakeoff.plan.merge.pairs import conflicting_pairs, touched
from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.merge.trees import merge_many
from plan.merge.forge import Forge

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"
NAMES = ["a", "b", "d/a", "d/b", "e/f/a"]
LETTERS = st.sampled_from("xyz")


@st.composite
def edits(draw):
    """What one branch does to one path."""
    path = draw(st.sampled_from(NAMES))
    kind = draw(st.sampled_from(["line", "line", "line", "whole", "delete", "move", "mode"]))
    return path, kind, draw(st.integers(0, 7)), draw(LETTERS), draw(st.sampled_from([*NAMES, "new", "d/new", "a/in"]))


def text(path):
    return [f"{path} line {number}" for number in range(8)]


def apply(before, edit):
    """The files after an edit; files are (mode, lines)."""
    path, kind, line, letter, to = edit
    files = dict(before)
    mode, lines = files.get(path, ("100644", []))
    if kind == "whole" or (path not in files and kind != "move"):
        files[path] = "100644", [letter] * 3
    elif path not in files:
        return files
    elif kind == "line":
        files[path] = mode, [letter if number == line else old for number, old in enumerate(lines)]
    elif kind == "mode":
        files[path] = "100755", lines
    else:
        del files[path]
        if kind == "move":
            files[to] = mode, lines
    # Nothing is both a file and a folder.
    return {p: c for p, c in files.items() if not any(other.startswith(f"{p}/") for other in files)}


def commit(forge, before, after, *parents):
    changes = {path: None for path in before if path not in after}
    changes |= {
        path: (mode, "\n".join(lines) + "\n")
        for path, (mode, lines) in after.items()
        if before.get(path) != (mode, lines)
    }
    return forge.commit(changes, *parents)


def in_a_work_tree(forge, place, base, commits):
    """The numbers of those that `git merge` merges, and the tree that it makes."""
    env = {**os.environ, **forge.git.env, "GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(*args, check=True):
        return subprocess.run(["git", *args], cwd=place, env=env, check=check, capture_output=True, text=True)

    subprocess.run(["git", "clone", "-qns", str(forge.path), str(place)], check=True, env=env)
    git("checkout", "-q", "--detach", base)
    landed = []
    for number, change in enumerate(commits):
        if git("merge", "-q", "--no-ff", "--no-edit", change, check=False).returncode == 0:
            landed.append(number)
        else:
            git("merge", "--abort")
            assert git("status", "--porcelain").stdout == ""
    return landed, git("rev-parse", "HEAD^{tree}").stdout.strip()


@settings(max_examples=400 if SOAK else 16)
@given(branches=st.lists(st.lists(edits(), min_size=1, max_size=3), min_size=2, max_size=5), forks=st.data())
def test_the_chain_is_what_git_merge_makes(tmp_path_factory, branches, forks):
    place = tmp_path_factory.mktemp("history")
    forge = Forge.at(place)
    files = {path: ("100644", text(path)) for path in NAMES}
    root = commit(forge, {}, files)
    bases = [(root, files)]
    moved = apply(files, ("b", "line", 0, "m", "b"))
    bases.append((commit(forge, files, moved, root), moved))
    commits, trees = [], []
    for branch in branches:
        # From the base, from before it, or on top of an earlier branch.
        parent, before = forks.draw(st.sampled_from([*bases, *zip(commits, trees, strict=True)]))
        after = before
        for edit in branch:
            after = apply(after, edit)
        commits.append(commit(forge, before, after, parent))
        trees.append(after)
    base = bases[-1][0]
    merger = Merger(forge.git, Rules(structured=False))
    tip, steps = forge.chain(merger, base, *commits)
    landed, tree = in_a_work_tree(forge, place / "tree", base, commits)
    assert [number for number, step in enumerate(steps) if step.point] == landed
    assert tip.tree == tree
    for content in forge.files(tip.commit).values():
        assert not re.search(rb"^(<{7}|={7}|>{7}|\|{7})", content[1], re.MULTILINE)
    assert forge.chain(merger, base, *commits)[0] == tip
    assert_predicted(forge, base, commits)
    # What is dropped for ours leaves nothing half merged.
    first, dropped = forge.chain(Merger(forge.git, Rules(structured=False), "ours_first"), base, *commits)
    assert all(step.point for step in dropped)
    for content in forge.files(first.commit).values():
        assert not re.search(rb"^(<{7}|={7}|>{7}|\|{7})", content[1], re.MULTILINE)


def assert_predicted(forge, base, commits):
    """The matrix, which merges only pairs that touch the same places, finds what merging all pairs finds."""
    git = forge.git
    own = zip(commits, merge_many(git, [(base, commit) for commit in commits]), strict=True)
    fit = {commit: merged.tree for commit, merged in own if merged.clean}
    commits = list(fit)
    everything = touched(git, git.line("rev-parse", f"{base}^{{tree}}"), list(fit.values()))
    found = conflicting_pairs(git, commits, everything)
    anything = [type(each)(each.paths | {b"same"}, each.folders, each.left) for each in everything]
    assert found == conflicting_pairs(git, commits, anything)
