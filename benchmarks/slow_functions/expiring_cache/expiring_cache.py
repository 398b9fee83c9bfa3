"""A cache with a limit on cost, expiry, and statistics. Time is handed in by the caller."""


class Item:
    def __init__(self, key, value, cost, expires):
        self.key = key
        self.value = value
        self.cost = cost
        self.expires = expires


class ExpiringCache:
    """Keep the values that were used last.

    `capacity` is the sum of the costs that fit. Of several items the one that was used longest ago goes first.
    """

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self.items = []  # longest unused first
        self.hits = 0
        self.misses = 0
        self.evicted = 0

    def __len__(self):
        return len(self.items)

    def keys(self):
        return [item.key for item in self.items]

    def get(self, key, now, default=None):
        for item in self.items:
            if item.key == key:
                self.items.remove(item)
                if item.expires is not None and item.expires <= now:
                    break
                self.items.append(item)
                self.hits += 1
                return item.value
        self.misses += 1
        return default

    def load(self, pairs, now, lifetime=None, cost=lambda value: 1):
        """Put many (key, value) pairs, as if one after another; return how many were stored.

        What has expired is dropped before anything is evicted. A value that costs more than the capacity is not
        stored, and removes what was there under its key. A later pair of the same key replaces the earlier one.
        """
        stored = 0
        for key, value in pairs:
            for item in list(self.items):
                if item.expires is not None and item.expires <= now:
                    self.items.remove(item)
            for item in list(self.items):
                if item.key == key:
                    self.items.remove(item)
            price = cost(value)
            if price > self.capacity:
                continue
            while self.items and sum(item.cost for item in self.items) + price > self.capacity:
                self.items = self.items[1:]
                self.evicted += 1
            expires = None if lifetime is None else now + lifetime
            self.items = self.items + [Item(key, value, price, expires)]
            stored += 1
        return stored
