"""`bakeoff merge`: what lands, what conflicts, who is named, and what a person is told."""

from __future__ import annotations

import json
import re
import time

import jsonschema

from bakeoff.cli.schema import output_schema
from deep import deep_commit

HUB = "".join(f"line {number}\n" for number in range(20))


def plain(project, count, **special):
    """Branches r1 ... that each add a file of their own, and what `special` says."""
    for number in range(1, count + 1):
        name = f"r{number}"
        project.branch(name, {f"m{number}": "x\n", **special.get(name, {})})
    return [f"r{number}" for number in range(1, count + 1)]


def test_all_good_lands_with_one_run(project):
    refs = plain(project, 6)
    before = project.lab.digest()
    said = project.merge(*refs, "--json")
    assert said.status == 0, said
    assert (said.json["landed"], said.json["runs"]) == (refs, 1)
    assert (said.json["conflicts"], said.json["culprits"]) == ([], [])
    assert len(project.runs) == 8  # the base, each alone, the merge
    assert project.lab.digest() == before
    found = project.lab.refs()
    assert found["r/tip"] == said.json["tip"]
    assert [found[f"r/result-{number}"] for number in range(1, 7)] == [
        project.lab.git("rev-parse", ref) for ref in refs
    ]
    jsonschema.validate(said.json, output_schema("merge"))
    assert "▶ run r" in said.err
    page = project.lab("report", "r", "-o", "-").out
    assert page.index("6 of 6 branches landed") < page.index("<h2>Diff</h2>") < page.index("<h2>Timeline</h2>")
    assert '<span class="added">+x</span>' in page
    assert "✓ r3 alone" in said.err


def test_clean_text_and_broken_code(project):
    """The sixteen of case C9: the fifth renames what the eleventh calls."""
    refs = plain(project, 16, r5={"def-f": None, "def-g": "f\n"}, r11={"calls-f": "x\n"})
    said = project.merge(*refs, "--json")
    assert said.status == 3, said
    assert said.json["landed"] == [ref for ref in refs if ref != "r11"]
    (culprit,) = said.json["culprits"]
    assert (culprit["ref"], culprit["with"], culprit["test"], culprit["confirmed"]) == (
        "r11",
        "r5",
        "sh check.sh",
        True,
    )
    assert "nobody defines f" in culprit["reason"]
    landing, naming = said.err.count("check 1") - 16, said.err.count("looking for its partner")
    assert landing - naming <= 8
    assert naming <= 5
    assert said.json["runs"] == landing
    assert len(project.runs) == 1 + 16 + landing  # the base first
    tip = project.lab.refs()["r/tip"]
    assert project.lab.content(tip, "def-g") == "f\n"
    jsonschema.validate(said.json, output_schema("merge"))


def test_one_that_fails_alone_is_out_before_anything_is_merged(project):
    refs = plain(project, 5, r2={"bad": "x\n"})
    said = project.merge(*refs, "--json")
    assert (said.status, said.json["landed"], said.json["runs"]) == (3, ["r1", "r3", "r4", "r5"], 1)
    assert [(one["ref"], one["with"]) for one in said.json["culprits"]] == [("r2", None)]
    assert len(project.runs) == 5 + 1 + 1 + 1  # each alone, r2 once more, the base, the merge


def test_a_red_run_that_passes_when_run_again_blames_nobody(project):
    refs = plain(project, 3)
    flaky = f"[ $(ls | grep -c '^m') != 3 ] || ! mkdir {project.lab.place}/once 2>/dev/null"  # one of many makes it
    said = project.merge(*refs, "--json", check=flaky)
    assert (said.status, said.json["runs"], said.json["flaky"]) == (0, 2, [["r1", "r2", "r3"]])
    (project.lab.place / "once").rmdir()
    said = project.merge(*refs, "--json", "--run-id", "alone", check=flaky.replace("!= 3", "!= 1"))
    assert (said.status, said.json["runs"], len(said.json["flaky"])) == (0, 1, 1)


TEST_RED = "def test_red():\n    assert False\n"


