"""Whole commands in place of functions: real slots, sandboxes, checks and clocks. What is slow sleeps."""

from __future__ import annotations

import json
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bakeoff.cli.schema import output_schema
from bakeoff.engine.store import RunStore
from bakeoff.errors import BakeoffError, JournalError
from bakeoff.jobs.session import RunOptions
from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.session import start
from bakeoff.optimize.target import parse_bench_target
from bakeoff.optimize.view import RunView, run_view
from bakeoff.sampling.attempt import table as attempt_table
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.session import start as compare
from bakeoff.sampling.attempt.view import run_view as compared
from optimize.conftest import Shop

SLOW = 'sleep 0.06\necho "sum 42"\n'
FAST = SLOW.replace("sleep 0.06\n", "")
BENCH = ("--bench", "sh work.sh", "--seconds", "60", "--sandbox", "none", "--run-id", "r")
CHECK = ("--check", "sh work.sh | grep -q 42")


@pytest.fixture
def works(shop: Shop) -> Shop:
    """A project in no language that is known."""
    shop.write("work.sh", SLOW)
    shop.write("tests/run.sh", "sh work.sh | grep -q 42\n")
    shop.git("add", "-A")
    shop.git("commit", "-qm", "work")
    return shop


def bench(shop: Shop, *args: str, status: int = 0) -> dict[str, Any]:
    found = dict(json.loads(shop("optimize", *BENCH, "--json", *args, status=status)))
    Draft202012Validator(output_schema("optimize")).validate(found)
    return found


def reasons(found: dict[str, Any]) -> list[str]:
    return [one["reason"] for one in found["candidates"]]


def test_the_fastest_that_passes_the_checks_wins(works: Shop) -> None:
    before = works.digest()
    texts = {"fast.sh": FAST, "wrong.sh": "echo 41\n", "other.sh": "echo other 42\n", "fails.sh": FAST + "exit 3\n"}
    names = [word for name, text in texts.items() for word in ("--candidate", works.beside(name, text))]
    # A pipe has the status of its last part: only the timed command shows that `fails.sh` fails.
    found = bench(works, "work.sh", *CHECK, *names)
    assert found["winner"].endswith("fast.sh")
    assert reasons(found) == ["faster", "check-failed", "output-differs", "crash"]
    assert found["bench"]["verified"] is True
    assert found["bench"]["judged_by"] == "checks"
    won = found["candidates"][0]
    assert won["speedup"]["low"] > 1.05
    assert won["receipt"]["behaviour"]["checks"][0]["verdict"] == "passed"
    assert won["receipt"]["speed"]["remeasured"] is True
    assert "'other 42' instead of 'sum 42'" in found["candidates"][2]["detail"]
    assert works.digest() == before
    assert "shown by `sh work.sh | grep -q 42`, what the command prints, its exit status" in works.said

    shown = json.loads(works("show", "r", "--json"))
    Draft202012Validator(output_schema("show")).validate(shown)
    assert shown["bench"]["command"] == "sh work.sh"
    assert "Behaves as before" in works("report", "r", "--markdown", "-o", "-")
    assert " wins: " in works("report", "r", "-o", "-")
    works("apply", "r")
    assert (works.root / "work.sh").read_text() == FAST


def test_without_a_check_nothing_is_called_verified(works: Shop) -> None:
    works.git("checkout", "-qb", "try")
    works.write("work.sh", "echo another\n")
    works.write("tests/run.sh", "true\n")
    works.git("commit", "-qam", "faster")
    works.git("checkout", "-q", "-")
    found = bench(works, "--ref", "try", "--bench-output", "any", "--branch", "faster")
    assert found["winner"] == "try"
    assert found["bench"]["verified"] is False
    assert "judged without its changes of tests/run.sh" in found["candidates"][0]["note"]
    assert "behaviour is not verified" in works.said
    assert "it ends as before" in works.said
    assert "shown by" not in works.said
    assert works.git("diff", "--name-only", "HEAD", "faster") == "work.sh"
    assert "Behaves as before" not in works("report", "r", "--markdown", "-o", "-")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def carried_out(shop: Shop, target: str, **options: Any) -> tuple[RunView, str | None]:
    """The same in this process; how it stands, and why it failed."""
    asked = {"bench": "sh work.sh", "level": "none", "seconds": 60.0, **options}
    store = RunStore(shop.root)
    folder, ending = await start(store, OptimizeOptions(target, **asked), RunOptions(catch_signals=False))
    history = folder.history()
    return run_view(history, folder.status_and_error(history)[0]), ending.error


