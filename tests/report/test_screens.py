"""Report pages of all jobs in a real browser: phone to large screen, light and dark.

Runs where there is a Chromium and Playwright's package (extra `screens`); BAKEOFF_SCREENSHOTS=FOLDER keeps what is
seen.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from attempt.conftest import FIX, lab
from bakeoff.engine.record import Status
from bakeoff.optimize.page import optimisation, optimisation_verdict
from bakeoff.plan.decompose.decompose import decompose
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.decompose.limits import hard_limits
from bakeoff.plan.decompose.page import hierarchy_page
from bakeoff.report.page import report_page
from bakeoff.settings.plan import PlanSettings
from optimize.test_reporting import found
from plan.queue.conftest import project
from plan.run.conftest import plans
from report.journals import META, end, fan_out, folder_of, run, start

__all__ = ["found", "lab", "plans", "project"]

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install '.[screens]'")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
    pytest.mark.filterwarnings("ignore"),  # of the driver's own
]

ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
LOOKS = [*product(("light", "dark"), (400, 1200, 2400)), ("light", 3840)]
HEIGHT = 900
KEPT = os.environ.get("BAKEOFF_SCREENSHOTS")
"""Read before a test clears its environment."""


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser; while it is open its driver's event loop runs, so runs of bakeoff come before."""
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


def look(name: str, html: str, place: Path, banner: bool = True) -> None:
    """Open a page at all widths, by day and by night; nothing may stick out, fail, or hide the verdict."""
    file = place / f"{name}.html"
    file.write_text(html)
    with browsing() as browser:
        for scheme, width in LOOKS:
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            page, wrong = context.new_page(), []
            page.on("console", lambda message, wrong=wrong: wrong.append(message.text))
            page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
            page.goto(file.as_uri())
            keep(page, f"{name}-{width}-{scheme}.png", whole=name != "many" and width < 2400)
            assert wrong == []
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert page.evaluate("[...document.querySelectorAll('p, .verdict')].every(one => one.clientWidth < 1800)")
            assert set(page.evaluate("[...document.querySelectorAll('th')].map(one => one.scope)")) <= {"col", "row"}
            if banner:
                below = page.evaluate("document.querySelector('.verdict .words').getBoundingClientRect().bottom")
                assert below < HEIGHT
            context.close()


def keep(page: Any, name: str, whole: bool) -> None:
    """A picture of the page, where somebody wants to see it."""
    if KEPT:
        Path(KEPT).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(KEPT) / name, full_page=whole)


@contextmanager
def opened(html: str, place: Path) -> Iterator[Any]:
    (place / "page.html").write_text(html)
    with browsing() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": HEIGHT})
        page.goto((place / "page.html").as_uri())
        yield page


def test_attempts(lab: Any, tmp_path: Path) -> None:
    wrong = "echo '# nothing that helps' >> calc.py"
    lab.agent(f"if [ $BAKEOFF_ATTEMPT = 3 ]; then {FIX}; else {wrong}; fi")
    assert lab.attempt("--attempts", "3", check="python -m pytest -q").status == 0
    look("attempt", lab("report", "r", "-o", "-").out, tmp_path)


def test_attempts_without_a_winner(lab: Any, tmp_path: Path) -> None:
    lab.agent("echo '# no' >> calc.py")
    assert lab.attempt("--attempts", "2").status == 3
    page = lab("report", "r", "-o", "-").out
    assert "Nothing passed, of 2 attempts." in page
    look("attempt-none", page, tmp_path)


def test_an_optimisation(found: Any, tmp_path: Path) -> None:
    diff = (
        "diff --git a/mod.py b/mod.py\n--- a/mod.py\n+++ b/mod.py\n@@ -1,3 +1,2 @@\n def f():\n-    a\n-    b\n+    c\n"
    )
    folder = folder_of(tmp_path / "run", META, run("running", 9.0), run("completed", 20.0, seconds=11.0))
    page = "".join(report_page(folder, optimisation(found, diff * 3), optimisation_verdict(found)))
    look("optimize", page, tmp_path)


