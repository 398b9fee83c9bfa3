"""`from m import a, b` that both changed, merged by its names: gone is what either took out, in what either added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst


def module_of(node: cst.ImportFrom) -> str:
    """The module that it imports from, dots included."""
    import libcst as cst

    dots = "." * len(node.relative)
    return dots + (cst.Module([]).code_for_node(node.module) if node.module is not None else "")


def merge_imports(
    old: cst.CSTNode | None, our: cst.CSTNode | None, their: cst.CSTNode | None
) -> cst.SimpleStatementLine | None:
    """The merged statement, laid out as ours is, or as theirs where that alone is in brackets; None for no name at all.

    Passes on ValueError: it cannot be told.
    """
    import libcst as cst

    before, ours, theirs = (_aliases(node) for node in (old, our, their))
    names = _merged_names(list(before), list(ours), list(theirs))
    if not names:
        return None
    sides: list[Any] = [node for node in (our, their) if node is not None]
    frame = next((node for node in sides if node.body[0].lpar is not None), sides[0])
    layout = frame.body[0].names
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    between = layout[0].comma if frame.body[0].lpar is not None and len(layout) > 1 else plain
    last = layout[-1]
    # A line break stands in the comma before it.
    commas = {name: alias.comma for name, alias in _aliases(frame).items() if alias is not last}
    found = {**theirs, **ours}
    aliases = [found[name].with_changes(comma=commas.get(name, between)) for name in names]
    aliases[-1] = aliases[-1].with_changes(comma=last.comma)
    merged: cst.SimpleStatementLine = frame.with_changes(body=[frame.body[0].with_changes(names=aliases)])
    return merged


def _merged_names(before: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    """Names in our order; what they added stands behind what it follows there, and behind what we added there.

    Raises:
        ValueError: two names would be bound as one.
    """
    names = [name for name in ours if name in theirs or name not in before]
    at = 0
    for name in theirs:
        if name in names:
            at = names.index(name) + 1
        elif name not in before:
            while at < len(names) and names[at] not in theirs:
                at += 1
            names.insert(at, name)
            at += 1
    bound = {name.rpartition(" as ")[2] for name in names}
    if len(bound) < len(names):
        raise ValueError("two names are bound as one")
    return names


def _aliases(node: cst.CSTNode | None) -> dict[str, cst.ImportAlias]:
    """Aliases that a statement imports, by its words.

    Raises:
        ValueError: it is no such statement, or imports `*`.
    """
    import libcst as cst

    if node is None:
        return {}
    small = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.ImportFrom) or isinstance(small.names, cst.ImportStar):
        raise ValueError("no import of names")
    aliases = {(one.evaluated_name, one.evaluated_alias): one for one in small.names}
    return {name if alias is None else f"{name} as {alias}": one for (name, alias), one in aliases.items()}