@pytest.mark.anyio
async def test_in_a_sandbox_and_with_files_that_candidates_may_not_change(works: Shop) -> None:
    works.write("data.txt", "42\n")
    works.write("work.sh", "sleep 0.06\ncat data.txt > $TMPDIR/kept\ncat $TMPDIR/kept\n")
    patch = "--- a/data.txt\n+++ b/data.txt\n@@ -1 +1,2 @@\n 42\n+43\n"
    texts = {
        "data.patch": patch,
        "kept.sh": "test -f $TMPDIR/kept || sleep 0.06\ncp data.txt $TMPDIR/kept\ncat $TMPDIR/kept\n",
        "file.sh": "test -f kept || sleep 0.06\ncp data.txt kept\ncat kept\n",
        "hangs.sh": "sleep 600\n",
    }
    names = tuple(works.beside(name, text) for name, text in texts.items())
    found, _ = await carried_out(
        works, "work.sh", level="weak", candidates=names, protect=("data.txt",), checks=("timeout 2 sh work.sh",)
    )
    first, kept, file, hangs = found.entrants.values()
    assert first.reason == "invalid"
    assert "nothing but tests, or what is protected: data.txt" in first.detail
    assert kept.reason in ("not-faster", "undecided")  # its temp folder is emptied
    assert file.reason in ("cross-call-state", "undecided")  # on a busy machine it may not show in the time
    assert hangs.reason == "check-failed"
    assert found.winner is None


@pytest.mark.anyio
async def test_what_never_ends_is_ended_by_what_the_original_takes(
    works: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.optimize.judges.command_judge.LEAST", 2.0)
    monkeypatch.setattr("bakeoff.optimize.judges.command_judge.TIMES", 1)
    # The first never passes its check, the second only hangs when it is timed.
    names = (
        works.beside("hangs.sh", "sleep 600\n"),
        works.beside("late.sh", "test -n \"$IN_CHECK\" || sleep 600\necho 'sum 42'\n"),
    )
    found, _ = await carried_out(
        works, "work.sh", candidates=names, level="none", checks=("IN_CHECK=1 sh work.sh | grep -q 42",)
    )
    assert [one.reason for one in found.entrants.values()] == ["check-failed", "timeout"]
    assert "it did not end within" in found.entrants[1].detail
    assert found.bench is not None
    assert 0 < found.bench["checks"][0]["seconds"] < 60
    assert found.bench["longest"] >= found.bench["seconds"]


@pytest.mark.anyio
async def test_a_whole_file_that_is_a_test_is_invalid(works: Shop) -> None:
    names = (works.beside("run.sh", "true\n"),)
    found, _ = await carried_out(works, "tests/run.sh", candidates=names, bench="true")
    assert found.entrants[1].reason == "invalid"
    assert "what it is judged by: tests/run.sh" in found.entrants[1].detail


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("bench", "check", "said"),
    [
        ("sh work.sh", "false", "the check 'false' is not met where nothing was changed"),
        ("sh work.sh; date +%N", "true", "does not print the same each time"),
        ("exit 4", "true", "ends with status 4 where nothing was changed"),
    ],
)
async def test_commands_that_say_nothing_of_the_original_end_the_run(
    works: Shop, bench: str, check: str, said: str
) -> None:
    fast = (works.beside("fast.sh", FAST),)
    _, error = await carried_out(works, "work.sh", candidates=fast, bench=bench, checks=(check,))
    assert said in str(error)


def test_killed_in_a_race_it_keeps_the_verdicts_that_there_are(works: Shop) -> None:
    wrong, fast = works.beside("wrong.sh", "echo 41\n"), works.beside("fast.sh", FAST)
    words = ("work.sh", "--candidate", wrong, "--candidate", fast)
    with works.spawn("optimize", *BENCH, *words, stderr=None, stdout=None) as process:
        place = "timed:1+2@60/1"
        kept = decided(works, place)
        process.send_signal(signal.SIGKILL)
    assert kept["verdict"] == "output-differs"
    found = json.loads(works("resume", "r", "--json"))
    assert reasons(found) == ["output-differs", "faster"]
    assert found["winner"] == fast
    history = RunStore(works.root).open("r").history()
    assert history.decisions[place] == kept
    assert sum(path == "bench" for path in history.records) == 1


