"""
``procession explain``: which processor of a target's agent runs at which hook.
"""

from __future__ import annotations

from procession.cli.target import agent_of, load_target

__all__ = ["explain"]


def explain(target: str) -> str:
    """
    Return what the agent that *target* names says of itself; a function that makes it is called.

    Raises ``TargetError`` where it names no agent.
    """
    return str(agent_of(load_target(target)).explain())
