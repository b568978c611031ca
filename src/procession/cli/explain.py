"""
``procession explain``: which processor of a target's agent runs at which hook.
"""

from __future__ import annotations

import inspect
from typing import Any

from procession.agents.agent import Agent
from procession.cli.target import load_target
from procession.errors import TargetError

__all__ = ["explain"]


def explain(target: str) -> str:
    """
    Return what the agent that *target* names says of itself; a function without parameters is called for it.

    Raises ``TargetError`` where it names no agent.
    """
    found = load_target(target)
    thing: Any = found.thing
    if inspect.isroutine(thing) and not inspect.signature(thing).parameters:
        thing = thing()
    if not isinstance(thing, Agent):
        raise TargetError(
            f"{target}: {found.name!r} is {type(thing).__name__!r}, no agent",
            hint="name an agent; `procession graph` draws everything else",
        )
    return str(thing.explain())
