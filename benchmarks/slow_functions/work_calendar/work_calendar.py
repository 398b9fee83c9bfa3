"""Working days between dates, for a shop floor that knows holidays and plant shutdowns."""

from datetime import date, datetime, timedelta

DAY_FORMAT = "%Y-%m-%d"


def parse_day(text: str) -> date:
    return datetime.strptime(text, DAY_FORMAT).date()


def parse_span(text: str) -> tuple[date, date]:
    """Read `2024-12-24..2025-01-01`, both ends included; a single day is a span of one."""
    first, _, last = text.partition("..")
    start, end = parse_day(first.strip()), parse_day((last or first).strip())
    if end < start:
        raise ValueError(f"{text}: the end lies before the start")
    return start, end


class WorkCalendar:
    def __init__(self, closed: list[str], weekend: tuple[int, ...] = (5, 6), extra: list[str] | None = None) -> None:
        self.closed = closed
        self.weekend = weekend
        self.extra = extra or []  # worked although the calendar says otherwise

    def is_working(self, day: date) -> bool:
        if day.isoformat() in self.extra:
            return True
        if day.weekday() in self.weekend:
            return False
        for span in self.closed:
            start, end = parse_span(span)
            if start <= day <= end:
                return False
        return True

    def next_working(self, day: date) -> date:
        while not self.is_working(day):
            day += timedelta(days=1)
        return day

    def schedule(self, start: date, jobs: list[tuple[str, int]], buffer: int = 0) -> list[tuple[str, date, date]]:
        """Put jobs of so many working days one after another; return (name, first day, last day) of each.

        `buffer` working days stay free between two jobs. A job of 0 days is a milestone on the next working day and
        takes no time.
        """
        plan: list[tuple[str, date, date]] = []
        for position, (name, length) in enumerate(jobs):
            if length < 0:
                raise ValueError(f"{name}: a job of {length} days")
            # The place of this job, in working days after the start.
            offset = 0
            for _, earlier in jobs[:position]:
                if earlier:
                    offset += earlier + buffer
            first = self.next_working(start)
            for _ in range(offset):
                first = self.next_working(first + timedelta(days=1))
            last = first
            for _ in range(length - 1):
                last = self.next_working(last + timedelta(days=1))
            plan.append((name, first, last))
        return plan
