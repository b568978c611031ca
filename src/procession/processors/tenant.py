"""
Whose request it is, for what is kept from one request to the next (D35).
"""

from __future__ import annotations

from procession.steps.scope import RequestScope

__all__ = ["tenant_of"]


def tenant_of(scope: RequestScope | None) -> str | None:
    """
    Return the resource that a request belongs to: memory's, else ``resource_id`` of the request context, else that of the
    run it stands inside; ``None`` where nobody says.
    """
    while scope is not None:
        found = getattr(scope.resources.get("memory"), "resource_id", None) or scope.request_context.get("resource_id")
        if found is not None:
            return str(found)
        scope = scope.outer
    return None
