"""Models and agents in whole optimisations by the command line: HTTP on loopback, scripts as agents, real judging."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from bakeoff.errors import BakeoffError
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.sources.paid_sources import paid_sources
from bakeoff.settings import AgentSettings, Settings
from crash.laboratory import Zygote
from optimize.conftest import FAST, SLOW, WRONG, Shop
from scripted_model import Say, ScriptedModel, Stall, in_order

START = SLOW.index("def ")


def fenced(source: str) -> Say:
    """A reply with the function of a file."""
    return Say(f"Like this:\n```python\n{source[START:]}```\n", 1000, 100)


def priced(shop: Shop, server: ScriptedModel, more: str = "price_in = 100\nprice_out = 1000\n") -> None:
    shop.write("bakeoff.toml", f'[models.mine]\nbase_url = "{server.url}/v1"\nmax_tokens = 500\n{more}')


def agent(shop: Shop, script: str, more: str = "") -> None:
    """An agent that runs a script with its prompt as $1 and its session, if any, as $2."""
    file = shop.beside("agent.sh", f'printf "%s\\n---\\n" "$1" >> {shop.home}/asked\n{script}\necho done\n')
    argv = f'argv = ["sh", "{file}", "{{prompt}}", ["{{session}}"]]\nwrites = ["{shop.home}"]'
    shop.write("bakeoff.toml", f"[agents.fake]\n{argv}\n{more}")


def by_origin(found: dict[str, Any], origin: str) -> dict[str, Any]:
    return next(one for one in found["candidates"] if one["origin"] == origin)


def test_a_model_s_version_wins_and_its_price_is_said(shop: Shop) -> None:
    with ScriptedModel(in_order(Say("No code today.", 1000, 100), fenced(WRONG), fenced(FAST)), tools=False) as server:
        priced(shop, server)
        found = shop.optimize("--model", "mine", "--samples", "2", "--max-cost", "9", "--run-id", "r")
        asked = [str(seen.body) for seen in server.seen]
    assert sorted(one["reason"] for one in found["candidates"])[-1] == "invalid"
    assert found["winner"].startswith("model/mine/")
    # Two versions, the one that differs mended by one request, the winner refined by another.
    assert (found["usage"]["calls"], len(asked)) == (4, 4)
    assert found["usage"]["usd"] == pytest.approx(4 * 0.2)
    assert "at most 6 requests to mine" in shop.said
    assert "budget: 9 usd" in shop.said
    (used,) = [line for line in shop.said.splitlines() if line.startswith("used: ")]
    assert sorted(used.removeprefix("used: ").replace(", ", "; ").split("; ")) == [
        "0.8 usd",
        "4 calls",
        "4,400 tokens",
    ], used
    for part in ("list[int]", "test_numbers.py::test_common[5]", "common(list(", "if x in list(ys):", "returns list("):
        assert part in asked[0], part


def test_what_cannot_be_judged_is_not_paid_for(shop: Shop) -> None:
    """A check that is not there, a bench that fails, a target that is a test, a function that no test reaches."""
    shop.write("lonely.py", "def alone(x):\n    return x\n")
    shop.write("needs.py", "import made\n\n\ndef work(x):\n    return made.V + x\n")
    shop.write("test_needs.py", "from needs import work\n\n\ndef test_work():\n    assert work(1) == 2\n")
    shop.write(".git/info/exclude", "made.py\n")
    shop.write("made.py", "V = 1\n")
    with ScriptedModel(fenced(FAST), tools=False) as server:
        priced(shop, server)
        for arguments, said in (
            (("numbers_.py", "--bench", "true", "--check", "pytset -q"), "pytset: not found"),
            (("numbers_.py", "--bench", "exit 4", "--check", "true"), "ends with status 4"),
            (("test_numbers.py", "--bench", "true", "--check", "true"), "test_numbers.py is a test"),
            (("lonely.py:alone", "--no-rules"), ""),
            (("needs.py:work", "--no-rules"), 'copy = ["made.py"]'),
        ):
            shop("optimize", *arguments, "--model", "mine", "--json", status=1)
            assert said in shop.said, shop.said
        assert server.seen == []


def test_an_agent_s_files_are_judged_without_what_it_did_to_the_tests(shop: Shop) -> None:
    fast = shop.beside("fast.py", FAST)
    agent(shop, f"cp {fast} numbers_.py; echo 'import os' >> test_numbers.py")
    found = shop.optimize("--agent", "fake", "--run-id", "r", "--max-calls", "1", status=4)
    one = by_origin(found, "agent/fake/propose/1")
    assert (one["verdict"], one["note"]) == ("ACCEPT", "done"), shop.said
    assert found["winner"] == "agent/fake/propose/1"
    assert "asked for" in found["error"]
    assert "at most 5 calls of fake" in shop.said
    diff = shop("diff", "r")
    assert "known = set(ys)" in diff
    assert "test_numbers" not in diff
    (said,) = (shop.home / "asked").read_text().split("\n---\n")[:-1]
    assert "Make the function `common` in `numbers_.py` run faster." in said
    assert list((shop.root / ".bakeoff/runs/r/logs").glob("*attempt-1.out"))


def test_an_agent_mends_its_own_work_and_one_that_does_nothing_is_invalid(shop: Shop) -> None:
    wrong, fast = shop.beside("wrong.py", WRONG), shop.beside("fast.py", FAST)
    agent(shop, f'case "$1" in *"does not meet"*) grep -q ":3" numbers_.py && cp {fast} numbers_.py ;; '
                f'*) [ "$BAKEOFF_ATTEMPT" = 1 ] && cp {wrong} numbers_.py ;; esac')  # fmt: skip
    found = shop.optimize("--agent", "fake", "--agent-samples", "2")
    first, nothing = by_origin(found, "agent/fake/propose/1"), by_origin(found, "agent/fake/propose/2")
    assert first["verdict"] == "REJECT"
    assert (nothing["reason"], "changed nothing" in nothing["detail"]) == ("invalid", True)
    (mended,) = [one for one in found["candidates"] if one["origin"].startswith("agent/fake/repair/")]
    assert mended["verdict"] == "ACCEPT"
    assert mended["parent"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "mine", "--max-cost", "1"), "the model's price is not known"),
        (("--model", "nine"), "no model is called 'nine'"),
        (("--agent", "nobody"), "no agent is called 'nobody'"),
        (("--agent", "fake", "--max-cost", "1"), "does not report what it costs"),
        (("--model", "mine", "--model", "mine"), "named twice"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_spent(
    shop: Shop, arguments: tuple[str, ...], said: str
) -> None:
    with ScriptedModel(fenced(FAST), tools=False) as server:
        agent(shop, ":", f'[models.mine]\nbase_url = "{server.url}/v1"\n')
        assert shop("optimize", "numbers_.py:common", *arguments, status=1) == ""
        assert server.seen == []
    assert said in shop.said
    assert not (shop.home / "asked").exists()


RECORDED = ("--inputs", "recorded")


def stopped(shop: Shop, server: ScriptedModel, end: Callable[[Any], None]) -> int:
    """Stop an optimisation when two of its three requests are answered and the third is not."""
    priced(shop, server)
    asked = ("--no-rules", "--model", "mine", "--samples", "3", "--run-id", "r", "--repairs", "0", "--json", *RECORDED)
    with shop.spawn("optimize", "numbers_.py:common", *asked) as process:
        assert server.wait(lambda seen: len(seen) == 3, 120)
        # Both answers are judged, so that they are on record.
        told = ""
        while told.count("candidate 1") + told.count("candidate 2") < 2:
            told += process.stderr.readline()
        end(process)
        process.communicate(timeout=60)
    return process.returncode


def test_killed_it_pays_for_no_reply_twice(shop: Shop) -> None:
    with ScriptedModel(in_order(fenced(WRONG), fenced(SLOW), Stall(), fenced(FAST)), tools=False) as server:
        stopped(shop, server, lambda process: process.send_signal(signal.SIGKILL))
        found = json.loads(shop("resume", "r", "-i", "max_calls=4", "--json", status=4))
        assert len(server.seen) == 4
    assert found["winner"].startswith("model/mine/propose/")
    assert len(found["candidates"]) == 3
    # What the killed request had reserved counts as used, as nobody knows what it cost.
    assert found["usage"]["calls"] == 4


def test_interrupted_it_closes_the_request(shop: Shop) -> None:
    with ScriptedModel(in_order(fenced(WRONG), fenced(SLOW), Stall()), tools=False) as server:
        assert stopped(shop, server, lambda process: process.send_signal(signal.SIGINT)) == 130
        assert server.wait(lambda _: server.in_flight == 0)


def test_an_agent_goes_on_with_a_winner_of_another_source_within_its_money(shop: Shop) -> None:
    fast = shop.beside("fast.py", FAST)
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s",
              "num_turns": 1, "total_cost_usd": 0.3, "usage": {"input_tokens": 100, "output_tokens": 10}}  # fmt: skip
    agent(shop, 'case "$1" in *"does not meet"*) sed -i "s/= set(ys)/= frozenset(ys)/" numbers_.py ;; esac')
    shop.beside("agent.sh", (shop.home / "agent.sh").read_text().replace("echo done", f"echo '{json.dumps(result)}'"))
    settings = (shop.root / "bakeoff.toml").read_text().replace("[agents.fake]", '[agents.fake]\nlike = "claude"')
    shop.write("bakeoff.toml", f"max_usd = 0.4\n{settings}")
    found = shop.optimize("--agent", "fake", "--candidate", fast, "--refinements", "1", "--max-cost", "0.8")
    nothing, mended = [one for one in found["candidates"] if one["origin"].startswith("agent/")]
    assert nothing["reason"] == "invalid"
    assert mended["origin"].startswith("agent/fake/refine/")
    assert mended["verdict"] in ("ACCEPT", "REJECT")
    assert mended["receipt"]["behaviour"]
    assert mended["parent"]
    assert (found["usage"]["usd"], found["usage"]["calls"]) == (0.6, 2)
    assert "fake cannot be held to what is reserved for a call" in shop.said
    assert "times as fast as the original" in (shop.home / "asked").read_text().split("\n---\n")[1]


def test_an_agent_that_fails_is_said_and_ends_nothing_else(shop: Shop) -> None:
    agent(shop, "echo 'no such key' >&2; exit 3")
    found = shop.optimize("--agent", "fake", "--candidate", shop.beside("fast.py", FAST), "--refinements", "0")
    assert found["winner"].endswith("fast.py")
    assert len(found["candidates"]) == 1
    assert "source agent/fake: fake exited with code 3: no such key" in shop.said


def test_budgets_are_taken_up_with_other_ceilings_alone() -> None:
    asked = OptimizeOptions("a.py:f", models=("m",), max_calls=2)
    assert asked.with_inputs({"max_calls": "5"}).ceilings == {"calls": 5}
    wrong = ("samples", "3"), ("max_cost", "much"), ("max_cost", "nan"), ("max_calls", "0"), ("seconds", "-1")
    for name, value in wrong:
        with pytest.raises(BakeoffError, match=name):
            asked.with_inputs({name: value})
    with pytest.raises(BakeoffError, match="at least 1"):
        OptimizeOptions("a.py:f", samples=0)
    with pytest.raises(BakeoffError, match="nothing to try"):
        OptimizeOptions("a.py:f", rules=False)


def test_what_is_announced(tmp_path: Path) -> None:
    settings = Settings(agents={"one": AgentSettings(argv=("sh",), events="codex", price_in=1.0, price_out=1.0)})
    hired = paid_sources(OptimizeOptions("a.py:f", agents=("one",), max_tokens=500), settings, str(tmp_path))
    assert hired.lanes == {"agents": 4}
    assert "at most 5 calls of one" in hired.announcement()
    assert hired.announcement().endswith("so calls under way may go over")
    hired.models["local"] = cast("Any", None)
    assert "4 requests to the local model, which cost nothing" in hired.announcement()


def left(shop: Shop) -> list[str]:
    """Processes that carry the marker of a run of this project."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environ = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"BAKEOFF_RUN={shop.root}".encode() in environ:
            found.append(process.name)
    return found


