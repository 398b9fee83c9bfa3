"""Whether the models that steps ask can be asked, said before anything was paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.engine.mask import Masker
from bakeoff.settings import Settings
from bakeoff.workflow.agents import named_by_inputs
from bakeoff.workflow.context import where
from bakeoff.workflow.definition import Workflow, all_steps


def missing_models(workflow: Workflow, inputs: Mapping[str, Any], settings: Settings, masker: Masker) -> Iterator[str]:
    """What to warn of: models that are not known, or whose key is not set, as far as the inputs tell their names."""
    from bakeoff.model.registry import missing

    for step in all_steps(workflow.steps):
        for key in step.model_keys:
            name = named_by_inputs(step, key, inputs)
            if key == step.model_keys[0] and getattr(step, key) is None and getattr(step, "action", "") is None:
                name = workflow.model or settings.asked_model
                if not name:
                    advice = "give the step or the workflow a `model`, or set it in the settings"
                    yield where(step, step.id, f"no model is named for this step: {advice}")
            problem = missing(name, settings) if name else None
            if problem is not None:
                yield where(step, step.id, masker.text(problem))