def test_what_was_red_on_the_base_is_said_to_be_so(project):
    project.lab.write("tests/test_calc.py", TEST_RED)
    project.lab.commit("red")
    refs = plain(project, 2, r2={"tests/test_r2.py": TEST_RED.replace("red", "r2")})
    said = project.merge(*refs, "--json", check="python -m pytest -q -p no:cacheprovider", sandbox="weak")
    assert said.status == 3, said
    assert said.json["landed"] == ["r1"]
    assert [(one["ref"], one["with"], one["test"]) for one in said.json["culprits"]] == [
        ("r2", None, "tests.test_r2.test_r2")
    ]
    assert said.json["preexisting"] == [
        {"ref": "r1", "tests": ["tests.test_calc.test_red"], "landed": True, "reason": ""}
    ]
    assert "fails on the base too" in project.lab("show", "r").out


def test_a_test_that_fails_by_chance_is_run_once_more_also_where_the_base_is_red(project):
    project.lab.write("tests/test_calc.py", TEST_RED)
    project.lab.commit("red")
    once = project.lab.place / "once"
    flaky = f"import os\ndef test_flaky():\n    if not os.path.exists({str(once)!r}):\n        os.mkdir({str(once)!r})\n        assert False\n"
    refs = plain(project, 2, r2={"tests/test_r2.py": flaky})
    said = project.merge(*refs, "--json", check="python -m pytest -q -p no:cacheprovider")
    assert once.exists()
    assert (said.status, said.json["landed"], said.json["culprits"]) == (0, ["r1", "r2"], []), said
    assert said.json["flaky"] == [["r2"]]


def test_a_check_that_fails_on_the_base_and_names_no_tests_blames_nobody(project):
    refs = plain(project, 2)
    said = project.merge(*refs, "--json", "--no-preflight", check="no-such-program --all")
    assert (said.status, said.json["landed"], said.json["culprits"]) == (1, [], [])
    jsonschema.validate(said.json, output_schema("merge"))
    assert [(one["ref"], one["landed"]) for one in said.json["preexisting"]] == [("r1", False), ("r2", False)]
    assert said.json["tip"] == said.json["base"]
    shown = project.lab("show", "r").out
    assert "no-such-program --all fails on the base too and names no tests" in shown
    assert "r1, r2 did not land" in shown
    assert "unclear   no-such-program --all: it cannot judge: its program was not found" in shown
    assert "it cannot judge: its program was not found, exit status 127: sh: 1: no-such-program: not found" in shown
    assert "merged nothing" in project.lab("diff", "r").err


def test_tests_that_cannot_be_collected_on_the_base_excuse_nobody(project):
    """Pytest runs none of the others then, so that nothing is known of what a branch does."""
    project.lab.write("tests/test_calc.py", "import made\nimport calc\ndef test_calc():\n    assert calc\n")
    project.lab.write(".gitignore", ".bakeoff\nmade.py\n")
    project.lab.commit("needs an ignored file")
    project.lab.write("made.py", "")
    refs = plain(project, 2, r2={"calc.py": "def (: broken"})
    check = "python -m pytest -q -p no:cacheprovider"
    said = project.merge(*refs, "--json", "--run-id", "q", check=check, sandbox="weak")
    assert (said.status, said.json["status"]) == (1, "failed")
    assert 'copy = ["made.py"]' in said.json["error"]
    said = project.merge(*refs, "--json", "--no-preflight", check=check, sandbox="weak")
    assert (said.status, said.json["landed"], said.json["culprits"]) == (1, [], []), said
    assert [(one["ref"], one["tests"]) for one in said.json["preexisting"]] == [("r1", [check]), ("r2", [check])]
    assert 'copy = ["made.py"]' in project.lab("show", "r").out


