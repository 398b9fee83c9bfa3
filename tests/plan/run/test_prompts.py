"""What agents are told: their part, its neighbours, the interfaces they use."""

from __future__ import annotations

from bakeoff.plan.run.interfaces import MOST_CHARACTERS, interface_of, interfaces
from bakeoff.plan.run.plan import Plan, Subplan
from bakeoff.plan.run.prompts import MOST_FILES, prompt_of, version_of
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.workspace.snapshot.project import find_project
from plan.run.conftest import lab  # noqa: F401  (the fixture)

PYTHON = '''
import os

class Shape(Base, metaclass=Meta):
    """A shape."""

    def __init__(self, side: int = 3, *, name: str = "x") -> None:
        self.side = side

    def _hidden(self): ...

    async def area(self) -> float:
        return 1.0


def f(a, /, b, *rest, **more):
    def inner(): ...
'''


def test_the_interface_of_a_file_is_what_others_can_use():
    assert interface_of("a.py", PYTHON) == [
        "class Shape(Base)",
        "    def __init__(self, side: int=3, *, name: str='x') -> None",
        "    async def area(self) -> float",
        "def f(a, /, b, *rest, **more)",
    ]
    assert interface_of("a.py", "def broken(") == []
    assert interface_of("a.ts", "import x\nexport function f(a: number) {\n  x\n}\nconst y = 1\n") == [
        "export function f(a: number)"
    ]
    assert interface_of("a.go", "func F(a int) error {\n}\nfunc (s *S) G() {\n") == [
        "func F(a int) error",
        "func (s *S) G()",
    ]
    assert interface_of("a.rs", "pub fn f() -> u8 {\nfn g() {}\npub(crate) struct S {\n") == [
        "pub fn f() -> u8",
        "pub(crate) struct S",
    ]
    assert interface_of("a.java", "public class A {\n  private int x;\n") == ["public class A"]
    assert len(interface_of("a.py", "def f(): ...\n" * 100)) == 40
    assert interface_of("a.py", f"def f(a={'1+' * 200}1): ...")[0].endswith("...")


def test_interfaces_are_told_as_far_as_there_is_room(lab):  # noqa: F811
    lab.write("big.py", "".join(f"def {'f' * 150}{number}(): ...\n" for number in range(40)))
    lab.write("huge.py", "".join(f"def {'g' * 180}{number}(): ...\n" for number in range(40)))
    lab.write("data.bin", "\x00\x01")
    lab.commit()
    git = find_project(lab.root).git()
    found = interfaces(git, "HEAD", ["data.bin", "missing.py", "calc.py", "big.py", "huge.py", "calc.py"])
    assert list(found) == ["calc.py", "big.py"]
    assert found["calc.py"] == ["def add(a, b)"]
    assert sum(map(len, found["big.py"])) < MOST_CHARACTERS


def plan(*subplans: Subplan) -> Plan:
    return Plan("the goal", subplans, AttemptOptions("the goal", checks=("true",)))


def test_a_prompt_has_goal_scope_writes_neighbours_and_interfaces():
    one = Subplan("one", "its goal", files=("a.py", "b.py"), writes=("a.py", "new/**"), uses=("z.py",), parent="g")
    near, used = Subplan("near", "stands near", files=("n.py",), parent="g"), Subplan("used", files=("z.py", "y.py"))
    many = [Subplan(f"far{n}", files=(f"{n}.py", "x", "y", "z")) for n in range(20)]
    text = prompt_of(plan(*many, near, one, used), one, {"z.py": ["def z()"]})
    assert text.startswith("the goal\n")
    for part in ("its goal", "  a.py\n  b.py", "nothing else:\n  a.py\n  new/**", "z.py\n    def z()", "and 10 more"):
        assert part in text, part
    neighbours = text.split("The other parts:\n")[1]
    assert neighbours.startswith("  used: z.py, y.py\n  near: stands near\n  far0: 0.py, x, y and 1 more\n")


def test_long_lists_are_cut_and_own_prompts_stand_as_they_are():
    wide = Subplan("wide", files=tuple(f"f{n}" for n in range(MOST_FILES + 5)))
    assert "and 5 more" in prompt_of(plan(wide), wide, {})
    own = Subplan("own", prompt="just this")
    assert prompt_of(plan(own), own, {"a": ["b"]}) == "just this"
    assert prompt_of(plan(own), own, {}, "it failed") == "just this\n\nit failed"
    alone = Subplan("alone")
    assert "The other parts" not in prompt_of(plan(alone), alone, {})
    assert "the rest" in prompt_of(plan(own, alone), own.__class__("x"), {})


def test_results_are_known_by_all_that_they_depend_on():
    assert version_of("p", "t", {"a": 1, "b": 2}, 0) == version_of("p", "t", {"b": 2, "a": 1}, 0)
    different = {
        version_of(*args) for args in (("p", "t", {}, 0), ("q", "t", {}, 0), ("p", "u", {}, 0), ("p", "t", {}, 1))
    }
    assert len(different) == 4
