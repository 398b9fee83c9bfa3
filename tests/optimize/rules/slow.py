"""Little functions as they are often written, slower than need be: each `name` with arguments by `name_args(n)`."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import copy
import random


def _ints(n, most=None, seed=1):
    return random.Random(seed).choices(range(most or 10 * n), k=n)


def standings(matches):
    """A league table."""
    teams = []
    for home, away, _, _ in matches:
        if home not in teams:
            teams.append(home)
        if away not in teams:
            teams.append(away)
    table = []
    for team in teams:
        points = 0
        scored = 0
        for home, away, a, b in matches:
            if home == team:
                scored += a
                if a > b:
                    points += 3
                elif a == b:
                    points += 1
            elif away == team:
                scored += b
                if b > a:
                    points += 3
                elif a == b:
                    points += 1
        table.append((team, points, scored))
    table.sort(key=lambda row: (-row[1], -row[2], row[0]))
    return table


def standings_args(n):
    r = random.Random(2)
    return ([(f"t{r.randrange(40)}", f"t{r.randrange(40)}", r.randrange(4), r.randrange(4)) for _ in range(n)],)


def invoice_lines(orders, products):
    lines = []
    for order in orders:
        product = None
        for candidate in products:
            if candidate["sku"] == order["sku"]:
                product = candidate
                break
        if product is None:
            continue
        lines.append((order["id"], product["name"], product["price"] * order["quantity"]))
    return lines


def invoice_lines_args(n):
    r = random.Random(3)
    return (
        [{"id": i, "sku": r.randrange(n), "quantity": r.randrange(5)} for i in range(n)],
        [{"sku": i, "name": f"p{i}", "price": i % 17} for i in range(n - 3)],
    )


class Shop:
    def __init__(self, products, orders):
        self.products = products
        self.orders = orders

    def report(self):
        result = {}
        for product in self.products:
            total = 0
            for order in self.orders:
                if order["sku"] == product["sku"]:
                    total += order["quantity"]
            result[product["name"]] = total
        return result

    def prices(self):
        out = []
        for order in self.orders:
            for product in self.products:
                if product["sku"] == order["sku"]:
                    out.append(product["price"])
                    break
        return out

    def by_sku(self, wanted):
        return [[o["quantity"] for o in self.orders if o["sku"] == sku] for sku in wanted]


def unique_customers_args(n):
    return invoice_lines_args(n)[:1]


def totals_by_customer(orders):
    totals = {}
    for sku in {o["sku"] for o in orders}:
        totals[sku] = sum(o["quantity"] for o in orders if o["sku"] == sku)
    return totals


totals_by_customer_args = unique_customers_args


def anagrams(words):
    groups = []
    used = []
    for word in words:
        if word in used:
            continue
        group = []
        for other in words:
            if sorted(other) == sorted(word):
                group.append(other)
                used.append(other)
        groups.append(group)
    return groups


def anagrams_args(n):
    r = random.Random(6)
    return (list(dict.fromkeys("".join(r.choices("abcd", k=4)) for _ in range(n))),)


def common_prefixes(words):
    found = []
    for i in range(len(words)):
        for j in range(i + 1, len(words)):
            if words[i][:3] == words[j][:3]:
                found.append((words[i], words[j]))
    return found


def common_prefixes_args(n):
    r = random.Random(6)
    return (["".join(r.choices("abcdefgh", k=5)) for _ in range(n)],)


def two_sum(numbers, target):
    pairs = []
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == target:
                pairs.append((i, j))
    return pairs


def two_sum_args(n):
    return (_ints(n), 10 * n)


def has_pair(numbers, target):
    for i in range(len(numbers)):
        for j in range(len(numbers)):
            if i != j and numbers[i] + numbers[j] == target:
                return True
    return False


def has_pair_args(n):
    return ([2 * x for x in _ints(n)], 2 * n + 1)


def moving_average_args(n):
    return (_ints(n), n // 5)


def moving_max(readings, width):
    out = []
    for i in range(len(readings) - width + 1):
        out.append(max(readings[i : i + width]))
    return out


moving_max_args = moving_average_args


def running_mean_args(n):
    return (_ints(n),)


def record_highs(values):
    records = []
    for i in range(len(values)):
        if i == 0 or values[i] > max(values[:i]):
            records.append(values[i])
    return records


record_highs_args = running_mean_args


def trapped(heights):
    total = 0
    for i in range(len(heights)):
        left = max(heights[: i + 1])
        right = max(heights[i:])
        total += min(left, right) - heights[i]
    return total


trapped_args = running_mean_args


def rank_of(scores):
    ranks = []
    for score in scores:
        ranks.append(sorted(scores, reverse=True).index(score) + 1)
    return ranks


rank_of_args = running_mean_args


def rank_by_counting(scores):
    ranks = []
    for score in scores:
        rank = 1
        for other in scores:
            if other > score:
                rank += 1
        ranks.append(rank)
    return ranks


rank_by_counting_args = running_mean_args


def shortest_by_hand(graph, start):
    distance = {}
    for node in graph:
        distance[node] = 10**9
    distance[start] = 0
    unvisited = list(graph.keys())
    while unvisited:
        current = None
        for node in unvisited:
            if current is None or distance[node] < distance[current]:
                current = node
        unvisited.remove(current)
        if distance[current] == 10**9:
            break
        for other, weight in graph[current].items():
            if other in unvisited:
                new = distance[current] + weight
                if new < distance[other]:
                    distance[other] = new
    return distance


def shortest_by_hand_args(n):
    return shortest_args(n)


def shortest_args(n):
    r = random.Random(8)
    return ({i: {r.randrange(n): r.randrange(1, 9) for _ in range(4)} for i in range(n)}, 0)


def reachable_args(n):
    r = random.Random(9)
    return ([(r.randrange(n // 2), r.randrange(n // 2)) for _ in range(n)], 0)


def degree(edges, nodes):
    return {n: len([e for e in edges if e[0] == n or e[1] == n]) for n in nodes}


def degree_args(n):
    return reachable_args(n)[0], list(range(n // 2))


def topological(edges, nodes):
    order = []
    remaining = list(nodes)
    while remaining:
        free = []
        for node in remaining:
            blocked = False
            for a, b in edges:
                if b == node and a in remaining:
                    blocked = True
            if not blocked:
                free.append(node)
        if not free:
            raise ValueError("cycle")
        for node in free:
            order.append(node)
            remaining.remove(node)
    return order


def topological_args(n):
    m = n // 4
    return ([(a, b) for a in range(m) for b in (a + 1, a + 7) if b < m], list(range(m))[::-1])


def flood(grid, start):
    todo = [start]
    seen = []
    while len(todo) > 0:
        y, x = todo.pop(0)
        if (y, x) in seen:
            continue
        seen.append((y, x))
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            ny, nx = y + dy, x + dx
            if 0 <= ny < len(grid) and 0 <= nx < len(grid[0]) and grid[ny][nx] == 0:
                if (ny, nx) not in seen and (ny, nx) not in todo:
                    todo.append((ny, nx))
    return len(seen)


def flood_args(n):
    m = int(n**0.5) + 4
    return ([[0] * m for _ in range(m)], (0, 0))


def word_search(grid, words):
    found = []
    for word in words:
        hit = False
        for y in range(len(grid)):
            for x in range(len(grid[y])):
                for dy, dx in ((0, 1), (1, 0)):
                    text = ""
                    for k in range(len(word)):
                        yy, xx = y + dy * k, x + dx * k
                        if yy < len(grid) and xx < len(grid[yy]):
                            text += grid[yy][xx]
                    if text == word:
                        hit = True
        if hit:
            found.append(word)
    return found


def word_search_args(n):
    r = random.Random(10)
    m = int(n**0.5) + 2
    return (["".join(r.choices("abc", k=m)) for _ in range(m)], ["abc", "cab", "aaaa", "bcb"])


def lru_args(n):
    return (_ints(n, n // 2), n // 4)


class Order:
    def __init__(self, id, customer, total, day):
        self.id = id
        self.customer = customer
        self.total = total
        self.day = day

    def __eq__(self, o):
        return self.id == o.id

    def __hash__(self):
        return hash(self.id)


def _orders(n):
    r = random.Random(1)
    return [Order(i, f"c{r.randrange(n // 4)}", r.randrange(100), r.randrange(60)) for i in range(n)]


def customer_summary(orders):
    summary = []
    for customer in set(o.customer for o in orders):
        spent = 0
        last = 0
        count = 0
        for o in orders:
            if o.customer != customer:
                continue
            spent += o.total
            count += 1
            last = max(last, o.day)
        summary.append((customer, spent, count, last))
    return sorted(summary)


def customer_summary_args(n):
    return (_orders(n),)


def count_in_windows(stamps, width):
    out = []
    for t in stamps:
        out.append(len([s for s in stamps if t - width < s <= t]))
    return out


def count_in_windows_args(n):
    return (random.Random(3).choices(range(10 * n), k=n), 200)


def percentile_ranks(scores):
    result = {}
    for name, score in scores.items():
        below = 0
        for other in scores.values():
            if other < score:
                below += 1
        result[name] = 100 * below / len(scores)
    return result


def percentile_ranks_args(n):
    return ({f"n{i}": x for i, x in enumerate(random.Random(3).choices(range(10 * n), k=n))},)


def tally(votes):
    names = []
    counts = []
    for v in votes:
        if v in names:
            counts[names.index(v)] += 1
        else:
            names.append(v)
            counts.append(1)
    return list(zip(names, counts))


def tally_args(n):
    return (random.Random(3).choices(range(n // 3), k=n),)


def update_stock(stock, changes):
    for sku, delta in changes:
        for item in stock:
            if item["sku"] == sku:
                item["count"] += delta
                break
    return stock


def update_stock_args(n):
    return ([{"sku": i, "count": 0} for i in range(n)], [(x, 1) for x in random.Random(3).choices(range(n), k=n)])


def stddevs(samples):
    out = []
    for x in samples:
        mean = sum(samples) / len(samples)
        var = sum((s - mean) ** 2 for s in samples) / len(samples)
        out.append((x - mean) / (var**0.5 or 1))
    return out


def stddevs_args(n):
    return (random.Random(3).choices(range(10 * n), k=n),)


def insert_sorted(values):
    out = []
    for v in values:
        i = 0
        while i < len(out) and out[i] <= v:
            i += 1
        out.insert(i, v)
    return out


def insert_sorted_args(n):
    return (random.Random(3).choices(range(10 * n), k=n),)
