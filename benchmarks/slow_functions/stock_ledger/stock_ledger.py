"""Reconcile the stock that was counted in a warehouse with the movements that were booked."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Movement:
    sku: str
    bin: str
    quantity: int  # negative: taken out
    cancelled: bool = False


@dataclass(frozen=True)
class Count:
    sku: str
    bin: str
    quantity: int


@dataclass
class Difference:
    sku: str
    expected: int
    counted: int
    bins: list[str] = field(default_factory=list)

    @property
    def delta(self) -> int:
        return self.counted - self.expected


class StockLedger:
    def __init__(self, movements: list[Movement] | None = None) -> None:
        self._movements: list[Movement] = list(movements or [])

    def book(self, movement: Movement) -> None:
        if movement.quantity == 0:
            raise ValueError("a movement of nothing")
        self._movements.append(movement)

    def cancel(self, sku: str, bin: str) -> int:
        """Cancel every movement of an article in a bin; return how many."""
        cancelled = 0
        for position, movement in enumerate(self._movements):
            if movement.sku == sku and movement.bin == bin and not movement.cancelled:
                self._movements[position] = Movement(sku, bin, movement.quantity, cancelled=True)
                cancelled += 1
        return cancelled

    def expected(self, sku: str, bin: str) -> int:
        return sum(m.quantity for m in self._movements if m.sku == sku and m.bin == bin and not m.cancelled)

    def bins_of(self, sku: str) -> list[str]:
        return sorted({m.bin for m in self._movements if m.sku == sku and not m.cancelled})

    def reconcile(self, counts: list[Count], tolerance: int = 0) -> list[Difference]:
        """Return the articles whose count differs by more than `tolerance` pieces, largest difference first.

        An article that was booked and not counted has a count of 0. `bins` names the bins that do not agree.
        """
        skus: list[str] = []
        for movement in self._movements:
            if not movement.cancelled and movement.sku not in skus:
                skus.append(movement.sku)
        for count in counts:
            if count.sku not in skus:
                skus.append(count.sku)

        differences: list[Difference] = []
        for sku in skus:
            difference = Difference(sku, 0, 0)
            bins = self.bins_of(sku)
            for count in counts:
                if count.sku == sku and count.bin not in bins:
                    bins.append(count.bin)
            for bin in sorted(bins):
                expected = self.expected(sku, bin)
                counted = sum(c.quantity for c in counts if c.sku == sku and c.bin == bin)
                difference.expected += expected
                difference.counted += counted
                if expected != counted:
                    difference.bins.append(bin)
            if abs(difference.delta) > tolerance:
                differences.append(difference)
        return sorted(differences, key=lambda d: (-abs(d.delta), d.sku))
