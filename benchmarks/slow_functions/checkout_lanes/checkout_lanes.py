"""Simulate the lanes of a supermarket's check-out, second by second."""

from dataclasses import dataclass
from statistics import mean


@dataclass(frozen=True)
class Customer:
    name: str
    arrives: int
    items: int


@dataclass(frozen=True)
class Visit:
    name: str
    lane: int
    waited: int
    left: int


def service_time(customer: Customer, per_item: int, payment: int) -> int:
    return customer.items * per_item + payment


def simulate(customers: list[Customer], lanes: int, per_item: int = 3, payment: int = 20) -> list[Visit]:
    """Serve every customer and return the visits in the order in which they leave, by lane among equals.

    A customer joins the lane with the fewest people (queue and till), the lowest number among equals; customers who
    arrive in the same second join in the order of the list. A till that is free takes the next one at once.
    """
    if lanes < 1:
        raise ValueError("at least one lane is needed")
    queues: list[list[Customer]] = [[] for _ in range(lanes)]
    serving: list[tuple[Customer, int, int] | None] = [None] * lanes
    visits: list[Visit] = []
    second = 0
    while len(visits) < len(customers):
        for lane in range(lanes):
            current = serving[lane]
            if current is not None and current[2] == second:
                visits.append(Visit(current[0].name, lane, current[1] - current[0].arrives, second))
                serving[lane] = None
        for customer in customers:
            if customer.arrives == second:
                lengths = [len(queues[lane]) + (serving[lane] is not None) for lane in range(lanes)]
                queues[lengths.index(min(lengths))].append(customer)
        for lane in range(lanes):
            if serving[lane] is None and queues[lane]:
                customer = queues[lane].pop(0)
                serving[lane] = (customer, second, second + max(1, service_time(customer, per_item, payment)))
        second += 1
    return visits


def average_wait(visits: list[Visit]) -> float:
    return mean(visit.waited for visit in visits) if visits else 0.0
