"""Requirements that are JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bakeoff.engine.errors import BakeoffError
from bakeoff.judge.matching import against_schema
from bakeoff.judge.requirement import Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import ValidationResult
from bakeoff.reader.reading import UnreadError, read

SCHEMA_SECONDS = 10.0


class JsonSchemaRequirement(Requirement):
    """The output is JSON that `schema` allows. Needs the extra `bakeoff[schema]`.

    A schema may hold patterns, and what it judges comes from outside: it runs in a process that is killed when
    `timeout` seconds of processor time are over; the verdict is an error then.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        description: str | None = None,
        *,
        timeout: float = SCHEMA_SECONDS,
        version: str = "",
    ) -> None:
        title = schema.get("title")
        super().__init__(description or f"JSON by the schema{f' {title!r}' if title else ''}", version=version)
        self.schema = schema
        self.seconds = timeout

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{json.dumps(self.schema, sort_keys=True, default=dict)}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Parse and validate; the reason lists what is wrong, and where.

        Raises:
            BakeoffError: the library `jsonschema` is missing, or the schema is none.
            RuntimeError: the validator failed.
        """
        try:
            text = subject.output if isinstance(subject.output, str) else json.dumps(subject.output)
        except (TypeError, ValueError, RecursionError) as failure:
            return ValidationResult(False, f"not JSON: {failure}")
        try:
            data = text.encode("utf-8", "surrogatepass")
            found = await read(against_schema, data, dict(self.schema), seconds=self.seconds)
        except UnreadError as failure:
            if failure.kind == "timeout":
                return ValidationResult(False, f"{self.description}: {failure}", error="timeout")
            raise RuntimeError(f"{failure.kind}: {failure}") from None
        if "no_json" in found:
            return ValidationResult(False, f"not JSON: {found['no_json']}")
        if found.get("missing"):
            raise BakeoffError("JSON Schema requirements need the library jsonschema: pip install 'bakeoff[schema]'")
        if "bad_schema" in found:
            raise BakeoffError(f"{self.description}: the schema itself is wrong: {found['bad_schema']}")
        return ValidationResult(not found["errors"], "; ".join(found["errors"]))
