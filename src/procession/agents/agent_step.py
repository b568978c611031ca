"""
An agent as a step: where its run waits, the workflow's run does, and goes on with the answer.

The run inside is kept under the step's own key.  What an answer has led to is memoized, so that a step that is run
again, for the next answer or after a crash, hands over each of them once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio

from procession.agents.caller import Caller
from procession.agents.claim import LEASE
from procession.agents.inner_kinds import Inner
from procession.agents.inner_runs import end_run
from procession.agents.kept_in import kept_in, store_of
from procession.agents.output import AgentResult
from procession.agents.resume import ResumedCall, prepare_resumed, waiting_calls
from procession.agents.sub_run import begin_sub_run, sub_run
from procession.agents.suspended_call import asked
from procession.errors import InputError, RunAlreadyClaimed
from procession.runtime.durable.ledger import KEPT_IN
from procession.steps.signals import Tripwire
from procession.steps.step import StepContext
from procession.storage.base import JournalStore

__all__ = ["abandon", "run_as_step"]

_POLL = 1.0
"""Seconds after which it is looked again whether a process that died still holds a run."""
_LOOKS = int(LEASE / _POLL) + 2
"""How often it is looked: who holds a run for longer than that is alive."""


async def run_as_step(agent: Caller, ctx: StepContext[Any]) -> str:
    """
    Let *agent* answer the step's input, and return the answer's text; where it waits for answers, wait for them.

    Raises ``Tripwire`` where the agent was blocked, its error where it failed, and ``RunSuspended`` where it waits in a
    run that cannot be resumed.
    """
    if KEPT_IN not in ctx.scope.resources:
        return _text(await begin_sub_run(agent, ctx.input, ctx.scope))
    return await _Turns(agent, ctx).run()


async def abandon(agent: Caller, key: str, kept: JournalStore | None) -> None:
    """
    End the run of *agent* that waits for the step of *key*, with those inside it.

    Raises ``RunAlreadyClaimed`` where somebody goes on with it.
    """
    store, number = store_of(agent, kept), 1
    while await store.row(_run_id(key, number)) is not None:
        await end_run(Inner(agent), _run_id(key, number), kept)
        number += 1


def _run_id(key: str, number: int) -> str:
    """
    Return the id of the first run of a step, or of a later one: attempts of the step may have brought others to their end.
    """
    return key if number == 1 else f"{key}#{number}"


class _Turns:
    """
    The turns of an agent's run in one step: each goes on with one answer, to the next question or the end.
    """

    __slots__ = ("agent", "ctx", "kept", "resumed", "store")

    def __init__(self, agent: Caller, ctx: StepContext[Any]) -> None:
        self.agent = agent
        self.ctx = ctx
        self.kept = kept_in(ctx.scope)
        self.store = store_of(agent, self.kept)
        self.resumed: ResumedCall | None = None
        """The call that has just answered: its run ends in the store once the answer is in the workflow's journal."""

    async def run(self) -> str:
        ctx, key, answered = self.ctx, self.ctx.idempotency_key, 0
        turn = {"run": key} if await self.store.row(key) is not None else await self._begun(key)
        while "text" not in turn:
            answer = await ctx.suspend(await self._question(turn))
            answered += 1
            turn = await ctx.memoize(f"answer {answered}", partial(self._answered, turn["run"], answer))
        if self.resumed is not None:
            await self.resumed.end()
        elif answered:  # the process died in between
            with suppress(RunAlreadyClaimed):
                await end_run(Inner(self.agent), turn["run"], self.kept)
        return turn["text"]

    async def _question(self, turn: Mapping[str, str]) -> dict[str, Any]:
        """
        Return what the run of *turn* waits for, and why the last answer was not taken, where it was not.
        """
        row = await self.store.row(turn["run"])
        waits = (
            row is not None and row.status == "suspended"
        )  # else there is an answer already that it came to its end by
        calls = await waiting_calls(self.agent, turn["run"], self.kept) if waits else ()
        question = asked(self.agent.id, turn["run"], calls)
        return {**question, "refused": turn["refused"]} if "refused" in turn else question

    async def _begun(self, run_id: str) -> dict[str, str]:
        result = await begin_sub_run(self.agent, self.ctx.input, self.ctx.scope, run_id=run_id)
        return _turn(run_id, result)

    async def _answered(self, run_id: str, answer: Any) -> dict[str, str]:
        """
        Hand an answer to a run, once, and return what that led to.
        """
        if not await self._waits(run_id):
            return await self._begun_again()

        async def prepared(options: dict[str, Any]) -> ResumedCall:
            call = await prepare_resumed(
                self.agent, run_id, answer, options, emit=None, streaming=False, inside=True, kept=self.kept
            )
            call.lasting = True
            resumed.append(call)
            return call

        resumed: list[ResumedCall] = []
        try:
            result = await sub_run(self.agent.id, self.ctx.scope, prepared)
        except InputError as error:  # the question stands
            return {"run": run_id, "refused": str(error)}
        turn = _turn(run_id, result)
        (call,) = resumed
        if "text" in turn:
            self.resumed = call
        elif call.state.refused is not None:
            turn["refused"] = str(call.state.refused)
        return turn

    async def _waits(self, run_id: str) -> bool:
        """
        Whether a run waits, once a process that died holds it no more.
        """
        for _ in range(_LOOKS):
            row = await self.store.row(run_id)
            if row is None or row.status != "suspended":
                return False
            if not row.claimed:
                break
            await anyio.sleep(_POLL)
        return True

    async def _begun_again(self) -> dict[str, str]:
        """
        Begin anew: an attempt of the step has used up the answer, and failed.
        """
        number = 2
        while (row := await self.store.row(run_id := _run_id(self.ctx.idempotency_key, number))) is not None:
            if row.status == "suspended":
                return {"run": run_id}
            number += 1
        return await self._begun(run_id)


def _turn(run_id: str, result: AgentResult) -> dict[str, str]:
    """
    Return what a run of the agent has come to, as it is memoized.
    """
    return {"run": run_id} if result.suspended else {"run": run_id, "text": _text(result)}


def _text(result: AgentResult) -> str:
    if result.tripwire is not None:
        raise Tripwire(result.tripwire)
    return result.raise_for_status().text
