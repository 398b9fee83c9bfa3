"""A unified diff as HTML: added and deleted lines in colours of their own."""

from __future__ import annotations

from bakeoff.report.escape import markup

MOST = 20_000
"""Lines that are shown; the rest is counted."""


def diff_markup(text: str) -> str:
    """The diff, escaped, in a `pre`."""
    lines = text.splitlines()
    shown, inside = [], False
    for line in lines[:MOST]:
        if line.startswith("diff --git "):
            inside = False
        if line.startswith("@@"):
            inside = True
        sign = line[:1] if inside else ""
        kind = {"+": "added", "-": "deleted", " ": ""}.get(sign, "quiet")
        shown.append(f'<span class="{kind}">{markup(line)}</span>' if kind else markup(line))
    if len(lines) > MOST:
        shown.append(f'<span class="quiet">and {len(lines) - MOST:,} lines more</span>')
    return f"<pre>{chr(10).join(shown)}</pre>"
