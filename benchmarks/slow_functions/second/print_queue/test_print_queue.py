from print_queue import PrintQueue


def test_by_priority():
    queue = PrintQueue()
    queue.submit("thesis", 40, 0)
    queue.submit("letter", 1, 5)
    queue.submit("alarm", 1, 6, priority=1)
    assert queue.run() == [("thesis", 0, 0, 42), ("alarm", 0, 42, 45), ("letter", 0, 45, 48)]


def test_waiting_moves_up():
    queue = PrintQueue()
    queue.submit("first", 100, 0)
    queue.submit("old", 1, 1, priority=6)
    queue.submit("new", 1, 95, priority=4)
    assert [row[0] for row in queue.run()] == ["first", "old", "new"]


def test_two_printers_and_a_gap():
    queue = PrintQueue(printers=2)
    queue.submit("b", 3, 2)
    queue.submit("a", 3, 2)
    queue.submit("c", 1, 50)
    assert queue.run() == [("a", 0, 2, 7), ("b", 1, 2, 7), ("c", 0, 50, 53)]
    assert queue.mean_wait({"a": 2, "b": 2, "c": 50}) == 0.0


def test_empty():
    assert PrintQueue().run() == []
    assert PrintQueue().mean_wait({}) == 0.0


def test_large_queue():
    queue = PrintQueue(printers=3)
    arrivals = {}
    for i in range(60):
        arrivals[f"job{i:02}"] = i * 13 % 90
        queue.submit(f"job{i:02}", 1 + i * 7 % 23, i * 13 % 90, priority=1 + i % 6)
    history = queue.run()
    assert len(history) == 60
    assert history[:3] == [("job00", 0, 0, 3), ("job07", 1, 1, 7), ("job14", 2, 2, 11)]
    assert history[30] == ("job28", 0, 132, 147)
    assert history[-1] == ("job41", 0, 274, 288)
    assert round(queue.mean_wait(arrivals), 3) == 92.05
