"""Two results that meet in every way in which they can, merged by real git: what lands, what conflicts, in which place."""

from __future__ import annotations

import re

import pytest

from bakeoff.plan.merge import trees
from bakeoff.plan.merge.chain import Change, Merger
from bakeoff.plan.merge.hunks import hunks_of
from bakeoff.plan.merge.pairs import conflicting_pairs, touched
from bakeoff.plan.merge.rules import Rules

LINES = "".join(f"line {number}\n" for number in range(1, 13))
CRLF = LINES.replace("\n", "\r\n")
BINARY = b"\0\1\2" + LINES.encode()
OID1, OID2, OID3 = "1" * 40, "2" * 40, "3" * 40


def line(number, text="changed", of=LINES):
    return of.replace(f"line {number}\n", f"{text}\n").replace(f"line {number}\r\n", f"{text}\r\n")


CLEAN = {
    "the same edit twice": ({"f": LINES}, {"f": line(3)}, {"f": line(3)}, {"f": line(3)}),
    "edits in different places": ({"f": LINES}, {"f": line(2)}, {"f": line(9)}, {"f": line(9, of=line(2))}),
    "equal files added": ({"f": "x"}, {"g": "new\n"}, {"g": "new\n"}, {"f": "x", "g": "new\n"}),
    "both delete": ({"f": LINES, "g": "x"}, {"f": None}, {"f": None}, {"g": "x"}),
    "rename and edit": ({"f": LINES}, {"f": None, "g": LINES}, {"f": line(5)}, {"g": line(5)}),
    "edit and rename": ({"f": LINES}, {"f": line(5)}, {"f": None, "g": LINES}, {"g": line(5)}),
    "the same rename twice": ({"f": LINES}, {"f": None, "g": LINES}, {"f": None, "g": LINES}, {"g": LINES}),
    "mode and content": ({"f": LINES}, {"f": ("100755", LINES)}, {"f": line(4)}, {"f": ("100755", line(4))}),
    "the same mode twice": (
        {"f": LINES}, {"f": ("100755", LINES)}, {"f": ("100755", LINES)}, {"f": ("100755", LINES)},
    ),
    "line ends stay": ({"f": CRLF}, {"f": line(2, of=CRLF)}, {"f": line(9, of=CRLF)},
                       {"f": line(9, of=line(2, of=CRLF))}),
    "an empty file is filled": ({"f": ""}, {"f": "text\n"}, {"g": ""}, {"f": "text\n", "g": ""}),
    "both add an empty file": ({"f": "x"}, {"g": ""}, {"g": ""}, {"f": "x", "g": ""}),
    "binary on one side": ({"f": BINARY}, {"f": BINARY + b"more"}, {"g": "x"}, {"f": BINARY + b"more", "g": "x"}),
    "a submodule on one side": ({"s": ("160000", OID1)}, {"s": ("160000", OID2)}, {"g": "x"},
                                {"s": ("160000", OID2), "g": "x"}),
    "a link on one side": ({"l": ("120000", "a")}, {"l": ("120000", "b")}, {"g": "x"}, {"l": ("120000", "b"), "g": "x"}),
    "a file becomes a folder": ({"f": LINES, "x": "x"}, {"f": None, "f/g": "new\n"}, {"x": "y"},
                                {"f/g": "new\n", "x": "y"}),
    "names of all sorts": ({"a b": "x", "ü\n\"": LINES}, {"a b": "y"}, {"ü\n\"": line(2)}, {"a b": "y", "ü\n\"": line(2)}),
}  # fmt: skip

