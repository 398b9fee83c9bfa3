"""Hierarchies whose parts come from outside: from subplans that somebody proposes, or from groups such as owners.

Whoever proposes subplans (a person's file, an agent, a model) hands in `Subplan`s; they are held to the same limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.plan.decompose.decompose import decompose, finished
from bakeoff.plan.decompose.directory_split import Branch
from bakeoff.plan.decompose.draft import Draft, narrowed
from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile
from bakeoff.plan.decompose.limits import check, hard_limits
from bakeoff.plan.decompose.links import Imports, links_between
from bakeoff.plan.decompose.paths import in_path_order
from bakeoff.plan.decompose.warm_start import tree_of
from bakeoff.plan.errors import DecomposeError
from bakeoff.settings.plan import PlanSettings

MOST_SAID = 20
"""Problems that one message names."""


@dataclass(frozen=True, slots=True)
class Subplan:
    """A part that somebody proposes.

    Attributes:
        name: what it is called; each name once.
        files: relative to the project's root.
    """

    name: str
    files: tuple[str, ...]
    goal: str = ""


def problems(subplans: Sequence[Subplan], files: Iterable[SourceFile], config: PlanSettings) -> Iterator[str]:
    """Problems of proposed subplans, in words.

    That is: names that are used twice, no files, files that are unknown or in two of them, more files or tokens than
    the limits allow.
    """
    limits = hard_limits(config)
    tokens = {file.path: max(1, file.tokens) for file in files}
    holder: dict[str, str] = {}
    names: set[str] = set()
    for subplan in subplans:
        if subplan.name in names:
            yield f"there are two subplans called {subplan.name!r}"
        names.add(subplan.name)
        if not subplan.files:
            yield f"subplan {subplan.name!r} has no files"
        for path in subplan.files:
            if path in holder:
                other = "twice in it" if holder[path] == subplan.name else f"in {holder[path]!r}, too"
                yield f"subplan {subplan.name!r}: {path} is {other}: a file has one subplan"
            elif path not in tokens:
                yield f"subplan {subplan.name!r}: {path} is not among the project's files"
            holder.setdefault(path, subplan.name)
        total = sum(tokens.get(path, 0) for path in subplan.files)
        if not limits.fit(len(subplan.files), total):
            yield (
                f"subplan {subplan.name!r} is too large: {len(subplan.files)} files and {total} tokens, where "
                f"{limits.files} and {limits.tokens} are allowed"
            )


def from_subplans(
    subplans: Sequence[Subplan],
    files: Iterable[SourceFile],
    config: PlanSettings | None = None,
    *,
    imports: Imports | None = None,
) -> Hierarchy:
    """A hierarchy whose leaves are these subplans; files that none of them has are left out.

    The leaf of a subplan has the id `assemble.leaf_id(sorted(subplan.files))`.

    Args:
        subplans: what was proposed.
        files: the project's.
        config: the limits; the defaults where left out.
        imports: of a file's path, the paths it imports; they give the order.

    Raises:
        DecomposeError: something is wrong with them; all of it is named.
    """
    config = config or PlanSettings()
    check(config)
    known = list(files)
    wrong = list(problems(subplans, known, config))
    if wrong:
        more = [f"and {len(wrong) - MOST_SAID} more"] if len(wrong) > MOST_SAID else []
        raise DecomposeError("\n".join(["these subplans cannot be used:", *wrong[:MOST_SAID], *more]))
    wanted = {path for subplan in subplans for path in subplan.files}
    ordered = in_path_order(file for file in known if file.path in wanted)
    number = {path: at for at, (path, _) in enumerate(ordered)}
    leaves = [sorted(number[path] for path in subplan.files) for subplan in subplans]
    draft = Draft(leaves, Branch([*range(len(leaves))]))
    return _put_together(draft, set(), ordered, config, imports, lambda path: ())


def by_groups(
    files: Iterable[SourceFile],
    groups: Mapping[str, str],
    config: PlanSettings | None = None,
    *,
    imports: Imports | None = None,
) -> Hierarchy:
    """A hierarchy in which no leaf has files of two groups; each group is split as `decompose` does.

    Args:
        files: each once, with relative paths.
        groups: of each path, the name of its group.
        config: the limits; the defaults where left out.
        imports: of a file's path, the paths it imports.

    Passes on DecomposeError: as `decompose` raises it.
    """
    config = config or PlanSettings()
    inner = replace(config, max_depth=max(1, config.max_depth - 1))
    parts: dict[str, list[SourceFile]] = {}
    known = list(files)
    for file in known:
        parts.setdefault(groups[file.path], []).append(file)
    ordered = in_path_order(known)
    number = {path: at for at, (path, _) in enumerate(ordered)}
    draft = Draft()
    hubs: set[int] = set()
    whys: dict[str, Callable[[str], tuple[str, ...]]] = {}
    for name in sorted(parts):
        part = decompose(parts[name], inner, imports=imports)
        at_of = {leaf.id: draft.add([[number[path] for path in leaf.files]])[0] for leaf in part.leaves}
        hubs.update(at_of[leaf.id] for leaf in part.leaves if leaf.hub)
        draft.tree.children.append(tree_of(part, part.root or "", at_of))
        whys[name] = part.why
    if config.max_depth == 1:
        draft.tree = Branch([*range(len(draft.leaves))])
    return _put_together(
        draft, hubs, ordered, config, imports, lambda path: (f"its group is {groups[path]}", *whys[groups[path]](path))
    )


def _put_together(
    draft: Draft,
    hubs: set[int],
    ordered: Sequence[tuple[str, int]],
    config: PlanSettings,
    imports: Imports | None,
    why: Callable[[str], tuple[str, ...]],
) -> Hierarchy:
    tree = narrowed(draft.tree, config.max_depth, config.max_children)
    draft.tree = tree if isinstance(tree, Branch) else Branch([tree])
    paths = [path for path, _ in ordered]
    links = links_between(paths, imports or {}, config.max_files_per_subplan)
    return finished(draft, hubs, paths, [count for _, count in ordered], links, config, why)
