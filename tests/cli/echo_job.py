"""A fifth job, as small as one can be: this folder's file, and one line in the registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.jobs.job import Job, JobSession, OpenRun, ResumeRequest, head
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.jobs.outcome import UNFINISHED
from bakeoff.jobs.session import RunOptions, SessionOptions, in_session, new_run
from bakeoff.process.spawner import Spawner
from bakeoff.report.schema_parts import TEXT, object_of


class Echo(Job):
    name = "echo"
    lists_steps = False
    has_result = True

    def resume(self, asked: ResumeRequest) -> JobSession:
        word = str(asked.inputs.get("word", "nothing"))
        return _session(asked.runs, lambda: (asked.runs.open(asked.run), None), word)

    def lines(self, run: OpenRun) -> Iterable[str]:
        return [f"echoed {run.history.meta['word']}"]

    def facts(self, run: OpenRun) -> dict[str, Any]:
        return {"job": self.name, "word": run.history.meta["word"]}

    def shown(self, run: OpenRun) -> Mapping[str, Any]:
        return {**head(run, self.name), **self.facts(run)}

    def ending(self, run: OpenRun, landing: LandingOptions) -> Iterable[str]:
        return [f"run {run.folder.id} echoed {run.ended.facts['said']}"]

    def completed(self, run: OpenRun) -> int:
        return UNFINISHED

    def page(self, run: OpenRun) -> Iterator[str]:
        return iter([f"<html>{run.history.meta['word']}"])

    def schemas(self) -> dict[str, dict[str, Any]]:
        return {"echo": object_of({"run_id": TEXT, "word": TEXT})}

    def show_schema(self) -> dict[str, Any]:
        return object_of({"job": {"const": "echo"}, "word": TEXT})


def _session(store: RunStore, opened, word: str) -> JobSession:
    options = RunOptions(catch_signals=False)

    async def carry_out(run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        return Ending(RunStatus.COMPLETED, facts={"winner": None, "said": word})

    async def begin() -> tuple[RunFolder, Ending]:
        folder, meta = opened()
        return folder, await in_session(folder, carry_out, options, SessionOptions({"leaves": 1}), meta=meta)

    return JobSession(store, options, begin)


@click.command("echo")
@click.argument("word")
@click.option("--json", "as_json", is_flag=True)
def command(word: str, as_json: bool) -> None:
    """Say WORD again."""
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.options import SessionFlags
    from bakeoff.cli.run_lookup import store

    runs = store()
    session = _session(runs, lambda: new_run(runs, "e", "echo", "an echo", word=word), word)
    carry_out(JOB, session, SessionFlags(as_json, quiet=True))


JOB = Echo()
