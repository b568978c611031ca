"""
PrefillErrorHandler: for models that refuse a conversation whose last turn is the assistant's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from procession.errors import ModelError
from procession.processors.contexts import APIErrorContext
from procession.processors.processor import Processor

__all__ = ["PrefillErrorHandler"]

_REFUSALS = re.compile(
    r"does not support assistant message prefill"
    r"|assistant response prefill is incompatible with enable[_\s-]?thinking"
    r"|requests ending with a model turn are not supported",
    re.IGNORECASE,
)


class PrefillErrorHandler(Processor):
    """
    Where a model refuses to go on from an assistant's turn, asks it to continue, and has the call made again.

    It knows the refusal by its words, in the error, in its causes or in what the provider answered, and tries once per
    step.  That attempt is its own: it needs no ``max_processor_retries`` and takes nothing from other processors.  An
    agent has one by default, last in the error list; one that is listed takes its place, and
    ``Agent(prefill_error_handler=False)`` goes without.
    """

    id = "prefill-error-handler"
    description = "Asks to continue where a model refuses an assistant's last turn."
    own_retries = True

    async def process_api_error(self, ctx: APIErrorContext) -> Mapping[str, Any] | None:
        """
        Send the signal ``continue`` and ask for a retry, once per step.
        """
        if ctx.state.get("step") == ctx.step_number or not _refuses_prefill(ctx.error):
            return None
        ctx.state["step"] = ctx.step_number
        await ctx.send_signal(
            {
                "type": "reactive",
                "contents": "continue",
                "attributes": {"type": "anthropic-prefill-processor-retry"},
                "metadata": {"message": "Continuing after prefill error"},
            }
        )
        return {"retry": True}


def _refuses_prefill(error: ModelError) -> bool:
    if _REFUSALS.search(f"{error.message}\n{error.body or ''}"):
        return True
    cause = error.__cause__
    return cause is not None and _REFUSALS.search(str(cause)) is not None
