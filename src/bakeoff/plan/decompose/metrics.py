"""Metrics of a split: cut imports, fill, depth, torn directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from bakeoff.plan.decompose.hierarchy import Node
from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.links import Links


def metrics(
    nodes: Mapping[str, Node],
    leaves: Sequence[Sequence[int]],
    paths: Sequence[str],
    tokens: Sequence[int],
    links: Links,
    limits: Limits,
) -> dict[str, Any]:
    """The numbers of a split.

    Returns: `files`, `tokens`, `leaves`, `depth`; `fan_out`, the most children of a node; `fill`, how full leaves are
    on average; `over_limit`, leaves of several files beyond the limits (never any); `oversize`, files that alone are
    beyond them; `edges`, imports between the files; `cut`, the part of these between leaves, and `cut_without_hubs`,
    the same of those that touch no hub (both None without imports); `hubs`, files; `torn`, the part of the
    directories that would fit one leaf but are spread over several.
    """
    leaf_of = {file: at for at, leaf in enumerate(leaves) for file in leaf}
    plain = [pair for pair in links.imports if pair[0] not in links.hubs and pair[1] not in links.hubs]
    found = [node for node in nodes.values() if not node.children]
    over = [leaf for leaf in found if not limits.fit(len(leaf.files), leaf.tokens)]
    fills = [min(1.0, limits.weight(len(leaf.files), leaf.tokens)) for leaf in found]
    return {
        "files": len(paths),
        "tokens": sum(tokens),
        "leaves": len(found),
        "depth": max((node.depth for node in found), default=0),
        "fan_out": max((len(node.children) for node in nodes.values()), default=0),
        "fill": round(fmean(fills), 4) if fills else None,
        "over_limit": len(over),
        "oversize": sum(leaf.oversize for leaf in found),
        "edges": len(links.imports),
        "cut": _cut(links.imports, leaf_of),
        "cut_without_hubs": _cut(plain, leaf_of),
        "hubs": sum(len(leaf.files) for leaf in found if leaf.hub),
        "torn": _torn(leaf_of, paths, tokens, links, limits),
    }


def _cut(pairs: Sequence[tuple[int, int]], leaf_of: Mapping[int, int]) -> float | None:
    if not pairs:
        return None
    return round(sum(leaf_of[a] != leaf_of[b] for a, b in pairs) / len(pairs), 4)


def _torn(
    leaf_of: Mapping[int, int], paths: Sequence[str], tokens: Sequence[int], links: Links, limits: Limits
) -> float | None:
    directories: dict[str, list[int]] = {}
    for file, path in enumerate(paths):
        if file not in links.hubs:
            directories.setdefault(path[: path.rfind("/") + 1], []).append(file)
    whole = [
        {leaf_of[file] for file in files}
        for files in directories.values()
        if len(files) > 1 and limits.fit(len(files), sum(tokens[file] for file in files))
    ]
    return round(sum(len(leaves) > 1 for leaves in whole) / len(whole), 4) if whole else None
