"""Smooth a grid of sensor readings; some cells are broken and do not count."""

from typing import Optional

Grid = list[list[Optional[float]]]


def check(grid: Grid) -> tuple[int, int]:
    """Return the height and width of a grid, which must be rectangular."""
    height = len(grid)
    width = len(grid[0]) if grid else 0
    for number, row in enumerate(grid):
        if len(row) != width:
            raise ValueError(f"row {number} has {len(row)} cells, not {width}")
    return height, width


def smooth(grid: Grid, broken: list[tuple[int, int]], radius: int = 1) -> Grid:
    """Return a new grid in which each cell is the mean of the square of `radius` cells around it.

    Broken cells and cells without a reading (None) take no part; a broken cell is None in the result unless at least
    half of the cells around it that lie in the grid have a reading. Means are rounded to 3 places.
    """
    height, width = check(grid)
    result: Grid = []
    for y in range(height):
        line: list[Optional[float]] = []
        for x in range(width):
            neighbours = [
                (y + dy, x + dx)
                for dy in range(-radius, radius + 1)
                for dx in range(-radius, radius + 1)
                if 0 <= y + dy < height and 0 <= x + dx < width
            ]
            readings = [grid[ny][nx] for ny, nx in neighbours if (ny, nx) not in broken]
            usable = [reading for reading in readings if reading is not None]
            if not usable:
                line.append(None)
            elif (y, x) in broken and len(usable) * 2 < len(neighbours) - 1:
                line.append(None)
            else:
                line.append(round(sum(usable) / len(usable), 3))
        result.append(line)
    return result


def hottest(grid: Grid) -> Optional[tuple[int, int]]:
    """Return the place (row, column) of the largest reading, the first of equals, None without readings."""
    best = None
    for y, row in enumerate(grid):
        for x, reading in enumerate(row):
            if reading is not None and (best is None or reading > best[0]):
                best = (reading, y, x)
    return best and (best[1], best[2])
