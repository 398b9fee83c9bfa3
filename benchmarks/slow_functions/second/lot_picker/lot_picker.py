"""Picking goods from lots with a date of expiry."""

import copy
from dataclasses import dataclass
from typing import Dict, List, Tuple


@dataclass
class Lot:
    """Some of an article that came in together."""

    lot_id: str
    article: str
    quantity: int
    expires: str
    blocked: bool = False


class OutOfStock(Exception):
    """There is not enough of an article."""


class Warehouse:
    """The lots that there are."""

    def __init__(self, lots: List[Lot]) -> None:
        self.lots = lots

    def usable(self, article: str) -> List[Lot]:
        """Return the lots to pick from, those that expire first in front."""
        lots = sorted(self.lots, key=lambda lot: (lot.expires, lot.lot_id))
        return [lot for lot in lots if lot.article == article and lot.quantity > 0 and not lot.blocked]

    def available(self, article: str) -> int:
        """Return how much of an article can be picked."""
        return sum([lot.quantity for lot in self.usable(article)])

    def pick(self, order: List[Tuple[str, int]]) -> Dict[str, int]:
        """Take an order from the lots, all or nothing; return how much of each lot."""
        before = copy.deepcopy(self.lots)
        picked: Dict[str, int] = {}
        for article, quantity in order:
            if self.available(article) < quantity:
                self.lots = before
                raise OutOfStock(article)
            for _ in range(quantity):
                lot = self.usable(article)[0]
                lot.quantity -= 1
                picked[lot.lot_id] = picked.get(lot.lot_id, 0) + 1
        return picked
