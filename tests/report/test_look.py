"""Colours of report pages can be read on all grounds they stand on, by day and by night (WCAG 2, level AA)."""

from __future__ import annotations

import re

import pytest

from bakeoff.report.look import STYLE

TEXTS = ("fg", "quiet", "completed", "failed", "paused", "running", "skipped", "cancelled")
GROUNDS = ("bg", "card")


def palettes() -> list[dict[str, str]]:
    """The colours by name: by day, and by night."""
    return [
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    ]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_is_right() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("palette", palettes(), ids=["day", "night"])
def test_every_text_can_be_read(palette: dict[str, str]) -> None:
    pairs = [(text, ground) for text in TEXTS for ground in GROUNDS]
    pairs += [("fg", "added"), ("fg", "deleted"), *(("bg", tone) for tone in TEXTS)]
    low = {pair: round(contrast(palette[pair[0]], palette[pair[1]]), 2) for pair in pairs}
    assert {pair: value for pair, value in low.items() if value < 4.5} == {}
