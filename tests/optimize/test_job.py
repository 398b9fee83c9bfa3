"""Whole optimisations by the command line: real slots, sandboxes, tests and clocks."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import venv
from pathlib import Path

import pytest

from optimize.conftest import FAST, SLOW, WRONG, Shop


def by_file(found: dict, name: str) -> dict:
    return next(one for one in found["candidates"] if one["file"].endswith(name))


def test_what_behaves_the_same_and_is_faster_wins_and_lands(shop: Shop) -> None:
    before = shop.digest()
    fast, wrong = shop.beside("fast.py", FAST), shop.beside("wrong.py", WRONG)
    again = shop.beside("again.py", FAST.replace("known", "seen"))
    found = shop.optimize(
        "--candidate", wrong, "--candidate", fast, "--candidate", again, "--run-id", "r", inputs="derived"
    )
    assert found["winner"] == fast
    assert (by_file(found, "wrong.py")["verdict"], by_file(found, "wrong.py")["reason"]) == (
        "REJECT",
        "test-failed",
    ) or (by_file(found, "wrong.py")["reason"] == "behaviour/return")
    assert (by_file(found, "again.py")["verdict"], by_file(found, "again.py")["reason"]) == ("SKIP", "duplicate")
    won = by_file(found, "fast.py")
    assert won["speedup"]["estimate"] >= won["speedup"]["low"] > 1.05
    assert won["receipt"]["speed"]["remeasured"] is True
    assert won["receipt"]["behaviour"]
    assert (found["baseline"]["tests"], found["baseline"]["derived"] > 20) == (5, True)
    assert shop.digest() == before

    shown = shop("show", "r", "--json")
    assert json.loads(shown)["winner"] == fast
    assert "known = set(ys)" in shop("diff", "r")
    assert "candidate" in shop("apply", "r")
    assert (shop.root / "numbers_.py").read_text() == FAST


@pytest.mark.parametrize("kind", ["overlay", "repository", pytest.param("worktree", marks=pytest.mark.soak(only=True))])
def test_ignored_environments_beside_the_code_are_shown_in_slots(shop: Shop, kind: str) -> None:
    shop.write(".gitignore", ".venv\nnode_modules\n")
    shop.write("bakeoff.toml", f'[slots]\nkind = "{kind}"\n')
    (shop.root / "node_modules").mkdir()
    venv.create(shop.root / ".venv", symlinks=True)
    shop.git("add", "-A")
    shop.git("commit", "-qm", "with an environment")
    if kind == "overlay":
        fast = shop.beside("fast.py", FAST)
        assert shop.optimize("--candidate", fast)["winner"] == fast
    else:  # what is judged to behave otherwise is not raced
        (one,) = shop.optimize("--candidate", shop.beside("wrong.py", WRONG), status=3)["candidates"]
        assert (one["verdict"], one["reason"]) == ("REJECT", "behaviour/return")


def test_no_winner_is_said_with_the_reason_of_each(shop: Shop) -> None:
    same = SLOW.replace("    found = []\n", "    found = []\n    done = False\n")
    found = shop.optimize("--candidate", shop.beside("same.py", same), status=3)
    assert found["winner"] is None
    (one,) = found["candidates"]
    assert one["verdict"] == "REJECT"
    assert one["reason"] in ("not-faster", "undecided")
    assert "nothing was found" in shop.said


def test_a_branch_and_a_patch_of_the_winner_and_a_commit_as_candidate(shop: Shop) -> None:
    shop.git("checkout", "-qb", "try")
    shop.write("numbers_.py", FAST)
    shop.git("commit", "-qam", "faster")
    shop.git("checkout", "-q", "-")
    found = shop.optimize("--ref", "try", "--branch", "faster", "--patch", str(shop.home / "f.patch"))
    assert found["winner"] == "try"
    assert found["landed"]["branch"] == "faster"
    assert shop.git("show", "faster:numbers_.py") == FAST.strip()
    assert "+    known = set(ys)" in (shop.home / "f.patch").read_text()
    again = shop.optimize("--candidate", str(shop.home / "f.patch"))
    assert again["winner"].endswith("f.patch")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("numbers_.py:comon", "common"),
        ("nombers.py:common", "nombers.py"),
        ("numbers_.py", "pkg/mod.py:function"),
    ],
)
def test_a_wrong_target_is_one_clear_message(shop: Shop, target: str, said: str) -> None:
    told = shop("optimize", target, "--candidate", shop.beside("fast.py", FAST), status=1)
    assert said in shop.said + told
    assert "Traceback" not in shop.said


def test_a_candidate_that_cannot_be_read_stops_before_anything_is_begun(shop: Shop) -> None:
    shop("optimize", "numbers_.py:common", "--candidate", "nowhere.py", status=1)
    assert "nowhere.py cannot be read" in shop.said
    pipe, large = shop.home / "pipe.py", shop.home / "large.py"
    os.mkfifo(pipe)
    large.touch()
    os.truncate(large, (32 << 20) + 1)
    for file, why in ((pipe, "it is a pipe, which can be read only once"), (Path("/dev/zero"), "it is a character"),
                      (large, "it has 33554433 bytes, more than 33554432")):  # fmt: skip
        shop("optimize", "numbers_.py:common", "--candidate", str(file), status=1)
        assert f"{file} cannot be read: {why}" in shop.said
    assert not (shop.root / ".bakeoff" / "runs").exists() or not list((shop.root / ".bakeoff" / "runs").iterdir())


@pytest.mark.parametrize(
    ("asked", "said", "status"),
    [
        (("--patch", "nowhere/f.patch"), "--patch nowhere/f.patch: there is no folder nowhere", 1),
        (("--markdown", "."), "--markdown .: it is a folder: name a file", 1),
        (("--base", "nothing"), "'nothing' is no commit of", 1),
        (("--tests", "nothing.py::test_it"), "--tests nothing.py::test_it: the project has no such file", 1),
        (("--seconds", "nan"), "--seconds must be a number above 0, not nan", 1),
        (("--seconds", "inf"), "--seconds must be a number above 0, not inf", 1),
        (("--top", "3"), "--top goes with --all", 2),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_begun(
    shop: Shop, asked: tuple[str, ...], said: str, status: int
) -> None:
    shop("optimize", "numbers_.py:common", "--candidate", shop.beside("fast.py", FAST), *asked, status=status)
    assert said in shop.said
    shop("optimize", "nombers.py:common", status=1)
    assert "nombers.py: the project has no such file" in shop.said
    shop("optimize", "lib/numbers_.py:common", status=1)
    assert "lib/numbers_.py: the project has no such file; did you mean numbers_.py?" in shop.said
    assert not list(shop.root.glob(".bakeoff/runs/*"))


def test_a_patch_that_does_not_fit_is_a_candidate_that_fell(shop: Shop) -> None:
    shop.git("checkout", "-qb", "try")
    shop.write("numbers_.py", FAST)
    shop.write("test_numbers.py", "def test_nothing():\n    pass\n")
    shop.git("commit", "-qam", "faster, and tests")
    shop.git("checkout", "-q", "-")
    bad, empty = shop.beside("bad.patch", "no patch\n"), shop.beside("empty.patch", "")
    found = shop.optimize("--candidate", bad, "--candidate", empty, "--ref", "HEAD", "--ref", "try", "--apply")
    assert [one["reason"] for one in found["candidates"]] == ["invalid", "invalid", "invalid", "faster"]
    assert "does not fit" in found["candidates"][0]["detail"]
    assert "changes nothing" in found["candidates"][2]["detail"]
    assert found["candidates"][3]["note"] == "judged without its changes of test_numbers.py"
    assert "take it with" not in shop.said
    assert (shop.root / "numbers_.py").read_text() == FAST
    assert "test_nothing" not in (shop.root / "test_numbers.py").read_text()


def test_a_function_that_no_test_reaches_is_refused(shop: Shop) -> None:
    shop.write("numbers_.py", SLOW + "\n\ndef other(x):\n    return x + 1\n")
    found = shop.beside("fast.py", FAST + "\n\ndef other(x):\n    return 1 + x\n")
    said = shop("optimize", "numbers_.py:other", "--no-rules", "--candidate", found, status=1)
    assert "no test reaches" in said
    assert "once they are mended, start anew" in said


def test_what_is_undecided_can_be_measured_for_longer(shop: Shop) -> None:
    fast = shop.beside("fast.py", FAST)
    found = shop.optimize("--candidate", fast, "--run-id", "r", "--seconds", "0.01", status=3)
    assert [one["reason"] for one in found["candidates"]] == ["undecided"]
    longer = re.search(r"measure longer with: bakeoff resume r -i seconds=([0-9.]+)", shop.said)
    assert longer is not None
    assert float(longer[1]) >= 0.03
    assert "nothing is decided: 1 candidate behaved the same; whether any is faster did not show" in shop.said
    for less in ((), ("-i", "seconds=0.01"), ("-i", "seconds=nan"), ("-i", "max_calls=3")):
        shop("resume", "r", *less, status=1)
    assert "-i seconds=N above 0.01 measures longer" in shop.said
    found = json.loads(shop("resume", "r", "-i", "seconds=90", "--json"))
    assert found["winner"] == fast
    assert by_file(found, "fast.py")["reason"] == "faster"
    # Another race is another chance: it may err half as often.
    assert by_file(found, "fast.py")["receipt"]["speed"]["receipt"]["alpha"] == 0.01
    assert shop.said.count("behaves the same (kept from before)") == 1
    shop("resume", "r", "-i", "seconds=100", status=1)
    assert "run r is completed; it cannot be resumed" in shop.said
    assert "known = set(ys)" in shop("diff", "r")


def test_killed_and_resumed_it_keeps_every_judgement(shop: Shop) -> None:
    names = [shop.beside(f"c{number}.py", FAST.replace("known", f"known_{number}") + f"\n\nX = {number}\n")
             for number in range(3)]  # fmt: skip
    wanted = [word for name in names for word in ("--candidate", name)]
    asked = ("optimize", "numbers_.py:common", "--no-rules", "--inputs", "recorded", "--seconds", "90", "--run-id", "r")
    with shop.spawn(*asked, *wanted) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "behaves the same" in line:
                process.send_signal(signal.SIGKILL)
                break
    found = json.loads(shop("resume", "r", "--json"))
    assert found["winner"] in names
    assert "kept from before" in shop.said
    assert shop.said.count("behaves the same") == 3
    shop("resume", "r", status=1)
    assert "cannot be resumed" in shop.said
    end = time.monotonic() + 60
    while any(_mine(shop)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not list(_mine(shop))


def _mine(shop: Shop):
    from pathlib import Path

    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(shop.root).encode() in (entry / "environ").read_bytes():
                yield entry.name
        except OSError:
            continue
