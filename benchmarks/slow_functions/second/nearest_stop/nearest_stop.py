"""The bus stops that are nearest to addresses."""

import math

EARTH = 6371000.0


def to_radians(degrees):
    return degrees * math.pi / 180


def distance(a, b):
    """Return the metres between two (latitude, longitude)."""
    dlat = to_radians(b[0]) - to_radians(a[0])
    dlon = to_radians(b[1]) - to_radians(a[1])
    h = math.pow(math.sin(dlat / 2), 2) + math.cos(to_radians(a[0])) * math.cos(to_radians(b[0])) * math.pow(
        math.sin(dlon / 2), 2
    )
    return 2 * EARTH * math.asin(math.sqrt(h))


def stops_of_line(stops, line):
    """Return the stops of a line."""
    return [stop for stop in stops if line in stop["lines"].split(",")]


def nearest(stops, place, count=1, line=None):
    """Return the nearest stops as (metres, name)."""
    if line is not None:
        stops = stops_of_line(stops, line)
    found = sorted(stops, key=lambda stop: (distance(place, stop["at"]), stop["name"]))
    return [(round(distance(place, stop["at"])), stop["name"]) for stop in found[:count]]


def coverage(stops, addresses, limit=400):
    """Return, for each address, its nearest stop, the lines within the limit and whether it is served."""
    result = []
    for address in addresses:
        metres, name = nearest(stops, address["at"])[0]
        lines = set()
        for stop in stops:
            for line in stop["lines"].split(","):
                if nearest(stops, address["at"], 1, line)[0][0] <= limit:
                    lines.add(line)
        result.append(
            {
                "address": address["name"],
                "stop": name,
                "metres": metres,
                "lines": sorted(lines),
                "served": metres <= limit,
            }
        )
    return result
