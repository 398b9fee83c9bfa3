"""What imports do to a split: files are drawn, small parts are joined, hubs stand apart, the order is given."""

from __future__ import annotations

from dataclasses import replace

from bakeoff.plan.decompose.decompose import decompose
from bakeoff.plan.decompose.order import circles
from bakeoff.settings import PlanSettings
from plan.decompose.trees import check, files, regular

FEW = PlanSettings(max_files_per_subplan=10, min_files_per_subplan=1)


def test_a_file_goes_where_its_imports_are():
    paths = [f"{folder}/f{number}.py" for folder in "ab" for number in range(7)]
    imports = {"a/f0.py": [f"b/f{number}.py" for number in range(7)]}
    made = decompose(files(paths), FEW, imports=imports)
    assert made.leaf_of["a/f0.py"] == made.leaf_of["b/f0.py"]
    assert any("drew it" in sentence for sentence in made.why("a/f0.py"))
    assert made.metrics["cut"] == 0
    whole = decompose(files(paths), replace(FEW, cohesion=5), imports=imports)
    assert whole.leaf_of["a/f0.py"] == whole.leaf_of["a/f1.py"]
    assert whole.metrics["cut"] == 1
    assert whole.metrics["torn"] == 0


def test_two_files_change_places_where_both_leaves_are_full():
    paths = [f"{folder}/f{number}.py" for folder in "ab" for number in range(10)]
    imports = {"a/f0.py": [f"b/f{n}.py" for n in range(1, 6)], "b/f0.py": [f"a/f{n}.py" for n in range(1, 6)]}
    made = decompose(files(paths), FEW, imports=imports)
    check(made, files(paths), FEW)
    assert made.leaf_of["a/f0.py"] == made.leaf_of["b/f1.py"]
    assert made.leaf_of["b/f0.py"] == made.leaf_of["a/f1.py"]
    assert any("made room for a/f0.py" in sentence for sentence in made.why("b/f0.py"))


def test_small_parts_join_the_best_linked_one_with_room_else_the_nearest():
    paths = [
        f"{folder}/f{number}.py"
        for folder, count in (("a", 8), ("b", 7), ("m", 9), ("y", 2))
        for number in range(count)
    ]
    near = decompose(files(paths), FEW)
    assert near.leaf_of["y/f0.py"] == near.leaf_of["b/f0.py"]
    assert any("nearest with room" in sentence for sentence in near.why("y/f0.py"))
    linked = decompose(files(paths), FEW, imports={"y/f0.py": ["a/f3.py"]})
    assert linked.leaf_of["y/f1.py"] == linked.leaf_of["a/f0.py"]


def test_hubs_stand_apart_and_come_first():
    given = regular(6, 6, 5)
    paths = [file.path for file in given]
    imports = {path: ["a0/b0/c0.py", "a5/b5/c4.py"] for path in paths}
    made = decompose(given, FEW, imports=imports)
    check(made, given, FEW)
    (hub,) = [leaf for leaf in made.leaves if leaf.hub]
    assert hub.files == ("a0/b0/c0.py", "a5/b5/c4.py")
    assert made.order[0] == hub.id
    assert made.nodes[made.root].children.count(hub.id) == 1
    assert made.metrics["hubs"] == 2
    assert made.metrics["cut_without_hubs"] is None
    assert any("a hub" in sentence for sentence in made.why("a0/b0/c0.py"))
    assert len(made.groups) == len(made.order)  # hubs make no circles
    warm = decompose([*given, *files(["a0/b0/new.py"])], FEW, imports=imports, previous=made)
    assert hub.id in warm.order


def test_many_hubs_have_a_branch_of_their_own():
    given = regular(6, 6, 5)
    paths = [file.path for file in given]
    known = paths[::7][:24]
    imports = {path: [known[(at + n) % 24] for n in range(8)] for at, path in enumerate(paths)}
    made = decompose(given, FEW, imports=imports)
    check(made, given, FEW)
    hubs = [leaf for leaf in made.leaves if leaf.hub]
    assert len(hubs) == 3
    assert len({leaf.parent for leaf in hubs}) == 1
    assert hubs[0].parent != made.root
    flat = replace(FEW, max_depth=1)
    check(decompose(given, flat, imports=imports), given, flat)
    more = {path: [*imports[path], paths[1]] for path in paths}
    warm = decompose(given, FEW, imports=more, previous=made)
    check(warm, given, FEW)
    assert paths[1] in {path for leaf in warm.leaves if leaf.hub for path in leaf.files}


def test_every_file_a_hub():
    given = regular(30)
    paths = [file.path for file in given]
    made = decompose(given, FEW, imports=dict.fromkeys(paths, paths))
    check(made, given, FEW)
    assert all(leaf.hub for leaf in made.leaves)


def test_what_is_imported_comes_first_and_circles_are_one_group():
    config = replace(FEW, cohesion=100)
    given = regular(5, 9)
    links = {"a0": "a1", "a1": "a2", "a2": "a0", "a3": "a0", "a2x": "a4"}
    imports = {f"{source[:2]}/b0.py": [f"{target}/b1.py"] for source, target in links.items() if source != "a2x"}
    imports["a2/b3.py"] = ["a4/b1.py"]
    made = decompose(given, config, imports=imports)
    check(made, given, config)
    of = {folder: made.leaf_of[f"{folder}/b0.py"] for folder in ("a0", "a1", "a2", "a3", "a4")}
    assert made.groups == ((of["a4"],), (of["a0"], of["a1"], of["a2"]), (of["a3"],))
    assert made.requires[of["a2"]] == (of["a4"],)
    assert made.requires[of["a3"]] == (of["a0"],)
    assert made.requires[of["a1"]] == ()


def test_circles_of_any_length_need_no_recursion():
    count = 50_000
    assert [len(group) for group in circles([[(at + 1) % count] for at in range(count)])] == [count]
    assert len(circles([[at + 1] for at in range(count - 1)] + [[]])) == count
    assert circles([[1], [2], [0, 3], []]) == [[3], [0, 1, 2]]
