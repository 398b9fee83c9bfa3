"""Trees of files to split, and what must hold of every hierarchy."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile
from bakeoff.settings import PlanSettings

SMALL = PlanSettings(max_files_per_subplan=25, max_tokens_per_subplan=50_000)


def files(paths: Iterable[str], tokens: int = 1000) -> list[SourceFile]:
    return [SourceFile(path, tokens) for path in paths]


def regular(*counts: int) -> list[SourceFile]:
    """So many directories in each, level by level, and at last so many files in each of the deepest."""
    *levels, last = [
        [f"{letter}{number}" for number in range(count)] for letter, count in zip("abcdefg", counts, strict=False)
    ]
    return files("/".join(parts) + ".py" for parts in product(*levels, last))


def check(hierarchy: Hierarchy, given: Iterable[SourceFile], config: PlanSettings) -> None:
    """Everything that is true of a hierarchy, whatever was split."""
    tokens = {file.path: max(1, file.tokens) for file in given}
    nodes = hierarchy.nodes
    leaves = [node for node in nodes.values() if not node.children]
    assert sorted(path for leaf in leaves for path in leaf.files) == sorted(tokens)
    assert all(nodes[name].id == name for name in nodes)
    assert [node.id for node in leaves] == list(hierarchy.order) == list(nodes)[: len(leaves)]
    roots = [node for node in nodes.values() if node.parent is None]
    assert [node.id for node in roots] == ([hierarchy.root] if tokens else [])
    listed = [child for node in nodes.values() for child in node.children]
    assert sorted(listed) == sorted(set(nodes) - {hierarchy.root})
    for node in nodes.values():
        assert node.files
        assert list(node.files) == sorted(set(node.files))
        assert node.tokens == sum(tokens[path] for path in node.files)
        children = [nodes[child] for child in node.children]
        assert len(children) != 1
        assert all(child.parent == node.id and child.depth == node.depth + 1 for child in children)
        assert [child.files[0] for child in children] == sorted(child.files[0] for child in children)
        if children:
            assert sorted(path for child in children for path in child.files) == list(node.files)
            assert not node.hub
            assert not node.oversize
    assert all(node.depth == 0 for node in roots)
    assert max((node.depth for node in leaves), default=0) <= config.max_depth
    for leaf in leaves:
        alone = len(leaf.files) == 1
        assert alone or len(leaf.files) <= config.max_files_per_subplan
        assert alone or leaf.tokens <= config.max_tokens_per_subplan
        assert leaf.oversize == (leaf.tokens > config.max_tokens_per_subplan)
    assert [leaf.files[0] for leaf in hierarchy.leaves] == sorted(leaf.files[0] for leaf in leaves)
    place = {leaf: number for number, group in enumerate(hierarchy.groups) for leaf in group}
    assert all(place[other] < place[leaf] for leaf, others in hierarchy.requires.items() for other in others)
    assert hierarchy.metrics["over_limit"] == 0
