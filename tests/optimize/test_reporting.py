"""What is said of an optimisation that has ended: in lines, as a page, for a pull request."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from bakeoff.cli.output import print_json
from bakeoff.engine.record import RunStatus
from bakeoff.judge.timing.speed import Interval, Speed
from bakeoff.optimize.behaviour.differences import Difference
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.candidate_state import CandidateState
from bakeoff.optimize.markdown import block, markdown, text_of
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.page import optimisation, optimisation_verdict
from bakeoff.optimize.plot import plot
from bakeoff.optimize.sources.source import ProfileLine
from bakeoff.optimize.summary import cautions, cost, fallen, profiles, speedup_of, support
from bakeoff.optimize.table import explanation, profile_lines
from bakeoff.optimize.view import RunView

EVIL = "<script>alert(1)</script> ![x](http://a.example) @somebody |\n``` \x1b[2J"


def entrant(number: int, name: str, speed: Speed | None = None, judgement: Judgement | None = None) -> CandidateState:
    made = Candidate(name, {"mod.py": str(number).encode()}, note=f"idea {EVIL}", assumes=("pure",))
    return CandidateState(number, "rules", made, None, judgement or Judgement(None, "", {}), speed)


@pytest.fixture
def found() -> RunView:
    fast = Speed("faster", speedup=Interval(2.0, 1.8, 2.2), remeasured=True, pairs=20)
    also = Speed("faster", speedup=Interval(2.5, 1.5, None))
    slow = Speed("undecided", "the time is over", speedup=Interval(1.0, 0.0, None))
    differs = Difference("behaviour/return", f"test_{EVIL}", "f(1)", "2 instead of 1")
    run_view = RunView(OptimizeOptions("mod.py:f"), RunStatus.COMPLETED, winner=1, usage={"usd": 0.25})
    run_view.entrants = {
        1: entrant(1, "rules/good", fast),
        2: entrant(2, "rules/also", also),
        3: entrant(3, "files/slow.py", slow),
        4: entrant(4, f"files/{EVIL}", None, Judgement("behaviour/return", "2 instead of 1", {}, (differs,))),
    }
    run_view.baseline = {"tests": 3, "calls": 7, "recorded": 5, "derived": 60, "test_names": ["test_mod.py::test_a"]}
    run_view.races = [{1: fast, 2: also, 3: slow}]
    run_view.profiles = {
        0: (ProfileLine(2, 1, 0.1, "    x = 1"), ProfileLine(3, 9, 0.9, f"    slow({EVIL})")),
        1: (ProfileLine(2, 1, 0.1, "    x = 1"), ProfileLine(3, 1, 0.1, "    y = 2"), ProfileLine(4, 2, 0.2, "    z")),
    }
    return run_view


class Tags(HTMLParser):
    """The tags of a page, and that those which must be closed are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)


def test_each_other_candidate_has_a_why(found: RunView) -> None:
    told = {entrant.number: why for entrant, why in fallen(found)}
    assert told[2] == ["faster, too: 2.50x [1.50, -]"]
    assert told[3] == ["undecided: the time is over"]
    assert told[4][0] == "behaviour/return: 2 instead of 1"
    assert "f(1)" in told[4][1]
    assert 1 not in told
    assert any("slow.py: undecided" in line for line in explanation(found))


def test_support_cost_and_cautions(found: RunView) -> None:
    assert support(found) == "3 tests, 7 calls in them, 5 repeated and 60 derived"
    assert cost(found) == "0.25 usd"
    assert cautions(found, found.entrants[1]) == ["it relies on `pure`, which these tests alone show"]
    other = found.entrants[2]
    other.judgement = Judgement(None, "", {"judged_in_process": ["a", "b"]})
    assert cautions(found, other)[1:] == [
        "2 tests could be judged only in the candidate's own process",
        "the speed-up comes from the selection, not from a measurement of its own",
    ]
    assert speedup_of(found.entrants[4]) == "-"


def test_equal_lines_of_both_profiles_stand_beside_each_other(found: RunView) -> None:
    rows = profiles(found)
    assert [(left is None, right is None) for left, right in rows] == [(False, False), (False, False), (True, False)]
    (left, right), *_ = rows
    assert left is not None
    assert right is not None
    assert (left.line.text, right.line.text) == ("    x = 1", "    x = 1")
    assert left.share == pytest.approx(0.1)
    shown = profile_lines(found)
    assert len(shown) == 4
    assert "\x1b" not in "".join(shown)
    found.winner = None
    assert profiles(found) == profile_lines(found) == []


def test_the_page_has_all_and_nothing_from_outside_becomes_markup(found: RunView) -> None:
    page = "".join(optimisation(found, f"+{EVIL}"))
    tags = Tags(page).tags
    assert "script" not in tags
    assert tags.count("circle") == 3
    assert tags.count("table") == 2
    assert "&lt;script&gt;" in page
    assert "measured again" in page
    assert "\x1b" not in page
    found.winner, found.races = None, []
    page = "".join(optimisation(found, None))
    assert "svg" not in page


def test_the_verdict_is_a_sentence(found: RunView) -> None:
    found.result = {"commit": "c"}
    won = optimisation_verdict(found)
    assert won is not None
    assert won.words == "rules/good wins: 2.00 times as fast as the original (95\u00a0% interval: 1.80 to 2.20)."
    assert won.lands
    found.winner = None
    none = optimisation_verdict(found)
    assert none is not None
    assert none.words == "Nothing is decided, of 4 candidates."
    del found.entrants[3]
    none = optimisation_verdict(found)
    assert none is not None
    assert (none.words, none.lands) == (
        "Nothing was found that behaves the same and is faster, of 3 candidates.",
        False,
    )
    found.status = RunStatus.PAUSED
    assert optimisation_verdict(found) is None


def test_a_plot_of_extreme_speed_ups_stays_in_its_frame(found: RunView) -> None:
    found.races = [{1: Speed("faster", speedup=Interval(1e300, 1e-300, None)), 2: Speed("crash")}]
    drawn = "".join(plot(found))
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert drawn.count("<circle") == 1


def test_markdown_for_a_pull_request(found: RunView) -> None:
    text = "".join(markdown("r1", found, f"+ {EVIL}"))
    assert text.startswith("## mod.py:f: 2.00x &#91;1.80, 2.20&#93; as fast")
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", text)
    assert "<script>" not in outside
    assert "![" not in outside
    assert "@" not in outside
    assert text.count("| ACCEPT |") == 2
    assert "````diff\n" in text
    found.winner = None
    assert "no faster version" in "".join(markdown("r1", found, None))


def test_text_in_markdown_is_nothing_but_text() -> None:
    assert text_of("a|b\n@c <d>") == "a&#124;b &#64;c &#60;d&#62;"
    assert block("```") == "````\n```\n````\n"
    long = "".join(markdown("r", RunView(OptimizeOptions("m.py:f"), RunStatus.COMPLETED), "+x\n" * 500))
    assert "100 lines more" in long


def test_what_is_no_number_is_null(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print_json({"noise": math.inf, "all": (math.nan, 1.5, {"low": -math.inf})})
    assert capfdbinary.readouterr().out == b'{"noise": null, "all": [null, 1.5, {"low": null}]}\n'
