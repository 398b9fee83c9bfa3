"""Steps of type `optimize`: real slots, sandboxes, tests and clocks."""

from __future__ import annotations

import json
import signal
import textwrap
import time
from contextlib import suppress
from typing import Any

import pytest

from bakeoff.engine.history import History
from bakeoff.engine.store import RunStore
from bakeoff.errors import JournalError
from optimize.conftest import FAST, SLOW, WRONG, Shop, shop  # noqa: F401  (the fixture)

HEAD = 'workflow: {id: flow, name: Flow, version: "1.0.0"}\nsteps:\n'


def write(shop: Shop, steps: str) -> str:  # noqa: F811
    return shop.beside("flow.yml", HEAD + textwrap.indent(textwrap.dedent(steps), "  "))


def step(shop: Shop, path: str) -> dict[str, Any]:  # noqa: F811
    found: dict[str, Any] = json.loads(shop("show", "r", "--json"))["steps"][path]
    return found


def test_the_winner_is_applied_and_later_steps_see_it(shop: Shop) -> None:  # noqa: F811
    fast, wrong = shop.beside("fast.py", FAST), shop.beside("wrong.py", WRONG)
    flow = write(
        shop,
        f"""
        - {{id: files, type: shell, run: "printf %s {fast}"}}
        - id: faster
          type: optimize
          target: numbers_.py:common
          candidates: ["{{{{ steps.files.output.stdout }}}}", "{wrong}"]
          rules: false
          seconds: 90
          apply: true
        - id: said
          type: shell
          run: echo {{{{ steps.faster.output.winner | sh }}}} {{{{ steps.faster.output.speedup.low | sh }}}}
    """,
    )
    shop("run", flow, "--run-id", "r")
    output = step(shop, "faster")["output"]
    assert output["winner"] == fast
    assert output["speedup"]["low"] > 1.05
    assert [one["verdict"] for one in output["candidates"]] == ["ACCEPT", "REJECT"]
    assert output["applied"]["changed"] == ["numbers_.py"]
    assert step(shop, "said")["output"]["stdout"].startswith(fast)
    assert (shop.root / "numbers_.py").read_text() == FAST
    assert "+    known = set(ys)" in shop("diff", "r")


def test_killed_it_goes_on_with_what_was_judged(shop: Shop) -> None:  # noqa: F811
    wrong, fast = shop.beside("wrong.py", WRONG), shop.beside("fast.py", FAST)
    flow = write(
        shop,
        f"""
        - id: faster
          type: optimize
          target: numbers_.py:common
          candidates: ["{wrong}", "{fast}"]
          rules: false
          seconds: 90
        - id: none
          type: optimize
          target: numbers_.py:common
          candidates: "{wrong}"
          rules: false
        - {{id: said, type: shell, run: echo done}}
        """,
    )
    with shop.spawn("run", flow, "--run-id", "r", stderr=None) as process:
        history = wait_for(shop, "faster/candidate:2/behaviour")
        process.send_signal(signal.SIGKILL)
    assert "faster" not in history.records
    shop("resume", "r")
    output = step(shop, "faster")["output"]
    assert (output["winner"], len(output["candidates"])) == (fast, 2)
    assert step(shop, "faster/baseline:2")["status"] == "completed"
    judged = step(shop, "faster/candidate:2/behaviour")
    assert judged["ended_at"] == pytest.approx(history.records["faster/candidate:2/behaviour"].ended_at)
    assert step(shop, "none")["output"]["winner"] is None
    assert step(shop, "said")["status"] == "completed"


def wait_for(shop: Shop, path: str) -> History:  # noqa: F811
    """The run's history as soon as that node has ended."""
    folder = RunStore(shop.root).runs / "r"
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if (folder / "journal.db").exists():
            with suppress(JournalError):
                history = RunStore(shop.root).open("r").history()
                if path in history.records:
                    return history
        time.sleep(0.05)
    raise AssertionError(f"{path} has not ended")


def test_what_cannot_be_done_is_the_steps_failure(shop: Shop) -> None:  # noqa: F811
    flow = write(
        shop,
        """
        - {id: one, type: optimize, target: "numbers_.py:comon", continue_on_error: true}
        - {id: two, type: optimize, target: "numbers_.py", continue_on_error: true}
        - {id: three, type: optimize, target: "numbers_.py:common", rules: false, continue_on_error: true}
    """,
    )
    shop("run", flow, "--run-id", "r")
    assert "common" in step(shop, "one")["error"]
    assert "function" in step(shop, "two")["error"]
    assert "nothing to try" in step(shop, "three")["error"]


def test_a_command_is_timed_in_place_of_a_function(shop: Shop) -> None:  # noqa: F811
    shop.write("work.sh", "sleep 0.06\necho 42\n")
    fast, wrong = shop.beside("fast.sh", "echo 42\n"), shop.beside("wrong.sh", "echo 41\n")
    flow = write(
        shop,
        f"""
        - id: faster
          type: optimize
          target: work.sh
          bench: sh work.sh
          check: sh work.sh | grep -q 4
          check_timeout: 60
          candidates: ["{fast}", "{wrong}"]
          sandbox: none
          seconds: 60
          apply: true
        - id: none
          type: optimize
          target: work.sh
          bench: exit 5
          candidates: "{wrong}"
          sandbox: none
          continue_on_error: true
    """,
    )
    shop.git("add", "-A")
    shop.git("commit", "-qm", "work")
    shop("run", flow, "--run-id", "r")
    output = step(shop, "faster")["output"]
    assert output["winner"] == fast
    assert output["verified"] is True
    assert [one["reason"] for one in output["candidates"]] == ["faster", "output-differs"]
    assert step(shop, "faster")["input"]["checks"] == ["sh work.sh | grep -q 4"]
    assert (shop.root / "work.sh").read_text() == "echo 42\n"
    assert step(shop, "none")["status"] == "failed"
    assert "the command ends with status 5" in step(shop, "none")["error"]
    neither = shop.beside("neither.yml", HEAD + "  - {id: one, type: optimize}\n")
    assert "nothing to make faster" in shop("validate", neither, status=1) + shop.said
