"""Names of temporary folders do not count; which folder is meant does."""

from __future__ import annotations

import pathlib
import re

from hypothesis import given
from hypothesis import strategies as st

from bakeoff.judge.codec import decode, encode, neutral

NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789_", min_size=8, max_size=8)


@given(NAMES, NAMES)
def test_results_are_the_same_but_for_the_name(one: str, other: str) -> None:
    def made(name: str) -> bytes:
        return encode([f"/tmp/tmp{name}/a", {"b": f"/tmp/tmp{name}".encode()}, pathlib.Path(f"/tmp/tmp{name}") / "x"])

    assert neutral(made(one)) == neutral(made(other))
    assert (made(one) == made(other)) is (one == other)
    assert neutral(neutral(made(one))) == neutral(made(one))


def test_it_stays_a_message_and_all_else_counts() -> None:
    one = encode(["/tmp/tmpabcdefgh/a", "/tmp/tmpzzzzzzzz", "/tmp/tmpabcdefgh/b"])
    assert decode(neutral(one)) == ["/tmp/tmp00000000/a", "/tmp/tmp00000001", "/tmp/tmp00000000/b"]
    for other in (
        ["/tmp/tmpabcdefgh/a", "/tmp/tmpabcdefgh", "/tmp/tmpabcdefgh/b"],
        ["/tmp/tmpabcdefgh/a", "/tmp/tmpzzzzzzzz", "/tmp/tmpzzzzzzzz/b"],
        ["/tmp/tmpabcdefgh/a", "/tmp/tmpzzzzzzzz", "/tmp/tmpabcdefgh/c"],
        ["/tmp/tmpabcdefgh/a", "/srv/tmpzzzzzzzz", "/tmp/tmpabcdefgh/b"],
    ):
        assert neutral(encode(other)) != neutral(one)
    for kept in ("/srv/tmpabcdefgh", "tmpabcdefgh", "/tmp/abcdefgh", "/tmp/tmpABCDEFGH"):
        assert neutral(encode(kept)) == encode(kept)


def test_names_are_as_tempfile_makes_them(tmp_path: pathlib.Path) -> None:
    import tempfile

    name = pathlib.Path(tempfile.mkdtemp(dir=tmp_path)).name
    assert re.fullmatch("tmp[a-z0-9_]{8}", name)
