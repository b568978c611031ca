"""
Whose request it is, for what is kept from one request to the next (D35).
"""

from __future__ import annotations

from contextvars import ContextVar

from procession.steps.scope import RequestScope

__all__ = ["SERVED", "tenant_of"]

SERVED: ContextVar[bool] = ContextVar("served", default=False)
"""Whether the request came from outside, by a server: nothing is shared between such requests without a scope."""


def tenant_of(scope: RequestScope | None) -> str | None:
    """
    Return the resource that a request belongs to: the call's own or its memory's, that of a run which it stands inside, or
    else ``resource_id`` of its request context; ``None`` where nobody says.

    >>> from procession.steps.request_context import RequestContext
    >>> tenant_of(RequestScope(request_context=RequestContext({"resource_id": "user-1"})))
    'user-1'
    """
    around = scope
    while around is not None:
        memory = around.resources.get("memory")
        found = around.resources.get("resource") or getattr(memory, "resource_id", None)
        if found:
            return str(found)
        around = around.outer
    while scope is not None:  # a run may have a context of its own
        given = scope.request_context.get("resource_id")
        if given is not None and given != "":
            return str(given)
        scope = scope.outer
    return None
