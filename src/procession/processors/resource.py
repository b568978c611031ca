"""
resource_of(): whose request it is, for what is kept apart by that (D35).
"""

from __future__ import annotations

from procession.steps.scope import RequestScope

__all__ = ["resource_of"]


def resource_of(scope: RequestScope) -> str | None:
    """
    Return the resource of a request: the call's own, that of a run which it stands inside, or else ``resource_id`` of its
    request context.  ``None`` where there is none.

    >>> from procession.steps.request_context import RequestContext
    >>> resource_of(RequestScope(request_context=RequestContext({"resource_id": "user-1"})))
    'user-1'
    """
    around: RequestScope | None = scope
    while around is not None:
        memory = around.resources.get("memory")
        found = around.resources.get("resource") or getattr(memory, "resource_id", None)
        if found:
            return str(found)
        around = around.outer
    given = scope.request_context.get("resource_id")
    return str(given) if given is not None and given != "" else None