CONFLICT = {
    "different edits": ({"f": LINES}, {"f": line(3, "mine")}, {"f": line(3, "theirs")}, "f", "contents"),
    "different files added": ({"f": "x"}, {"g": "mine\n"}, {"g": "theirs\n"}, "g", "add/add"),
    "modify and delete": ({"f": LINES, "g": "x"}, {"f": line(3)}, {"f": None}, "f", "modify/delete"),
    "delete and modify": ({"f": LINES, "g": "x"}, {"f": None}, {"f": line(3)}, "f", "modify/delete"),
    "renamed twice": ({"f": LINES}, {"f": None, "g": LINES}, {"f": None, "h": LINES}, "f", "rename/rename"),
    "rename and delete": ({"f": LINES, "x": "x"}, {"f": None, "g": LINES}, {"f": None}, "g", "rename/delete"),
    "binary on both": ({"f": BINARY}, {"f": BINARY + b"mine"}, {"f": BINARY + b"theirs"}, "f", "binary"),
    "file and folder": ({"x": "x"}, {"f": "text\n"}, {"f/g": "text\n"}, "f", "file/directory"),
    "folder and file": ({"x": "x"}, {"f/g": "text\n"}, {"f": "text\n"}, "f", "file/directory"),
    "submodule on both": ({"s": ("160000", OID1)}, {"s": ("160000", OID2)}, {"s": ("160000", OID3)}, "s", "submodule"),
    "links on both": ({"l": ("120000", "a")}, {"l": ("120000", "b")}, {"l": ("120000", "c")}, "l", "contents"),
    "file and link": ({"x": "x"}, {"f": "text\n"}, {"f": ("120000", "x")}, "f", None),
    "a file added to a folder that moves": (
        {"d/a": LINES, "d/b": CRLF}, {"d/a": None, "d/b": None, "e/a": LINES, "e/b": CRLF}, {"d/c": "new\n"},
        "e/c", "directory rename suggested",
    ),
}  # fmt: skip


def bytes_of(content):
    mode, text = content if isinstance(content, tuple) else ("100644", content)
    return mode, text.encode() if isinstance(text, str) else text


def no_markers(forge, commit):
    for path, (_, content) in forge.files(commit).items():
        assert not re.search(rb"^(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)", content, re.MULTILINE), path


@pytest.mark.parametrize("strategy", ["three_way", "ours_first"])
@pytest.mark.parametrize("kind", CLEAN)
def test_what_goes_together_lands(forge, kind, strategy):
    before, first, second, after = CLEAN[kind]
    base = forge.commit(before)
    one, two = forge.commit(first, base), forge.commit(second, base)
    tip, steps = forge.chain(Merger(forge.git, strategy=strategy), base, one, two)
    assert all(step.point and not step.left and not step.dropped for step in steps)
    assert forge.files(tip.commit) == {path: bytes_of(content) for path, content in after.items()}
    before, *after = [forge.git.line("rev-parse", f"{commit}^{{tree}}") for commit in (base, one, two)]
    assert conflicting_pairs(forge.git, [one, two], touched(forge.git, before, after)) == {}


@pytest.mark.parametrize("kind", CONFLICT)
def test_what_does_not_is_a_conflict_that_the_matrix_predicts(forge, kind):
    before, first, second, path, sort = CONFLICT[kind]
    base = forge.commit(before)
    one, two = forge.commit(first, base), forge.commit(second, base)
    tip, steps = forge.chain(Merger(forge.git), base, one, two)
    assert [step.point is not None for step in steps] == [True, False]
    clashes = {clash.path: clash for clash in steps[1].left}
    assert path in clashes, clashes
    assert sort is None or clashes[path].kind == sort
    assert forge.files(tip.commit) == forge.files(one)
    before, *after = [forge.git.line("rev-parse", f"{commit}^{{tree}}") for commit in (base, one, two)]
    pairs = conflicting_pairs(forge.git, [one, two], touched(forge.git, before, after))
    assert path in [clash.path for clash in pairs[0, 1]]


@pytest.mark.parametrize("kind", CONFLICT)
def test_ours_first_keeps_the_earlier_and_tells_what_it_dropped(forge, kind):
    before, first, second, path, _ = CONFLICT[kind]
    base = forge.commit({**before, "other": "x"})
    one, two = forge.commit(first, base), forge.commit({**second, "other": "y"}, base)
    tip, steps = forge.chain(Merger(forge.git, strategy="ours_first"), base, one, two)
    assert steps[1].point is not None
    assert path in [clash.path for clash in steps[1].dropped]
    assert forge.files(tip.commit) == {**forge.files(one), "other": ("100644", b"y")}
    no_markers(forge, tip.commit)


