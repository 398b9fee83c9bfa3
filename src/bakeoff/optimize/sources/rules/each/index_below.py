"""Functions that look through one list for a key, again and again, take what has the key from a dict.

As with `remember-below`, copies of the functions stand inside the target. The dict is filled when it is first asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.below import MOST, Below
from bakeoff.optimize.sources.rules.narrowing import Indexes, Narrowing, Scan, scans
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject
from bakeoff.optimize.sources.rules.traits import deep_stores


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    node = subject.node
    if isinstance(node, ast.AsyncFunctionDef) or subject.rebound or deep_stores(node):
        return
    below = Below(subject)
    below.look()
    found = [name for name in below.reached if below.repeated(name) and any(scans(below, name))]
    needed = below.above(found)
    below.keep_the_same(needed)
    places = {name: list(scans(below, name)) for name in found}
    if not any(places.values()) or len(needed) > MOST:
        return
    below.names = {name: subject.fresh(f"{name.rpartition('.')[2].lstrip('_')}_of") for name in needed}
    indexes = Indexes(subject)
    texts = []
    for name in needed:
        text = _nested(below, name, places.get(name, []), indexes)
        if text is None:
            return
        texts.append(text)
    rest = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if rest:
        text = subject.statements(rest, below.in_target())
        yield rewrite((rest, "\n".join([*indexes.texts, *texts, text])), assumes=below.assumes(needed))


def _nested(below: Below, name: str, places: list[Scan], indexes: Indexes) -> str | None:
    found = below.copied(name, Narrowing(below.reached[name], places, indexes) if places else None)
    if found is None:
        return None
    _, body, head = found
    whole = "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in body)
    return f"def {below.names[name]}({head}):\n{below.target.indented(whole)}"


RULE = Rule(
    "index-below",
    "A dict that is made once gives the items of a key; a function that looks for them goes through all in each call.",
    find,
    last=True,
)
