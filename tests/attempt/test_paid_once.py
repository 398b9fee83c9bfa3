"""A run that is killed after an agent has ended goes on from what the agent made, and does not pay for it again."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from attempt.conftest import FIX, FIXED, Lab
from attempt.test_resume import until
from bakeoff.engine.record import RunStatus
from crash.laboratory import Zygote

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"

USD = 0.3
TRIED = "echo '# tried' >> calc.py"

MAKER, SLOT, SWEEP = "bakeoff.sampling.attempt.maker", "bakeoff.workspace.slots.slot", "bakeoff.workspace.slots.sweep"

WINDOWS = [
    ("bakeoff.engine.run:Run.checkpoint", "after"),
    (f"{SLOT}:end_leftovers", "before"),
    (f"{SLOT}:make_result", "before"),
    ("bakeoff.workspace.results.results:_put", "before"),
    ("bakeoff.workspace.results.results:_import", "after"),
    (f"{SLOT}:make_result", "after"),
    (f"{MAKER}:keep", "before"),
    (f"{MAKER}:keep", "after"),
    (f"{SLOT}:forget_pending", "before"),
    (f"{SLOT}:forget_pending", "after"),
    ("bakeoff.workspace.slots.overlay:OverlayPlace.reset", "after"),
    ("bakeoff.engine.run:Run.commit", "before"),
]
"""Between the record of what an agent's call came to and the record of its attempt, in order."""
RARE = {1, 3, 4, 6, 8, 9, 10}
"""Those that only `make soak` kills in: what they leave is what a neighbour leaves."""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


def hire(lab: Lab, script: str, *, more: str = "", settings: str = "") -> None:
    """An agent that goes on in its session, and says what it costs."""
    said = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "num_turns": 1,
            "session_id": "s-$BAKEOFF_ATTEMPT", "total_cost_usd": USD,
            "usage": {"input_tokens": 100, "output_tokens": 10}}  # fmt: skip
    lab.agent(f'echo "$2" >> {lab.place}/sessions; {script}', say=f"cat <<END\n{json.dumps(said)}\nEND")
    argv = json.dumps(["sh", str(lab.place / "fake.sh"), "{prompt}", ["{session}"], ["--max={max_usd}"]])
    lab.agents["fake"] = f'[agents.fake]\nlike = "claude"\nargv = {argv}\nwrites = {json.dumps(lab.writes)}\n{more}'
    lab.settings(settings)


def session(lab: Lab, zygote: Zygote, *argv: str, **crash: Any) -> int:
    streams = {name: str(lab.place / name) for name in ("stdout", "stderr")}
    return zygote.call({"cwd": str(lab.root), "argv": argv, "env": dict(os.environ), **streams, "crash": crash})


def attempt(*more: str, check: str = FIXED) -> list[str]:
    return ["attempt", "make add add", "--agent", "fake", "--run-id", "r", "--check", check, *more]


def killed(lab: Lab, zygote: Zygote, *argv: str, **crash: Any) -> None:
    assert session(lab, zygote, *argv, **crash) == -signal.SIGKILL, (lab.place / "stderr").read_text()
    until(lambda: lab.left() == [])


def check_end(lab: Lab, *, calls: int = 1, usd: float | None = None, before: str = "") -> dict[str, Any]:
    """After the resume: paid once, counted once, and nothing left behind."""
    said = lab("show", "r", "--json")
    usage = said.json["usage"]
    assert (usage["calls"], len(lab.calls)) == (calls, calls), said
    assert usage["usd"] == pytest.approx(USD * calls if usd is None else usd)
    assert usage["input_tokens"] == 100 * calls
    until(lambda: lab.left() == [])
    assert lab.slots() == []
    assert lab.run.history().checkpoints == {}
    assert lab.digest() == before
    assert [name for name in lab.refs() if name.startswith("salvage/")] == []
    shown: dict[str, Any] = said.json
    return shown


@pytest.mark.parametrize(
    ("where", "when"),
    [
        pytest.param(*window, marks=[pytest.mark.soak(only=True)] if number in RARE else [])
        for number, window in enumerate(WINDOWS)
    ],
)
def test_killed_after_the_end_of_its_agent(lab: Lab, zygote: Zygote, where: str, when: str) -> None:
    hire(lab, f"{FIX}; ln -s calc.py link; echo x > new.txt")
    before = lab.digest()
    killed(lab, zygote, *attempt("--max-cost", "0.4", "--no-preflight"), **{"in": where, "when": when})
    said = lab("show", "r")
    assert "$0.3" in said.out
    # What is reserved for a call does not fit in what is left: nothing is to be paid.
    said = lab("resume", "r", "--json")
    assert (said.status, said.json["winner"]) == (0, 1), said
    assert "made again" not in said.err
    (view,) = check_end(lab, before=before)["attempts"]
    receipt = view["receipt"]
    assert (view["usage"]["usd"], receipt["session_id"], receipt["diff"]["files"]) == (USD, "s-1", 3)
    assert receipt["sandbox"]
    assert (lab.run.logs / receipt["transcript"]).exists()
    text = lab("diff", "r").out
    assert "a + b" in text
    assert "new file mode 120000" in text
    assert lab("clean", "r").status == 0
    assert lab.refs() == {}


