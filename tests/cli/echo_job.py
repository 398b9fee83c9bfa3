"""A fifth job, as small as one can be: this folder's file, and one line in the registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from bakeoff.cli.jobs.job import Job, OpenRun, ResumeRequest


class Echo(Job):
    lists_steps = False

    def go_on(self, asked: ResumeRequest) -> NoReturn:
        print(f"echo {asked.run} {asked.inputs} {asked.max_parallel}")
        raise SystemExit(0)

    def lines(self, run: OpenRun) -> Iterable[str]:
        return [f"echoed {run.history.meta['word']}"]

    def facts(self, run: OpenRun) -> dict[str, Any]:
        return {"word": run.history.meta["word"]}

    def page(self, run: OpenRun) -> Iterator[str]:
        return iter([f"<html>{run.history.meta['word']}"])


JOB = Echo()
