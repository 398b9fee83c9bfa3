import pytest
from page_cache import PageCache


def test_lru():
    cache = PageCache(2)
    assert cache.replay([("a", 1), ("b", 1), ("a", 1), ("c", 1), ("b", 1)]) == 0.2
    assert cache.evicted == ["b", "a"]
    assert sorted(page.key for page in cache.pages) == ["b", "c"]


def test_lfu():
    cache = PageCache(2, "lfu")
    cache.replay([("a", 1), ("a", 1), ("b", 1), ("c", 1), ("d", 1)])
    assert cache.evicted == ["b", "c"]
    assert cache.find("a").uses == 2


def test_sizes():
    cache = PageCache(10)
    assert cache.replay([("a", 6), ("b", 4), ("huge", 11), ("c", 5), ("a", 6)]) == 0.0
    assert cache.evicted == ["a", "b", "c"]
    assert cache.used() == 6


def test_edges():
    assert PageCache(1).replay([]) == 0.0
    with pytest.raises(ValueError, match="fifo"):
        PageCache(1, "fifo")


@pytest.mark.parametrize(
    ("policy", "hits", "last", "used"), [("lru", 525, "/page/35", 160), ("lfu", 656, "/page/46", 159)]
)
def test_large_trace(policy, hits, last, used):
    cache = PageCache(160, policy)
    trace = []
    for i in range(1000):
        number = (i * i * 7 + i // 3) % 89 if i % 3 else i % 23
        trace.append((f"/page/{number}", 1 + number % 6))
    assert cache.replay(trace) == hits / 1000
    assert cache.misses == 1000 - hits
    assert cache.evicted[-1] == last
    assert cache.used() == used