def test_killed_no_agent_goes_on_and_none_that_had_ended_is_asked_again(shop: Shop) -> None:
    fast = shop.beside("fast.py", FAST)
    home = shop.home
    hang = f"touch {home}/hung; echo hung > {home}/told; exec sleep 1000"
    once = f"[ $BAKEOFF_ATTEMPT = 1 ] || [ -e {home}/hung ] || {{ {hang}; }}"
    agent(shop, f"echo $BAKEOFF_ATTEMPT >> {home}/calls\n{once}\ncp {fast} numbers_.py")
    os.mkfifo(shop.home / "told")
    asked = ("--no-rules", "--agent", "fake", "--agent-samples", "2", "--run-id", "r", "--repairs", "0")
    with shop.spawn("optimize", "numbers_.py:common", *asked, "--refinements", "0", *RECORDED) as process:
        while "behaves the same" not in process.stderr.readline():
            pass
        assert (shop.home / "told").read_text() == "hung\n"  # a pipe: whoever reads waits for whoever writes
        assert left(shop)
        process.kill()
        process.communicate(timeout=60)
    found = json.loads(shop("resume", "r", "--json"))
    assert left(shop) == []
    assert sorted((shop.home / "calls").read_text().split()) == ["1", "2", "2"]
    assert [one["verdict"] for one in found["candidates"]] == ["ACCEPT", "SKIP"]
    assert found["usage"]["calls"] == 3


