"""
``procession explain``: which processor of a target's agent runs at which hook.
"""

from __future__ import annotations

import json

from procession.cli.target import agent_of, load_target
from procession.processors.hooks import Hook

__all__ = ["explain"]


def explain(target: str, *, as_json: bool = False) -> str:
    """
    Return what the agent that *target* names says of itself, in words or as a line of JSON; a function that makes it is
    called.

    Raises ``TargetError`` where it names no agent.
    """
    explained = agent_of(load_target(target)).explain()
    if not as_json:
        return str(explained)
    places = [
        {
            "hook": each.hook.value, "processor": each.processor_id, "source": each.source,
            "workflows": list(each.workflows), "where": list(each.where), "options": list(each.options),
            "beside_model": each.beside_model,
        }
        for each in explained.places
    ]  # fmt: skip
    never = [
        {
            "processor": each.processor_id, "source": each.source, "hooks": [Hook(hook).value for hook in each.hooks],
            "why": each.why,
        }
        for each in explained.never
    ]  # fmt: skip
    told = {
        "agent": explained.agent_id, "summary": explained.summary, "places": places, "never": never,
        "notes": list(explained.notes),
    }  # fmt: skip
    return json.dumps(told, ensure_ascii=False)
