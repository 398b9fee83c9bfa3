"""Ceilings on calls, tokens and money."""

from __future__ import annotations

import json

import pytest

from attempt.conftest import FIX
from bakeoff.engine.retry import Retry


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
    assert "at most 5 calls of fake, 2 more in place of each that its model turns away; budget: 2 calls" in said.err
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
    assert "used: 1 call, tokens not reported\n" in said.out
    assert "tokens were not reported, so that all of the ceiling on them counts as used" in said.out
    # That it counts as more than the ceiling is nobody's business.
    report = lab("report", "r", "-o", "-").out
    assert report.count("tokens not reported") >= 2
    shown = lab("show", "r", "--json")
    for text in (said.out, lab("show", "r").out, shown.out, report):
        assert "1,001" not in text
        assert "1001" not in text.replace(report, "")
    assert shown.json["usage"] == {"calls": 1}
    assert shown.json["attempts"][0]["usage"]["tokens"] is None
    assert lab("resume", "r").status == 4
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


def test_tokens_and_named_prices_make_money(lab):
    done = {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 100}}
    said = {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}
    lines = "\n".join(json.dumps(line) for line in (said, done))
    more = 'events = "codex"\nprice_in = 100\nprice_out = 1000'
    lab.agent("echo '# x' >> calc.py", say=f"cat <<'END'\n{lines}\nEND", more=more)
    lab.settings("[lanes]\nagents = 1\n")
    said = lab.attempt("--attempts", "9", "--max-cost", "0.5", "--json", check="false")
    # Each takes 0.2 of the 0.5; the third begins with the 0.1 that are left.
    assert said.status == 4, said
    assert said.json["usage"]["usd"] == pytest.approx(0.6)
    assert [view["usage"]["usd"] for view in said.json["attempts"] if view["usage"]["usd"]] == [0.2, 0.2, 0.2]


def test_a_call_that_the_model_turned_away_is_made_again_and_the_pause_is_kept(lab):
    turned = "echo 'error: 429 too many requests, try again in 10ms' >&2; exit 1"
    lab.agent(f"if [ $(wc -l < {lab.place}/calls) -lt 3 ]; then echo half > half.txt; {turned}; fi; {FIX}")
    monkey = lab.monkeypatch
    monkey.setattr("bakeoff.sampling.attempt.session.TURNED_AWAY", Retry(delay=0.0, on=("rate_limit", "overload")))
    said = lab.attempt("--json")
    assert said.status == 0, said
    assert lab.calls == ["1", "1", "1"]
    assert "2 more in place of each" in said.err
    kept = [name for name in lab.refs() if name.startswith("salvage/r/attempt-1")]
    assert len(kept) == 2
    assert lab.content(lab.refs()[kept[0]], "half.txt") == "half\n"


def test_a_limit_for_hours_is_not_waited_for(lab):
    lab.agent("echo 'error: 429 usage limit reached, try again in 5 h' >&2; exit 1")
    said = lab.attempt()
    assert said.status == 1, said
    assert lab.calls == ["1"]
    assert "try again in 5 h" in said.out + said.err
    lab.agent(FIX)
    assert lab("resume", "r").status == 0  # the next morning


def test_a_format_that_tells_the_cost_tells_it_for_agents_of_your_own(lab):
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "total_cost_usd": 0.7}
    lab.agent('echo "# $BAKEOFF_ATTEMPT" >> calc.py', say=f"echo '{json.dumps(result)}'", more='events = "claude"')
    lab.settings("[lanes]\nagents = 1\n")
    said = lab.attempt("--attempts", "5", "--max-cost", "1")
    assert said.status == 4, said
    assert lab.calls == ["1", "2"]
    assert "1.4 usd; more than the 1 usd allowed" in said.out
