"""Files split into a hierarchy of subplans: directories first, then repaired, then refined by who imports whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bakeoff.plan.decompose.assemble import assemble
from bakeoff.plan.decompose.directory_split import Branch, depth_allowed
from bakeoff.plan.decompose.draft import Draft, Start, packed, split_of
from bakeoff.plan.decompose.explanation import Why
from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile
from bakeoff.plan.decompose.limits import aimed_at, check, hard_limits
from bakeoff.plan.decompose.links import Imports, Links, links_between
from bakeoff.plan.decompose.merge_small import repair
from bakeoff.plan.decompose.metrics import metrics
from bakeoff.plan.decompose.order import order_of
from bakeoff.plan.decompose.paths import in_path_order
from bakeoff.plan.decompose.refine import refine
from bakeoff.plan.decompose.warm_start import warm_start
from bakeoff.settings.plan import PlanSettings


def decompose(
    files: Iterable[SourceFile],
    config: PlanSettings | None = None,
    *,
    imports: Imports | None = None,
    previous: Hierarchy | None = None,
    root: str | None = None,
) -> Hierarchy:
    """Split `files` into subplans; the same files give the same hierarchy, in whatever order they come.

    Args:
        files: each once.
        config: the limits; the defaults where left out.
        imports: of a file's path, the paths it imports; without, directories alone decide.
        previous: an earlier hierarchy of nearly the same files: what is in it stays where it is, as far as the limits
            allow; one that is deeper than `max_depth` is not used.
        root: what absolute paths lie below.

    Raises:
        DecomposeError: a setting is out of its range, a path is not below the root, or a file is there twice.
    """  # noqa: DOC502 - they come out of the checks
    config = config or PlanSettings()
    check(config)
    ordered = in_path_order(files, root)
    paths = [path for path, _ in ordered]
    tokens = [count for _, count in ordered]
    links = links_between(paths, imports or {}, config.max_files_per_subplan)
    why = Why(paths, links, config.max_files_per_subplan)
    if previous is not None and previous.root is not None and _depth(previous) <= config.max_depth:
        draft, changed, new = warm_start(previous, paths, tokens, links, config, why)
    else:
        draft, changed, new = _cold_start(paths, tokens, links, config)
    aim = aimed_at(config)
    keep = config.min_files_per_subplan if config.split == "limits" else max(1, aim.files // 2)
    why.joined(repair(draft.leaves, tokens, links, aim, changed))
    why.moved(refine(draft.leaves, paths, tokens, links, aim, cohesion=config.cohesion, keep=keep, only=new))
    hubs = draft.with_hubs(config, depth_allowed(len(paths), config))
    return finished(draft, set(hubs), paths, tokens, links, config, why)


def _depth(hierarchy: Hierarchy) -> int:
    return max(node.depth for node in hierarchy.nodes.values())


def _cold_start(paths: Sequence[str], tokens: Sequence[int], links: Links, config: PlanSettings) -> Start:
    hubs = packed(sorted(links.hubs), tokens, hard_limits(config))
    others = [file for file in range(len(paths)) if file not in links.hubs]
    split = split_of(others, paths, tokens, config)
    tree = split.tree if isinstance(split.tree, Branch) else Branch([split.tree])
    return Start(Draft(split.leaves, tree, hubs))


def finished(
    draft: Draft,
    hubs: set[int],
    paths: Sequence[str],
    tokens: Sequence[int],
    links: Links,
    config: PlanSettings,
    why: Callable[[str], tuple[str, ...]],
) -> Hierarchy:
    """The hierarchy that a draft has become: its ids, its order and its metrics; `hubs` are numbers of leaves."""
    limits = hard_limits(config)
    made = assemble(draft.tree, draft.leaves, paths, tokens, limits, hubs)
    numbers = sorted(made.leaf_ids, key=lambda at: draft.leaves[at])
    leaves = [draft.leaves[at] for at in numbers]
    ids = [made.leaf_ids[at] for at in numbers]
    order = order_of(leaves, [at for at, number in enumerate(numbers) if number in hubs], links)
    groups = tuple(tuple(ids[at] for at in group) for group in order.groups)
    requires = {ids[at]: tuple(ids[other] for other in others) for at, others in enumerate(order.requires)}
    inner = sorted((node for node in made.nodes.values() if node.children), key=lambda node: (-node.depth, node.files))
    nodes = {leaf: made.nodes[leaf] for group in groups for leaf in group} | {node.id: node for node in inner}
    return Hierarchy(made.root, nodes, groups, requires, metrics(nodes, leaves, paths, tokens, links, limits), why)
