"""End of `make demo`; what it runs has tests of its own (`test_stubs.py`, `optimize/test_example.py`)."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # it is longer afterwards
    spec = importlib.util.spec_from_file_location("demo", FILE)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_page_leads_to_all_three(demo) -> None:
    assert re.findall(r'href="([^"]+)"', demo.contents()) == ["tests.html", "solved.py", "optimize.html"]


def test_each_result_is_announced_and_the_last_line_says_where_all_are(demo, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(demo, "DEMOS", [("one", "one.html", lambda: None), ("two", "two.html", lambda: None)])
    monkeypatch.setattr(demo, "has_screen", lambda: False)
    demo.main()
    said = capsys.readouterr().out
    assert "== 2 of 2: two" in said
    assert said.endswith(f"See {tmp_path / 'index.html'}\n")
    assert (tmp_path / "index.html").is_file()


def test_a_browser_is_opened_only_where_there_is_a_screen(demo, tmp_path, monkeypatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(demo, "DEMOS", [])
    monkeypatch.setattr(demo.webbrowser, "open", opened.append)
    monkeypatch.setattr(demo.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    demo.main()
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    demo.main()
    assert opened == [(tmp_path / "index.html").as_uri()]
