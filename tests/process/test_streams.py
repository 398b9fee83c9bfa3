"""Masking and keeping one output, whatever way it is cut into chunks."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.engine.mask import Masker
from bakeoff.process.frames import pack, take_frames
from bakeoff.process.streams import MASK, Mask, Stream

FORMS = (b"abababab", b"aabbaabbaa", b"abababababab", b"bbbbbbbbb")
texts = st.lists(st.sampled_from([*FORMS, b"a", b"b", b"ab", b"aabb", b"x"]), max_size=12).map(b"".join)


def chunks_of(text: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


@given(texts, st.lists(st.integers(0, 200), max_size=8))
def test_masking_does_not_depend_on_how_output_is_cut(text: bytes, cuts: list[int]) -> None:
    forms = tuple(sorted(FORMS, key=len, reverse=True))
    whole = Mask(forms).feed(text, True)
    mask = Mask(forms)
    pieces = [mask.feed(chunk) for chunk in chunks_of(text, cuts)]
    shown = b"".join(pieces) + mask.feed(b"", True)
    assert shown == whole
    assert not any(form in shown for form in FORMS)
    assert not any(form in b"".join(pieces) for form in FORMS)


@given(st.text('abcx"\\é', max_size=30), st.lists(st.integers(0, 60), max_size=5))
def test_masking_a_stream_equals_masking_a_text(text: str, cuts: list[int]) -> None:
    masker = Masker({"one": 'abc"abc\\é'})
    text += 'abc"abc\\é' + text + 'abc\\"abc\\\\é'
    mask = Mask(tuple(form.encode() for form in masker.forms))
    shown = b"".join(mask.feed(chunk) for chunk in chunks_of(text.encode(), cuts)) + mask.feed(b"", True)
    assert shown.decode() == masker.text(text)
    assert MASK in shown


@given(st.lists(st.binary(max_size=40), max_size=12), st.booleans(), st.booleans(), st.integers(1, 200))
def test_what_is_kept_is_what_came(pieces: list[bytes], to_file: bool, with_path: bool, limit: int) -> None:
    path = f"/tmp/bakeoff-stream-{os.getpid()}".encode() if with_path else None
    stream = Stream(-1, path, limit, (64, 16), None, False)
    shown = b"".join(stream.take(piece, to_file) for piece in pieces) + stream.finish()
    whole = b"".join(pieces)
    kept, head, tail, size, stored, file = stream.summary()
    try:
        assert (shown, size, stored) == (whole[:limit], len(whole), len(shown))
        assert stream.full == (len(whole) > limit)
        if kept is None:
            assert (head, tail) == (shown[:16], shown[-16:])
            assert file is not None
        else:
            assert kept == shown
        if file is not None:
            assert Path(os.fsdecode(file)).read_bytes() == shown
    finally:
        if stream.file >= 0:
            os.close(stream.file)
            os.unlink(path or b"")


@given(st.lists(st.tuples(st.text(), st.integers(), st.none() | st.binary()), max_size=8), st.integers(1, 7))
def test_frames_survive_any_cut(frames: list[tuple[object, ...]], step: int) -> None:
    data = b"".join(map(pack, frames))
    buffer, got = bytearray(), []
    for place in range(0, len(data), step):
        buffer += data[place : place + step]
        got += take_frames(buffer)
    assert got == frames
    assert not buffer


def test_what_cannot_be_kept_in_its_file_stays_in_memory_where_it_may() -> None:
    must = Stream(-1, b"/dev/full", 1 << 20, (10, 4), None, True)
    with pytest.raises(OSError, match="No space"):
        must.take(b"0123456789abc", False)
    may = Stream(-1, b"/dev/full", 1 << 20, (10, 4), None, True, lossy=True)
    assert may.take(b"0123456789abc", False) == b"0123456789abc"
    assert may.take(b"def", True) == b"def"
    assert may.finish() == b""
    assert may.summary() == (None, b"0123", b"cdef", 16, 16, None)
    small = Stream(-1, b"/dev/full", 1 << 20, (10, 4), None, True, lossy=True)
    small.take(b"abc", True)
    assert small.summary() == (bytearray(b"abc"), b"", b"", 3, 3, None)
