import pytest
from url_router import NotFound, Router


def user(query, user_id):
    return f"user {user_id + 0} {query.get('tab', '-')}"


def post(query, user_id, title):
    return f"post {title} of {user_id}"


def static(query, name):
    return name


@pytest.fixture
def router():
    router = Router()
    router.add("/users/<int:user_id>", user, methods=("get", "post"))
    router.add("/users/<int:user_id>/posts/<slug:title>", post)
    router.add("/static/<path:name>", static)
    return router


def test_match(router):
    assert router.match("GET", "/users/12") == (user, {"user_id": 12})
    assert router.match("GET", "/static/a%20b/c.css") == (static, {"name": "a b/c.css"})


def test_not_found(router):
    with pytest.raises(NotFound, match="PUT /users/1"):
        router.match("PUT", "/users/1")


def test_dispatch(router):
    requests = ["get /users/7?tab=likes&x=1", "GET /users/x", "GET /users/7/posts/on-time", "POST /users/07"]
    assert router.dispatch(requests) == [
        (200, "user 7 likes"),
        (404, ""),
        (200, "post on-time of 7"),
        (200, "user 7 -"),
    ]
    assert router.counts == {"user": 2, "post": 1}


def test_first_route_wins():
    router = Router()
    router.add("/<str:name>", static)
    router.add("/<int:user_id>", user)
    assert router.dispatch(["GET /44"]) == [(200, "44")]


def test_large_dispatch(router):
    for number in range(12):
        router.add(f"/api/v{number}/items/<int:user_id>", user, methods=("GET", "DELETE"))
    requests = [f"GET /api/v{i % 14}/items/{i * 31 % 97}?tab=t{i % 3}" for i in range(60)]
    responses = router.dispatch(requests)
    assert [status for status, _ in responses].count(404) == 8
    assert responses[0] == (200, "user 0 t0")
    assert responses[-7] == (200, "user 91 t2")
    assert router.counts == {"user": 52}
