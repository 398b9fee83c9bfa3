"""Ceilings on calls, tokens and money."""

from __future__ import annotations

import json

import pytest

from attempt.conftest import FIX


def _claude(lab, script: str, usd: float) -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s",
              "num_turns": 1, "total_cost_usd": usd, "usage": {"input_tokens": 100, "output_tokens": 10}}  # fmt: skip
    said = f"cat <<'END'\n{json.dumps(result)}\nEND"
    lab.agent(script, say=said)
    file = lab.place / "fake.sh"
    argv = json.dumps(["sh", str(file), "{prompt}", ["{session}"], ["--max={max_usd}"]])
    lab.agents["fake"] = f'[agents.fake]\nlike = "claude"\nargv = {argv}\nwrites = {json.dumps(lab.writes)}\n'
    lab.settings("[lanes]\nagents = 1\n")


def test_a_ceiling_on_calls_stops_and_can_be_raised(lab):
    lab.agent('echo "# $BAKEOFF_ATTEMPT" >> calc.py')
    said = lab.attempt("--attempts", "5", "--max-calls", "2")
    assert said.status == 4, said
    assert sorted(lab.calls) == ["1", "2"]
    assert "at most 5 calls of fake; budget: 2 calls" in said.err
    assert "bakeoff resume r -i max_cost=USD" in said.out
    assert "closest: attempt 1" in said.out
    assert lab("resume", "r", "-i", "agent=other").status == 1
    assert lab("resume", "r", "-i", "max_calls=many").status == 1
    said = lab("resume", "r", "-i", "max_calls=4")
    assert said.status == 4, said
    assert sorted(lab.calls) == ["1", "2", "3", "4"]
    said = lab("resume", "r", "-i", "max_calls=5")
    assert said.status == 3, said
    assert sorted(lab.calls) == ["1", "2", "3", "4", "5"]


def test_a_winner_within_the_budget_is_a_winner(lab):
    lab.agent(f"[ $BAKEOFF_ATTEMPT = 1 ] && echo '# 1' >> calc.py || {FIX}")
    lab.settings("[lanes]\nagents = 1\n")
    assert lab.attempt("--attempts", "3", "--max-calls", "2").status == 0


def test_money_is_reserved_before_a_call_and_settled_after_it(lab):
    _claude(lab, f'echo "$@" >> {lab.place}/asked; echo "# $BAKEOFF_ATTEMPT" >> calc.py', 0.3)
    lab.settings("max_usd = 0.4\n[lanes]\nagents = 1\n")
    said = lab.attempt("--attempts", "5", "--max-cost", "1", "--json")
    assert said.status == 4, said
    # Each takes 0.3 of the 0.4 that are reserved, so that after three of them 0.1 is left.
    assert lab.calls == ["1", "2", "3"]
    assert said.json["usage"]["usd"] == pytest.approx(0.9)
    assert "--max=0.4" in (lab.place / "asked").read_text()
    assert [view["usage"]["usd"] for view in said.json["attempts"]] == [0.3, 0.3, 0.3]
    assert "$0.3" in lab("show", "r").out


def test_a_share_of_the_money_is_reserved_for_each_attempt(lab):
    _claude(lab, f'echo "$@" >> {lab.place}/asked; echo "# $BAKEOFF_ATTEMPT" >> calc.py', 0.4)
    said = lab.attempt("--attempts", "4", "--max-cost", "1", "--json")
    assert said.status == 4, said
    assert lab.calls == ["1", "2"]  # each took more than its share, so that a third share is not left
    assert "--max=0.25" in (lab.place / "asked").read_text()


def test_tokens_are_counted(lab):
    _claude(lab, 'echo "# $BAKEOFF_ATTEMPT" >> calc.py', 0.0)
    said = lab.attempt("--attempts", "4", "--max-tokens", "200", "--json")
    assert said.status == 4, said
    assert lab.calls == ["1", "2"]
    assert said.json["usage"]["tokens"] == 220


def test_a_call_that_does_not_say_its_tokens_used_all(lab):
    lab.agent(f"{FIX}; exit 3", more='events = "codex"')
    lab.settings("[lanes]\nagents = 1\n")
    said = lab.attempt("--attempts", "3", "--max-tokens", "1000")
    assert said.status == 4, said
    assert lab.calls == ["1"]


def test_unknown_prices_are_refused_at_the_start(lab):
    lab.agent(FIX)
    said = lab.attempt("--max-cost", "1")
    assert (said.status, said.out) == (1, "")
    assert "does not report what it costs" in said.err
    said = lab.attempt("--max-tokens", "1")
    assert said.status == 1
    assert "does not report how many it used" in said.err
    assert not lab.run.root.exists()


def test_a_permanent_error_stops_at_once_and_can_be_resumed(lab):
    lab.agent(f"[ -e {lab.place}/key ] || {{ echo 'error: 401 unauthorized' >&2; exit 1; }}; {FIX}")
    lab.settings("[lanes]\nagents = 1\n")
    said = lab.attempt("--attempts", "5")
    assert said.status == 1, said
    assert "401 unauthorized" in said.out
    assert len(lab.calls) <= 2
    (lab.place / "key").touch()
    assert lab("resume", "r").status == 0
