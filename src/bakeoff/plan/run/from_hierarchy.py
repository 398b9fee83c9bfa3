"""Plan out of a hierarchy of files: names, scopes, what each uses of the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bakeoff.plan.decompose.decompose import decompose
from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile
from bakeoff.plan.decompose.links import Imports
from bakeoff.plan.decompose.outline import names_of
from bakeoff.plan.decompose.sources import imports_of, project_files
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.plan.run.plan import Group, Plan, Subplan
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import Settings
from bakeoff.workspace.snapshot.project import find_project

MOST_USED = 20
"""Files outside of a subplan that it is told the interface of."""


def plan_of_hierarchy(
    hierarchy: Hierarchy,
    goal: str,
    attempt: AttemptOptions,
    config: SubplanConfig,
    imports: Imports,
    named: Mapping[str, tuple[str, str]] | None = None,
) -> Plan:
    """A plan with a subplan for each leaf, in the order in which leaves should be carried out.

    In the mode `dependency_ordered` those wait for each other whose files import each other.

    Args:
        hierarchy: the files.
        goal: of the whole.
        attempt: how each is attempted.
        config: how they are carried out.
        imports: of a file's path, the paths it imports.
        named: of a leaf's id, its name and goal, where somebody gave them.

    Raises:
        PlanError: there are no files.
    """
    if hierarchy.root is None:
        raise PlanError("there are no files that a plan could be made for")
    named = named or {}
    names = _names(hierarchy, {leaf: name for leaf, (name, _) in named.items()})
    inner = [node for node in hierarchy.nodes.values() if node.children and node.parent is not None]
    groups = [
        Group(names[node.id], "", None if node.parent == hierarchy.root else names[str(node.parent)])
        for node in sorted(inner, key=lambda node: node.depth)
    ]
    ordered = config.execution_mode == "dependency_ordered"
    subplans = []
    for leaf in hierarchy.order:
        node = hierarchy.nodes[leaf]
        parent = None if node.parent in (None, hierarchy.root) else names[str(node.parent)]
        after = tuple(names[other] for other in hierarchy.requires.get(leaf, ())) if ordered else ()
        subplans.append(
            Subplan(
                names[leaf],
                named.get(leaf, ("", ""))[1],
                None,
                node.files,
                after=after,
                uses=_used(node.files, imports, hierarchy.leaf_of),
                parent=parent,
            )
        )
    return Plan(goal, tuple(subplans), attempt, config, tuple(groups))


def _used(files: Collection[str], imports: Imports, known: Mapping[str, str]) -> tuple[str, ...]:
    """The files outside that these import, the most used first."""
    inside = set(files)
    counts = Counter(other for path in files for other in imports.get(path, ()) if other not in inside)
    ordered = sorted((other for other in counts if other in known), key=lambda other: (-counts[other], other))
    return tuple(ordered[:MOST_USED])


def _names(hierarchy: Hierarchy, given: Mapping[str, str]) -> dict[str, str]:
    """A name for each node that says where its files are; each once."""
    taken = set(given.values())
    found = dict(given)
    plain = names_of(hierarchy)
    ordered = [*hierarchy.order, *(name for name, node in hierarchy.nodes.items() if node.children)]
    for node in ordered:
        if node in found:
            continue
        wanted = re.sub(r"[^A-Za-z0-9._]+", "-", plain[node]).strip("-._")[:70] or "files"
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        taken.add(name)
        found[node] = name
    return found


def files_of(
    root: Path, settings: Settings, within: Sequence[str], *, untracked: bool = False
) -> tuple[list[SourceFile], Imports]:
    """The files of a project, or those below some paths of it, and what they import. Blocks.

    They are those that git tracks; with `untracked` also those that it neither tracks nor ignores.

    Passes on DecomposeError: git knows nothing at such a path.
    """
    project = find_project(root)
    found = project_files(project, within, untracked=untracked, exclude=settings.exclude)
    return list(found.files), imports_of(project, found)


def plan_of_project(
    root: Path, settings: Settings, goal: str, within: Sequence[str], attempt: AttemptOptions, config: SubplanConfig
) -> Plan:
    """A plan for the tracked files of a project, or those below some paths of it, split by directories. Blocks.

    Passes on DecomposeError: git knows nothing at such a path; PlanError: there are no files.
    """
    files, imports = files_of(root, settings, within)
    hierarchy = decompose(files, settings.plan, imports=imports)
    return plan_of_hierarchy(hierarchy, goal, attempt, config, imports)
