"""
Branches of a stream chain: the arms of ``.parallel()`` and ``.branch()``, and how their chunks become one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from time import monotonic
from typing import Any, cast

import anyio

from procession.errors import ConditionError, MergeConflict, NoArmMatched
from procession.messages.chunks import Chunk, DataChunk
from procession.processors.nested_path import Calls
from procession.processors.payloads import OutputStreamPayload
from procession.processors.stream_arm import StreamArm
from procession.processors.stream_items import CallLink, Item, ProcessorItem, release_all, run_items
from procession.processors.stream_map import picked_payload
from procession.processors.stream_owed import Dropped, Owed
from procession.processors.stream_watch import Waited
from procession.steps.forkable import MergePolicy
from procession.steps.signals import Tripwire
from procession.steps.truth import truth

__all__ = ["ForkItem"]


_LONG = 0.001
"""Seconds after which arms that were awaited in turn may have waited for something."""


class ForkItem(Item):
    """
    Arms that each get the chunk; ``choose`` says what a map picks, ``merge`` what happens without one.

    Arms are awaited in place, one after the other, which costs nothing where none of them waits for anything.  Once
    one was seen to wait they run as tasks: the first block cancels the others (D27).
    """

    __slots__ = (
        "_all", "_arms", "_choose", "_concurrent", "_conditional", "_default", "_first", "_in_doubt",
        "_merge", "_name", "_owed", "_passes", "_payload", "_pick", "_simple", "_skip", "_waits", "asks_at_ends",
    )  # fmt: skip
    asks_at_ends: bool

    def __init__(
        self,
        name: str,
        arms: Sequence[StreamArm],
        payload: OutputStreamPayload,
        *,
        choose: Callable[[Mapping[str, Any]], Any] | None,
        allow_drop: bool,
        merge: MergePolicy,
        default: StreamArm | None = None,
        first_only: bool = False,
        skip_unmatched: bool = False,
        pick: str | None = None,
        path: str = "",
    ) -> None:
        self._arms = tuple(arms)
        self._default = default
        self._all = (*self._arms, default) if default is not None else self._arms
        super().__init__(is_async=True, holds=any(item.holds for arm in self._all for item in arm.items), path=path)
        inner = [item for arm in self._all for item in arm.items]
        self.asks_at_ends = any(item.asks or (isinstance(item, ForkItem) and item.asks_at_ends) for item in inner)
        """Whether an arm asks somebody about what it holds back: it waits for that beside the others."""
        self._name = name
        self._payload = payload
        self._choose = choose
        self._merge = merge
        self._first = first_only
        self._skip = skip_unmatched
        self._concurrent = False
        self._in_doubt = False
        """Whether arms run at the same time only because they took long; the next chunk tells whether they wait."""
        self._conditional = default is not None or any(arm.condition is not None for arm in self._arms)
        self._simple = None if self._conditional else _simple(self._arms)
        self._waits = self._simple is not None and any(is_async for _, _, _, is_async in self._simple)
        self._pick = next((at for at, arm in enumerate(self._arms) if arm.step_id == pick), None)
        watched = {arm.step_id: arm.holds for arm in self._all if arm.redacts} if choose and not allow_drop else {}
        # Nothing can be lost where the one arm that redacts is always the one that is picked.
        self._owed = Owed(watched) if watched and list(watched) != [pick] else None
        self._passes = choose is None or (self._pick is not None and self._owed is None)
        """Whether a chunk that no arm changes goes on without a look at what a map makes of it."""

    def nested(self, make: Callable[[Sequence[Item]], list[Item]]) -> Item:
        """
        Return this fork for nested streams, with arms of the items that *make* makes of theirs.
        """
        arms = [arm.nested(make) for arm in self._all]
        if all(new.items == old.items for new, old in zip(arms, self._all, strict=True)):
            return self
        made = copy(self)
        made._all = tuple(arms)
        made._arms = made._all[: len(self._arms)]
        made._default = arms[-1] if self._default is not None else None
        made.holds = any(arm.holds for arm in arms)
        made._simple, made._waits, made._concurrent, made._in_doubt = None, False, False, False
        made._owed = self._owed.anew() if self._owed is not None else None
        return made

    def forget(self, calls: Calls) -> None:
        """
        Drop what the arms hold back of the nested streams inside *calls*.
        """
        if self._owed is not None:
            self._owed.forget(calls)
        for arm in self._all:
            for item in arm.items:
                item.forget(calls)

    def begin(self, payload: OutputStreamPayload) -> None:
        """
        Give each arm its own fork of the message list for the coming step.
        """
        for arm in self._all:
            arm.payload.message_list = payload.message_list.fork()
            arm.payload.step_number = payload.step_number
            arm.payload.steps = payload.steps
            arm.payload.retry_count = payload.retry_count
            arm.payload.turn = payload.turn
            for item in arm.items:
                item.begin(arm.payload)

    def discard(self) -> None:
        """
        Drop what the arms hold back.
        """
        if self._owed is not None:
            self._owed.clear()
        for arm in self._all:
            for item in arm.items:
                item.discard()

    def must_release(self, chunk: Chunk) -> bool:
        """
        Whether an arm holds text that must go on before *chunk*.
        """
        return any(item.holds and item.must_release(chunk) for arm in self._all for item in arm.items)

    async def release(self, coming: Chunk | None) -> list[Chunk]:
        """
        Let the arms release, and put what comes of it together like any chunk.
        """
        pieces: list[list[Chunk]] = [[] for _ in self._all]
        out_of = dict(zip(self._all, pieces, strict=True))
        if self.asks_at_ends:
            await self._together(self._all, lambda arm: release_all(arm.items, coming, out_of[arm]))
        else:
            verdicts: list[Tripwire] = []
            failures: list[Exception] = []
            for arm, out in out_of.items():
                try:
                    await release_all(arm.items, coming, out)
                except Tripwire as verdict:
                    verdicts.append(verdict)
                except Exception as error:
                    failures.append(error)
            _decide(verdicts, failures)
        released: list[Chunk] = []
        for position in range(max((len(piece) for piece in pieces), default=0)):
            outputs = {
                arm.step_id: piece[position] if position < len(piece) else None
                for arm, piece in zip(self._all, pieces, strict=True)
            }
            one = await self._joined(None, outputs)
            if one is not None:
                released.append(one)
        try:
            return released + self._owed.ended(coming) if self._owed is not None else released
        except Dropped as dropped:
            raise self._drops(dropped.arm) from None

    async def apply(self, chunk: Chunk, sender: str | None = None) -> Chunk | None:
        """
        Give *chunk* to the arms that take part, and join what they return.
        """
        if self._simple is None or self._concurrent or sender is not None:
            return await self._apply_to_arms(chunk, sender)
        # Arms that are one processor each, whose hooks need nothing around them.
        began = monotonic() if self._waits else 0.0
        changed: dict[ProcessorItem, Chunk | None] | None = None
        verdicts: tuple[Tripwire, ...] = ()
        failures: tuple[Exception, ...] = ()
        for_all = type(chunk) is not DataChunk
        for item, method, ctx, is_async in self._simple:
            if not (for_all or item.takes_data):
                continue
            ctx.chunk = chunk
            try:
                try:
                    out = method(ctx)
                    if is_async:
                        out = await out
                except Exception as error:
                    out = item.raised(chunk, error)
                except BaseException as raised:
                    out = item.signalled(chunk, raised)
                if ctx.verdict is not None:
                    item.settle()
                if out is not chunk and (out := item.kept(chunk, out)) is not chunk:
                    changed = changed or {}
                    changed[item] = out
            except Tripwire as verdict:
                verdicts += (verdict,)
            except Exception as error:
                failures += (error,)
        if verdicts or failures:
            _decide(verdicts, failures)
        if self._waits and monotonic() - began > _LONG:
            self._concurrent = self._in_doubt = True  # one of them has waited, or this process had to
        if changed is None and self._passes:
            return chunk
        outs = [changed.get(item, chunk) if changed else chunk for item, _, _, _ in self._simple]
        if self._pick is not None and self._owed is None:
            out = outs[self._pick]
        else:
            out = await self._joined(chunk, {arm.step_id: each for arm, each in zip(self._arms, outs, strict=True)})
        return out if out is chunk or not chunk.control or type(out) is type(chunk) else chunk

    async def _apply_to_arms(self, chunk: Chunk, sender: str | None) -> Chunk | None:
        arms: Sequence[StreamArm] = self._arms
        if self._conditional:
            arms = await self._taking_part(chunk)
            if not arms:
                return chunk
        go = self._at_once if self._concurrent else self._in_turn
        out = await self._joined(chunk, await go(arms, chunk, sender))
        return out if out is chunk or not chunk.control or type(out) is type(chunk) else chunk

    async def _taking_part(self, chunk: Chunk) -> list[StreamArm]:
        self._payload.chunk = chunk
        found: list[StreamArm] = []
        for arm in self._arms:
            try:
                holds = arm.condition is None or await truth(arm.condition(self._payload))
            except Exception as error:
                raise ConditionError(
                    f"the condition of {arm.step_id!r} in {self._name!r} raised {type(error).__name__}: {error}",
                    path=self._name,
                    hint="a condition answers true or false for every payload of the phase",
                ) from error
            if holds:
                found.append(arm)
                if self._first:
                    break
        if not found and self._default is not None:
            found.append(self._default)
        if not found and not self._skip:
            raise NoArmMatched(
                f"no arm of {self._name!r} takes this chunk", path=self._name,
                hint='give the branch a default, or say on_no_match="skip"',
            )  # fmt: skip
        return found

    async def _in_turn(self, arms: Sequence[StreamArm], chunk: Chunk, sender: str | None) -> dict[str, Chunk | None]:
        outputs: dict[str, Chunk | None] = {}
        verdicts: list[Tripwire] = []
        failures: list[Exception] = []
        for arm in arms:
            watch = Waited(self._run_arm(arm, chunk, sender, outputs))
            try:
                await watch
            except Tripwire as verdict:
                verdicts.append(verdict)
            except Exception as error:
                failures.append(error)
            self._concurrent = self._concurrent or (watch.suspended and len(arms) > 1)
        _decide(verdicts, failures)
        return outputs

    async def _at_once(self, arms: Sequence[StreamArm], chunk: Chunk, sender: str | None) -> dict[str, Chunk | None]:
        outputs: dict[str, Chunk | None] = {}
        await self._together(arms, lambda arm: self._run_arm(arm, chunk, sender, outputs))
        return outputs

    async def _together(
        self, arms: Sequence[StreamArm], work: Callable[[StreamArm], Coroutine[Any, Any, None]]
    ) -> None:
        """
        Do *work* for all *arms* at the same time; the first verdict or failure cancels the others (D27).
        """
        verdicts: dict[str, Tripwire] = {}
        failures: dict[str, Exception] = {}
        waited = False

        async def one(arm: StreamArm) -> None:
            nonlocal waited
            watch = Waited(work(arm))
            try:
                await watch
            except Tripwire as verdict:
                verdicts[arm.step_id] = verdict
                group.cancel_scope.cancel()
            except Exception as error:
                failures[arm.step_id] = error
                group.cancel_scope.cancel()
            finally:
                waited = waited or watch.suspended

        async with anyio.create_task_group() as group:
            for arm in arms:
                group.start_soon(one, arm)
        if self._in_doubt:
            self._in_doubt, self._concurrent = False, waited
        _decide(
            [verdicts[arm.step_id] for arm in arms if arm.step_id in verdicts],
            [failures[arm.step_id] for arm in arms if arm.step_id in failures],
        )

    async def _run_arm(
        self, arm: StreamArm, chunk: Chunk, sender: str | None, outputs: dict[str, Chunk | None]
    ) -> None:
        out: list[Chunk] = []
        await run_items(arm.items, 0, chunk, out, sender)
        outputs[arm.step_id] = out[0] if out else None

    async def _joined(self, chunk: Chunk | None, outputs: dict[str, Chunk | None]) -> Chunk | None:
        if self._choose is not None:
            return await self._picked(chunk, outputs)
        changed = {key: out for key, out in outputs.items() if out is not chunk and out != chunk}
        if not changed:
            return chunk
        values = list(changed.values())
        if self._merge == "priority":  # what an arm hides, or still holds, goes first (D26)
            first = [arm.step_id for arm in self._all if (arm.redacts or arm.holds) and arm.step_id in changed]
            values = [changed[key] for key in first] or values[:1]
        if all(value == values[0] for value in values[1:]):
            return values[0]
        if callable(self._merge):
            picked = self._merge(self._payload, self._shown(outputs))
            return cast("Chunk | None", picked.chunk if isinstance(picked, OutputStreamPayload) else picked)
        if any(value is None for value in values):  # removing is stricter than changing
            return None
        raise MergeConflict(
            f"{', '.join(map(repr, changed))} rewrote one chunk in different ways",
            branches=tuple(changed),
            path=self._name,
            hint="choose in a .map(...), put the processors one after the other, or make them text guards",
        )

    async def _picked(self, chunk: Chunk | None, outputs: dict[str, Chunk | None]) -> Chunk | None:
        assert self._choose is not None
        picked = await picked_payload(f"the map after {self._name}", self._choose, self._shown(outputs))
        out = chunk if picked is None else picked.chunk
        if self._owed is None:
            return out
        try:
            return self._owed.shown(chunk, outputs, out)
        except Dropped as dropped:
            raise self._drops(dropped.arm) from None

    def _drops(self, arm: str) -> MergeConflict:
        return MergeConflict(
            f"the map after {self._name!r} drops what {arm!r} redacted",
            branches=(arm,),
            path=self._name,
            hint="pick that branch, leave the map out, or say allow_drop=True",
        )

    def _shown(self, outputs: Mapping[str, Chunk | None]) -> dict[str, OutputStreamPayload]:
        shown: dict[str, OutputStreamPayload] = {}
        for arm in self._all:
            if arm.step_id in outputs:
                arm.payload.chunk = outputs[arm.step_id]
                shown[arm.step_id] = arm.payload
        return shown


def _simple(arms: Sequence[StreamArm]) -> Sequence[CallLink] | None:
    """
    Return the processors of *arms*, ready to be called, where each arm is just one that needs nothing around its hook.
    """
    items = [arm.items[0] for arm in arms if len(arm.items) == 1]
    simple = [item.link() for item in items if isinstance(item, ProcessorItem) and item.is_simple]
    return simple if len(simple) == len(arms) else None


def _decide(verdicts: Sequence[Tripwire], failures: Sequence[Exception]) -> None:
    """
    Raise what counts: a hard block before a failure, that before a retry, then the order of declaration (D27).
    """
    for verdict in verdicts:
        if not verdict.info.retry:
            raise verdict
    if failures:
        raise failures[0]
    if verdicts:
        raise verdicts[0]
