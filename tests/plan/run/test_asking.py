"""An agent is asked how to split a goal: what it says is checked, it is told what is wrong, nothing it does is kept."""

from __future__ import annotations

import json

import pytest
import yaml

from bakeoff.plan.run.split.question import read_answer

ARGS = ("--agent", "fake", "--check", "true", "--by", "agent", "--agent-sandbox", "none", "--dry-run", "-o", "-")


def answering(plans, *answers: str) -> None:
    """An agent that gives these answers, one after the other, and changes a file each time."""
    for number, answer in enumerate(answers, 1):
        (plans.lab.place / f"answer-{number}").write_text(answer)
    place = plans.lab.place
    plans.lab.agent(
        f'echo spoiled > a/x.txt; n=$(grep -c "" {place}/calls); printf "%s" "$1" > {place}/asked-$n',
        say=f"cat {place}/answer-$n",
    )


def subplans(*parts: tuple[str, str, list[str]]) -> str:
    return json.dumps({"subplans": [{"name": n, "goal": g, "files": files} for n, g, files in parts]})


def test_what_an_agent_proposes_becomes_a_plan(plans):
    before = plans.lab.digest()
    good = subplans(("hub", "the hub", ["hub.txt"]), ("parts", "the parts", ["a/x.txt", "b/x.txt"]))
    both = subplans(("one", "", ["a/x.txt"]), ("two two", "", ["a/x.txt", "zz"]))
    answering(plans, f"Let me think {{of it}}.\n```json\n{both}\n```", f"Sure: {good}")
    before = plans.lab.digest()
    said = plans.lab("plan", "tidy up", *ARGS)
    assert said.status == 0, said
    document = yaml.safe_load(said.out)
    assert [(part["name"], part["goal"], part["files"]) for part in document["subplans"]] == [
        ("parts", "the parts", ["a/x.txt", "b/x.txt"]),
        ("hub", "the hub", ["hub.txt"]),
    ]
    again = (plans.lab.place / "asked-2").read_text()
    for wrong in ("a/x.txt is in 'one', too", "zz is not among", "'two two' cannot be the name"):
        assert wrong in again, wrong
    assert "at most 3 calls of fake" in said.err
    assert plans.lab.digest() == before
    assert plans.lab.slots() == []


def test_an_agent_that_says_nothing_usable_is_given_up_on(plans):
    answering(plans, "no idea", subplans(), "{}")
    said = plans.lab("plan", "tidy up", *ARGS)
    assert said.status == 1
    assert "fake proposed nothing usable in 3 tries" in said.err
    plans.lab.agent("exit 1")
    said = plans.lab("plan", "tidy up", *ARGS)
    assert said.status == 1
    assert "fake could not say how to split it" in said.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON object"),
        ('{"subplans": 3}', "must be a list"),
        ('{"subplans": [3]}', "subplan 1 must be an object"),
        ('{"subplans": [{"name": "a"}]}', "`files` of subplan 1"),
        ('{"subplans": [{"name": "a", "files": [], "goal": 3}]}', "`goal` of subplan 1"),
    ],
)
def test_answers_of_another_form_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_answer(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 10_000,
        '{"a": "' + "{" * 40_000,
        "{" * 60_000,
        '{"subplans": ' + "[" * 200_000,
        "{" + " " * 99_999,
    ],
)
def test_an_answer_that_no_parser_can_take_is_one_that_cannot_be_used(text):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        read_answer(text)
