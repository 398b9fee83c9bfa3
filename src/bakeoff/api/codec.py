"""Encoding of Python values as JSON in a run's journal, and decoding of them."""

from __future__ import annotations

import json
from typing import Any, Protocol

from bakeoff.errors import BakeoffError, text_of

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_SCALARS = frozenset({str, int, bool, float, type(None)})
_PLAIN_BITS = 2000  # whole numbers that every setting of Python can write; it refuses very long ones


class Codec(Protocol):
    """Turns results into JSON values and back; `decode(encode(x))` must stand for `x`."""

    def encode(self, value: Any) -> Any:
        """A value made of dicts with text keys, lists, text, numbers, booleans and None."""
        ...

    def decode(self, data: Any) -> Any:
        """The value again."""
        ...


class JsonCodec:
    """For results that are JSON already. A tuple comes back as a list, from a fresh call as from a resumed one."""

    def encode(self, value: Any) -> Any:
        """The value as it is.

        Passes on TypeError: it is not JSON.
        """
        if type(value) in _SCALARS:
            if type(value) is int and value.bit_length() > _PLAIN_BITS:
                strict_json(value)
            return value
        return json.loads(strict_json(value))

    def decode(self, data: Any) -> Any:
        """The value as it is."""
        return data


JSON = JsonCodec()


def strict_json(value: Any) -> str:
    """A JSON text that is the same for equal values.

    Raises:
        TypeError: the value is not JSON.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as failure:
        raise TypeError(f"{type(value).__name__} is not JSON ({text_of(failure)}); give a codec") from None


def argument_json(value: Any, name: str) -> str:
    """The same for an argument, as a message for the caller.

    Raises:
        BakeoffError: the value is not JSON.
    """
    try:
        return strict_json(value)
    except TypeError as failure:
        raise BakeoffError(
            f"{name}: a durable run finds its items again by their JSON, but this one is none: {failure}"
        ) from failure
