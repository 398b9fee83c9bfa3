"""Sizes of folders, from a flat list of files."""

from typing import Dict, List, Tuple

Files = Dict[str, int]


def parent(path: str) -> str:
    """Return the folder of a path; that of the top is empty."""
    parts = path.split("/")
    return "/".join(parts[:-1])


def subfolders(files: Files, folder: str) -> List[str]:
    """Return the folders right inside a folder."""
    found = []
    for path in files:
        place = parent(path)
        while place:
            if parent(place) == folder and place not in found:
                found.append(place)
            place = parent(place)
    return sorted(found)


def own_size(files: Files, folder: str) -> int:
    """Return the size of the files right inside a folder."""
    return sum(size for path, size in files.items() if parent(path) == folder)


def total_size(files: Files, folder: str) -> int:
    """Return the size of all that is inside a folder."""
    return own_size(files, folder) + sum(total_size(files, sub) for sub in subfolders(files, folder))


def human(size: int) -> str:
    """Return a size as people read it."""
    value = float(size)
    for unit in ["B", "K", "M"]:
        if value < 1024:
            return f"{value:.0f}{unit}" if unit == "B" else f"{value:.1f}{unit}"
        value /= 1024
    return f"{value:.1f}G"


def tree(files: Files, folder: str = "", depth: int = 0) -> List[str]:
    """Return the folders as indented lines, the largest of a level first."""
    lines: List[str] = []
    level: List[Tuple[int, str]] = []
    for sub in subfolders(files, folder):
        level.append((-total_size(files, sub), sub))
    for _, sub in sorted(level):
        lines += ["  " * depth + sub.split("/")[-1] + " " + human(total_size(files, sub))]
        lines = lines + tree(files, sub, depth + 1)
    return lines
