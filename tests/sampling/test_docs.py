"""The examples in the documentation run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bakeoff

PAGE = (Path(__file__).parents[2] / "docs/sampling.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(bakeoff.__file__).parents[1])!r})\n{EXAMPLES[number]}"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_names_what_there_is() -> None:
    from bakeoff.sampling import events, mellea
    from bakeoff.sampling.result import Reason

    for name in re.findall(r"`(\w+(?:Strategy|Error|Started|Ended|Repaired|Requirement))\b", PAGE):
        if not (hasattr(bakeoff, name) or hasattr(events, name)):
            pytest.fail(
                f"docs/sampling.md names {name}, which `import bakeoff` does not have: add its line to _HOMES of "
                "bakeoff/__init__.py, and its import under TYPE_CHECKING there",
                pytrace=False,
            )
    assert all(f"`{reason}`" in PAGE for reason in Reason if reason is not Reason.PERMANENT)
    assert mellea.for_mellea
