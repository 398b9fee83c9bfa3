"""Attempts from the command line, with agents that are shell scripts."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from attempt.conftest import FIX, FIXED, TEST


def test_the_first_that_passes_wins_whoever_is_fastest(lab):
    # Attempt 1 fails; 2 is made only when 3 was judged; 4 and later may be wanted no more.
    lab.agent(
        f"""case $BAKEOFF_ATTEMPT in
        1) echo '# no' >> calc.py;;
        2) while [ ! -e {lab.place}/third ]; do sleep 0.02; done; {FIX}; echo '# 2' >> calc.py;;
        3) {FIX}; echo '# 3' >> calc.py;;
        *) sleep 60;;
        esac"""
    )
    lab.settings("[lanes]\nagents = 4\ntests = 2\n")
    before = lab.digest()
    check = f"{FIXED} && {{ ! grep -q '# 3' calc.py || touch {lab.place}/third; }}"
    said = lab.attempt("--attempts", "6", "--sandbox=none", "--json", check=check)
    assert said.status == 0, said
    shown = said.json
    assert (shown["winner"], shown["status"], shown["reason"]) == (2, "completed", "passed")
    assert [view["status"] for view in shown["attempts"][:3]] == ["failed", "passed", "passed"]
    assert all(view["status"] == "unfinished" for view in shown["attempts"][3:])
    assert lab.digest() == before
    assert lab.left() == []
    assert lab.slots() == []
    receipt = shown["attempts"][1]["checks"][0]["receipt"]
    assert receipt["tree"] == shown["attempts"][1]["receipt"]["tree"]
    assert (receipt["exit_code"], receipt["tests"], receipt["slot"]) == (0, "unknown", "overlay")


def test_later_attempts_are_not_started_when_one_has_passed(lab):
    # The second works until it is ended, so that the third would only have its place after the first had lost.
    lab.agent(f"if [ $BAKEOFF_ATTEMPT = 1 ]; then {FIX}; else sleep 600; fi")
    lab.settings("[lanes]\nagents = 1\n")
    assert lab.attempt("--attempts", "9").status == 0
    assert set(lab.calls) <= {"1", "2"}


def test_when_nothing_passes_the_best_failure_is_explained(lab):
    lab.agent('echo "# $BAKEOFF_ATTEMPT" >> calc.py; [ $BAKEOFF_ATTEMPT != 2 ] || touch two')
    said = lab.attempt("--attempts", "3", "--check", "echo it is wrong >&2; exit 7", check="test -e two")
    assert said.status == 3, said
    assert "run r: nothing passed" in said.out
    assert "closest: attempt 2, 1 of 2 met" in said.out
    assert "failed: echo it is wrong" in said.out
    assert "exit status 7" in said.out
    assert "    it is wrong" in said.out
    assert "2 +" in said.out
    again = lab("show", "r")
    assert "closest: attempt 2" in again.out
    assert json.loads(lab("show", "r", "--json").out)["closest"] == 2
    assert lab("runs").status == 0
    assert lab("report", "r", "-o", "-").status == 0


def test_repair_goes_on_with_what_there_is(lab):
    lab.agent(
        f"""echo "$1" > {lab.place}/prompt.$BAKEOFF_ATTEMPT
        if grep -q half calc.py; then {FIX}; else echo '# half' >> calc.py; fi"""
    )
    said = lab.attempt("--repair", "2", check=f"{FIXED} || {{ echo add subtracts; exit 1; }}")
    assert said.status == 0, said
    assert lab.calls == ["1", "2"]
    second = (lab.place / "prompt.2").read_text()
    assert "make add add" in second
    assert "add subtracts" in second
    diff = lab("diff", "r").out
    assert "+# half" in diff
    assert "+    return a + b" in diff
    assert "2 (lane 1, repair 1) *" in said.out


SPEAKS = """echo '{"type":"thread.started","thread_id":"s-1"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"done"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'"""


def test_repair_resumes_the_session_and_falls_back_without_it(lab):
    script = f'echo "$2|$1" >> {lab.place}/asked\n'
    lab.agent(script + "echo '# try' >> calc.py", more='events = "codex"', say=SPEAKS)
    assert lab.attempt("--repair", "1").status == 3
    asked = (lab.place / "asked").read_text()
    assert "\ns-1|Your work so far" in asked
    assert asked.count("make add add") == 1  # the session knows the task
    (lab.place / "asked").unlink()
    lab.agent(script + '[ -z "$2" ] || exit 9\n' + "echo '# try' >> calc.py", more='events = "codex"', say=SPEAKS)
    said = lab("attempt", "make add add", "--agent", "fake", "--run-id", "s", "--repair", "1", "--check", FIXED)
    assert said.status == 3, said
    lines = (lab.place / "asked").read_text()
    assert "\ns-1|Your work so far" in lines
    assert lines.count("make add add") == 2
    assert lines.count("Somebody has tried already") == 1


def test_a_repair_of_nothing_says_so_in_the_session(lab):
    script = f'echo "$2|$1" >> {lab.place}/asked\n'
    lab.agent(script + f'[ -z "$2" ] || {FIX}', more='events = "codex"', say=SPEAKS)
    said = lab.attempt("--repair", "1")
    assert said.status == 0, said
    asked = (lab.place / "asked").read_text()
    assert "\ns-1|Your work so far left nothing" in asked
    assert "changed nothing" in asked
    assert asked.count("make add add") == 1


def test_the_highest_score_wins_among_those_that_pass(lab):
    lab.agent(f"{FIX}; for i in $(seq $BAKEOFF_ATTEMPT); do echo '# more' >> calc.py; done; "
              "[ $BAKEOFF_ATTEMPT != 3 ] || echo 'x = 1' > bad")  # fmt: skip
    said = lab.attempt("--attempts", "3", "--check", "test ! -e bad", "--score", "echo size; wc -l < calc.py", "--json")
    assert said.status == 0, said
    assert said.json["winner"] == 2
    assert [view["score"] for view in said.json["attempts"]] == [3.0, 4.0, None]
    table = lab("show", "r").out
    assert "score" in table


def test_a_score_that_is_none_is_no_pass(lab):
    lab.agent(FIX)
    said = lab.attempt("--score", "echo none")
    assert said.status == 3
    assert "printed no number" in said.out
    said = lab("attempt", "x", "--agent", "fake", "--run-id", "s", "--check", "true", "--score", "exit 4")
    assert said.status == 3
    assert "exit status 4" in said.out


def test_a_score_beyond_all_numbers_is_none_and_does_not_win(lab):
    lab.agent(f"{FIX}; [ $BAKEOFF_ATTEMPT != 1 ] || touch huge")
    score = "if [ -e huge ]; then printf '%0400d' 9 | tr 0 9; else echo 7; fi"
    said = lab.attempt("--attempts", "2", "--score", score, "--json")
    assert said.status == 0, said
    assert said.json["winner"] == 2
    assert [view["score"] for view in said.json["attempts"]] == [None, 7.0]


def test_a_hang_that_is_mended_wins_though_the_base_hangs_for_ever(lab):
    (lab.root / "calc.py").write_text("import time\n\n\ndef add(a, b):\n    while True:\n        time.sleep(1)\n")
    lab.agent("printf 'def add(a, b):\\n    return a + b\\n' > calc.py")
    said = lab.attempt("--json", check=f"{sys.executable} -m pytest -q")
    assert said.status == 0, said
    assert said.json["winner"] == 1


def test_no_change_and_a_failure_are_errors_and_named(lab):
    lab.agent("case $BAKEOFF_ATTEMPT in 1) ;; 2) echo half > half.txt; exit 3;; esac")
    said = lab.attempt("--attempts", "2", "--json", check="true")
    assert said.status == 3, said
    first, second = said.json["attempts"]
    assert (first["status"], first["kind"]) == ("error", "empty")
    assert (second["status"], second["kind"]) == ("error", "agent")
    assert "exited with code 3" in second["error"]
    assert "refs/bakeoff/r/attempt-2" in second["error"]
    assert lab.content(lab.refs()["r/attempt-2"], "half.txt") == "half\n"
    assert "diff --git a/half.txt" in lab("diff", "r", "2").out
    refused = lab("diff", "r", "1")
    assert refused.status == 1
    assert "made nothing" in refused.err


def test_task_from_a_file_and_from_standard_input(lab, monkeypatch):
    lab.agent(f'echo "$1" >> {lab.place}/asked; {FIX}')
    (lab.place / "task.md").write_text("the task\nof two lines\n")
    assert lab.attempt(task=f"@{lab.place}/task.md").status == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("from stdin"))
    assert lab("attempt", "-", "--agent", "fake", "--check", FIXED).status == 0
    assert (lab.place / "asked").read_text() == "the task\nof two lines\n\nfrom stdin\n"
    assert lab("attempt", "@nowhere", "--agent", "fake", "--check", "true").status == 1
    os.mkfifo(lab.place / "pipe")
    device = "it is a character device, and no regular file"
    for file, once, again in (
        (lab.place / "pipe", "it is a named pipe, which may never end", "it is a pipe, which can be read only once"),
        ("/dev/zero", device, device),
    ):
        said = lab("attempt", f"@{file}", "--agent", "fake", "--check", "true")
        assert (said.status, f"the file cannot be read: {once}" in said.err) == (1, True), said
        said = lab("compare", str(file), "--check", "true")
        assert (said.status, f"nor a patch file ({again}" in said.err) == (1, True), said
        assert lab("resume", "r", "-i", f"@{file}").status == 1


def test_refusals_leave_nothing_behind(lab):
    lab.agent(FIX)
    for args, word in (
        (["attempt", "x", "--agent", "fake"], "--check"),
        (["attempt", " ", "--agent", "fake", "--check", "true"], "empty"),
        (["attempt", "x", "--agent", "nobody", "--check", "true"], "no agent is called"),
        (["attempt", "x", "--agent", "codex", "--check", "true", "--max-cost", "1"], ""),
        (["compare", "nowhere", "--check", "true"], "neither a commit"),
        (["diff", "nope"], "there is no run"),
    ):
        said = lab(*args)
        assert (said.status, said.out) == (1, ""), said
        assert word in said.err
    assert lab("attempt", "x", "--apply", "--branch", "b", "--check", "true").status == 2
    for ceiling in ("--max-calls", "--max-tokens", "--max-cost"):
        assert lab("attempt", "x", "--check", "true", ceiling, "0").status == 2
    assert not list((lab.root / ".bakeoff" / "runs").glob("*")) if (lab.root / ".bakeoff").exists() else True


def test_attempts_start_from_uncommitted_work_or_from_a_base(lab):
    lab.agent(f"cat calc.py > {lab.place}/seen; {FIX}; echo x > made.txt")
    lab.write("calc.py", "# mine\ndef add(a, b):\n    return a - b\n")
    assert lab.attempt().status == 0
    assert (lab.place / "seen").read_text().startswith("# mine")
    said = lab("attempt", "x", "--agent", "fake", "--check", FIXED, "--base", "HEAD")
    assert said.status == 0, said
    assert (lab.place / "seen").read_text().startswith("def add")


def test_quiet_says_only_the_result(lab):
    lab.agent(FIX)
    said = lab.attempt("-q")
    assert said.status == 0
    assert said.err == ""
    assert "attempt 1 wins" in said.out


def test_pytest_is_read_by_its_report(lab):
    lab.agent("[ $BAKEOFF_ATTEMPT = 1 ] && echo '# no' >> calc.py || " + FIX)
    said = lab.attempt("--attempts", "2", "--json", check="pytest -q")
    assert said.status == 0, said
    first, second = (view["checks"][0] for view in said.json["attempts"])
    tests = {"runner": "pytest", "ran": 1, "failed": 1, "skipped": 0, "source": "junit"}
    assert first["receipt"]["tests"] == tests | {"failing": ["tests.test_calc.test_add"]}
    assert "failing: tests.test_calc.test_add" in first["reason"]
    assert second["receipt"]["tests"] == tests | {"failed": 0}
    assert (lab.root / "tests/test_calc.py").read_text() == TEST


@pytest.mark.parametrize("ignored", ["true", "printf '!__pycache__/\\n!*.pyc\\n' > .gitignore"])
def test_bytecode_of_an_attempt_is_never_there_when_it_is_judged(lab, ignored):
    lab.agent(f"{FIX}; {ignored}; mkdir -p tests/__pycache__; touch tests/__pycache__/test_calc.cpython-311.pyc m.pyc")
    said = lab.attempt("--json", check=f"{FIXED} && ! ls *.pyc */__pycache__/*.pyc")
    assert said.status == 0, said
    (attempt,) = said.json["attempts"]
    assert attempt["receipt"]["diff"]["files"] == (1 if ignored == "true" else 2)


def test_equal_trees_are_judged_once(lab):
    lab.agent("echo '# same' >> calc.py")
    said = lab.attempt("--attempts", "3", "--sandbox=none", check=f"echo x >> {lab.place}/judged; false")
    assert said.status == 3
    assert (lab.place / "judged").read_text() == "x\n" * 2, "once for all three, and once before them"
    assert said.out.count("failed") >= 3


def test_fastest_takes_whoever_passes_first(lab):
    lab.agent(f"[ $BAKEOFF_ATTEMPT = 2 ] || sleep 60; {FIX}")
    said = lab.attempt("--attempts", "2", "--mode", "fastest", "--json")
    assert said.json["winner"] == 2
    assert lab.left() == []


def test_a_check_that_is_not_known_to_run_tests_is_marked(lab):
    lab.agent(f"{FIX}; printf 'import os\\nos._exit(0)\\n' >> calc.py")
    lab.write("check.sh", "python -m pytest -q\n")
    said = lab.attempt(check="sh check.sh")
    assert said.status == 0, said
    assert "✓?" in said.out
    assert "whether that command ran any test is not known" in said.out
    assert "✓?" in lab("show", "r").out


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--check", " "], "empty"),
        (["--check", "true", "--timeout", "nan"], "--timeout must be a number"),
        (["--check", "true", "--check-timeout", "inf"], "--check-timeout must be a number"),
        (["--check", "true", "--base", "nope"], "'nope' is no commit"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_begun(lab, args, part):
    lab.agent(FIX)
    said = lab("attempt", "t", "--agent", "fake", "--run-id", "r", *args)
    assert said.status == 1, said
    assert part in said.err
    assert not lab.run.root.exists()


def test_a_timeout_of_years_is_none(lab):
    lab.agent(FIX)
    said = lab.attempt("--timeout", "1e9", "--check-timeout", "1e300")
    assert said.status == 0, said


def test_an_attempt_does_not_write_the_settings_of_the_next_run(lab):
    folder = "mkdir -p .bakeoff/runs/x; echo x > .bakeoff/runs/x/y"
    lab.agent(f"{FIX}; {folder}; echo 'sandbox = \"none\"' > sub.toml; cp sub.toml bakeoff.toml")
    lab.write(".gitignore", "")
    lab.commit()
    said = lab.attempt("--json")
    assert said.status == 0, said
    diff = lab("diff", "r").out
    assert "sub.toml" in diff
    assert "bakeoff.toml" not in diff
    assert ".bakeoff" not in diff


def test_what_an_agent_cannot_be_asked_is_refused_before_a_run_exists(lab):
    lab.agent(FIX)
    said = lab.attempt(task="x" * 200_000)
    assert (said.status, said.out) == (1, "")
    assert "write it to a file and ask the agent to read that" in said.err
    said = lab.attempt("--model", "large")
    assert said.status == 1
    assert "fake takes no model" in said.err
    assert not lab.run.root.exists()
    assert lab.calls == []


@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/home"])
def test_a_home_that_cannot_be_written_is_said_before_there_is_a_run(lab, monkeypatch, home):
    lab.agent(FIX)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home)
    said = lab.attempt()
    assert said.status == 1
    assert f"{home}/.cache/bakeoff cannot be made" in said.err
    assert "XDG_DATA_HOME" in said.err
    assert lab.calls == []
    assert not list((lab.root / ".bakeoff" / "runs").glob("*"))


def test_too_few_open_files_are_said_before_there_is_a_run(lab, monkeypatch):
    lab.agent(FIX)
    monkeypatch.setattr("bakeoff.system.machine.LEAST_FILES", 1 << 40)
    said = lab.attempt()
    assert said.status == 1
    assert "files may be open at once" in said.err
    assert "ulimit -n" in said.err
    assert not list((lab.root / ".bakeoff" / "runs").glob("*"))


def test_the_report_says_the_verdict_first(lab):
    lab.agent(f"if [ $BAKEOFF_ATTEMPT = 2 ]; then {FIX}; else echo '# <script>' >> calc.py; fi")
    assert lab.attempt("--attempts", "2", check="python -m pytest -q").status == 0
    page = lab("report", "r", "-o", "-").out
    parts = [
        "Attempt 2 wins, of 2",
        "<h2>Diff</h2>",
        "<h2>Attempts</h2>",
        "<h2>Why the others",
        "<h2>Timeline",
    ]
    assert sorted(parts, key=page.index) == parts
    assert '<span class="added">+    return a + b</span>' in page
    assert "FAILED tests/test_calc.py::test_add" in page
    assert "<script>" not in page.partition("<h2>Timeline")[0].partition("<body>")[2]


def test_the_report_of_a_run_that_nothing_passed_shows_the_closest(lab):
    lab.agent("echo '# <script>' >> calc.py; touch two")
    assert lab.attempt("--check", "test -e two").status == 3
    page = lab("report", "r", "-o", "-").out
    assert "Attempt 1 came closest" in page
    assert '<span class="added">+# &lt;script&gt;</span>' in page


def test_a_run_that_is_gone_on_with_keeps_its_bound(lab):
    alone = lab.place / "alone"
    lab.agent(f"mkdir {alone} && sleep 0.1 && rmdir {alone} && echo {{}} > new.$BAKEOFF_ATTEMPT")
    said = lab.attempt("--attempts", "4", "--max-parallel", "1", "--max-calls", "1", "--no-preflight", check="false")
    assert (said.status, len(lab.calls)) == (4, 1), said
    said = lab("resume", "r", "-i", "max_calls=4", "--json")
    assert [one["status"] for one in said.json["attempts"]] == ["failed"] * 4


@pytest.mark.parametrize("more", [("--attempts", "10001"), ("--attempts", "100", "--repair", "100")])
def test_more_calls_than_any_run_makes_are_refused(lab, more):
    lab.agent("echo {} > new")
    said = lab.attempt(*more)
    assert (said.status, lab.calls) == (1, [])
    assert "10,000 are the most of one run" in said.err
