"""Taking an attempt over, also when the user went on meanwhile."""

from __future__ import annotations

import json
import shutil

from attempt.conftest import ADD, FIX, FIXED

LONG = "# top\n" + "".join(f"# line {number}\n" for number in range(20)) + ADD


def test_apply_when_the_files_have_changed_merges_in_memory(lab):
    lab.write("calc.py", LONG)
    lab.commit()
    lab.agent(FIX)
    assert lab.attempt().status == 0
    lab.write("calc.py", LONG.replace("# top", "# mine"))
    lab.write("other.txt", "new\n")
    lab.commit("moved on")
    lab.write("unsaved.txt", "unsaved\n")
    head = lab.git("rev-parse", "HEAD")
    said = lab("apply", "r", "--json")
    assert said.status == 0, said
    shown = json.loads(said.out)
    assert (shown["merged"], shown["changed"]) == (True, ["calc.py"])
    assert (lab.root / "calc.py").read_text() == LONG.replace("# top", "# mine").replace("a - b", "a + b")
    assert (lab.root / "unsaved.txt").read_text() == "unsaved\n"
    assert lab.git("rev-parse", "HEAD") == head


def test_a_conflict_is_refused_and_nothing_is_touched(lab):
    lab.agent(f"{FIX}; echo new > new.txt")
    assert lab.attempt().status == 0
    lab.write("calc.py", ADD.replace("a - b", "a * b"))
    before = lab.digest()
    said = lab("apply", "r")
    assert (said.status, said.out) == (1, ""), said
    assert "calc.py" in said.err
    assert "nothing was changed" in said.err
    assert lab.digest() == before
    lab.git("commit", "-qam", "mine")
    before = lab.digest()
    said = lab("apply", "r", "--branch", "theirs")
    assert said.status == 1, said
    assert lab.digest() == before


def test_a_branch_leaves_files_and_head_alone(lab):
    lab.agent(FIX)
    said = lab.attempt("--branch", "fixed")
    assert said.status == 0, said
    assert "on the branch fixed" in said.out
    assert lab.git("status", "--porcelain") == ""
    assert lab.git("branch", "--show-current") == "main"
    assert lab.git("diff", "--stat", "main", "fixed", "--", "calc.py")
    assert "make add add" in lab.git("log", "-1", "--format=%s", "fixed")
    # Once more it is the same; where the branch is of something else, it is refused.
    made = lab.git("rev-parse", "fixed")
    assert "on the branch fixed" in lab("apply", "r", "--branch", "fixed").out
    assert lab.git("rev-parse", "fixed") == made
    lab.git("branch", "-f", "fixed", "main")
    refused = lab("apply", "r", "--branch", "fixed")
    assert refused.status == 1
    assert "has a branch fixed already" in refused.err


def test_an_attempt_that_failed_can_be_taken_by_number_and_is_said_to_have(lab):
    lab.agent("echo '# no' >> calc.py")
    assert lab.attempt().status == 3
    refused = lab("apply", "r")
    assert refused.status == 1
    assert "no winner; name one, for example 1" in refused.err
    assert lab("diff", "r", "7").status == 1
    said = lab("apply", "r", "1")
    assert said.status == 0, said
    assert "has not passed: failed" in said.err
    assert (lab.root / "calc.py").read_text().endswith("# no\n")
    assert "have all of it already" in lab("apply", "r", "1").out


def test_diff_is_a_patch_that_git_takes(lab):
    lab.agent(f"{FIX}; printf '\\000\\001' > binary; mkdir -p deep/er; echo x > deep/er/file")
    assert lab.attempt().status == 0
    said = lab("diff", "r")
    (lab.place / "x.patch").write_text(said.out)
    lab.git("apply", "--check", str(lab.place / "x.patch"))
    assert "M calc.py  +1 -1" in lab("diff", "r", "--stat").out
    shown = json.loads(lab("diff", "r", "--json").out)
    assert [change["path"] for change in shown["changed"]] == ["binary", "calc.py", "deep/er/file"]
    assert shown["changed"][0]["added"] is None
    assert shown["diff"] == said.out


def test_a_long_diff_is_only_named(lab):
    lab.agent(f"{FIX}; seq 100 > numbers")
    said = lab.attempt()
    assert "+50" not in said.out
    assert "see it with: bakeoff diff r" in said.out
    assert "+50" in lab("attempt", "x", "--agent", "fake", "--check", FIXED, "--diff").out


def test_of_many_files_the_first_are_named(lab):
    lab.agent(f"{FIX}; for i in $(seq 100 179); do echo $i > f$i; done")
    said = lab.attempt()
    assert "A f100" in said.out
    assert "f179" not in said.out
    assert "and 21 more files" in said.out


def test_clean_removes_results_and_keeps_the_rest(lab):
    lab.agent(f"{FIX}; echo 'def test_x(): pass' > tests/test_calc.py")
    assert lab.attempt().status == 0
    assert {"r/attempt-1", "r/attempt-1-judged"} <= lab.refs().keys()
    assert lab("clean", "r").status == 0
    assert not [name for name in lab.refs() if name.startswith("r/")]
    assert lab("diff", "r").status == 1


def test_commands_refuse_runs_of_another_kind(lab):
    lab.write(
        "flow.yml",
        'schema_version: "1.0"\nworkflow: {id: w, name: w, version: "1.0.0"}\n'
        'steps:\n  - {id: a, type: shell, run: "true"}\n',
    )
    assert lab("run", "flow.yml", "--run-id", "w").status == 0
    assert "has made nothing that could be shown" in lab("diff", "w").err
    lab.agent(FIX)
    assert lab.attempt().status == 0
    assert lab("resume", "r").status == 1
    assert lab("resume", "r", "--explain").status == 2


def test_results_that_somebody_deleted_are_said_to_be_gone(lab):
    lab.agent(FIX)
    assert lab.attempt().status == 0
    (lab.place / "cache").rename(lab.place / "gone")
    assert "a + b" in lab("diff", "r").out, "what is in the cache can be made again"
    shutil.rmtree(lab.place / "data")
    for command in (["diff", "r"], ["diff", "r", "--stat"], ["diff", "r", "--json"], ["apply", "r"]):
        said = lab(*command)
        assert said.status == 1
        assert "attempt 1 of run r is not in" in said.err
        assert "Traceback" not in said.err
    assert lab("show", "r").status == 0


def test_a_name_with_a_line_end_is_one_line(lab):
    lab.agent(FIX + "; printf x > \"$(printf 'new\\nline')\"")
    assert r"A new\nline  +1 -0" in lab.attempt().out
    assert r"A new\nline  +1 -0" in lab("diff", "r", "--stat").out


def test_a_branch_that_could_stand_on_nothing_is_refused_before_anything_is_spent(lab):
    lab.git("update-ref", "-d", "HEAD")
    lab.agent(FIX)
    said = lab.attempt("--branch", "fixed")
    assert said.status == 1
    assert "has no commit yet that a branch could stand on" in said.err
    assert lab.calls == []
