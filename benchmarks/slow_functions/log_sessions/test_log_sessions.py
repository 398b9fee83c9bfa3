import random

from log_sessions import bounce_rate, collect_sessions, parse_line


def record(host, second, path="/", status=200, size=10):
    return {"host": host, "second": second, "method": "GET", "path": path, "status": status, "size": size}


def test_parse_line():
    assert parse_line('10.0.0.1 120 "GET /a?b=1" 404 -\n') == record("10.0.0.1", 120, "/a?b=1", 404, 0)
    assert parse_line("garbage") is None


def test_no_records():
    assert collect_sessions([]) == []
    assert bounce_rate([]) == 0.0


def test_gap_opens_a_new_session():
    sessions = collect_sessions([record("a", 0), record("a", 100), record("a", 201)], gap=100)
    assert [(s["first"], s["last"], s["hits"]) for s in sessions] == [(0, 100, 2), (201, 201, 1)]


def test_hosts_are_kept_apart_and_in_order_of_appearance():
    sessions = collect_sessions([record("b", 0), record("a", 1, "/x"), record("b", 2, "/y")])
    assert [s["host"] for s in sessions] == ["b", "a"]
    assert sessions[0]["pages"] == ["/", "/y"]


def test_server_errors_never_open_a_session_but_keep_one_alive():
    assert collect_sessions([record("a", 0, status=503)]) == []
    sessions = collect_sessions([record("a", 0), record("a", 90, status=500), record("a", 180)], gap=100)
    assert len(sessions) == 1
    assert sessions[0]["errors"] == 1


def test_assets_are_no_pages():
    (session,) = collect_sessions([record("a", 0, "/s.CSS?v=3", size=7), record("a", 1, "/p"), record("a", 2, "/p")])
    assert session["pages"] == ["/p"]
    assert session["bytes"] == 27


def test_large_log():
    source = random.Random(11)
    second = 0
    records = []
    for _ in range(700):
        second += source.randrange(0, 40)
        path = source.choice(["/", "/shop", "/cart", "/logo.png", f"/item/{source.randrange(30)}"])
        status = source.choice([200, 200, 200, 304, 404, 500])
        records.append(
            record(f"10.0.{source.randrange(3)}.{source.randrange(60)}", second, path, status, source.randrange(900))
        )
    sessions = collect_sessions(records)
    assert (
        len(sessions),
        sum(s["hits"] for s in sessions),
        sum(s["bytes"] for s in sessions),
        sum(s["errors"] for s in sessions),
        sum(len(s["pages"]) * (i + 1) for i, s in enumerate(sessions)),
        sum((s["last"] - s["first"]) * (i + 1) for i, s in enumerate(sessions)),
    ) == (389, 617, 270809, 164, 65984, 37126216)
    assert all(s["last"] >= s["first"] for s in sessions)