def test_strategies_tell_what_they_drop(project):
    one = {"hub": HUB.replace("line 3", "one")}
    two = {"hub": HUB.replace("line 3", "two").replace("line 15", "two"), "m2": "x\n"}
    project.branch("one", one)
    project.branch("two", two)
    said = project.merge("one", "two", "--strategy", "fail_on_conflict", "--json")
    assert (said.status, said.json["landed"], project.runs) == (1, [], [])
    assert [(each["ref"], each["with"]) for each in said.json["conflicts"]] == [("two", "one")]
    said = project.merge("one", "two", "--strategy", "ours_first", "--run-id", "ours")
    assert said.status == 0, said
    assert "two landed without what it has against one in hub" in said.out
    found = project.lab("show", "ours", "--json").json
    assert [each["hunks"][0]["theirs"] for each in found["dropped"]] == ["two"]
    assert project.lab.content(found["tip"], "hub") == HUB.replace("line 3", "one").replace("line 15", "two")
    said = project.merge("one", "two", "--run-id", "three")
    assert said.status == 3
    assert "two conflicts with one in hub (contents)" in said.out
    assert "one: one" in said.out
    assert "two: two" in said.out
    ids = [project.lab.git("rev-parse", ref) for ref in ("one", "two")]
    said = project.merge(*ids, "--run-id", "ids")
    assert f"{ids[1][:12]} conflicts with {ids[0][:12]} in hub (contents)" in said.out
    assert not re.search("[0-9a-f]{40}", said.out + said.err)
    assert project.lab("show", "ids", "--json").json["landed"] == ids[:1]


def test_rules_come_from_the_settings(project):
    lab = project.lab
    lab.settings(
        '[merge]\nunion = ["CHANGES.md"]\n[merge.lockfiles]\n"*.lock" = "cat parts/* > all.lock"\n"*.broken" = "exit 3"\n'
    )
    lab.write("CHANGES.md", "# Changes\n")
    lab.write("parts/0", "0\n")
    lab.write("all.lock", "0\n")
    lab.write("a.broken", "0\n")
    lab.write("code.py", "def f():\n    return 1\n")
    lab.commit("more")
    for name in ("1", "2"):
        project.branch(
            f"b{name}",
            {
                "CHANGES.md": f"# Changes\n- {name}\n",
                f"parts/{name}": f"{name}\n",
                "all.lock": f"0\n{name}\n",
                "code.py": f"def f():\n    return 1\n\n\ndef g{name}():\n    return {name}\n",
            },
        )
    said = project.merge("b1", "b2", "--json")
    assert said.status == 0, said
    assert {(one["path"], one["rule"]) for one in said.json["resolved"]} == {
        ("CHANGES.md", "union"), ("all.lock", "lockfile"), ("code.py", "python"),
    }  # fmt: skip
    tip = said.json["tip"]
    assert lab.content(tip, "all.lock") == "0\n1\n2\n"
    assert lab.content(tip, "CHANGES.md") == "# Changes\n- 1\n- 2\n"
    assert "def g2" in lab.content(tip, "code.py")
    project.branch("b3", {"a.broken": "3\n"})
    project.branch("b4", {"a.broken": "4\n"})
    said = project.merge("b3", "b4", "--json", "--run-id", "broken")
    assert [(one["ref"], one["kind"]) for one in said.json["conflicts"]] == [("b4", "contents")], said
    assert "a.broken could not be made anew by 'exit 3': status 3" in said.err


def test_of_a_culprit_it_is_said_which_rule_made_what_fails(project):
    project.lab.write("code.py", "def f():\n    return 1\n")
    project.lab.commit("more")
    code = "def f():\n    return 1\n\n\ndef g{0}():\n    return {0}\n"
    project.branch("first", {"def-f": None, "code.py": code.format(1)})
    project.branch("caller", {"calls-f": "x\n", "code.py": code.format(2)})
    said = project.merge("first", "caller", "--run-id", "both")
    assert "caller: code.py was merged by the rule python (proven)" in said.out
    found = project.lab("show", "both", "--json").json
    assert [one["ref"] for one in found["culprits"]] == ["caller"]
    assert [(one["ref"], one["rule"]) for one in found["resolved"]] == [("caller", "python")]


