"""
What a call raises, and that ``on_error`` is told of it, once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from procession.agents.callbacks import tell_after
from procession.agents.output import AgentResult

if TYPE_CHECKING:
    from procession.agents.call import Call
    from procession.agents.caller import Caller

__all__ = ["result_of", "tell_raised"]


async def result_of(agent: Caller, given: Mapping[str, Any], prepared: Awaitable[Call]) -> AgentResult[Any]:
    """
    Make the call that is being *prepared* from the options *given*, and return its result.

    Raises what the call raises; ``on_error`` has been told then.
    """
    call: Call | None = None
    try:
        call = await prepared
        return call.unwrapped(await call.run())
    except Exception as error:
        await tell_raised(agent, given, call, error)
        raise


async def tell_raised(agent: Caller, given: Mapping[str, Any], call: Call | None, error: Exception) -> bool:
    """
    Tell ``on_error`` of an *error* that its run has not told: the call could not begin, was not let run to its end, or
    raises a tripwire.  Return whether there is an ``on_error``.
    """
    on_error = given.get("on_error")
    if on_error is None:
        on_error = agent.callbacks.get("on_error")
    if not callable(on_error):  # it may be the option that was refused
        return False
    result = call.result if call is not None else None
    if result is None or result.error is not error:
        run_id = call.state.scope.run_id if call is not None else ""
        await tell_after("on_error", on_error, error, run_id)
    return True
