import pytest
from expiring_cache import ExpiringCache


def test_get_and_statistics():
    cache = ExpiringCache(3)
    assert cache.load([("a", 1), ("b", 2)], now=0) == 2
    assert cache.get("a", now=1) == 1
    assert cache.get("x", now=1, default="none") == "none"
    assert (cache.hits, cache.misses, cache.keys()) == (1, 1, ["b", "a"])


def test_longest_unused_goes_first():
    cache = ExpiringCache(2)
    cache.load([("a", 1), ("b", 2)], now=0)
    cache.get("a", now=0)
    cache.load([("c", 3)], now=0)
    assert cache.keys() == ["a", "c"]
    assert cache.evicted == 1


def test_expired_items_are_dropped_and_not_counted_as_evicted():
    cache = ExpiringCache(2)
    cache.load([("a", 1), ("b", 2)], now=0, lifetime=10)
    cache.load([("c", 3)], now=10)
    assert cache.keys() == ["c"]
    assert cache.evicted == 0
    cache.load([("d", 4)], now=10, lifetime=5)
    assert cache.get("d", now=15) is None
    assert len(cache) == 1


def test_lifetime_of_nothing():
    cache = ExpiringCache(5)
    assert cache.load([("a", 1), ("b", 2)], now=3, lifetime=0) == 2
    assert cache.keys() == ["b"]


def test_costs():
    cache = ExpiringCache(10)
    assert cache.load([("a", "xxxx"), ("b", "xxxx"), ("c", "xxx")], now=0, cost=len) == 3
    assert cache.keys() == ["b", "c"]


def test_too_dear_removes_what_was_there():
    cache = ExpiringCache(3)
    assert cache.load([("a", "xx"), ("b", "x"), ("a", "xxxx")], now=0, cost=len) == 2
    assert cache.keys() == ["b"]


def test_capacity():
    with pytest.raises(ValueError, match="capacity"):
        ExpiringCache(0)


def test_large_load():
    cache = ExpiringCache(1500)
    pairs = [(f"key{i * 37 % 301}", i) for i in range(560)]
    cache.load(pairs[:40], now=0, lifetime=5)
    assert cache.load(pairs, now=4, lifetime=50, cost=lambda value: value % 15 + 1) == 560
    assert len(cache) == 188
    assert cache.evicted == 372
    assert cache.keys()[:3] == ["key219", "key256", "key293"]
    assert cache.get("key219", now=20) == 372
