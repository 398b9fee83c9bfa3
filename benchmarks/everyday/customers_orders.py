"""Totals of orders by name of the customer."""

import random

R = random.Random(4)
CUSTOMERS = [{"id": n, "name": f"c{n}", "city": f"town{n % 9}"} for n in range(150)]
ORDERS = [{"customer_id": R.randrange(150), "amount": R.randrange(1, 90)} for _ in range(500)]
CALLS = [lambda: ([], []), lambda: (CUSTOMERS[:3], ORDERS[:20]), lambda: (CUSTOMERS, ORDERS)]


def work(customers, orders):
    result = []
    for customer in customers:
        total = 0
        for order in orders:
            if order["customer_id"] == customer["id"]:
                total += order["amount"]
        if total > 0:
            result.append({"name": customer["name"], "city": customer["city"], "total": total})
    result.sort(key=lambda row: row["total"], reverse=True)
    return result
