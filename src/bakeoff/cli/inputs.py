"""Inputs of runs, as the command line gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.system.named_files import read_named


def parse_inputs(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Inputs from `-i name=value` and `-i @file.json`; the last one of a name wins.

    Raises:
        BakeoffError: a pair has no `=`, or a file is no JSON object.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        if pair.startswith("@"):
            values |= _inputs_of_file(Path(pair[1:]))
            continue
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise BakeoffError(f"-i {pair}: write -i NAME=VALUE or -i @FILE.json")
        values[name.strip()] = value.strip()
    return values


def _inputs_of_file(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_named(path, once=True))
    except OSError as failure:
        raise BakeoffError(f"-i @{path}: the file cannot be read: {failure.strerror}") from failure
    except (ValueError, RecursionError) as failure:
        raise BakeoffError(f"-i @{path}: it is not JSON: {failure}") from failure
    if not isinstance(found, dict):
        raise BakeoffError(f"-i @{path}: it must hold one JSON object, name to value")
    return found
