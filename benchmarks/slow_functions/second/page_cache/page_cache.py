"""A simulated cache of pages, to find out which size pays."""


class Page:
    """A page in the cache."""

    def __init__(self, key: str, size: int) -> None:
        self.key = key
        self.size = size
        self.last_used = 0
        self.uses = 0


class PageCache:
    """A cache that throws out what has not been used for longest (lru) or is used least (lfu)."""

    def __init__(self, capacity: int, policy: str = "lru") -> None:
        if policy not in ("lru", "lfu"):
            raise ValueError(policy)
        self.capacity = capacity
        self.policy = policy
        self.pages: list[Page] = []
        self.clock = 0
        self.hits = 0
        self.misses = 0
        self.evicted: list[str] = []

    def used(self) -> int:
        """Return how much of the capacity is in use."""
        return sum(page.size for page in self.pages)

    def find(self, key: str) -> Page | None:
        """Return the page of a key, or None."""
        for page in self.pages:
            if page.key == key:
                return page
        return None

    def victim(self) -> Page:
        """Return the page to throw out."""
        if self.policy == "lru":
            return sorted(self.pages, key=lambda page: page.last_used)[0]
        return sorted(self.pages, key=lambda page: (page.uses, page.last_used))[0]

    def access(self, key: str, size: int) -> bool:
        """Use a page; return whether it was there."""
        self.clock += 1
        page = self.find(key)
        if page is None:
            self.misses += 1
            if size > self.capacity:
                return False
            while self.used() + size > self.capacity:
                victim = self.victim()
                self.pages = [other for other in self.pages if other.key != victim.key]
                self.evicted.append(victim.key)
            page = Page(key, size)
            self.pages.append(page)
            page.last_used, page.uses = self.clock, 1
            return False
        self.hits += 1
        page.last_used = self.clock
        page.uses += 1
        return True

    def replay(self, trace: list[tuple[str, int]]) -> float:
        """Use all pages of a trace of (key, size) and return the share of hits."""
        if not trace:
            return 0.0
        before = self.hits
        for key, size in trace:
            self.access(key, size)
        return (self.hits - before) / len(trace)