BENCH = ("--bench", "sh work.sh", "--seconds", "60", "--sandbox", "none", "--check", "sh work.sh | grep -q 42")


def test_an_agent_makes_a_command_of_no_known_language_faster(shop: Shop) -> None:
    shop.write("work.sh", "sleep 0.06\necho sum 42\n")
    agent(shop, '[ "$BAKEOFF_ATTEMPT" = 1 ] && echo "echo sum 42" > work.sh || echo "echo 41" > work.sh')
    shop.git("add", "-A")
    shop.git("commit", "-qm", "work")
    found = shop.optimize(*BENCH, "--agent", "fake", "--agent-samples", "2", "--refinements", "1", "--run-id", "r")
    assert found["winner"] == "agent/fake/propose/1", found
    reasons = {one["origin"]: one["reason"] for one in found["candidates"]}
    assert reasons["agent/fake/propose/2"] == "check-failed"
    asked = (shop.home / "asked").read_text()
    assert "sh work.sh" in asked
    assert found["usage"]["calls"] == asked.count("\n---\n")
    shop("apply", "r")
    assert (shop.root / "work.sh").read_text() == "echo sum 42\n"


@pytest.mark.soak(only=True)
def test_a_model_s_function_is_timed_by_a_command(shop: Shop) -> None:
    slow = SLOW.replace("def ", "import time\n\n\ndef ", 1).replace("    found", "    time.sleep(0.06)\n    found", 1)
    assert slow.count("sleep") == 1
    shop.write("numbers_.py", slow)
    with ScriptedModel(in_order(fenced(WRONG), fenced(FAST)), tools=False) as server:
        priced(shop, server)
        shop.git("add", "-A")
        shop.git("commit", "-qm", "slow")
        command = "python -c 'import numbers_; print(numbers_.common([1, 2], [2]))'"
        found = shop.optimize(
            "--bench", command, "--model", "mine", "--samples", "2", "--repairs", "0", "--refinements", "0"
        )
    assert found["winner"].startswith("model/mine/"), found
    assert sorted(one["verdict"] for one in found["candidates"]) == ["ACCEPT", "REJECT"]
    assert found["bench"]["verified"] is True
    assert found["usage"]["calls"] == 2


