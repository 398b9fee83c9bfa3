"""Judging what exists already."""

from __future__ import annotations

from attempt.conftest import ADD, FIXED


def _branches(lab) -> None:
    lab.git("checkout", "-qb", "good")
    lab.write("calc.py", ADD.replace("-", "+"))
    lab.commit("good")
    lab.git("checkout", "-qb", "long")
    lab.write("calc.py", ADD.replace("-", "+") + "# more\n")
    lab.commit("long")
    (lab.place / "long.patch").write_text(lab.git("diff", "main", "long") + "\n")
    lab.git("checkout", "-qb", "bad", "main")
    lab.write("calc.py", ADD + "# bad\n")
    lab.write("tests/test_calc.py", "def test_add(): pass\n")
    lab.commit("bad")
    lab.git("checkout", "-q", "main")


def test_branches_commits_and_patches_are_judged_alike(lab):
    _branches(lab)
    before = lab.digest()
    refs = ["bad", "good", "long", "main", str(lab.place / "long.patch")]
    said = lab("compare", *refs, "--check", FIXED, "--score", "wc -l < calc.py", "--run-id", "r", "--json")
    assert said.status == 0, said
    views = said.json["attempts"]
    assert [view["status"] for view in views] == ["failed", "passed", "passed", "error", "passed"]
    assert [view["score"] for view in views] == [None, 2.0, 3.0, None, 3.0]
    assert (said.json["winner"], views[3]["kind"]) == (3, "empty")
    assert views[0]["receipt"]["tests_changed"] == ["tests/test_calc.py"]
    assert lab.digest() == before
    assert "5 " + str(lab.place)[:10] in lab("show", "r").out
    assert lab("apply", "r").status == 0
    assert (lab.root / "calc.py").read_text().endswith("# more\n")


def test_each_is_judged_as_it_would_land_on_the_base(lab):
    _branches(lab)
    lab.write("needed.txt", "here\n")
    lab.write("calc.py", "# main went on\n\n\n\n" + ADD)
    lab.commit("main moves")
    said = lab("compare", "good", "--check", f"{FIXED} && test -e needed.txt && grep -q 'went on' calc.py", "--json")
    assert said.status == 0, said
    assert said.json["attempts"][0]["receipt"]["diff"] == {"files": 1, "added": 1, "deleted": 1}
    lab.write("calc.py", ADD.replace("a - b", "b - a"))
    lab.commit("conflict")
    said = lab("compare", "good", str(lab.place / "long.patch"), "--check", "true", "--json")
    assert said.status == 3
    assert [view["kind"] for view in said.json["attempts"]] == ["conflict", "conflict"]


def test_a_branch_is_checked_with_the_filters_that_its_own_attributes_name(lab):
    lab.git("config", "filter.x.clean", "sed s/^/stored-/")
    lab.git("config", "filter.x.smudge", "sed s/^stored-//")
    lab.git("checkout", "-qb", "filtered")
    lab.write(".gitattributes", "secret filter=x\n")
    lab.write("secret", "1\n")
    lab.commit("filtered")
    lab.git("checkout", "-q", "main")
    assert lab("compare", "filtered", "--check", "grep -q ^1 secret", "--run-id", "r", "--json").status == 0
    applied = lab("apply", "r")
    assert applied.status != 0
    assert "other content filters run for secret" in applied.err
    assert lab("apply", "r", "--branch", "b").status == 0
    assert lab.git("show", "b:secret") == "stored-1"


def test_nothing_passes(lab):
    _branches(lab)
    said = lab("compare", "bad", "--check", FIXED)
    assert said.status == 3, said
    assert "closest: attempt 1" in said.out
    assert "used" not in said.out
