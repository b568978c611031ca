"""
What detectors said: kept for the request, and if a guard is told so for longer.
"""

from __future__ import annotations

import json
from types import NoneType
from typing import Any

import anyio

from procession.errors import ProcessorDefinitionError
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Detector, Verdict, sound
from procession.processors.hold_back import digest_of
from procession.processors.log import log_once
from procession.processors.tenant import tenant_of
from procession.storage.cache import CacheStore
from procession.storage.memory_cache import InMemoryCacheStore

__all__ = ["VERDICT_TTL", "VerdictCache", "identity_of", "verdict_by"]

VERDICT_TTL = 3600.0
"""Seconds for which a verdict is kept beyond its request, unless the guard says otherwise."""
_FIELDS = ("start", "end", "type", "rule", "score", "replacement", "rejected")


class VerdictCache:
    """
    What *detector* said of texts in earlier requests, in *store*: a ``CacheStore``, or how many verdicts are kept in memory.

    An entry is found by who the detector is and how it is set up (its ``identity``), by the resource that the request
    belongs to, and by a digest of the text; what was said to nobody in particular is read by requests of nobody in
    particular (D35).  Failures are not kept.  A store that fails is done without.

    Raises ``ProcessorDefinitionError`` for a number that is none, and for a store that others may share where the
    detector has no ``identity``.
    """

    def __init__(self, name: str, detector: Detector, store: CacheStore | int, ttl: float = VERDICT_TTL) -> None:
        if isinstance(store, int):
            if store < 1 or store is True:
                raise ProcessorDefinitionError(
                    f"{name} has verdict_cache={store!r}", hint="give how many verdicts to keep, or a CacheStore"
                )
            store = InMemoryCacheStore(max_entries=store)
            identity = identity_of(detector) or "its own"
        else:
            found = identity_of(detector)
            if found is None:
                raise ProcessorDefinitionError(
                    f"{name} is to keep the verdicts of {type(detector).__name__} in a store, which cannot tell whose they are",
                    hint="give the detector an attribute identity: a text that changes with its model and its settings",
                )
            identity = found
        self._store = store
        self._name = name
        self._ttl = ttl
        self._identity = digest_of(identity).hex()

    async def forget(self, resource: str) -> int:
        """
        Forget what was said to a resource, and return how much that was; raises what the store raises.
        """
        return await self._store.clear(self._prefix(resource))

    def _key(self, text: str, scope: Any) -> str:
        return self._prefix(tenant_of(scope)) + _digest(text)

    def _prefix(self, tenant: str | None) -> str:
        whose = digest_of(f"resource:{tenant}" if tenant is not None else "anonymous").hex()
        return f"verdict:{self._identity}:{whose}:"

    async def get(self, text: str, scope: Any) -> Verdict | None:
        """
        Return what was said of *text*, if that is known.
        """
        try:
            kept = await self._store.get(self._key(text, scope))
            return None if kept is None else sound(_read(kept), text)
        except Exception as error:
            log_once(self._name, "a kept verdict cannot be read", error=type(error).__name__)
            return None

    async def keep(self, text: str, scope: Any, verdict: Verdict) -> None:
        """
        Keep what was said of *text*.
        """
        try:
            await self._store.set(self._key(text, scope), _written(verdict), ttl=self._ttl)
        except Exception as error:
            log_once(self._name, "a verdict cannot be kept", error=type(error).__name__)


def identity_of(detector: Detector) -> str | None:
    """
    Return what tells *detector*, as it is set up, from others, if it says so.
    """
    found: Any = getattr(detector, "identity", None)
    return found if isinstance(found, str) and found else None


async def verdict_by(
    detector: Detector, text: str, state: dict[str, Any], scope: Any, cache: VerdictCache | None = None
) -> Verdict:
    """
    Ask *detector* about *text*, once per request: *state*, a processor's, keeps what each detector said of each text.
    Who asks the same at the same time waits for the answer, and asks anew only where it fails.

    Raises whatever keeps the detector from a verdict, and ``SchemaError`` for one that is none.

    Processors of one id share their state, so a text alone does not say whose verdict it is.
    """
    kept: dict[int, tuple[Detector, dict[bytes, Verdict | anyio.Event]]] = state.setdefault("verdicts", {})
    _, verdicts = kept.setdefault(id(detector), (detector, {}))  # kept with it, so that no other gets its id
    key = digest_of(text)
    while isinstance(found := verdicts.get(key), anyio.Event):
        await found.wait()
    if found is not None:
        return found
    asked = verdicts[key] = anyio.Event()
    try:
        verdict = await cache.get(text, scope) if cache is not None else None
        if verdict is None:
            verdict = sound(await detector.detect(text, scope=scope), text)
            if cache is not None:
                await cache.keep(text, scope, verdict)
        verdicts[key] = verdict
    finally:
        if verdicts[key] is asked:
            del verdicts[key]
        asked.set()
    return verdict


def _digest(text: str) -> str:
    """
    Return a digest of *text* that nobody can find another text to: a cache may live long and be shared.
    """
    import hashlib  # with the first verdict that is kept, not with the library

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _written(verdict: Verdict) -> str:
    return json.dumps(
        {
            "scores": dict(verdict.scores),
            "spans": [[getattr(span, field) for field in _FIELDS] for span in verdict.spans],
            "reason": verdict.reason,
            "rewritten": verdict.rewritten,
        }
    )


def _read(kept: str) -> Verdict:
    """
    Return a verdict that was written down.  Raises whatever what is none gives cause to.
    """
    data = json.loads(kept)
    spans = tuple(Span(**dict(zip(_FIELDS, fields, strict=True))) for fields in data["spans"])
    scores = {str(name): float(score) for name, score in data["scores"].items()}
    reason, rewritten = data["reason"], data["rewritten"]
    if not isinstance(reason, (str, NoneType)) or not isinstance(rewritten, (str, NoneType)):
        raise ValueError("a kept verdict has words that are none")
    return Verdict(scores, spans, reason, rewritten)
