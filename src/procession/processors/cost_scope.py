"""
CostScope: whose spending is counted together.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from procession.processors.tenant import tenant_of
from procession.steps.scope import RequestScope

__all__ = ["CostScope", "Whose", "whose"]

CostScope: TypeAlias = Literal["run", "resource", "thread", "user", "organization", "session"]
"""Whose spending is counted together."""


class Whose:
    """
    The run, resource, thread, user, organization or session of a request, within its tenant.
    """

    __slots__ = ("account", "label")

    def __init__(self, kind: CostScope, tenant: str | None, key: str) -> None:
        self.label = f"{kind}:{key}"
        """As it is shown: ``resource:user-1``."""
        self.account = json.dumps([kind, tenant, key])
        """Under which name it is in the store: no two tenants have one in common, whatever their ids are (D35)."""


def whose(kind: CostScope, scope: RequestScope) -> Whose | None:
    """
    Return whose spending a request is, or ``None`` where it does not say.

    Resource and thread are those of the memory, of the run around this one too, and else ``resource_id`` and
    ``thread_id`` of the request context; the others are ``user_id``, ``organization_id`` and ``session_id`` in there.  A
    thread belongs to its resource, and a user and a session to the organization, where there is one.
    """
    if kind == "run":
        return Whose(kind, None, scope.run_id) if scope.run_id else None
    context = scope.request_context
    resource = tenant_of(scope)
    if kind == "resource":
        return Whose(kind, None, resource) if resource else None
    if kind == "thread":
        thread = _thread_of(scope) or _key(context.get("thread_id"))
        return Whose(kind, resource, thread) if thread else None
    key = _key(context.get(f"{kind}_id"))
    tenant = _key(context.get("organization_id")) if kind != "organization" else None
    return Whose(kind, tenant, key) if key else None


def _thread_of(scope: RequestScope) -> str | None:
    """
    Return the thread of the call, or of the run that it stands in.
    """
    around: RequestScope | None = scope
    while around is not None:
        found = _key(getattr(around.resources.get("memory"), "thread_id", None))
        if found:
            return found
        around = around.outer
    return None


def _key(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None