def start_over(lab: Lab) -> None:
    """As if nothing had been run yet."""
    shutil.rmtree(lab.root / ".bakeoff", ignore_errors=True)
    assert lab("clean", "--older-than", "1d").status == 0  # the slots of a session that had no run yet
    for name in ("data", "cache"):
        shutil.rmtree(lab.place / name, ignore_errors=True)
    for name in ("calls", "sessions"):
        (lab.place / name).unlink(missing_ok=True)


def test_killed_around_every_write_of_the_journal(lab: Lab, zygote: Zygote) -> None:
    hire(lab, f"[ $BAKEOFF_ATTEMPT != 1 ] && {FIX} || {TRIED}", settings="max_usd = 0.4")
    before, begin = lab.digest(), attempt("--repair", "1", "--max-cost", "3")
    again = []
    for number, when in itertools.product(range(2, 30), ("before", "inside", "after")):
        if not SOAK and (number % 4 or when != ("before", "inside", "after")[number // 4 % 3]):
            continue
        start_over(lab)
        if session(lab, zygote, *begin, at=number, when=when) == 0:
            break
        until(lambda: lab.left() == [])
        if not lab.run.history().meta:
            continue
        history = lab.run.history()
        unknown = [path for path in history.open if path.endswith("generate") and path not in history.checkpoints]
        if lab.run.history().status is not RunStatus.COMPLETED:
            assert session(lab, zygote, "resume", "r") == 0, (lab.place / "stderr").read_text()
        if len(lab.calls) == 3:
            assert unknown
            again.append(when)  # its end was not on record yet: the window that is left
        elif not unknown:
            check_end(lab, calls=2, before=before)
        else:  # it may have begun, for all that is known, so that what was reserved for it counts
            assert len(lab.calls) == 2
            continue
        assert "s-1" in (lab.place / "sessions").read_text()
    assert number > 8
    assert len(again) <= 6


AFTER = {"in": "bakeoff.engine.run:Run.checkpoint", "when": "after"}


def test_killed_again_while_it_goes_on(lab: Lab, zygote: Zygote) -> None:
    hire(lab, FIX)
    before = lab.digest()
    killed(lab, zygote, *attempt("--max-calls", "1"), **AFTER)
    killed(lab, zygote, "resume", "r", **{"in": f"{MAKER}:keep", "when": "before"})
    killed(lab, zygote, "resume", "r", **{"in": "bakeoff.engine.run:Run.commit", "when": "before"})
    assert lab("resume", "r").status == 0
    (view,) = check_end(lab, before=before)["attempts"]
    assert lab.run.history().records[next(iter(lab.run.history().records))].attempts == 1
    assert view["status"] == "passed"


def test_another_command_may_come_first(lab: Lab, zygote: Zygote) -> None:
    """Whoever sweeps the dead slot makes the result that is due, also a run that has nothing to do with it."""
    hire(lab, FIX)
    before = lab.digest()
    killed(lab, zygote, *attempt(), **AFTER)
    assert lab.slots()
    other = lab("attempt", "other", "--agent", "fake", "--run-id", "other", "--check", FIXED)
    assert other.status == 0, other
    assert lab.slots() == []
    (lab.place / "calls").unlink()
    said = lab("resume", "r")
    assert said.status == 0, said
    assert lab.calls == []
    assert lab("clean", "other").status == 0
    assert lab.digest() == before
    assert list(lab.refs()) == ["r/attempt-1"]


@pytest.mark.parametrize("how", ["gone", "rebooted"])
def test_what_is_lost_is_made_again_and_said(lab: Lab, zygote: Zygote, how: str) -> None:
    hire(lab, FIX, settings="max_usd = 0.4\n")
    killed(lab, zygote, *attempt("--max-cost", "2"), **AFTER)
    if how == "gone":
        assert lab("clean", "--discard", *{name.split(".")[0] for name in lab.slots()}).status == 0
        for ref in lab.refs():
            lab.git("--git-dir", str(next(lab.place.glob("data/bakeoff/projects/*/repository.git"))),
                    "update-ref", "-d", f"refs/bakeoff/{ref}")  # fmt: skip
    for due in lab.place.glob("cache/bakeoff/projects/*/slots/*/due.json"):
        due.write_text(json.dumps({**json.loads(due.read_text()), "boot": "another"}))
    said = lab("resume", "r", "--json")
    assert said.status == 0, said
    assert "what it made is lost: it is made again" in said.err
    assert said.json["usage"]["usd"] == pytest.approx(2 * USD)
    assert lab.run.history().checkpoints == {}
    if how == "rebooted":  # the files may have been cut off, but there they are
        assert [name for name in lab.refs() if name.startswith("salvage/r/")]
    assert lab.slots() == []


def test_what_is_left_out_is_said_after_a_kill_too(lab: Lab, zygote: Zygote) -> None:
    hire(lab, f"{FIX}; truncate -s 3M large.bin; mkfifo pipe", settings="[slots]\nmax_file_mb = 1\n")
    for where in (AFTER["in"], f"{SLOT}:forget_pending", "bakeoff.engine.run:Run.commit"):
        killed(lab, zygote, *attempt(), **{"in": where, "when": "after" if where == AFTER["in"] else "before"})
        said = lab("resume", "r", "--json")
        assert said.status == 0, said
        (view,) = said.json["attempts"]
        assert [text.partition(":")[0] for text in view["receipt"]["refused"]] == ["large.bin", "pipe"]
        # What is left out is salvaged as before.
        assert [name for name in lab.refs() if name.startswith("salvage/r/")]
        start_over(lab)


@pytest.mark.parametrize("kind", ["repository", pytest.param("worktree", marks=pytest.mark.soak(only=True))])
def test_checkouts(lab: Lab, zygote: Zygote, kind: str) -> None:
    hire(lab, f"{FIX}; ln -s calc.py link; echo x > new.txt", settings=f'[slots]\nkind = "{kind}"\n')
    before = lab.digest()
    for where, when in (WINDOWS[0], WINDOWS[3]):
        killed(lab, zygote, *attempt("--max-calls", "1"), **{"in": where, "when": when})
        assert lab("resume", "r").status == 0
        (view,) = check_end(lab, before=before)["attempts"]
        assert view["receipt"]["diff"]["files"] == 3
        start_over(lab)


def test_equal_and_empty_work_is_taken_up_like_other(lab: Lab, zygote: Zygote) -> None:
    hire(lab, f"[ $BAKEOFF_ATTEMPT = 3 ] || {TRIED}", settings="[lanes]\nagents = 1\n")
    for nth in (2, 3):
        killed(lab, zygote, *attempt("--attempts", "3", check="false"), **AFTER, nth=nth)
        said = lab("resume", "r", "--json")
        assert said.status == 3, said
        assert sorted(lab.calls) == ["1", "2", "3"]
        assert [view["status"] for view in said.json["attempts"]] == ["failed", "failed", "error"]
        assert said.json["attempts"][2]["kind"] == "empty"
        assert said.json["usage"]["usd"] == pytest.approx(3 * USD)
        start_over(lab)


def test_stopped_while_its_work_is_kept(lab: Lab, zygote: Zygote) -> None:
    """Ctrl-C after the agent's end: what it made is kept as its result, not as unfinished work."""
    hire(lab, FIX)
    before = lab.digest()
    crash = {"in": f"{SLOT}:end_leftovers", "when": "before", "signal": signal.SIGINT}
    assert session(lab, zygote, *attempt("--max-calls", "1"), **crash) == 130, (lab.place / "stderr").read_text()
    assert lab.slots() == []
    assert lab("resume", "r").status == 0
    check_end(lab, before=before)


def test_an_agent_that_was_at_work_is_ended_and_asked_again(lab: Lab, zygote: Zygote) -> None:
    hire(lab, f"echo half > half.txt; touch {lab.place}/working; [ -e {lab.place}/go ] || sleep 60; {FIX}",
         settings="max_usd = 0.4\n")  # fmt: skip
    process = lab.spawn(*attempt("--max-cost", "2"))
    until((lab.place / "working").exists)
    process.kill()
    process.communicate()
    until(lambda: lab.left() == [])
    (lab.place / "go").touch()
    said = lab("resume", "r", "--json")
    assert said.status == 0, said
    assert lab.calls == ["1", "1"]
    assert said.json["usage"]["usd"] == pytest.approx(0.4 + USD)  # nobody knows what it took: what was reserved counts
    assert [name for name in lab.refs() if name.startswith("salvage/r/")]
