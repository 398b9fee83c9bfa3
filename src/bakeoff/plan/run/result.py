"""What a plan made, kept: its tip with all history, and the same as one commit that can be shown and landed."""

from __future__ import annotations

from bakeoff.plan.merge.bringing import keep
from bakeoff.plan.run.findings import PlanFindings
from bakeoff.workspace.git import Git
from bakeoff.workspace.repository import Repository


def keep_result(git: Git, repository: Repository, run: str, found: PlanFindings, goal: str) -> str | None:
    """Have the run's refs `base`, `tip` and `result` stand at what it made; the commit of `result`. Blocks.

    The same findings give the same commit. None where nothing landed. Passes on GitError: it cannot be written.
    """
    if not found.landed:
        keep(repository, run, {"base": found.base, "tip": found.tip})
        return None
    tree, date = git.line("log", "-1", "--format=%T %ct", found.tip).split(" ")
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{date} +0000")
    title = goal.strip().splitlines()[0][:72]
    message = f"{title}\n\nbakeoff run {run}: {', '.join(found.landed)}"
    dated = git.at(env={**git.env, **dates})
    result = dated.line("commit-tree", "-p", found.base, "-m", message, tree)
    keep(repository, run, {"base": found.base, "tip": found.tip, "result": result})
    return result
