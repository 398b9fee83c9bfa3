"""Little functions as they are often written, slower than need be: each `NAME` with the arguments of `NAME_args(n)`."""

# ruff: noqa
from __future__ import annotations

import copy
import random
import re
from datetime import datetime
from decimal import Decimal


def _ints(n, most=None, seed=1):
    return random.Random(seed).choices(range(most or 10 * n), k=n)


# --- tables, reports


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


def invoice_lines_next(orders, products):
    lines = []
    for order in orders:
        product = next((p for p in products if p["sku"] == order["sku"]), None)
        if product:
            lines.append((order["id"], product["name"], product["price"] * order["quantity"]))
    return lines


invoice_lines_next_args = invoice_lines_args


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


def shop_report(products, orders):
    return Shop(products, orders).report()


def unique_customers(orders):
    seen = []
    for order in orders:
        if order["sku"] not in seen:
            seen.append(order["sku"])
    return len(seen)


def unique_customers_args(n):
    return invoice_lines_args(n)[:1]


def totals_by_customer(orders):
    totals = {}
    for sku in {o["sku"] for o in orders}:
        totals[sku] = sum(o["quantity"] for o in orders if o["sku"] == sku)
    return totals


totals_by_customer_args = unique_customers_args


def render_table(rows):
    text = ""
    for row in rows:
        line = ""
        for cell in row:
            line += str(cell) + " | "
        text += line.rstrip(" |") + "\n"
    return text


def render_table_args(n):
    return ([list(range(6)) for _ in range(n)],)


# --- text


def word_ranks(text):
    words = re.findall(r"[a-z]+", text.lower())
    ranks = []
    for word in set(words):
        ranks.append((words.count(word), word))
    ranks.sort(reverse=True)
    return ranks


def word_ranks_args(n):
    r = random.Random(5)
    return (" ".join("".join(r.choices("abcd", k=3)) for _ in range(n)),)


def tokenize(source):
    tokens = []
    while source:
        if source[0].isspace():
            source = source[1:]
            continue
        match = re.match(r"\d+|[a-z]+|[-+*/()]", source)
        if not match:
            raise ValueError(source[0])
        tokens.append(match.group())
        source = source[len(match.group()) :]
    return tokens


