"""Assign addresses to delivery zones, which are polygons on a plane."""

from dataclasses import dataclass
from math import hypot
from typing import Iterable

Point = tuple[float, float]


@dataclass
class Zone:
    name: str
    corners: list[Point]
    priority: int = 0

    def edges(self) -> list[tuple[Point, Point]]:
        return [(self.corners[i], self.corners[(i + 1) % len(self.corners)]) for i in range(len(self.corners))]

    def area(self) -> float:
        return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in self.edges())) / 2

    def contains(self, point: Point) -> bool:
        """Say whether a point lies inside, by counting the edges that a ray to the right crosses."""
        x, y = point
        inside = False
        for (ax, ay), (bx, by) in self.edges():
            if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
                inside = not inside
        return inside

    def distance(self, point: Point) -> float:
        """Return the distance of a point from the nearest edge."""
        best = float("inf")
        for (ax, ay), (bx, by) in self.edges():
            dx, dy = bx - ax, by - ay
            length = dx * dx + dy * dy
            t = 0.0 if length == 0 else ((point[0] - ax) * dx + (point[1] - ay) * dy) / length
            t = max(0.0, min(1.0, t))
            best = min(best, hypot(ax + t * dx - point[0], ay + t * dy - point[1]))
        return best


def assign(zones: list[Zone], points: Iterable[Point], reach: float = 1.0) -> dict[Point, str | None]:
    """Return the zone of each point.

    Of several zones around a point the one of the highest priority wins, then the smallest, then the first by name.
    A point outside of all zones goes to the nearest zone within `reach`, by name among equals, or to none.
    """
    result: dict[Point, str | None] = {}
    for point in points:
        ranked = sorted(zones, key=lambda zone: (-zone.priority, zone.area(), zone.name))
        around = [zone for zone in ranked if zone.contains(point)]
        nearest = sorted(zones, key=lambda zone: (zone.distance(point), zone.name))
        near = [zone for zone in nearest if zone.distance(point) <= reach]
        if around:
            result[point] = around[0].name
        elif near:
            result[point] = near[0].name
        else:
            result[point] = None
    return result
