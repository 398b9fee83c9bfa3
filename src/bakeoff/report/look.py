"""How the HTML report looks, by day and by night, and the little it does by itself: filtering its table."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from bakeoff.report.escape import markup

_COLOUR_OF = {
    "completed": "completed",
    "failed": "failed",
    "aborted": "failed",
    "blocked": "failed",
    "budget_spent": "failed",
    "paused": "paused",
    "halted": "paused",
    "running": "running",
    "created": "running",
    "skipped": "skipped",
    "pending": "skipped",
    "cancelled": "cancelled",
}

_STATUS_STYLE = "".join(
    f"td .{name},li .{name}{{color:var(--{colour})}}svg .{name}{{fill:var(--{colour})}}"
    f".badge.{name}{{background:var(--{colour})}}\n"
    for name, colour in _COLOUR_OF.items()
)

_DEPTH_STYLE = "".join(f".d{depth}{{padding-left:{depth * 18}px}}" for depth in range(10))

STYLE = f"""
:root{{color-scheme:light dark;--fg:#1d2430;--bg:#fff;--quiet:#667085;--line:#e1e5ec;--card:#f6f8fb;
--completed:#2a9d5c;--failed:#d63b3b;--paused:#b7791f;--running:#2272d9;--skipped:#98a2b3;--cancelled:#a26bd1}}
@media(prefers-color-scheme:dark){{:root{{--fg:#e4e8ef;--bg:#14181f;--quiet:#98a2b3;--line:#2c3440;--card:#1c222c;
--completed:#3fbf77;--failed:#ff6b6b;--paused:#e0a94a;--running:#5aa2ff;--skipped:#667085;--cancelled:#c39bea}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:1280px;padding:24px;font:14px/1.5 system-ui,sans-serif;
color:var(--fg);background:var(--bg)}}
h1{{font-size:22px;margin:0 0 4px}}h2{{font-size:16px;margin:28px 0 8px}}
.quiet{{color:var(--quiet)}}.error{{color:var(--failed);white-space:pre-wrap;overflow-wrap:anywhere}}
.badge{{display:inline-block;padding:1px 10px;border-radius:10px;color:var(--bg);font-size:13px;vertical-align:3px}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:12px 0}}dt{{color:var(--quiet)}}
dd{{margin:0;overflow-wrap:anywhere}}
svg{{width:100%;height:auto;background:var(--card);border-radius:6px}}
svg text{{fill:var(--quiet);font-size:9px}}svg text.row{{text-anchor:end}}
svg .tick{{stroke:var(--line)}}svg .cut{{stroke:var(--paused);stroke-dasharray:3 2;stroke-width:2}}
table{{border-collapse:collapse;width:100%;table-layout:auto}}
th{{text-align:left;position:sticky;top:0;background:var(--bg)}}
th,td{{padding:3px 10px 3px 0;border-bottom:1px solid var(--line);vertical-align:top}}
.num{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}
tr:target{{background:var(--card);outline:2px solid var(--running)}}
pre{{margin:4px 0;padding:8px;max-height:320px;overflow:auto;background:var(--card);border-radius:4px;
font:12px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}}
pre .added{{color:var(--completed)}}pre .deleted{{color:var(--failed)}}
summary{{cursor:pointer;color:var(--quiet)}}
input,select{{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);
border-radius:4px;padding:3px 8px}}
{_STATUS_STYLE}{_DEPTH_STYLE}"""

SCRIPT = """
const q=document.getElementById('q'),s=document.getElementById('s'),n=document.getElementById('n');
const rows=[...document.querySelectorAll('#steps tbody tr')];let texts=null;
function filter(){const t=q.value.toLowerCase(),v=s.value;let k=0;
if(t&&!texts)texts=rows.map(r=>(r.textContent+' '+r.cells[0].title).toLowerCase());
rows.forEach((r,i)=>{const on=(!v||r.dataset.s===v)&&(!t||texts[i].includes(t));r.hidden=!on;k+=on});
n.textContent=k+' of '+rows.length}
let wait;q.oninput=()=>{clearTimeout(wait);wait=setTimeout(filter,150)};s.onchange=filter;
addEventListener('hashchange',()=>{const r=document.getElementById(location.hash.slice(1));
if(r&&r.hidden){q.value=s.value='';filter();r.scrollIntoView()}});filter();
"""


def page_head(title: str) -> str:
    """The beginning of a page with this style that may run `SCRIPT` and nothing else, up to what is in its body."""
    policy = f"default-src 'none'; style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}; base-uri 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{markup(title)}</title>'
        f"<style>{STYLE}</style></head><body>\n"
    )


def table_head(heads: Iterable[str]) -> str:
    """The beginning of a table, with its heads."""
    return f"<table><tr>{''.join(f'<th>{markup(head)}' for head in heads)}\n"


PAGE_END = f"<script>{SCRIPT}</script></body></html>\n"


def _digest(text: str) -> str:
    """What allows exactly this style or script, and nothing that was smuggled in."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
