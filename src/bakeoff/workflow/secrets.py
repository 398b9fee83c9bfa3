"""The secrets of a run: the variables that its file and the files it calls name, and their present values."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bakeoff.engine.history import History
from bakeoff.workflow.document import parse_document
from bakeoff.workflow.problems import InvalidWorkflowError


def secrets_of(*texts: str) -> tuple[str, ...]:
    """The environment variables that the `secrets` of workflow files name, given the files' texts.

    A text that is no workflow names none.
    """
    return tuple(dict.fromkeys(name for text in texts for name in _named(text)))


def called_texts(history: History) -> list[str]:
    """A run's own copies of the files that it calls: those made when it began, and those chosen on the way."""
    chosen = [choice["text"] for name, choice in history.decisions.items() if name.endswith("#workflow")]
    return [*history.called.values(), *chosen]


def present(names: Iterable[str]) -> dict[str, str]:
    """The values that the environment has for them now."""
    return {name: os.environ.get(name, "") for name in names}


def _named(text: str) -> list[str]:
    if "secrets" not in text:
        return []
    try:
        found = parse_document(text).data.get("secrets")
    except InvalidWorkflowError:
        return []
    names: Iterable[object] = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [name for name in names if isinstance(name, str)]
