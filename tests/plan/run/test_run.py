"""Plans carried out end to end with a scripted agent: what lands, what waits, what is blocked, what is reported."""

from __future__ import annotations

from plan.run.conftest import states


def test_three_subplans_are_made_merged_and_landed(plans):
    lab, before = plans.lab, plans.lab.digest()
    parts = [plans.part(name, f"echo new > {name}/x.txt", files=[f"{name}/x.txt"]) for name in "abc"]
    shown = plans.run(parts)
    assert states(shown) == {"a": "landed", "b": "landed", "c": "landed"}
    assert shown["landed"] == ["a", "b", "c"]
    assert sorted(plans.parts) == ["a", "b", "c"]
    assert [plans.result(f"{name}/x.txt") for name in "abc"] == ["new\n"] * 3
    assert lab.digest() == before
    assert lab.slots() == []
    said = lab("apply", "r")
    assert said.status == 0, said
    assert (lab.root / "a" / "x.txt").read_text() == "new\n"