def tokenize_args(n):
    return ("12 + (foo * 34) - bar / 5 " * (n // 10),)


def squeeze(text):
    out = ""
    i = 0
    while i < len(text):
        if text[i] == " ":
            while i < len(text) and text[i] == " ":
                i += 1
            out = out + " "
        else:
            out = out + text[i]
            i += 1
    return out


def squeeze_args(n):
    return ("a  bc   d " * n,)


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


def parse_log(lines, level):
    out = []
    for line in lines:
        parts = line.split(" ")
        if parts[1] == level:
            when = datetime.strptime(parts[0], "%Y-%m-%d")
            out.append((when.month, parts[2]))
    return out


def parse_log_args(n):
    return ([f"2024-0{1 + i % 9}-1{i % 9} {'INFO' if i % 2 else 'WARN'} m{i}" for i in range(n)], "INFO")


def money(lines):
    total = Decimal(0)
    for line in lines:
        total += Decimal(line.split(";")[1])
    return total


def money_args(n):
    return ([f"x;{i % 9}.5" for i in range(n)],)


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


# --- numbers


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


def has_duplicates(values):
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            if values[i] == values[j]:
                return True
    return False


def has_duplicates_args(n):
    return (list(range(n)),)


def moving_average(readings, width):
    out = []
    for i in range(len(readings) - width + 1):
        window = readings[i : i + width]
        out.append(sum(window) / len(window))
    return out


def moving_average_args(n):
    return (_ints(n), n // 5)


def moving_max(readings, width):
    out = []
    for i in range(len(readings) - width + 1):
        out.append(max(readings[i : i + width]))
    return out


moving_max_args = moving_average_args


def balance_point(xs):
    for i in range(len(xs)):
        if sum(xs[:i]) == sum(xs[i + 1 :]):
            return i
    return -1


def balance_point_args(n):
    return ([1] * n + [2],)


def running_mean(values):
    out = []
    seen = []
    for value in values:
        seen.append(value)
        out.append(sum(seen) / len(seen))
    return out


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


def top_three(scores):
    ordered = sorted(scores, reverse=True)
    return ordered[:3]


top_three_args = running_mean_args


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


def running_median(values):
    medians = []
    window = []
    for value in values:
        window.append(value)
        ordered = sorted(window)
        medians.append(ordered[len(ordered) // 2])
    return medians


running_median_args = running_mean_args


def normalise(rows):
    out = []
    for row in rows:
        out.append([(x - min(row)) / (max(row) - min(row) + 1) for x in row])
    return out


def normalise_args(n):
    return ([_ints(40, seed=s) for s in range(n // 10)],)


def smallest_gap(values):
    best = None
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            gap = abs(values[i] - values[j])
            if best is None or gap < best:
                best = gap
    return best


smallest_gap_args = running_mean_args


def inversions(values):
    count = 0
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            if values[i] > values[j]:
                count += 1
    return count


inversions_args = running_mean_args


def intersection(a, b):
    return [x for x in a if x in b]


def intersection_args(n):
    return (_ints(n), _ints(n, seed=2))


def subtract(a, b):
    rest = list(a)
    for x in b:
        if x in rest:
            rest.remove(x)
    return rest


subtract_args = intersection_args


def flatten(lists):
    return sum(lists, [])


def flatten_args(n):
    return ([[i, i + 1] for i in range(n)],)


def flatten_loop(lists):
    out = []
    for each in lists:
        out = out + each
    return out


flatten_loop_args = flatten_args


# --- intervals, schedules


def busiest(intervals):
    best = 0
    for start, _ in intervals:
        count = 0
        for s, e in intervals:
            if s <= start < e:
                count += 1
        best = max(best, count)
    return best


def busiest_args(n):
    r = random.Random(7)
    return ([(s, s + r.randrange(1, 50)) for s in (r.randrange(n) for _ in range(n))],)


def run_jobs(jobs):
    """jobs: (start, priority, name)"""
    waiting = list(jobs)
    order = []
    while waiting:
        waiting.sort(key=lambda job: (job[1], job[2]))
        job = waiting.pop(0)
        order.append(job[2])
    return order


def run_jobs_args(n):
    return ([(0, x, f"j{x}") for x in _ints(n)],)


def next_job(jobs):
    waiting = jobs[:]
    order = []
    while len(waiting) > 0:
        best = waiting[0]
        for job in waiting:
            if job[1] < best[1]:
                best = job
        waiting.remove(best)
        order.append(best[2])
    return order


next_job_args = run_jobs_args


def huffman(weights):
    nodes = [(w, s) for s, w in weights.items()]
    cost = 0
    while len(nodes) > 1:
        nodes.sort(key=lambda node: node[0])
        left = nodes.pop(0)
        right = nodes.pop(0)
        cost += left[0] + right[0]
        nodes.append((left[0] + right[0], left[1] + right[1]))
    return cost, nodes[0][1] if False else None


def huffman_args(n):
    return ({f"s{i}": w for i, w in enumerate(_ints(n))},)


def triage(patients):
    waiting = []
    seen = []
    for patient in patients:
        waiting.append(patient)
        if len(waiting) > 100:
            urgent = max(waiting, key=lambda p: p["quantity"])
            waiting.remove(urgent)
            seen.append(urgent["id"])
    while waiting:
        waiting.sort(key=lambda p: p["quantity"], reverse=True)
        seen.append(waiting.pop(0)["id"])
    return seen


def triage_args(n):
    return invoice_lines_args(n)[:1]


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


def round_robin(tasks, quantum):
    queue = [(name, work) for name, work in tasks]
    done = []
    while queue:
        name, work = queue[0]
        queue = queue[1:]
        if work > quantum:
            queue = queue + [(name, work - quantum)]
        else:
            done.append(name)
    return done


def round_robin_args(n):
    return ([(i, x % 7) for i, x in enumerate(_ints(n))], 2)


# --- graphs


def shortest(graph, start):
    distance = {node: float("inf") for node in graph}
    distance[start] = 0
    unvisited = list(graph)
    while unvisited:
        current = min(unvisited, key=lambda node: distance[node])
        unvisited.remove(current)
        for other, weight in graph[current].items():
            if distance[current] + weight < distance[other]:
                distance[other] = distance[current] + weight
    return distance


def shortest_args(n):
    r = random.Random(8)
    return ({i: {r.randrange(n): r.randrange(1, 9) for _ in range(4)} for i in range(n)}, 0)


def reachable(edges, start):
    """edges: pairs."""
    visited = []
    queue = [start]
    while queue:
        node = queue.pop(0)
        if node in visited:
            continue
        visited.append(node)
        for a, b in edges:
            if a == node and b not in visited:
                queue.append(b)
    return visited


def reachable_args(n):
    r = random.Random(9)
    return ([(r.randrange(n // 2), r.randrange(n // 2)) for _ in range(n)], 0)


def closure(roles, grants):
    """Permissions with all that they imply: a loop while something changes."""
    result = set(roles)
    changed = True
    while changed:
        changed = False
        for a, b in grants:
            if a in result and b not in result:
                result.add(b)
                changed = True
    return result


def closure_args(n):
    return ([n], [(i + 1, i) for i in range(n)])


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


def path_to(parents, node):
    path = []
    while node is not None:
        path.insert(0, node)
        node = parents.get(node)
    return path


def path_to_args(n):
    return ({i: i - 1 if i else None for i in range(10 * n)}, 10 * n - 1)


# --- grids


def neighbours(grid):
    out = []
    for y in range(len(grid)):
        row = []
        for x in range(len(grid[0])):
            count = 0
            for dy in [-1, 0, 1]:
                for dx in [-1, 0, 1]:
                    if (dx, dy) != (0, 0) and 0 <= y + dy < len(grid) and 0 <= x + dx < len(grid[0]):
                        count += grid[y + dy][x + dx]
            row.append(count)
        out.append(row)
    return out


def neighbours_args(n):
    m = int(n**0.5) + 2
    return ([[x % 2 for x in _ints(m, seed=s)] for s in range(m)],)


def life(cells):
    """cells: list of (x, y)."""
    result = []
    for x in range(-1, 30):
        for y in range(-1, 30):
            count = 0
            for dx in (-1, 0, 1):
                for dy in (-1, 0, 1):
                    if (dx, dy) != (0, 0) and (x + dx, y + dy) in cells:
                        count += 1
            if count == 3 or (count == 2 and (x, y) in cells):
                result.append((x, y))
    return result


def life_args(n):
    r = random.Random(4)
    return ([(r.randrange(30), r.randrange(30)) for _ in range(n // 4)],)


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


def column_sums(grid):
    sums = []
    for x in range(len(grid[0])):
        total = 0
        for y in range(len(grid)):
            total += grid[y][x]
        sums.append(total)
    return sums


column_sums_args = neighbours_args


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


# --- caches


def lru(keys, size):
    """Cached pairs in a list, the oldest first."""
    cache = []
    hits = 0
    for key in keys:
        found = False
        for i in range(len(cache)):
            if cache[i][0] == key:
                found = True
                entry = cache.pop(i)
                cache.append(entry)
                break
        if found:
            hits += 1
        else:
            if len(cache) >= size:
                cache.pop(0)
            cache.append((key, key * 2))
    return hits


def lru_args(n):
    return (_ints(n, n // 2), n // 4)


def lru_list(keys, size):
    order = []
    hits = 0
    for key in keys:
        if key in order:
            hits += 1
            order.remove(key)
        elif len(order) >= size:
            order.pop(0)
        order.append(key)
    return hits


lru_list_args = lru_args


def expire(events, ttl):
    alive = []
    out = []
    for now, key in events:
        alive = [(t, k) for t, k in alive if now - t < ttl]
        alive.append((now, key))
        out.append(len([k for t, k in alive if k == key]))
    return out


def expire_args(n):
    return ([(i, x) for i, x in enumerate(_ints(n, 20))], n // 4)


def simulate(states, steps):
    history = []
    current = states
    for _ in range(steps):
        current = copy.deepcopy(current)
        for name in current:
            current[name] = (current[name] * 3 + 1) % 101
        history.append(current)
    return history


def simulate_args(n):
    return ({f"s{i}": i for i in range(20)}, n // 10)


def sorted_keys(table, queries):
    out = []
    for q in queries:
        below = None
        for key in sorted(table.keys()):
            if key <= q:
                below = key
        out.append(below)
    return out


def sorted_keys_args(n):
    return ({x: 1 for x in _ints(n // 2)}, _ints(n // 2, seed=3))


def most_common(values):
    best, best_count = None, 0
    for value in values:
        if values.count(value) > best_count:
            best, best_count = value, values.count(value)
    return best


def most_common_args(n):
    return (_ints(n, n // 3),)


def has_big(rows, limit):
    return len([r for r in rows if r > limit]) > 0


def has_big_args(n):
    return (_ints(n), 3)


def first_match(rows, limit):
    matches = [r for r in rows if r > limit]
    return matches[0] if matches else None


first_match_args = has_big_args


def cheapest(rows):
    return sorted(rows, key=lambda r: r["quantity"])[0]


def cheapest_args(n):
    return invoice_lines_args(n)[:1]


def newest(rows):
    rows = list(rows)
    rows.sort(key=lambda r: r["quantity"], reverse=True)
    return rows[0]


newest_args = cheapest_args


def all_positive(rows):
    return all([r >= 0 for r in rows])


def all_positive_args(n):
    return ([-1, *_ints(n)],)
