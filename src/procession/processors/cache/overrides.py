"""
What one request says differently from the cache's own options, through its request context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from procession.errors import InputError
from procession.messages.value import Value
from procession.processors.cache.key import BY_RESOURCE, CacheKeyParts, CacheScope
from procession.steps.request_context import Key, RequestContext

__all__ = ["OVERRIDES", "UNCHANGED", "CacheKey", "CacheOverrides", "checked_overrides", "overrides_in"]

CacheKey: TypeAlias = str | Callable[[CacheKeyParts], Any]
"""A key, or a function of its parts, plain or async, that returns one, or ``None`` where nothing is to be kept."""


class _Unchanged:
    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()
"""Says that an option stays as it is, where ``None`` means something else."""


class CacheOverrides(Value, kw_only=True):
    """
    The options of a cache that one request says differently.

    Only an object of this class counts: plain data from outside, which a server may put into a request context, says
    nothing about whose answers a request may see.
    """

    key: Any = UNCHANGED
    scope: Any = UNCHANGED
    bust: Any = UNCHANGED


OVERRIDES: Key[CacheOverrides] = Key("procession.response_cache")


def checked_overrides(made: CacheOverrides) -> CacheOverrides:
    """
    Return what was *made*.

    Raises ``InputError`` for what cannot work.
    """
    if made.key is not UNCHANGED and not (made.key is None or is_key(made.key)):
        raise InputError(f"the key of a cached answer is {type(made.key).__name__}", hint="give a text or a function")
    if made.scope is not UNCHANGED and not is_scope(made.scope):
        raise InputError(f"the scope of a cached answer is {_told(made.scope)}", hint=SCOPE_HINT)
    if made.bust is not UNCHANGED and not isinstance(made.bust, bool):
        raise InputError(f"bust is {type(made.bust).__name__}", hint="give True or False")
    return made


def overrides_in(context: RequestContext) -> CacheOverrides:
    """
    Return what a request says; nothing where what stands there was not made here.
    """
    found: object = context.get(OVERRIDES.name)
    return found if isinstance(found, CacheOverrides) else _NONE


def is_key(value: object) -> bool:
    """
    Whether *value* may be a key, or make one.
    """
    return callable(value) or (isinstance(value, str) and value != "")


def is_scope(value: object) -> bool:
    """
    Whether *value* says whose answers they are.
    """
    return value is None or isinstance(value, CacheScope) or (isinstance(value, str) and value != "")


def _told(scope: object) -> str:
    return "an empty text" if scope == "" else type(scope).__name__


SCOPE_HINT = f"give a text, None to share answers with everybody, or leave it out: {BY_RESOURCE}"
_NONE = CacheOverrides()
