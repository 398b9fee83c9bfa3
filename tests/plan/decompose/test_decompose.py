"""The split itself: its shape on known trees, what holds of every tree, and what moves when a file is added."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.plan.decompose.assemble import leaf_id
from bakeoff.plan.decompose.decompose import decompose
from bakeoff.plan.decompose.graph import python
from bakeoff.plan.decompose.graph.import_graph import import_graph
from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile, from_json, to_json
from bakeoff.plan.decompose.outline import names_of
from bakeoff.plan.errors import DecomposeError
from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import PlanSettings
from plan.decompose.trees import SMALL, check, files, regular
from searches import examples

DEFAULT = PlanSettings()


def split(given: list[SourceFile], config: PlanSettings = DEFAULT, **more) -> Hierarchy:
    made = decompose(given, config, **more)
    check(made, given, config)
    return made


# Shape


def test_a_tree_of_three_levels_is_split_level_by_level():
    found = split(regular(6, 6, 6, 12), SMALL).metrics
    assert found["depth"] >= 3
    assert 104 <= found["leaves"] <= 130
    assert found["fill"] >= 0.8


def test_a_tree_of_four_levels_has_five_levels_of_nodes():
    assert split(regular(5, 5, 5, 4, 8), SMALL).metrics["depth"] == 4


@pytest.mark.parametrize("kind", ["limits", "deep"])
@pytest.mark.parametrize("most", [5, 10, 25, 50])
@pytest.mark.parametrize("tree", ["three levels", "three directories", "a chain"])
def test_a_small_project_stays_shallow(tree: str, most: int, kind: str):
    paths = {
        "three levels": [f"a{n % 2}/b{n // 2 % 2}/c{n // 4 % 2}/f{n}.py" for n in range(40)],
        "three directories": [f"a{n % 3}/f{n}.py" for n in range(40)],
        "a chain": [f"{'d/' * (n % 4)}f{n}.py" for n in range(40)],
    }[tree]
    for least in (1, 3, 8):
        config = replace(DEFAULT, max_files_per_subplan=most, split=kind, min_files_per_subplan=least)
        assert split(files(paths), config).metrics["depth"] <= 2


def test_forty_files_within_the_limits_are_one_leaf():
    made = split(regular(2, 2, 10))
    assert made.metrics["leaves"] == 1
    assert made.metrics["depth"] == 0


def test_deep_goes_on_to_the_least_number_of_files():
    given = regular(4, 4, 4, 6)
    config = replace(DEFAULT, split="deep", min_files_per_subplan=6)
    made = split(given, config)
    assert {len(leaf.files) for leaf in made.leaves} == {6}
    assert made.metrics["depth"] >= 3
    assert split(given, replace(config, max_depth=1)).metrics["depth"] == 1


def test_the_greatest_depth_is_kept_and_so_are_the_limits():
    for deepest in (1, 2, 3, 4):
        assert split(regular(5, 5, 5, 4, 8), replace(SMALL, max_depth=deepest)).metrics["depth"] == deepest


def test_no_node_has_too_many_children():
    made = split(files(f"parts/p{number:03}/f{n}.py" for number in range(790) for n in range(45)), DEFAULT)
    assert made.metrics["fan_out"] <= DEFAULT.max_children
    assert made.metrics["leaves"] == 790


# Odd input


def test_five_thousand_files_in_one_directory_however_deep_it_is():
    since = time.process_time()
    flat = split(files(f"f{number}.py" for number in range(5000))).metrics
    assert time.process_time() - since < 10
    deep = split(files("d/" * 60 + f"f{number}.py" for number in range(5000))).metrics
    assert (flat["leaves"], flat["depth"]) == (deep["leaves"], deep["depth"]) == (100, 2)


def test_chains_of_directories():
    made = split(files("d/" * number + "f.py" for number in range(1, 61)))
    assert len(made.leaves) <= 4
    assert made.metrics["depth"] <= 2
    assert len(made.nodes) <= 7
    assert len(split(files(f"d{number}/f.py" for number in range(2000))).leaves) <= 50
    assert len(split(files(["d/" * 2000 + "f.py"])).leaves) == 1
    assert len(split(files("d/" * number + "f.py" for number in range(2000))).leaves) <= 60


def test_files_that_are_too_large_are_leaves_of_their_own():
    made = split(files(["a.py", "b.py"], 1_000_000))
    assert [leaf.oversize for leaf in made.leaves] == [True, True]
    assert made.metrics["oversize"] == 2
    mixed = split([*files(["a.py", "c.py"]), *files(["b.py"], 200_000)])
    assert sorted(leaf.files for leaf in mixed.leaves) == [("a.py", "c.py"), ("b.py",)]


def test_nothing_to_split():
    made = split([])
    assert (made.root, made.nodes, made.order, made.metrics["leaves"]) == (None, {}, (), 0)
    assert from_json(to_json(made), "here").root is None


def test_strange_names_are_names():
    names = ["ü ä/ö.py", "a b/c d.py", "new\nline/x.py", "tab\t.py", "~", "-", "a\\b.py", "bad\udcff.py", "日本/語.py"]
    made = split(files(names), replace(DEFAULT, max_files_per_subplan=2))
    assert sorted(path for leaf in made.leaves for path in leaf.files) == sorted(names)


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        (["a/x.py", "b/../a/x.py"], "a/x.py"),
        (["x", "./x"], "./x"),
        (["x", "x"], "x"),
        (["é.py", "é.py"], "é.py"),
        (["../x"], "../x"),
        (["a/../../x"], "a/../../x"),
        (["."], "."),
        ([""], ""),
        (["/x"], "/x"),
    ],
)
def test_paths_that_cannot_be_told_apart_or_are_outside_are_refused_by_name(paths: list[str], named: str):
    with pytest.raises(DecomposeError) as refused:
        decompose(files(paths))
    assert repr(named) in str(refused.value)


def test_absolute_paths_below_the_root_are_the_same_as_relative_ones():
    given = regular(6, 6, 2)
    absolute = [SourceFile(f"/work tree/./{file.path}", file.tokens) for file in given]
    assert text(decompose(absolute, SMALL, root="/work tree/")) == text(decompose(given, SMALL))
    with pytest.raises(DecomposeError, match="not below"):
        decompose(absolute, SMALL, root="/work")


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_files_per_subplan": 0},
        {"max_tokens_per_subplan": 0},
        {"min_files_per_subplan": 0},
        {"max_depth": 0},
        {"max_children": 1},
        {"cohesion": -0.1},
        {"cohesion": float("nan")},
        {"split": "wide"},
    ],
)
def test_limits_that_make_no_sense_are_named(wrong: dict[str, object]):
    with pytest.raises(DecomposeError, match=next(iter(wrong))):
        decompose([], replace(DEFAULT, **wrong))  # type: ignore[arg-type]


# Every tree

NAMES = st.sampled_from(["a", "b", "c", "d", "lib", "ü", "x y", "a-b", "a.b"])
PATHS = st.lists(st.tuples(st.lists(NAMES, max_size=12), st.integers(0, 400)), min_size=1, max_size=400)


@st.composite
def projects(draw: st.DrawFn) -> tuple[list[SourceFile], dict[str, list[str]], PlanSettings]:
    paths = sorted({"/".join([*folders, f"{number}.py"]) for folders, number in draw(PATHS)})
    chance = draw(st.randoms(use_true_random=False))
    given = [SourceFile(path, chance.choice([0, 1, 50, 1000, 5000, 30_000])) for path in paths]
    imports = {path: chance.sample(paths, chance.randint(0, min(8, len(paths)))) for path in paths}
    config = PlanSettings(
        max_files_per_subplan=draw(st.integers(1, 60)),
        max_tokens_per_subplan=draw(st.sampled_from([1, 1000, 20_000, 100_000])),
        min_files_per_subplan=draw(st.integers(1, 10)),
        max_depth=draw(st.integers(1, 8)),
        max_children=draw(st.integers(2, 20)),
        cohesion=draw(st.sampled_from([0.0, 0.25, 1.0])),
        split=draw(st.sampled_from(["limits", "deep"])),
    )
    return given, imports if draw(st.booleans()) else {}, config


def every_tree(project: tuple[list[SourceFile], dict[str, list[str]], PlanSettings], seed: int) -> None:
    given, imports, config = project
    made = split(given, config, imports=imports)
    chance = random.Random(seed)
    shuffled = chance.sample(given, len(given))
    again = {path: chance.sample(imports[path], len(imports[path])) for path in chance.sample([*imports], len(imports))}
    assert text(decompose(shuffled, config, imports=again)) == text(made)
    assert text(split(given, config, imports=imports, previous=made)) == text(made)
    back = from_json(json.loads(text(made)), "memory")
    assert text(decompose(given, config, imports=imports, previous=back)) == text(made)
    kept = [file for file in given if chance.random() < 0.9]
    fewer = split(kept, config, imports=imports, previous=made)
    split(given, config, imports=imports, previous=fewer)
    split(given, replace(config, max_files_per_subplan=3), imports=imports, previous=made)


def text(made: Hierarchy) -> str:
    return json.dumps(to_json(made))


@pytest.mark.soak
@given(projects(), st.integers())
@settings(max_examples=examples(60))
def test_every_tree(project, seed):
    every_tree(project, seed)


def test_the_same_in_other_processes_with_other_hash_seeds_elsewhere(tmp_path):
    code = (
        "import sys, json, random\n"
        "from bakeoff.plan.decompose.decompose import decompose\n"
        "from bakeoff.plan.decompose.hierarchy import to_json\n"
        "from bakeoff.plan.decompose.hierarchy import SourceFile\n"
        "paths = json.load(sys.stdin)\n"
        "random.shuffle(paths)\n"
        "imports = {p: {q for q in paths if int(p[-6:-3]) % 31 == int(q[-6:-3]) % 29} for p in paths}\n"
        "print(json.dumps(to_json(decompose([SourceFile(p, 900) for p in paths], imports=imports))))\n"
    )
    paths = json.dumps([f"a{n % 3}/b{n % 11}/f{n:03}.py" for n in range(600)])
    found = set()
    for seed in ("0", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        folder = tmp_path / f"{len(found)}{seed}{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code], input=paths, env=environment, cwd=folder, capture_output=True, text=True
        )
        found.add(done.stdout or done.stderr)
    assert len(found) == 1
    assert json.loads(found.pop())["metrics"]["leaves"] > 10


# Ids and stability


def test_ids_are_of_paths_alone():
    given = regular(6, 6, 12)
    made = split(given, SMALL)
    assert all(leaf.id == leaf_id(leaf.files) and len(leaf.id) == 26 for leaf in made.leaves)
    assert leaf_id(["é.py"]) == leaf_id(["é.py"])
    inner = {node.id for node in made.nodes.values() if node.children}
    assert inner
    moved = split([SourceFile(f"deeper/{file.path}", file.tokens) for file in given], SMALL)
    assert not set(moved.nodes) & set(made.nodes)


def with_one_more(given: list[SourceFile], seed: int) -> list[SourceFile]:
    chance = random.Random(seed)
    folder = chance.choice(given).path.rpartition("/")[0]
    return [*given, SourceFile(f"{folder}/{chance.choice('aemz')}{seed}.py", 1000)]


@pytest.mark.parametrize("warm", [False, True])
def test_one_file_more_changes_hardly_any_id(warm: bool):
    given = regular(6, 6, 6, 12)
    made = split(given, SMALL)
    kept = []
    for seed in range(100):
        again = decompose(with_one_more(given, seed), SMALL, previous=made if warm else None)
        kept.append(len(set(made.order) & set(again.order)) / len(made.order))
    assert min(kept) >= 0.95
    assert sum(kept) / len(kept) >= 0.98


def test_a_warm_start_keeps_full_directories_whole():
    """Without it, a file at the beginning of a long row of files moves all that come after it."""
    given = files(f"d/f{number:04}.py" for number in range(5000))
    made = split(given)
    more = [*given, SourceFile("d/f0000b.py", 1000)]
    assert len(set(made.order) & set(split(more).order)) == 0
    warm = split(more, previous=made)
    assert len(set(made.order) & set(warm.order)) == 100
    assert ("d/f0000b.py",) in [leaf.files for leaf in warm.leaves]


def test_a_new_directory_comes_beside_its_neighbours():
    given = regular(6, 6, 30)
    made = split(given)
    fresh = files(f"a2/b9/f{number}.py" for number in range(45))
    warm = split([*given, *fresh], previous=made)
    assert set(made.order) <= set(warm.order)
    leaf = warm.nodes[warm.leaf_of["a2/b9/f1.py"]]
    assert len(leaf.files) == 45
    assert all(path.startswith("a2/") for path in warm.nodes[leaf.parent or ""].files)


def test_what_outgrows_its_leaf_is_split_in_place():
    given = regular(4, 4, 20)
    made = split(given)
    grown = [SourceFile(file.path, 6000 if file.path.startswith("a1/b1/") else 1000) for file in given]
    warm = split(grown, previous=made)
    assert len(set(made.order) - set(warm.order)) <= 2
    assert any("outgrew" in sentence for sentence in warm.why("a1/b1/c0.py"))


def test_a_previous_hierarchy_that_is_too_deep_is_not_used():
    given = regular(5, 5, 5, 4, 8)
    made = split(given, SMALL)
    shallow = replace(SMALL, max_depth=2)
    assert text(split(given, shallow, previous=made)) == text(split(given, shallow))
    assert text(split(given, SMALL, previous=split([]))) == text(made)


# As said of random and of real projects


def test_a_thousand_random_trees():
    chance = random.Random(4)
    for _ in range(1000):
        names = [f"{letter}{number}" for letter in "abcd" for number in range(chance.randint(1, 5))]
        paths = {
            "/".join([*chance.choices(names, k=chance.randint(0, 12)), f"f{number}.py"])
            for number in range(chance.randint(1, 400))
        }
        config = replace(DEFAULT, max_files_per_subplan=chance.choice([2, 5, 25, 50]))
        split([SourceFile(path, chance.choice([10, 1000, 4000])) for path in sorted(paths)], config)


def test_a_real_project(django):
    """Django: limits, fill, cut and depth, with and without a bound on the depth, and one file more."""
    paths = sorted(path.relative_to(django).as_posix() for path in django.rglob("*.py"))
    texts = {path: (django / path).read_bytes() for path in paths}
    imports = import_graph({path: python.scan(text) for path, text in texts.items()}, paths, lambda path: None)
    given = [SourceFile(path, round(len(text) / 3.2)) for path, text in texts.items()]
    made = split(given, imports=imports)
    assert 3 <= made.metrics["depth"] <= 5
    assert made.metrics["fill"] >= 0.8
    assert made.metrics["cut_without_hubs"] <= 0.55
    assert split(given, replace(DEFAULT, max_depth=4), imports=imports).metrics["depth"] <= 4
    for previous, least in ((None, 0.8), (made, 0.9)):
        kept = []
        for seed in range(10):
            again = decompose(with_one_more(given, seed), imports=imports, previous=previous)
            kept.append(len(set(made.order) & set(again.order)) / len(made.order))
        assert sum(kept) / len(kept) >= least


def test_eighty_thousand_files():
    given = [SourceFile(f"pkg{n // 1000}/part{n // 100 % 10}/mod{n % 100}.py", 1500) for n in range(80_000)]
    since = time.process_time()
    made = decompose(given)
    assert time.process_time() - since < 5
    assert made.metrics["leaves"] == 1600
    assert made.metrics["over_limit"] == 0


def named(paths: list[str], most: int) -> list[str]:
    made = split(files(paths), replace(DEFAULT, max_files_per_subplan=most, min_files_per_subplan=1))
    names = names_of(made)
    assert len(set(names.values())) == len(made.nodes)
    return [names[leaf.id] for leaf in made.leaves]


def test_names_say_what_is_in_a_part_and_no_two_are_the_same():
    flat = [f"{letter}.py" for letter in "abcdefgh"]
    assert named(flat, 4) == ["a.py to d.py", "e.py to h.py"]
    assert named([f"src/{path}" for path in flat], 4) == ["src/ (a.py to d.py)", "src/ (e.py to h.py)"]
    assert named([f"{folder}/{path}" for folder in ("one", "two") for path in flat[:4]], 4) == ["one/", "two/"]
    assert named(flat[:3], 4) == ["all files"]
    assert len(named([f"d{n % 7}/e{n % 3}/f{n}.py" for n in range(200)], 3)) > 60


def test_a_subplan_of_such_a_part_is_called_so():
    made = split(files([f"src/{letter}.py" for letter in "abcdefgh"]), replace(DEFAULT, max_files_per_subplan=4))
    plan = plan_of_hierarchy(made, "goal", AttemptOptions("x", checks=("true",), agent="a"), SubplanConfig(), {})
    assert [subplan.name for subplan in plan.subplans] == ["src-a.py-to-d.py", "src-e.py-to-h.py"]
