from pipe_clusters import cluster_lengths, clusters

PIPES = [("p1", "a", "b", 10), ("p2", "c", "d", 20), ("p3", "b", "c", 5), ("p4", "e", "e", 1)]


def test_clusters():
    assert clusters(PIPES) == [["a", "b", "c", "d"], ["e"]]
    assert clusters([]) == []


def test_closed():
    assert clusters(PIPES, ["p3"]) == [["a", "b"], ["c", "d"], ["e"]]
    assert clusters(PIPES, ("p1", "p2", "p3")) == [["a"], ["b"], ["c"], ["d"], ["e"]]


def test_lengths():
    assert cluster_lengths(PIPES) == [35, 1]
    assert cluster_lengths(PIPES, ["p3"]) == [10, 20, 1]


def test_large_network():
    pipes = [(f"pipe {i}", f"n{i * 7 % 263:03}", f"n{(i * i * 3 + 11) % 263:03}", i % 40) for i in range(300)]
    closed = [f"pipe {i}" for i in range(0, 300, 3)]
    found = clusters(pipes, closed)
    assert len(found) == 75
    assert [len(group) for group in found[:4]] == [30, 22, 19, 13]
    assert found[0][:3] == ["n004", "n024", "n028"]
    assert found[-1] == ["n262"]
