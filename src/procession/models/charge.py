"""
Charging a model call to the request: the one place where is counted what it has used, and who has to be paid for it.
"""

from __future__ import annotations

from procession.messages.chunks import ResponseMetadata
from procession.messages.usage import NO_USAGE, Usage
from procession.models.estimate import estimated_usage
from procession.models.model import ModelRequest
from procession.steps.scope import RequestScope

__all__ = ["charge_call"]


def charge_call(
    scope: RequestScope,
    model: str,
    request: ModelRequest | None,
    told: ResponseMetadata | None,
    usage: Usage | None,
    said: str = "",
    *,
    by_guard: bool = False,
) -> None:
    """
    Count in *scope* what a call of *model* has used, for each model that it asked.

    *told* is what came before the answer.  *usage* is what the provider counted, that of the failed ones of a
    ``FallbackModel`` included, or ``None`` where the call was broken off before it did.  Then, and where it counts nothing,
    whoever has asked to be told of calls is told an estimate of
    the *request* and what was *said*; the request's own account has only what was counted.
    """
    spend = scope.spend_on_guard if by_guard else scope.spend
    *failed, (answering, _) = told.asked if told is not None and told.asked else ((model, NO_USAGE),)
    for name, used in failed:
        if used.total_tokens:  # counted before the others were asked, whatever became of them
            spend(used, name)
            usage = None if usage is None else usage - used
    if usage is not None and usage.total_tokens > 0:
        spend(usage, answering)
        return
    if usage is not None:
        spend(usage, answering, told=False)
    if request is not None and scope.tells_calls:
        scope.tell_call(answering, estimated_usage(request, said), estimated=True)
