"""Order the tasks of a build so that each comes after what it needs, in waves that may run side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class CycleError(ValueError):
    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__("tasks need each other: " + ", ".join(tasks))
        self.tasks = list(tasks)


def needed_by(needs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Turn the edges round: what needs each task."""
    users: dict[str, list[str]] = {}
    for task, requirements in needs.items():
        users.setdefault(task, [])
        for requirement in requirements:
            users.setdefault(requirement, []).append(task)
    return users


def build_waves(
    needs: Mapping[str, Sequence[str]], done: Sequence[str] = (), workers: int | None = None
) -> list[list[str]]:
    """Return waves of tasks; every task stands in the first wave in which all that it needs is done.

    Tasks named only as a need are tasks too. Those that are `done` are not built. With `workers`, a wave holds at
    most so many tasks, those with the most direct users first, then by name. Raises CycleError.
    """
    tasks: list[str] = []
    for task, requirements in needs.items():
        if task not in tasks:
            tasks.append(task)
        for requirement in requirements:
            if requirement not in tasks:
                tasks.append(requirement)
    finished = list(done)
    waves: list[list[str]] = []
    while [task for task in tasks if task not in finished]:
        ready = []
        for task in tasks:
            if task in finished:
                continue
            if all(requirement in finished for requirement in needs.get(task, ())):
                ready.append(task)
        if not ready:
            raise CycleError(sorted(task for task in tasks if task not in finished))
        ready.sort(key=lambda task: (-len(needed_by(needs)[task]), task))
        wave = ready if workers is None else ready[:workers]
        waves.append(sorted(wave))
        finished = finished + wave
    return waves
