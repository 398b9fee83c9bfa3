"""What a plan made, kept: its tip with all history, and the same as one commit that can be shown and landed."""

from __future__ import annotations

from bakeoff.plan.merge.bringing import keep
from bakeoff.plan.run.findings import PlanFindings
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository


def keep_result(git: Git, repository: Repository, run: str, found: PlanFindings, goal: str, label: str) -> str | None:
    """Have refs of the run, `base`, `tip` and `result` after the label, stand at what it made; the last commit. Blocks.

    The same findings give the same commit. None where nothing landed. Passes on GitError: it cannot be written.
    """
    if not found.landed:
        keep(repository, run, {f"{label}base": found.base, f"{label}tip": found.tip})
        return None
    tree, date = git.line("log", "-1", "--format=%T %ct", found.tip).split(" ")
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{date} +0000")
    title = goal.strip().splitlines()[0][:72]
    message = f"{title}\n\nbakeoff run {run}: {', '.join(found.landed)}"
    dated = git.at(env={**git.env, **dates})
    result = dated.line("commit-tree", "-p", found.base, "-m", message, tree)
    keep(repository, run, {f"{label}base": found.base, f"{label}tip": found.tip, f"{label}result": result})
    return result