def test_lists_are_merged_as_the_attributes_of_the_base_say(project):
    project.lab.write("CHANGES", "start\n")
    project.lab.write(".gitattributes", "CHANGES merge=union\n")
    project.lab.git("add", "-A")
    project.lab.git("commit", "-qm", "list")
    for name in ("one", "two", "three"):
        project.branch(name, {"CHANGES": f"start\n{name}\n", f"m-{name}": ""})
    project.branch("claims", {".gitattributes": "* merge=union\n", "def-f": "claims\n"})
    project.branch("edits", {"def-f": "edits\n"})
    said = json.loads(project.merge("one", "two", "three", "claims", "edits", "--json").out)
    assert said["landed"] == ["one", "two", "three", "claims"]
    assert [(one["ref"], one["path"]) for one in said["conflicts"]] == [("edits", "def-f")]
    project.lab("apply", "r")
    assert (project.lab.root / "CHANGES").read_text() == "start\none\ntwo\nthree\n"


def test_what_conflicted_with_a_culprit_comes_back(project):
    project.branch("first", {"def-f": None, "m1": "x\n"})
    project.branch("caller", {"calls-f": "x\n", "hub": HUB.replace("line 3", "caller")})
    project.branch("last", {"hub": HUB.replace("line 3", "last")})
    said = project.merge("first", "caller", "last", "--json")
    assert said.json["landed"] == ["first", "last"], said
    assert said.json["conflicts"] == []
    assert [(one["ref"], one["with"]) for one in said.json["culprits"]] == [("caller", "first")]


def test_a_conflict_with_the_base_and_one_of_three(project):
    project.branch("old", {"hub": HUB.replace("line 3", "old")})
    project.lab.write("hub", HUB.replace("line 3", "new"))
    project.lab.commit("main goes on")
    project.branch("fine", {"m1": "x\n"})
    said = project.merge("old", "fine", "--json")
    assert (said.status, said.json["landed"]) == (3, ["fine"])
    (conflict,) = said.json["conflicts"]
    assert (conflict["ref"], conflict["with"], conflict["path"]) == ("old", "the base", "hub")
    assert conflict["hunks"][0]["ours"] == "new"


def test_more_prefixes_at_once(project):
    refs = plain(project, 5, r2={"def-f": None}, r4={"calls-f": "x\n"})
    said = project.merge(*refs, "--json", "--at-once", "4", "--tested")
    assert said.json["landed"] == [ref for ref in refs if ref != "r4"]
    assert [(one["ref"], one["with"]) for one in said.json["culprits"]] == [("r4", "r2")]


def test_the_reason_of_a_culprit_is_none_of_another_one(project):
    check = (
        "fails=0; for one in one two three; do [ ! -e bad-$one ] || { echo it is $one; fails=1; }; done; exit $fails"
    )
    culprits = {"r3": "one", "r4": "two", "r6": "three"}
    refs = plain(project, 7, **{ref: {f"bad-{name}": "x\n"} for ref, name in culprits.items()})
    said = project.merge(*refs, "--json", "--at-once", "3", "--tested", check=check)
    assert said.status == 3, said
    told = {one["ref"]: re.findall(r"it is (\w+)", one["reason"]) for one in said.json["culprits"]}
    assert told == {ref: [name] for ref, name in culprits.items()}


def test_what_ci_has_tested_is_not_tested_alone(project):
    refs = plain(project, 6, r4={"bad": "x\n"})
    said = project.merge(*refs, "--json", "--tested")
    assert said.json["landed"] == [ref for ref in refs if ref != "r4"]
    assert [(one["ref"], one["with"]) for one in said.json["culprits"]] == [("r4", None)]
    assert len(project.runs) == said.json["runs"] + 1  # and the base


def test_apply_moves_the_branch_and_its_files(project):
    refs = plain(project, 2)
    (project.lab.root / "calc.py").write_text("# mine\n")
    said = project.merge(*refs, "--apply", "--json")
    assert said.status == 0, said
    assert "uncommitted changes are no part of this" in said.err
    assert said.json["moved"]["commit"] == project.lab.git("rev-parse", "main") == said.json["tip"]
    assert project.lab.git("status", "--porcelain").split("\n") == ["M calc.py"]
    assert (project.lab.root / "m2").exists()
    jsonschema.validate(said.json, output_schema("merge"))
    said = project.merge("r1", "--branch", "other", "--run-id", "again", "--quiet")
    assert said.status == 0
    assert "1 of 1 landed, already tested as r1" in said.out
    assert "other stands at" in said.out
    assert "▶" not in said.err


