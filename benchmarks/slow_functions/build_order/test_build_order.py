import pytest
from build_order import CycleError, build_waves, needed_by


def test_empty():
    assert build_waves({}) == []


def test_needed_by():
    assert needed_by({"a": ["b"], "c": ["b"]}) == {"a": [], "b": ["a", "c"], "c": []}


def test_waves():
    needs = {"app": ["lib", "log"], "lib": ["core"], "log": ["core"], "doc": []}
    assert build_waves(needs) == [["core", "doc"], ["lib", "log"], ["app"]]


def test_done_tasks_are_not_built():
    assert build_waves({"app": ["lib"], "lib": ["core"]}, done=["core", "other"]) == [["lib"], ["app"]]


def test_workers_take_the_most_used_first():
    assert build_waves({"x": ["c"], "y": ["c"], "z": ["b"], "a": []}, workers=1)[:3] == [["c"], ["b"], ["a"]]


def test_cycle():
    with pytest.raises(CycleError, match="tasks need each other: a, b") as caught:
        build_waves({"a": ["b"], "b": ["a"], "c": []})
    assert caught.value.tasks == ["a", "b"]


def test_task_that_needs_itself():
    with pytest.raises(CycleError):
        build_waves({"a": ["a"]})


def test_large_build():
    needs = {f"t{i:03d}": [f"t{j:03d}" for j in (i // 2, i // 3, i - 11) if 0 <= j < i] for i in range(90)}
    waves = build_waves(needs, workers=8)
    assert [len(wave) for wave in waves] == [1, 1, 2, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2]
    assert waves[6] == ["t024", "t025", "t026", "t027", "t028", "t029", "t030", "t031"]
    assert sorted(task for wave in waves for task in wave) == sorted(needs)
