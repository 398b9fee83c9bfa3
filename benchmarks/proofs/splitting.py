"""Split of a public set by hash: the first half to look at, the second for the last number alone."""

from __future__ import annotations

import hashlib


def is_hidden(name: str) -> bool:
    """Whether a problem is in the half that is looked at for the last number only."""
    return hashlib.sha256(name.encode()).digest()[0] >= 128


def by_hash(names: list[str]) -> list[str]:
    """In the order of their hashes, halves by turns: however many are tried, they are drawn by chance."""
    ordered = sorted(names, key=lambda name: hashlib.sha256(f"order {name}".encode()).digest())
    halves = [[name for name in ordered if is_hidden(name) is hidden] for hidden in (False, True)]
    turns = [name for pair in zip(*halves, strict=False) for name in pair]
    return turns + [name for name in ordered if name not in set(turns)]
