"""A rota for a ward: who works which shift."""

from datetime import date, timedelta

SHIFTS = ["early", "late", "night"]


class Rota:
    """Shifts by day; people have days off and do not work after a night."""

    def __init__(self, staff: list[str], days_off=()) -> None:
        self.staff = list(staff)
        self.days_off = list(days_off)  # (name, "2024-05-01")
        self.rows = []  # ("2024-05-01", shift, name)

    def is_off(self, name: str, day: date) -> bool:
        """Whether somebody asked for the day off."""
        for who, text in self.days_off:
            if who == name and date.fromisoformat(text) == day:
                return True
        return False

    def worked_on(self, name: str, day: date) -> list[str]:
        """Return the shifts of somebody on a day."""
        return [shift for text, shift, who in self.rows if who == name and date.fromisoformat(text) == day]

    def load(self, name: str) -> int:
        """Return how many hours somebody has worked; nights count more."""
        return sum([10 if shift == "night" else 8 for _, shift, who in self.rows if who == name])

    def weekend_load(self, name: str) -> int:
        """Return how many shifts of somebody were at a weekend."""
        return len([1 for text, _, who in self.rows if who == name and date.fromisoformat(text).weekday() >= 5])

    def candidates(self, day: date) -> list[str]:
        """Return all who can work on a day."""
        free = []
        for name in self.staff:
            if self.is_off(name, day):
                continue
            if len(self.worked_on(name, day)) > 0:
                continue
            if "night" in self.worked_on(name, day - timedelta(days=1)):
                continue
            free.append(name)
        return free

    def fill(self, first: str, days: int) -> list[tuple]:
        """Fill the shifts of some days and return the rows; a shift for which there is nobody has None.

        The one with the lowest load works, at weekends the one with the fewest of them first.
        """
        day = date.fromisoformat(first)
        for _ in range(days):
            for shift in SHIFTS:
                free = self.candidates(day)
                if day.weekday() >= 5:
                    free = sorted(free, key=lambda name: (self.weekend_load(name), self.load(name), name))
                else:
                    free = sorted(free, key=lambda name: (self.load(name), name))
                self.rows.append((day.isoformat(), shift, free[0] if free else None))
            day = day + timedelta(days=1)
        return self.rows
