"""Requirements that are types: the output parses as one."""

from __future__ import annotations

from typing import Any

from bakeoff.judge.requirement import Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.threads import beside_loop
from bakeoff.judge.verdict import ValidationResult


class ParsesRequirement(Requirement):
    """The output is JSON (text, or a value already) that pydantic accepts for `model`.

    Args:
        model: a pydantic model, dataclass, or any annotation that pydantic understands.
        description: what it stands for.
        strict: no conversions, such as from "1" to 1.
        timeout: seconds for one check.
    """

    def __init__(
        self,
        model: Any,
        description: str | None = None,
        *,
        strict: bool | None = None,
        timeout: float | None = None,
        version: str = "",
    ) -> None:
        name = getattr(model, "__qualname__", repr(model))
        super().__init__(description or f"JSON that parses as {name}", timeout=timeout, version=version)
        self.model = model
        self.strict = strict

    async def check(self, subject: Subject) -> ValidationResult:
        """Parse in a thread (the first time imports pydantic); the reason lists what is wrong, and where."""
        left = lambda: subject.not_stopped.append(f"{self.description}: parsing goes on in its thread")  # noqa: E731
        errors = await beside_loop(self._errors, subject.output, left=left)
        return ValidationResult(not errors, "; ".join(errors))

    def _errors(self, output: Any) -> list[str]:
        from pydantic import TypeAdapter, ValidationError

        adapter = TypeAdapter(self.model)
        try:
            if isinstance(output, str):
                adapter.validate_json(output, strict=self.strict)
            else:
                adapter.validate_python(output, strict=self.strict)
        except ValidationError as failure:
            return [
                f"{'.'.join(str(part) for part in error['loc']) or 'the whole'}: {error['msg']}"
                for error in failure.errors(include_url=False, include_input=False)[:20]
            ]
        return []