def test_apply_that_is_refused_changes_nothing(project):
    refs = plain(project, 2)
    project.lab.write("m1", "mine\n")
    before, head = project.lab.digest(), project.lab.git("rev-parse", "HEAD")
    said = project.merge(*refs, "--apply")
    assert said.status == 1
    assert "in the way in m1" in said.err
    assert (project.lab.digest(), project.lab.git("rev-parse", "HEAD")) == (before, head)
    said = project.lab("apply", "r", "--branch", "safe", "--json")
    assert (said.status, said.json["branch"], said.json["before"]) == (0, "safe", None)
    jsonschema.validate(said.json, output_schema("apply"))


def test_commands_on_a_run(project):
    lab, refs = project.lab, plain(project, 3, r2={"def-f": None}, r3={"calls-f": "x\n", "m3": "three\n"})
    assert project.merge(*refs).status == 3
    shown = lab("show", "r").out
    assert re.search(r"r1 +landed", shown)
    assert "r3   culprit   with r2: fails sh check.sh" in shown
    assert "nobody defines f" in shown
    found = lab("show", "r", "--json").json
    jsonschema.validate(found, output_schema("show"))
    assert (found["job"], found["landed"]) == ("merge", ["r1", "r2"])
    diff = lab("diff", "r").out
    assert "+x" in diff
    assert "deleted file" in diff
    assert lab("diff", "r", "--stat").out.split("\n")[:2] == ["D def-f  +0 -1", "A m1  +1 -0"]
    said = lab("diff", "r", "--json").json
    jsonschema.validate(said, output_schema("diff"))
    assert "name nothing besides" in lab("diff", "r", "2").err
    logs = lab("logs", "r").out
    assert "nobody defines f" in logs
    assert lab("report", "r", "-o", str(lab.place / "report.html")).status == 0
    assert "merged:1" in (lab.place / "report.html").read_text()
    assert "merge r1 r2 r3" in lab("runs").out
    assert "own:1" in lab("watch", "r").err or lab("watch", "r").status == 0
    said = lab("resume", "r")
    assert (said.status, "it cannot be resumed" in said.err) == (1, True)
    assert lab("clean", "r").status == 0
    assert lab.refs() == {}


def test_messages(project):
    lab = project.lab
    plain(project, 2)

    def refused(*args, status=1, **more):
        said = project.merge(*args, **more)
        assert (said.status, said.out) == (status, ""), said
        return said.err

    assert "'nobody' is no branch and no commit of" in refused("r1", "nobody")
    assert "'r1' is named twice" in refused("r1", "r2", "r1")
    assert "--base: 'nobody' is no commit" in refused("r1", "--base", "nobody")
    assert "a --check is empty" in refused("r1", check=" ")
    assert "there is nothing to verify by" in lab("merge", "r1").err
    assert "--check-timeout" in refused("r1", "--check-timeout", "nan")
    assert "--apply or --branch, not both" in refused("r1", "--apply", "--branch", "x", status=2)
    assert lab.run.root.exists() is False


def test_a_branch_without_a_common_history_is_named_and_the_others_land(project):
    lab, refs = project.lab, plain(project, 2)
    lab.git("checkout", "-q", "--orphan", "stranger")
    lab.write("index.html", "x\n")
    lab.commit("stranger")
    lab.git("checkout", "-q", "main")
    said = project.merge(refs[0], "stranger", refs[1])
    assert said.status == 3, said
    assert re.search(r"stranger +conflict +no history in common with the base", said.out)
    assert "after a shallow clone `git fetch --unshallow` brings the rest (unrelated histories)" in said.out
    found = lab("show", "r", "--json").json
    jsonschema.validate(found, output_schema("show"))
    assert found["landed"] == refs
    for strategy, status in (("ours_first", 3), ("fail_on_conflict", 1)):
        said = project.merge(*refs, "stranger", "--strategy", strategy, "--run-id", strategy, "--json")
        assert (said.status, [one["ref"] for one in said.json["conflicts"]]) == (status, ["stranger"]), said
    # With both histories in the base, two that have only one of them each do not meet.
    lab.git("merge", "-q", "--allow-unrelated-histories", "-m", "both", "stranger")
    project.branch("old", {"index.html": "y\n"}, base="stranger")
    project.branch("new", {"m9": "x\n", "index.html": "y\n"}, base="main~1")
    said = project.merge("old", "new", "--run-id", "both", "--json")
    assert [one["kind"] for one in said.json["conflicts"]] == [], said
    lab.git("branch", "-f", "gone", lab.git("commit-tree", "-m", "x", "main^{tree}"))
    assert "has no history in common with the merge" in lab("apply", "r", "--branch", "gone").err


