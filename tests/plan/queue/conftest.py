"""A user's project with branches that meet in all sorts of ways, and `bakeoff merge` run in it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from attempt.conftest import Lab, lab

__all__ = ["lab"]


class Project:
    """Branches are made without checking them out, so that the checkout stays as it is."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def branch(self, name: str, files: Mapping[str, str | tuple[str, str] | None], base: str = "main") -> None:
        """A branch with one commit on top of `base`; of a submodule its mode and the id of its commit are given."""
        stream = [f"feature done\ncommit refs/heads/{name}\ncommitter U <u@example.org> 1000000000 +0000\ndata 1\nc\n"]
        stream.append(f"from {self.lab.git('rev-parse', base)}\n")
        for path, text in files.items():
            if text is None:
                stream.append(f"D {path}\n")
            elif isinstance(text, tuple):
                stream.append(f"M {text[0]} {text[1]} {path}\n")
            else:
                stream.append(f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n")
        import subprocess

        data = "".join([*stream, "done\n"]).encode()
        subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=self.lab.root, input=data, check=True)

    def merge(self, *args: str, check: str = "sh check.sh", sandbox: str = "none"):
        more = [] if "--run-id" in args else ["--run-id", "r"]
        return self.lab("merge", *args, "--check", check, "--sandbox", sandbox, *more)

    @property
    def runs(self) -> list[str]:
        """A line for each time that the check ran."""
        file = self.lab.place / "runs"
        return file.read_text().splitlines() if file.exists() else []


CHECK = """echo "$(ls | grep -c '^m')" >> PLACE/runs
fails=0
for one in bad*; do [ -e "$one" ] && fails=1; done
# Whoever is called must be there.
for one in calls-*; do [ -e "$one" ] || continue; [ -e "def-${one#calls-}" ] || { echo "nobody defines ${one#calls-}"; fails=1; }; done
exit $fails
"""
"""A check that fails where there is a file `bad...`, or a file `calls-X` without its `def-X`."""


@pytest.fixture
def project(lab):
    lab.write("check.sh", CHECK.replace("PLACE", str(lab.place)))
    lab.write("def-f", "f\n")
    lab.write("hub", "".join(f"line {number}\n" for number in range(20)))
    lab.commit("check")
    return Project(lab)
