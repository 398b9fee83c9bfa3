"""The examples do what they say, with a fake agent and a model on loopback."""

from __future__ import annotations

from pathlib import Path

from scripted_model.script import Say, in_order
from scripted_model.server import ScriptedModel

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_attempts(lab, flow):
    lab.write(
        "tests/test_calc.py",
        "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
    )
    lab.agent("[ $BAKEOFF_ATTEMPT != 3 ] || sed -i 's/a - b/a + b/' calc.py; echo x >> notes.txt")
    before = lab.git("status", "--short")
    said = lab("run", str(EXAMPLES / "attempts.yml"), "--run-id", "r", "-i", "agent=fake", "-i", "attempts=2")
    assert said.status == 0, said
    assert flow.stdout("failing") == "tests/test_calc.py::test_add\n"
    assert flow.output("mend:one:0")["applied"]["changed"] == ["calc.py", "notes.txt"]
    assert "a + b" in (lab.root / "calc.py").read_text()
    assert before != lab.git("status", "--short")


def test_titles(lab, flow):
    lab.write("README.md", "# calc\nIt adds.\n")
    with ScriptedModel(in_order(Say("This is a title."), Say("A Calculator")), tools=False) as model:
        said = lab("run", str(EXAMPLES / "titles.yml"), "--run-id", "r", "-i", f"model={model.url}/v1#m")
    assert said.status == 0, said
    assert flow.output("all")["titles"] == ["A Calculator"]
    assert "does not end like a sentence" in model.seen[1].body["messages"][-1]["content"]