def test_ours_first_drops_only_the_lines_in_conflict(forge):
    base = forge.commit({"f": LINES})
    one = forge.commit({"f": line(3, "mine")}, base)
    two = forge.commit({"f": line(10, "kept", of=line(3, "theirs"))}, base)
    tip, steps = forge.chain(Merger(forge.git, strategy="ours_first"), base, one, two)
    assert forge.text(tip.commit, "f") == line(10, "kept", of=line(3, "mine"))
    (hunk,) = hunks_of(forge.git, steps[1].dropped[0])
    assert (hunk.line, hunk.base, hunk.ours, hunk.theirs) == (3, "line 3", "mine", "theirs")


def test_hunks_have_the_lines_of_each_and_where_they_stand_in_ours(forge):
    base = forge.commit({"f": LINES})
    one = forge.commit({"f": "first\n" + line(3, "mine\nmine too", of=line(11, "ours", of=LINES))}, base)
    two = forge.commit({"f": line(3, "<<<<<<< theirs", of=line(11, "", of=LINES))}, base)
    _, steps = forge.chain(Merger(forge.git), base, one, two)
    hunks = hunks_of(forge.git, steps[1].left[0])
    assert [(hunk.line, hunk.ours, hunk.theirs) for hunk in hunks] == [
        (4, "mine\nmine too", "<<<<<<< theirs"),
        (13, "ours", ""),
    ]
    long = "".join(f"{number}\n" for number in range(500))
    two = forge.commit({"f": line(3, long)}, base)
    _, steps = forge.chain(Merger(forge.git), base, one, two)
    assert "301 lines left out" in hunks_of(forge.git, steps[1].left[0])[0].theirs


def test_files_too_large_to_look_into_conflict_without_hunks(forge, monkeypatch):
    monkeypatch.setattr("bakeoff.plan.merge.hunks.MOST_BYTES", 50)
    base = forge.commit({"f": LINES})
    one, two = forge.commit({"f": line(3, "x")}, base), forge.commit({"f": line(3, "y")}, base)
    _, (_, step) = forge.chain(Merger(forge.git), base, one, two)
    assert hunks_of(forge.git, step.left[0]) == ()
    tip, _ = forge.chain(Merger(forge.git, strategy="ours_first"), base, one, two)
    assert forge.text(tip.commit, "f") == line(3, "x")


def test_a_change_of_a_third_party_stays_and_each_function_appears(forge):
    root = forge.commit({"f": LINES})
    base = forge.commit({"f": line(12, "third party")}, root)
    one, two = (
        forge.commit({"f": line(2, "one")}, root),
        forge.commit({"f": line(7, "two", of=line(12, "third party"))}, base),
    )
    tip, _ = forge.chain(Merger(forge.git), base, one, two)
    assert forge.text(tip.commit, "f") == line(2, "one", of=line(7, "two", of=line(12, "third party")))


def test_a_result_on_top_of_another_and_one_that_is_there_already(forge):
    base = forge.commit({"f": LINES})
    one = forge.commit({"f": line(2, "one")}, base)
    two = forge.commit({"f": line(2, "one and two")}, one)
    merger = Merger(forge.git)
    tip, _ = forge.chain(merger, base, one, two)
    assert forge.text(tip.commit, "f") == line(2, "one and two")
    again, _ = forge.chain(merger, tip.commit, one)
    assert again == tip


def test_the_same_merge_is_the_same_commit_whenever_it_is_made(forge):
    base = forge.commit({"f": LINES})
    changes = [forge.commit({f"f{number}": "x"}, base) for number in range(5)]
    merger = Merger(forge.git, footer="bakeoff run r")
    tip, _ = forge.chain(merger, base, *changes)
    assert forge.chain(Merger(forge.git, footer="bakeoff run r"), base, *changes)[0] == tip
    message = forge.git.run("log", "-1", "--format=%B%ct", tip.commit).decode().split()
    assert message[:5] == ["Merge", "r5", "bakeoff", "run", "r"]
    assert int(message[-1]) == merger.point(changes[-1]).date


