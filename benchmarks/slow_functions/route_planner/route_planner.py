"""Cheapest routes between stations of a network of lines, with a price for every change of line."""


class Network:
    """Stations joined by links; a link belongs to a line and takes some minutes, in both directions."""

    def __init__(self):
        self.links = []
        self.closed = []

    def connect(self, line, *stops):
        """Add a line: station, minutes, station, minutes, station ..."""
        for i in range(0, len(stops) - 2, 2):
            minutes = stops[i + 1]
            if minutes <= 0:
                raise ValueError("a link takes at least a minute")
            self.links.append((stops[i], stops[i + 2], line, minutes))

    def close(self, station):
        self.closed.append(station)

    def stations(self):
        return sorted({end for link in self.links for end in link[:2]})

    def route(self, start, goal, change=4):
        """Return (minutes, stations on the way, lines used), or None when there is no way.

        A change of line costs `change` minutes. A closed station can be neither start, goal nor on the way. Among
        routes of equal time the one whose list of stations comes first in the alphabet is taken, then that of lines.
        """
        for station in (start, goal):
            if station not in self.stations():
                raise KeyError(station)
        if start in self.closed or goal in self.closed:
            return None
        open_routes = [(0, [start], [])]
        settled = []
        while open_routes:
            open_routes = sorted(open_routes)
            minutes, path, lines = open_routes[0]
            open_routes = open_routes[1:]
            here = path[-1]
            if here == goal:
                return minutes, path, lines
            state = (here, lines[-1] if lines else None)
            if state in settled:
                continue
            settled.append(state)
            for a, b, line, cost in self.links:
                if here not in (a, b):
                    continue
                there = b if here == a else a
                if there in path or there in self.closed:
                    continue
                total = minutes + cost
                if lines and lines[-1] != line:
                    total += change
                new_lines = lines if lines and lines[-1] == line else lines + [line]
                open_routes.append((total, path + [there], new_lines))
        return None
