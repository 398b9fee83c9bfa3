from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.engine.record import RunStatus
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.report.diff_markup import MOST, MOST_OPEN, diff_markup
from bakeoff.report.escape import markup, one_line, path_text, visible
from bakeoff.report.words import counted, duration, has_no_winner, moment, size

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
        '<details class="diff" open><summary>x <span class="more-lines">+1</span> '
        '<span class="fewer-lines">-1</span></summary><pre><span class="hunk">@@ -1,2 +1,2 @@</span>'
        '<span> &lt;b&gt;</span><span class="deleted">--- old</span><span class="added">+&amp;new</span>'
        '<span class="hunk">\\ No newline</span></pre></details>\n'
        '<details class="diff" open><summary>y <span class="more-lines">+0</span> '
        '<span class="fewer-lines">-0</span></summary><pre></pre></details>\n'
    )


def test_a_long_diff_is_folded_but_for_its_first_file() -> None:
    text = "".join(f"diff --git a/{name} b/{name}\n@@ -1 +1 @@\n" + "+x\n" * MOST_OPEN for name in ("one", "two"))
    page = diff_markup(text)
    assert (page.count("<details"), page.count(" open>")) == (2, 1)
    assert f'two <span class="more-lines">+{MOST_OPEN:,}</span>' in page
    assert "lines more" not in page
    assert "and 1 lines more" in diff_markup("+x\n" * (MOST + 1))


def test_what_a_diff_says_of_a_file_without_lines_is_told() -> None:
    page = diff_markup("diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n")
    assert "<summary>a/old b/new" in page
    assert "rename to new" in page
    gone = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert "<summary>x <" in diff_markup(gone)
    assert "deleted file mode" in diff_markup(gone)
