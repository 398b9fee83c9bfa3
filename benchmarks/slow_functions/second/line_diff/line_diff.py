"""Differences of two texts, line by line."""

from typing import List, Sequence


def lcs_table(old: Sequence[str], new: Sequence[str]) -> List[List[int]]:
    """Return the lengths of the longest common subsequences of all ends of the texts."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below = table[i], table[i + 1]
        line = old[i]
        for j in range(len(new) - 1, -1, -1):
            if line == new[j]:
                row[j] = below[j + 1] + 1
            else:
                row[j] = max(below[j], row[j + 1])
    return table


def diff(old: Sequence[str], new: Sequence[str]) -> List[str]:
    """Return the lines with "  ", "- " or "+ " in front of them."""
    table = lcs_table(old, new)
    result = []
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            result.append("  " + old[i])
            i += 1
            j += 1
        elif table[i + 1][j] >= table[i][j + 1]:
            result.append("- " + old[i])
            i += 1
        else:
            result.append("+ " + new[j])
            j += 1
    result.extend("- " + line for line in old[i:])
    result.extend("+ " + line for line in new[j:])
    return result


def summary(lines: Sequence[str]) -> str:
    """Return how many lines came and went."""
    added = sum(line.startswith("+ ") for line in lines)
    removed = sum(line.startswith("- ") for line in lines)
    return f"+{added} -{removed}"
