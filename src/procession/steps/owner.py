"""
Whose a request is, as far as it says so or a request around it does.
"""

from __future__ import annotations

from procession.steps.scope import RequestScope

__all__ = ["THREAD", "owner_of"]

THREAD = "thread"
"""Where a request names its thread, among its resources; its resource stands beside it, under ``resource``."""


def owner_of(scope: RequestScope | None) -> tuple[str | None, str | None]:
    """
    Return the resource and the thread that a request belongs to: its own, or those of the request it stands inside.

    Where none of them names a resource, ``resource_id`` of the request context does (D35).

    >>> outer = RequestScope()
    >>> outer.resources.update(resource="ada", thread="t")
    >>> inner = RequestScope()
    >>> inner.outer = outer
    >>> owner_of(inner)
    ('ada', 't')
    """
    resource: str | None = None
    thread: str | None = None
    said = scope.request_context.get("resource_id") if scope is not None else None
    while scope is not None:
        own: str | None = scope.resources.get("resource")
        if own is not None and own != (resource if resource is not None else own):
            break  # what is around it is another one's, and so is its thread
        resource = own if own is not None else resource
        if thread is None:
            thread = scope.resources.get(THREAD)
        scope = scope.outer
    if resource is None and said is not None and said != "":
        resource = str(said)
    return resource, thread