def test_two_rules_and_a_conflict_in_one_merge(forge):
    base = forge.commit({"log.md": "# log\n", "a.json": '{"a": 1}\n', "f": LINES})
    one = forge.commit({"log.md": "# log\none\n", "a.json": '{"a": 1, "b": 1}\n', "f": line(3, "x")}, base)
    two = forge.commit({"log.md": "# log\ntwo\n", "a.json": '{"a": 1, "c": 1}\n', "f": line(3, "y")}, base)
    merger = Merger(forge.git, Rules(union=("*.md",)))
    _, (_, step) = forge.chain(merger, base, one, two)
    assert (step.point, [clash.path for clash in step.left]) == (None, ["f"])
    merger.strategy = "ours_first"
    tip, (_, step) = forge.chain(merger, base, one, two)
    assert {(one.path, one.rule) for one in step.resolved} == {("log.md", "union"), ("a.json", "json")}
    assert forge.text(tip.commit, "log.md") == "# log\none\ntwo\n"
    assert forge.text(tip.commit, "a.json") == '{"a": 1, "b": 1, "c": 1}\n'
    no_markers(forge, tip.commit)


def test_a_lockfile_waits_for_its_command(forge):
    base = forge.commit({"lock": "a\n", "f": "x\n"})
    one, two = forge.commit({"lock": "b\n"}, base), forge.commit({"lock": "c\n", "f": "y\n"}, base)
    merger = Merger(forge.git, Rules(lockfiles=(("lock", "make lock"),)))
    tip, (_, step) = forge.chain(merger, base, one, two)
    assert (step.point, step.locks) == (None, {"lock": "make lock"})
    assert {path: text for path, (_, text) in forge.files(step.tree).items()} == {"lock": b"b\n", "f": b"y\n"}
    made = merger.relock(tip, Change("r2", two), 0, step, {"lock": merger.write(b"bc\n")})
    assert forge.text(made.point.commit, "lock") == "bc\n"
    assert [(one.path, one.rule) for one in made.resolved] == [("lock", "lockfile")]
    failed = merger.relock(tip, Change("r2", two), 0, step, {"lock": None})
    assert (failed.point, failed.left[0].kind) == (None, "lockfile")
    merger.strategy = "ours_first"
    dropped = merger.relock(tip, Change("r2", two), 0, step, {"lock": None})
    assert (forge.text(dropped.point.commit, "lock"), dropped.dropped[0].kind) == ("b\n", "lockfile")


def test_a_conflict_of_which_nobody_knows_where_it_is_is_never_committed(forge, monkeypatch):
    base = forge.commit({"f": "x\n"})
    one, two = forge.commit({"f": "y\n"}, base), forge.commit({"g": "z\n"}, base)
    tree = forge.git.line("rev-parse", f"{two}^{{tree}}")
    monkeypatch.setattr(
        "bakeoff.plan.merge.chain.merge_many", lambda *_: list(trees._records(b"0\0%s\0\0" % tree.encode()))
    )
    for strategy in ("three_way", "ours_first"):
        merger = Merger(forge.git, strategy=strategy)
        step = merger.step(merger.point(one), Change("two", two), 0)
        assert (step.point, step.left[0].kind) == (None, "unknown")


def test_a_heading_as_long_as_a_conflict_marker_is_none(forge):
    title = f"Title\n{'=' * 60}\n"
    texts = [{"f.rst": f"{title}\n{word}\n\n{title}"} for word in ("base", "ours", "theirs")]
    base = forge.commit(texts[0])
    _, steps = forge.chain(Merger(forge.git), base, *(forge.commit(text, base) for text in texts[1:]))
    (hunk,) = hunks_of(forge.git, steps[1].left[0])
    assert (hunk.line, hunk.base, hunk.ours, hunk.theirs) == (4, "base", "ours", "theirs")
