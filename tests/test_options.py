"""Options are declared once: commands, steps, settings and checks have sentence, values and range from there."""

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import bakeoff
from bakeoff.errors import BakeoffError
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.options.kinds import Choice, Flag, Number, Pairs, Text, Texts, Whole
from bakeoff.options.option import Option, options_of
from bakeoff.plan.queue.options import MergeOptions
from bakeoff.plan.run.document import ATTEMPT, CONFIG
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import AgentSettings, EndpointSettings, ModelSettings, Settings, SlotSettings
from bakeoff.settings.merge import MergeSettings
from bakeoff.settings.plan import PlanSettings
from bakeoff.workflow.models import StepModel
from bakeoff.workflow.steps.attempt import Attempt
from bakeoff.workflow.steps.optimize import Optimize
from bakeoff.workflow.steps.plan import PlanModel

ALL = (AttemptOptions, OptimizeOptions, MergeOptions, SubplanConfig, PlanSettings, MergeSettings, SlotSettings)
COMMANDS = [
    ("attempt", AttemptOptions, {"task", "bench", "bench_output", "min_speedup", "seconds"}),
    ("compare", AttemptOptions, {"task", "agent", "model", "endpoint", "attempts", "repair", "retries", "base", "mode",
                                 "max_cost", "max_tokens", "max_calls", "timeout", "agent_sandbox", "preflight",
                                 "require_red"}),
    ("optimize", OptimizeOptions, {"target"}),
    ("merge", MergeOptions, {"lockfiles", "structured"}),
    ("plan_goal", SubplanConfig, set()),
    ("plan_goal", AttemptOptions, {"task", "model", "score", "mode", "bench", "bench_output", "min_speedup",
                                   "seconds"}),
    ("plan_decompose", PlanSettings, set(options_of(SubplanConfig))),
]  # fmt: skip
"""Commands, whose options they have, and which of these not."""
STEPS: list[tuple[type[StepModel], type, dict[str, str]]] = [
    (Attempt, AttemptOptions, {"check": "checks", "agent_timeout": "timeout"}),
    (Optimize, OptimizeOptions, {"check": "checks", "sandbox": "level"}),
    (PlanModel, AttemptOptions, {"check": "checks", "mode": ""}),
    (PlanModel, PlanSettings, {"mode": "execution_mode"}),
]
"""Step types, whose options they have, and what they call otherwise."""


def literals() -> Counter[str]:
    """The texts in the source, adjacent ones joined, with how often each is there."""
    found: Counter[str] = Counter()
    for file in Path(bakeoff.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text())
        found.update(
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str
        )
    return found


def test_each_sentence_is_in_the_source_once() -> None:
    found = literals()
    declared = {option.help for of in ALL for option in options_of(of).values()}
    assert {text: found[text] for text in declared if found[text] != 1} == {}


@pytest.mark.parametrize(("module", "of", "without"), COMMANDS)
def test_commands_have_the_declared_options(module: str, of: type, without: set[str]) -> None:
    command: click.Command = import_module(f"bakeoff.cli.{module}").command
    given = {one.name: one for one in command.params if isinstance(one, click.Option)}
    declared = options_of(of)
    for name in declared.keys() - without:
        option, made = declared[name], given[name]
        assert sentence_of(option, declared) in (made.help or "")
        assert_same_values(option, made)


def sentence_of(option: Option, declared: Mapping[str, Option]) -> str:
    """What help of a command says, where other options are called by their flags."""
    return re.sub(r"`(\w+)`", lambda word: declared[word[1]].flag_of(word[1]), option.help).removesuffix(".")


def assert_same_values(option: Option, made: click.Option) -> None:
    match option.kind:
        case Texts():
            assert made.multiple
        case Choice(values):
            assert isinstance(made.type, click.Choice)
            assert tuple(made.type.choices) == values
        case Flag():
            assert made.is_flag
        case Whole(least):
            assert getattr(made.type, "min", None) == least
        case Number(least, above):
            assert isinstance(made.type, click.FloatRange)
            assert (made.type.min, made.type.min_open) == (above if least is None else least, least is None)


