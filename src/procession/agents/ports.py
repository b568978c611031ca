"""
Ports: what lower rooms may ask of the loop that goes on, by name in the request's scope.

They refer to the loop's state, which refers to the scope.  A run that has ended takes them away again: nobody answers
any more, nothing is written behind the last chunk, and what a run that completes was made of is gone with its last user,
without waiting for the garbage collector.  (Of one that a hook has stopped the verdict still refers to where it was
raised.)
"""

from __future__ import annotations

from functools import partial

from procession.agents.signals import send_signal
from procession.agents.state import LoopState
from procession.agents.written import write_data

__all__ = ["close_ports", "open_ports"]

_PORTS = ("write_data", "passes_on", "send_signal")


def open_ports(state: LoopState) -> None:
    """
    Let processors, tools and inner runs reach the loop.
    """
    resources = state.scope.resources
    resources["write_data"] = partial(write_data, state)
    resources["passes_on"] = state.passes_on
    resources["send_signal"] = partial(send_signal, state)


def close_ports(state: LoopState) -> None:
    """
    The run has ended: what was left behind and still goes on reaches nobody.
    """
    if state.scope.step_marks is not None:
        state.scope.step_marks.drop()
    resources = state.scope.resources
    for name in _PORTS:
        resources.pop(name, None)
