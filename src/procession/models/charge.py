"""
Charging a model call to the request: the one place where is counted what it has used, and who has to be paid for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from procession.messages.chunks import ResponseMetadata
from procession.messages.usage import Usage
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

    *told* is what came before the answer.  *usage* is what the provider counted, or ``None`` where the call was broken
    off before it did.  Then, and where it counts nothing, whoever has asked to be told of calls is told an estimate of
    the *request* and what was *said*; the request's own account has only what was counted.
    """
    spend = scope.spend_on_guard if by_guard else scope.spend
    if usage is not None and usage.total_tokens:
        for name, used in _shares(told, model, usage):
            spend(used, name)
        return
    if usage is not None:
        spend(usage, model, told=False)
    if request is not None and scope.tells_calls:
        name = told.asked[-1][0] if told is not None and told.asked else model
        scope.tell_call(name, estimated_usage(request, said), estimated=True)


def _shares(told: ResponseMetadata | None, model: str, usage: Usage) -> Iterator[tuple[str, Usage]]:
    """
    Yield which model has used what of *usage*: those that failed what they said, the one that answered the rest.
    """
    if told is not None and told.asked:
        *failed, (model, _) = told.asked
        for name, used in failed:
            if used.total_tokens:
                yield name, used
                usage = usage - used
    yield model, usage
