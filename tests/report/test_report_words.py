from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.engine.record import RunStatus
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup, one_line, path_text, visible
from bakeoff.report.words import counted, duration, has_no_winner, how_to_go_on, moment, size

HOSTILE = st.text(st.characters(), max_size=60) | st.text(
    "\x1b[]0;m<>&\"'\r\n\t\x07\u202e\u200f\x9b\ud800", max_size=40
)


@given(HOSTILE)
def test_nothing_visible_controls_a_terminal(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    for character in shown:
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )


@given(HOSTILE, st.integers(1, 50))
def test_one_line_is_one_line(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
    assert "\t" not in line


@given(HOSTILE)
def test_markup_cannot_end_a_quote_or_open_an_element(text: str) -> None:
    import html

    assert not set("<>\"'") & set(markup(text))
    assert html.unescape(markup(text)) == visible(text)


def test_colours_go_and_the_rest_is_written_out() -> None:
    assert visible("\x1b[1;31mred\x1b[0m\r\nnext\rover\x1b]0;title\x07") == "red\nnext\\x0dover\\x1b]0;title\\x07"
    assert visible("\u202eabc\ud800") == "\\u202eabc\\ud800"
    assert visible("Grüße, 世界") == "Grüße, 世界"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (-1, "0.00 s"), (0.004, "0.00 s"), (9.99, "9.99 s"), (9.999, "10.0 s"), (59.94, "59.9 s"),
     (59.99, "1 m 00 s"), (125, "2 m 05 s"), (3599.7, "1 h 00 m"), (7320, "2 h 02 m")],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (20_000_000, "20 MB"), (5_000_000_000_000, "5000 GB")],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_counts_and_moments() -> None:
    assert [counted(1, "item"), counted(2000, "item"), counted(2, "branch")] == ["1 item", "2,000 items", "2 branches"]
    assert moment(None) == "-"
    assert len(moment(1e9)) == 19


def test_a_run_that_goes_on_has_no_winner_yet() -> None:
    assert has_no_winner("run r", RunStatus.COMPLETED) == "run r has no winner"
    assert "yet" in has_no_winner("run r", RunStatus.RUNNING)


def test_how_a_stopped_run_is_taken_up_again() -> None:
    assert how_to_go_on("r", RunStatus.FAILED, "workflow") == "bakeoff resume r"
    spent = how_to_go_on("r", RunStatus.BUDGET_SPENT, "workflow")
    assert spent is not None
    assert spent.startswith("bakeoff resume r --edit FILE")
    assert "called again for run 'r r', with a higher budget" in str(
        how_to_go_on("r r", RunStatus.BUDGET_SPENT, "python")
    )
    for status in (RunStatus.COMPLETED, RunStatus.ABORTED, RunStatus.RUNNING, None):
        assert how_to_go_on("r", status, "workflow") is None


def test_a_path_is_one_line_with_all_that_is_in_it() -> None:
    assert path_text("a\nb\t\x1b[31mc\udcff\u202e.py") == r"a\nb\t\x1b[31mc\xff\u202e.py"
    assert path_text("src/Grüße.py") == "src/Grüße.py"


def test_a_diff_is_coloured_and_escaped() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n <b>\n--- old\n+&new\n\\ No newline\n"
    assert diff_markup(text + "diff --git a/y b/y\n--- a/y") == (
        '<pre><span class="quiet">diff --git a/x b/x</span>\n<span class="quiet">--- a/x</span>\n'
        '<span class="quiet">+++ b/x</span>\n<span class="quiet">@@ -1,2 +1,2 @@</span>\n &lt;b&gt;\n'
        '<span class="deleted">--- old</span>\n<span class="added">+&amp;new</span>\n'
        '<span class="quiet">\\ No newline</span>\n<span class="quiet">diff --git a/y b/y</span>\n'
        '<span class="quiet">--- a/y</span></pre>'
    )
