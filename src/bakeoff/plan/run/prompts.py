"""Prompt of a subplan's agent: goal, scope, what it may write, its neighbours and their interfaces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from bakeoff.plan.run.plan import Plan, Subplan

MOST_FILES = 60
"""Files that are listed by name."""

MOST_NEIGHBOURS = 12

_WHOLE = """{goal}

This is one part of a larger change; others work on the rest at the same time, each in a work tree of their own.
{own}{scope}{writes}{neighbours}{interfaces}
Do your part only. All parts are merged and tested together afterwards."""


def prompt_of(plan: Plan, subplan: Subplan, interfaces: Mapping[str, Sequence[str]], more: str | None = None) -> str:
    """The prompt of a subplan.

    Args:
        plan: that it is part of.
        subplan: which one; its own prompt is taken where it has one.
        interfaces: lines of files outside of it that it should know.
        more: what went wrong with what was made before.
    """
    text = subplan.prompt
    if text is None:
        text = _WHOLE.format(
            goal=plan.goal,
            own=_part("Your part", subplan.goal),
            scope=_part("The files of your part", _listed(subplan.files)),
            writes=_part("You may write these and nothing else", _listed(subplan.declared)),
            neighbours=_part("The other parts", _neighbours(plan, subplan)),
            interfaces=_part(
                "Outside of your part, files of yours use this; others may be changing it, so keep to what is here",
                "\n".join(f"{path}\n" + "\n".join(f"    {line}" for line in interfaces[path]) for path in interfaces),
            ),
        )
    return text if more is None else f"{text}\n\n{more}"


def _part(title: str, body: str) -> str:
    return f"\n{title}:\n{body}\n" if body else ""


def _listed(names: Sequence[str]) -> str:
    shown = [f"  {name}" for name in names[:MOST_FILES]]
    return "\n".join([*shown, f"  and {len(names) - MOST_FILES} more"] if len(names) > MOST_FILES else shown)


def _neighbours(plan: Plan, subplan: Subplan) -> str:
    used, siblings, others = [], [], []
    for other in plan.subplans:
        if other.name == subplan.name:
            continue
        if not set(other.files).isdisjoint(subplan.uses) or other.name in subplan.after:
            used.append(other)
        elif other.parent == subplan.parent:
            siblings.append(other)
        else:
            others.append(other)
    ordered = [*used, *siblings, *others]
    lines = [f"  {other.name}: {other.goal or _where(other)}" for other in ordered[:MOST_NEIGHBOURS]]
    return "\n".join([*lines, *([f"  and {len(ordered) - MOST_NEIGHBOURS} more"] * (len(ordered) > MOST_NEIGHBOURS))])


def _where(subplan: Subplan) -> str:
    files = subplan.declared
    return f"{', '.join(files[:3])}{f' and {len(files) - 3} more' if len(files) > 3 else ''}" or "the rest"


def version_of(prompt: str, start: str, meaning: object, salt: int) -> str:
    """Version of a subplan: a digest of all that its results depend on.

    Args:
        prompt: what the agent is told.
        start: the tree that it starts from.
        meaning: agent, checks and what else matters; JSON types.
        salt: how often somebody asked for other results.
    """
    text = json.dumps([prompt, start, meaning, salt], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:10]