@pytest.mark.parametrize("call", [2, pytest.param(1, marks=pytest.mark.soak(only=True))])
def test_killed_after_its_agent_has_ended_it_goes_on_from_what_that_made(shop: Shop, call: int) -> None:
    """The first call makes a version, the second goes on with one of another source, whose commit is made anew."""
    fast = shop.beside("fast.py", FAST)
    other = "sed -i 's/= set(ys)/= frozenset(ys)/' numbers_.py"
    agent(shop, f'case "$1" in *"does not meet"*) {other} ;; *) echo "# tried" >> notes.txt ;; esac')
    argv = [
        "optimize",
        "numbers_.py:common",
        "--no-rules",
        "--agent",
        "fake",
        "--candidate",
        fast,
        "--refinements",
        "1",
        *RECORDED,
    ]
    zygote = Zygote()
    try:
        status = zygote.call(
            {
                "cwd": str(shop.root),
                "argv": [*argv, "--no-rules", "--run-id", "r", "--max-calls", "2"],
                "env": dict(os.environ),
                "stdout": str(shop.home / "out"),
                "stderr": str(shop.home / "err"),
                "crash": {"in": "bakeoff.engine.run:Run.checkpoint", "when": "after", "nth": call},
            }
        )
    finally:
        zygote.close()
    assert status == -signal.SIGKILL, (shop.home / "err").read_text()
    found = json.loads(shop("resume", "r", "--json", status=4))  # a third call does not fit
    assert (found["usage"]["calls"], (shop.home / "asked").read_text().count("\n---\n")) == (2, 2)
    assert "made again" not in shop.said
    assert any(one["origin"].startswith("agent/fake/refine/") for one in found["candidates"])