def decided(shop: Shop, name: str) -> dict[str, Any]:
    """What was decided, as soon as it was."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(JournalError, BakeoffError, OSError):
            history = RunStore(shop.root).open("r").history()
            if name in history.decisions:
                return dict(history.decisions[name])
        time.sleep(0.02)
    raise AssertionError(f"{name} was not decided")


@pytest.mark.anyio
async def test_a_function_may_be_named_and_is_judged_by_its_tests(shop: Shop) -> None:
    text = (shop.root / "numbers_.py").read_text()
    shop.write("numbers_.py", text.replace("    found = []\n", "    __import__('time').sleep(0.25)\n    found = []\n"))
    shop.write("main.py", "from numbers_ import common\nprint(common([1], [1]))\n")
    shop.write(
        "test_numbers.py", "from numbers_ import common\n\n\ndef test_it():\n    assert common([1], [1]) == [1]\n"
    )
    names = shop.beside("fast.py", text), shop.beside("wrong.py", text.replace("return found", "return []"))
    found, _ = await carried_out(
        shop,
        "numbers_.py:common",
        bench="python3 main.py",
        candidates=names,
        rules=False,
        inputs="recorded",
        level="full",
    )
    assert found.winner == 1, [(one.reason, one.detail) for one in found.entrants.values()]
    assert found.bench is not None
    assert found.bench["judged_by"] == "tests"
    assert found.baseline is not None
    assert found.baseline["tests"] == 1
    assert found.entrants[2].reason in ("test-failed", "behaviour/return")
    assert found.profiles


def test_references_are_raced(works: Shop) -> None:
    for name, text in (("fast", FAST), ("same", SLOW + "# same\n"), ("other", "echo 42\n")):
        works.git("checkout", "-qb", name, "master" if "master" in works.git("branch") else "main")
        works.write("work.sh", text)
        works.git("commit", "-qam", name)
    works.git("checkout", "-q", "-B", "start", "fast~1")
    asked = ("compare", "same", "fast", "other", *CHECK, *BENCH, "--json")
    found = json.loads(works(*asked))
    Draft202012Validator(output_schema("compare")).validate(found)
    assert found["winner"] == 2
    assert [one["bench"]["verdict"] for one in found["attempts"]][1:] == ["faster", "output-differs"]
    assert found["attempts"][1]["bench"]["speedup"]["low"] > 1.05
    assert "faster" in works.said
    shown = json.loads(works("show", "r", "--json"))
    assert shown["attempts"] == found["attempts"]


@pytest.mark.anyio
async def test_of_references_that_are_not_faster_the_first_sound_one_wins(works: Shop) -> None:
    for name, text in (("other", "echo 42\n"), ("same", SLOW + "# same\n")):
        works.git("checkout", "-qb", name, "HEAD")
        works.write("work.sh", text)
        works.git("commit", "-qam", name)
        works.git("checkout", "-q", "-B", "start", f"{name}~1")
    asked = AttemptOptions(
        "compare", refs=("other", "same"), attempts=2, checks=CHECK[1:], base="HEAD", sandbox="none",
        bench="sh work.sh", seconds=0.5, min_speedup=50.0,
    )  # fmt: skip
    store = RunStore(works.root)
    for refs, winner in ((("other", "same"), 2), (("other",), None)):
        asked = replace(asked, refs=refs, attempts=len(refs))
        folder, ending = await compare(store, asked, RunOptions(catch_signals=False))
        found = compared(folder.history(), ending.status)
        assert found.winner == winner
        assert found.attempts[1].speed is not None
        assert found.attempts[1].speed.verdict == "output-differs"
        lines = "\n".join([*attempt_table.table_lines(found), *attempt_table.notes(found)])
        assert "output-differs" in lines
        assert ("none is faster than the base" in lines) == (winner is not None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "a.py:f", "checks": ("true",)}, "go with --bench"),
        ({"target": "a.c", "bench": " "}, "empty"),
        ({"target": "a.c", "bench": "x", "candidates": ("b.c",), "cold": True}, "--cold"),
        ({"target": "a.c", "bench": "x"}, "nothing to try"),
        ({"target": "", "bench": "x", "candidates": ("b.c",)}, "b.c gives a whole file"),
        ({"target": "", "bench": "x", "models": ("m",)}, "a model gives a whole file"),
        ({"target": "a.c", "bench": "x", "models": ("local",)}, "writes functions only"),
        ({"target": "a.c", "bench": "x", "refs": ("x",), "tests": ("t",)}, "--tests says which tests judge a function"),
        ({"target": "a.py:f", "bench": "x", "checks": ("y",), "tests": ("t",)}, "give no --check"),
        ({"target": "lib", "every": True, "refs": ("x",)}, "leave --bench"),
        ({"target": "lib", "every": True, "top": 0}, "--top"),
    ],
)
def test_what_does_not_go_together_is_one_clear_message(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BakeoffError, match=said):
        OptimizeOptions(**options)


def test_what_may_be_named_beside_a_command() -> None:
    assert parse_bench_target("").is_project
    assert str(parse_bench_target("src/main.c")) == "src/main.c"
    assert parse_bench_target("a.py:f").qualname == "f"
    assert str(parse_bench_target("")) == "the project"
    with pytest.raises(TargetError, match="not inside"):
        parse_bench_target("../a.c")