def test_a_merge(project: Any, tmp_path: Path) -> None:
    for number in range(1, 5):
        project.branch(f"r{number}", {f"m{number}": "x\n"})
    project.branch("left", {"hub": "one side\n"})
    project.branch("right", {"hub": "another side\n"})
    project.branch("worse", {"bad": "x\n"})
    assert project.merge("r1", "r2", "r3", "r4", "left", "right", "worse").status == 3
    look("merge", project.lab("report", "r", "-o", "-").out, tmp_path)


def test_a_plan(plans: Any, tmp_path: Path) -> None:
    parts = [
        plans.part("one", "echo 1 > a/x.txt"),
        {"name": "group", "subplans": [plans.part("deeper", "echo 2 > b/x.txt"), plans.part("fails", "exit 1")]},
        plans.part("waits", "true", after=["fails"]),
    ]
    plans.run(parts, status=3)
    look("plan", plans.lab("report", "r", "-o", "-").out, tmp_path)


def test_a_decomposition(tmp_path: Path) -> None:
    files = [SourceFile(f"src/part{number % 7}/module{number}.py", 400) for number in range(60)]
    config = PlanSettings(max_files_per_subplan=5)
    page = hierarchy_page(decompose(files, config), hard_limits(config), "A project", ["60 files"])
    look("hierarchy", "".join(page), tmp_path, banner=False)


def test_a_workflow_that_failed(tmp_path: Path) -> None:
    output = {"stderr": "Traceback\n" * 30 + "x" * 500}
    failed = end("test", Status.FAILED, 11.0, 4.0, error="exit status 1", output=output)
    begun = (META, run("running", 9.0), start("build"), end("build"), start("test", 11.0))
    folder = folder_of(tmp_path / "run", *begun, failed, run("failed", 15.0, error="test: exit status 1"))
    look("workflow", "".join(report_page(folder)), tmp_path)


def test_ten_thousand_items(tmp_path: Path) -> None:
    html = "".join(report_page(folder_of(tmp_path / "run", *fan_out(10_000))))
    look("many", html, tmp_path)
    with opened(html, tmp_path) as page:
        ready = page.evaluate("performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart")
        assert ready < 8000  # it takes about half a second, and longer beside other tests
        explore(page)


def explore(page: Any) -> None:
    """Portions, sorting, filters and links of ten thousand rows."""
    visible = "[...document.querySelectorAll('#steps tbody tr')].filter(row => row.checkVisibility())"
    assert page.evaluate(f"{visible}.length") == 500
    page.click("text=Show 500 more")
    assert page.evaluate(f"{visible}.length") == 1000
    # By time, longest first; then as it was.
    took = page.locator("#steps thead button", has_text="Took")
    took.click()
    took.click()
    assert page.locator("#steps th", has_text="Took").first.get_attribute("aria-sort") == "descending"
    values = page.evaluate(f"{visible}.slice(1, 400).map(row => parseFloat(row.cells[4].dataset.v))")
    assert values == sorted(values, reverse=True)
    took.press("Enter")
    assert page.evaluate(f"{visible}[1].textContent").startswith("shard:0")
    page.select_option("#s", "failed")
    assert page.evaluate(f"{visible}.length") == 100
    page.fill("#q", "item 99")
    api.expect(page.locator("#n")).to_have_text(re.compile("^3 of "))
    # A link leads to its row also where that is filtered out, or further down.
    page.evaluate("location.hash = 'n9500'")
    api.expect(page.locator("#n9500")).to_be_visible()


def test_words_numbers_and_gaps_sort_by_key(found: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", META, run("completed", 10.0))
    with opened("".join(report_page(folder, optimisation(found, None))), tmp_path) as page:
        table = page.locator("[aria-label=Candidates] table")
        firsts = "table => [...table.tBodies[0].rows].map(row => parseInt(row.cells[0].textContent))"
        table.locator("button", has_text="speed-up").focus()
        for order in ([3, 1, 2, 4], [2, 1, 3, 4], [1, 2, 3, 4]):  # what was not measured comes last
            page.keyboard.press("Enter")
            assert table.evaluate(firsts) == order