@pytest.mark.parametrize(("model", "of", "names"), STEPS)
def test_steps_have_the_declared_options(model: type[StepModel], of: type, names: dict[str, str]) -> None:
    schema = model.model_json_schema()["properties"]
    declared = options_of(of)
    own = {name: names.get(name, name) for name in model.model_fields if name not in StepModel.model_fields}
    found = {name: declared[option] for name, option in own.items() if option in declared}
    assert len(found) >= 7
    for name, option in found.items():
        assert schema[name]["description"] == option.help
        assert_same_range(option, name, json.dumps(schema[name]))


def assert_same_range(option: Option, name: str, schema: str) -> None:
    match option.kind:
        case Choice(values):
            assert json.dumps(list(values)) in schema
        case Flag():
            assert '"boolean"' in schema
        case Whole(least):
            assert '"integer"' in schema
            assert least is None or f'"minimum": {least}' in schema or name in ("max_parallel", "max_retries")
        case Number(_, above):
            assert above is None or '"exclusiveMinimum": 0' in schema
        case Text() | Texts():
            assert '"string"' in schema


def test_tables_of_settings_and_plan_files_have_declared_options_alone() -> None:
    for table in (PlanSettings, MergeSettings, SlotSettings, ModelSettings, AgentSettings, EndpointSettings):
        assert [one.name for one in fields(table)] == list(options_of(table))
    assert {one.name for one in fields(Settings)} == {*options_of(Settings), "source", "warnings"}
    assert set(ATTEMPT) < set(options_of(AttemptOptions))
    assert tuple(options_of(SubplanConfig)) == CONFIG


def made(of: type, **values: Any) -> Any:
    """Options of that sort, with what must be given."""
    needed: dict[type, dict[str, Any]] = {
        AttemptOptions: {"task": "t", "checks": ("c",)},
        OptimizeOptions: {"target": "a.py:f"},
        MergeOptions: {"refs": ("r",), "checks": ("c",)},
    }
    return of(**{**needed.get(of, {}), **values})


WRONG: dict[type, Any] = {
    Text: 3, Texts: "no list", Whole: -1, Number: -0.5, Flag: "yes", Choice: "no such", Pairs: "x"
}  # fmt: skip


@pytest.mark.parametrize("of", [AttemptOptions, OptimizeOptions, MergeOptions, SubplanConfig])
def test_wrong_values_are_refused_and_the_option_is_named(of: type) -> None:
    for name, option in options_of(of).items():
        if name in ("task", "seed") or option.kind in (Text(command=True), Texts(command=True)):
            continue
        called = name if of is SubplanConfig else option.flag_of(name)
        with pytest.raises(BakeoffError, match=f"^{called} must be "):
            made(of, **{name: WRONG[type(option.kind)]})


@pytest.mark.parametrize("of", [AttemptOptions, OptimizeOptions, MergeOptions, SubplanConfig])
def test_options_come_back_out_of_json(of: type) -> None:
    given = made(of)
    kept = json.loads(json.dumps(given.to_json()))
    assert given.from_json({**kept, "of a later version": 1}) == given
    last = [*kept][-1]
    assert given.from_json({name: value for name, value in kept.items() if name != last}) == given


def test_the_order_in_journals_stays() -> None:
    """Keys of steps are digests of the options as they come: a new option is the last one."""
    assert ",".join(AttemptOptions(task="t", checks=("c",)).to_json()) == (
        "task,agent,model,endpoint,refs,attempts,repair,retries,checks,score,base,may_edit,protect,max_cost,max_tokens,"
        "max_calls,timeout,check_timeout,mode,sandbox,agent_sandbox,bench,bench_output,min_speedup,seconds,preflight,"
        "require_red"
    )
    assert ",".join(OptimizeOptions("a.py:f").to_json()) == (
        "target,candidates,refs,rules,models,samples,agents,agent_samples,endpoint,repairs,refinements,parallel,"
        "min_speedup,seconds,seed,inputs,tests,trust,cold,level,memory,base,bench,bench_output,checks,check_timeout,"
        "protect,every,top,max_cost,max_tokens,max_calls,messages"
    )
    assert ",".join(MergeOptions(("r",), ("c",)).to_json()) == (
        "refs,checks,base,strategy,width,union,lockfiles,structured,tested,check_timeout,sandbox,preflight"
    )
    assert ",".join(SubplanConfig().to_json()) == (
        "execution_mode,max_parallel,fail_fast,max_retries,timeout_per_subplan,on_conflict,max_reopened"
    )
