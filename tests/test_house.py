"""The house as documents describe it: a README for each floor, an architecture of a page, and files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/bakeoff"
FLOORS = sorted(path for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
READMES = sorted(PACKAGE.rglob("README.md"))
FILES = [str(file) for top in ("src", "tests", "docs", "examples") for file in (ROOT / top).rglob("*.py")]
NAMED = re.compile(r"`((?:[\w.]+/)*\w+\.py)`")
PLACEHOLDER = re.compile(r"NAME|X\.py|YOURS|echo")


def missing(document: Path) -> list[str]:
    """Files that a document names and that are nowhere."""
    named = sorted(set(NAMED.findall(document.read_text())))
    return [
        name for name in named if not PLACEHOLDER.search(name) and not any(file.endswith(f"/{name}") for file in FILES)
    ]


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.name)
def test_every_floor_has_a_readme(floor: Path) -> None:
    assert (floor / "README.md").is_file()


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: str(readme.parent.relative_to(PACKAGE)))
def test_a_readme_is_short_and_names_files_that_are_there(readme: Path) -> None:
    assert len(readme.read_text().splitlines()) <= 40
    assert missing(readme) == []


def test_the_architecture_is_one_page_and_names_files_that_are_there() -> None:
    page = ROOT / "docs/architecture.md"
    assert len(page.read_text().splitlines()) <= 80
    assert missing(page) == []
