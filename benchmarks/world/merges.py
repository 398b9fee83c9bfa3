"""Branches rebuilt from a project's history, merged and tested, beside git's own merges of the same."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.world.history import Change, changes
from benchmarks.world.project import Project
from benchmarks.world.row import Row

BRANCHES = 4
SPANS = (60, 250)  # first-parent commits that branches are taken from
MERGES = 3


def rows(project: Project) -> Iterator[Row]:
    """Branches that go together, with one that does not, and merges that people made."""
    yield _branches(project)
    yield from _made_by_people(project)


def _branches(project: Project) -> Row:
    """Commits that were made one after the other, as branches of one base; the first with a rival."""
    for span in SPANS:
        base = project.git("rev-list", "--first-parent", "-n", str(span), project.head).splitlines()[-1]
        if len(taken := _rebuilt(project, base)) >= 2:
            break
    else:
        return Row("merge: branches", None, 0, note="fewer than two commits near HEAD that can be branches of one base")
    names = list(taken)
    _make_rival(project, base, names[0], taken[names[0]].product[0])
    project.git("checkout", "--quiet", "--force", "--detach", base)
    tests = sorted({path for change in taken.values() for path in change.tests if (project.top / path).exists()})
    check = project.language.check_of(tests[:3])
    if project.run(["sh", "-c", check]).status:  # so far back they do not pass with what is installed today
        check = "true"
    done = project.bakeoff("merge", *names, "rival", "--check", check, "--run-id", "merge", "--json", "--quiet")
    by_hand = project.run(["sh", "-c", check]).seconds * (len(names) + 1)
    said, expected = done.json(), _merged(project, names, base)
    left = [f"{one['ref']} in {kind}" for kind in ("conflicts", "culprits") for one in said[kind]]
    note = f"{len(said['landed'])} of {len(names)} landed, {left} not"
    # The rival's remarks may stand in texts, so that its own tests fail.
    right = done.status == 3 and said["landed"] == names and {one.split()[0] for one in left} == {"rival"}
    if right and (got := _tree_of_run(project, "merge")) != expected:
        right, note = False, f"{note}; the tree is {got}, by git {expected}"
    if not right:
        note = f"status {done.status}: {note}: {done.err[-200:]}"
    return Row("merge: branches", right, done.seconds, done.seconds / by_hand, f"{note}; to `{check}` after each")


def _rebuilt(project: Project, base: str) -> dict[str, Change]:
    """Branches of `base`, oldest change first, that git can merge one on top of the other."""
    taken: dict[str, Change] = {}
    found = [change for change in changes(project, 8) if _is_ancestor(project, base, change.commit)]
    for change in reversed(found):
        name = f"world-{len(taken) + 1}"
        project.git("checkout", "--quiet", "--force", "-B", name, base)
        if project.run(["git", "cherry-pick", change.commit]).status:
            project.run(["git", "cherry-pick", "--abort"])
        elif _merged(project, [*taken, name], base):
            taken[name] = change
        if len(taken) == BRANCHES:
            break
    return taken


def _make_rival(project: Project, base: str, branch: str, path: str) -> None:
    """A branch `rival` that changes every line of a file which `branch` changes, too."""
    project.git("checkout", "--quiet", "--force", "-B", "rival", base)
    project.git("checkout", branch, "--", path)
    place, remark = project.top / path, f"  {project.language.comment} rival"
    place.write_text("\n".join(line and line + remark for line in place.read_text().splitlines()) + "\n")
    project.git("commit", "--quiet", "--no-verify", "-am", "Be a rival")


def _is_ancestor(project: Project, one: str, other: str) -> bool:
    return project.run(["git", "merge-base", "--is-ancestor", one, other]).status == 0


def _merged(project: Project, names: list[str], base: str) -> str | None:
    """The tree that git makes of the branches, one on top of the other; None where they conflict."""
    tip = base
    for name in names:
        done = project.run(["git", "merge-tree", "--write-tree", tip, name])
        if done.status:
            return None
        tree = done.out.split()[0]
        tip = project.git("commit-tree", tree, "-p", tip, "-p", name, "-m", "merge")
    return project.git("rev-parse", f"{tip}^{{tree}}")


def _tree_of_run(project: Project, run: str) -> str:
    """The tree of what landed, by way of a branch that `apply` makes."""
    project.bakeoff("apply", run, "--branch", f"landed-{run}")
    return project.git("rev-parse", f"landed-{run}^{{tree}}")


def _made_by_people(project: Project) -> Iterator[Row]:
    """Real merges: what git merges lands with git's tree; what it does not is named, or resolved."""
    taken = {"clean": 0, "conflict": 0}
    for line in project.git("log", "--merges", "--format=%H %P", "-n", "300", project.head).splitlines():
        merge, *parents = line.split()
        if len(parents) != 2 or all(number >= MERGES for number in taken.values()):
            continue
        ours, theirs = parents
        kind = "clean" if _merged(project, [theirs], ours) else "conflict"
        if taken[kind] >= MERGES or _is_ancestor(project, ours, theirs):
            continue
        taken[kind] += 1
        run = f"real-{merge[:10]}"
        words = ["merge", theirs, "--base", ours, "--check", "true", "--run-id", run, "--json", "--quiet"]
        done = project.bakeoff(*words)
        said = done.json()
        by_git = project.run(["git", "merge-tree", "--write-tree", ours, theirs])
        note = f"{merge[:10]}: {said['status']}, {len(said['conflicts'])} in conflict, {len(said['resolved'])} resolved"
        right = done.status == 0 if kind == "clean" else done.status in (0, 1)
        if right and kind == "clean" and (got := _tree_of_run(project, run)) != by_git.out.split()[0]:
            right, note = False, f"{note}; the tree is {got}, by git {by_git.out.split()[0]}"
        yield Row(f"merge: real, {kind}", right, done.seconds, done.seconds / by_git.seconds, f"{note}; to git")