def test_an_empty_repository(project, monkeypatch):
    root = project.lab.place / "empty"
    root.mkdir()
    monkeypatch.chdir(root)
    assert "is not in a git repository" in project.merge("a").err
    project.lab.root = root
    project.lab.git("init", "-q")
    assert "has no commit yet" in project.merge("a").err
    assert not (root / ".bakeoff" / "runs" / "r").exists()


def test_a_check_that_cannot_be_run_is_no_verdict(project, monkeypatch):
    refs = plain(project, 2)
    from bakeoff.judge.checks.command import CommandRequirement
    from bakeoff.judge.verdict import ValidationResult

    async def broken(self, subject):
        return ValidationResult(False, "no sandbox", error="sandbox")

    with monkeypatch.context() as patch:
        patch.setattr(CommandRequirement, "check", broken)
        said = project.merge(*refs)
    assert said.status == 1
    assert "the check could not be run: no sandbox" in said.out
    said = project.lab("resume", "r", "--json")
    assert (said.status, said.json["landed"]) == (0, refs)


def test_a_run_that_is_interrupted_goes_on_and_shows_how_far_it_is(project):
    refs = plain(project, 3)
    place = project.lab.place
    slow = f"echo x >> {place}/runs; [ $(ls | grep -c '^m') != 3 ] || {{ touch {place}/last; [ -e {place}/go ] || sleep 60; }}"
    process = project.lab.spawn("merge", *refs, "--check", slow, "--sandbox", "none", "--run-id", "r", "--json")
    end = time.monotonic() + 60
    while not (place / "last").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "r3 alone, check 1: passed" in project.lab("show", "r").out
    assert json.loads(project.lab("show", "r", "--json").out)["landed"] == []
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert json.loads(out)["status"] == "paused"
    assert "go on with: bakeoff resume r" in err
    assert len(project.runs) == 5
    (place / "go").touch()
    project.lab.git("branch", "-f", "r2", "r1")
    said = project.lab("resume", "r", "--json")
    assert (said.status, said.json["landed"], said.json["runs"]) == (0, refs, 1)
    assert len(project.runs) == 6
    assert "kept from before" in said.err
    assert project.lab.content(said.json["tip"], "m2") == "x\n"
    assert project.lab("resume", "r", "-i", "a=b").status in (1, 2)


def test_a_branch_that_no_git_and_no_slot_can_hold_ends_no_other(project):
    lab = project.lab
    stood = lab.git("rev-parse", "main")
    for name, depth in (("deep", 5000), ("long", 600)):
        lab.git("branch", name, deep_commit(lab.root / ".git/objects", stood, depth, name.encode()))
    project.branch("good", {"m1": "1\n"})
    project.branch("flat", {"calc.py": None, "ext": "a file\n"})
    lab.write(".git/info/exclude", "ext/\n")
    lab.write("ext/lib/a", "1\n")
    lab.settings('[slots]\ncopy = ["ext/lib"]')
    said = project.merge("deep", "long", "flat", "good")
    assert said.status == 3, said
    for name in ("deep", "long"):
        assert f"{name} conflicts with the base in . (git cannot merge it)" in said.out
    assert "flat conflicts with the base in . (a file where slots have a folder for ext/lib)" in said.out
    assert "1 of 4 landed" in said.out
    assert lab.git("rev-parse", "main") == stood
