"""Hostile bytes, made of what is read: repeated, nested, cut, joined, and filled with what parsers stumble over."""

from __future__ import annotations

from random import Random

ODD = [
    b"\0", b"\xff\xfe", b"\xed\xb2\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\r", b"\r\n", b"\n", b" ", b"\t", b"\x1b[", b"\\",
    b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"-" * 300, b"0x", b"\\ud800", b'"', b"'", b"[", b"{", b"(", b"<", b"]]>",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&amp;", b"&#0;", b"%s", b"../", b"\xe2\x80\xae", b"*" * 99, b"&a", b"*a", b"#",
    b"true", b"null", b"def ", b"lambda:", b"not ", b".b", b"()", b"if x:\n ", b"= ", b": ", b", ",
]  # fmt: skip
NESTS = [(b"[", b"]"), (b"{\"a\":", b"}"), (b"<a>", b"</a>"), (b"(", b")"), (b"[[", b"]]"), (b"a = {b = ", b"}"), (b"-", b""),
         (b"l\x01*", b"")]  # fmt: skip


def hostile(random: Random, seeds: list[bytes], size: int) -> bytes:
    """At most `size` bytes that begin as one of `seeds`."""
    data = random.choice([*seeds, b""])
    for _ in range(random.randrange(1, 6)):
        data = random.choice(HOW)(random, data, seeds, size)[:size]
    return data


def _repeated(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    at, length = random.randrange(len(data) + 1), random.choice([1, 2, 8, 40, 1000])
    piece = data[at : at + length] or random.choice(ODD)
    return data[:at] + piece * random.randrange(1, max(2, size // len(piece))) + data[at:]


def _nested(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    before, after = random.choice(NESTS)
    depth = random.choice([50, 1000, 20_000, 200_000])
    at = random.randrange(len(data) + 1)
    closed = after * depth if random.random() < 0.7 else b""
    return data[:at] + before * depth + data[at : at + 100] + closed + data[at:]


def _cut(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _joined(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    other = random.choice(seeds)
    at, begin = random.randrange(len(data) + 1), random.randrange(len(other) + 1)
    return data[:at] + other[begin:] + data[at:]


def _odd(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    for _ in range(random.randrange(1, 20)):
        at = random.randrange(len(data) + 1)
        data = data[:at] + random.choice(ODD) + data[at + random.choice([0, 0, 1, 5]) :]
    return data


def _flipped(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(changed), random.randrange(1, 30))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _noise(random: Random, data: bytes, seeds: list[bytes], size: int) -> bytes:
    return data + random.randbytes(random.randrange(min(size, 3000)))


HOW = [_repeated, _repeated, _nested, _cut, _joined, _odd, _odd, _flipped, _noise]
