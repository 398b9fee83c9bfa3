"""A run that is gone on with keeps the bound that it was begun with: `--max-parallel`."""

from __future__ import annotations

from cli.conftest import Project

FILE = """
steps:
  - {id: gate, type: shell, run: "test -e go"}
  - id: fan
    type: fan-out
    items: [1, 2, 3, 4]
    max_concurrency: 4
    step: {id: one, type: shell, run: "mkdir alone && sleep 0.05 && rmdir alone"}
"""


def test_a_workflow_keeps_its_bound(project: Project) -> None:
    project.write("bounded", FILE)
    assert project("run", "bounded.yml", "--run-id", "r", "--max-parallel", "1").status == 1
    (project.folder / "go").touch()
    assert project("resume", "r").status == 0


def test_a_new_bound_goes_before_the_kept_one(project: Project) -> None:
    both = "touch here.{{ item }}; until test -e here.1 -a -e here.2; do sleep 0.01; done"
    project.write(
        "bounded", FILE.replace("[1, 2, 3, 4]", "[1, 2]").replace("mkdir alone && sleep 0.05 && rmdir alone", both)
    )
    assert project("run", "bounded.yml", "--run-id", "r", "--max-parallel", "1").status == 1
    (project.folder / "go").touch()
    assert project("resume", "r", "--max-parallel", "2").status == 0
