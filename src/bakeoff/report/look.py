"""Style and script that all report pages share, inlined and allowed by their digests alone."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from bakeoff.report.escape import markup

_ASSETS = Path(__file__).parent / "assets"

STYLE = (_ASSETS / "look.css").read_text("utf-8")
"""By day and by night, from 400 pixels to 3,840."""

SCRIPT = (_ASSETS / "page.js").read_text("utf-8")
"""Tables that sort, filter and show many rows in portions."""


def page_head(title: str) -> str:
    """The beginning of a page with this style that may run `SCRIPT` and nothing else, up to what is in its body."""
    policy = f"default-src 'none'; style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}; base-uri 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{markup(title)}</title>'
        f"<style>{STYLE}</style></head><body><main>\n"
    )


PAGE_END = f"</main><script>{SCRIPT}</script></body></html>\n"


def _digest(text: str) -> str:
    """Hash source that allows exactly this style or script, and nothing that was smuggled in."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
