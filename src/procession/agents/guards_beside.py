"""
Guards beside the model call: input guards that only check run while the model answers (``guard_mode="concurrent"``).

Until all of them have passed, nobody hears of the answer: no reader, no tool, no hook but those of the stream.  The
first that blocks or fails ends the model call.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import Any

import anyio

from procession.agents.answer import answered
from procession.agents.held_stream import HeldStream
from procession.agents.hook_steps import process_input
from procession.agents.model_call import model_call
from procession.agents.state import LoopState
from procession.agents.written import check_message, write_data
from procession.messages.chunks import Chunk, TripwireInfo
from procession.messages.message_list import MessageList
from procession.processors.check_only import changed_all_the_same
from procession.processors.hooks import Hook
from procession.processors.payloads import InputPayload
from procession.steps.signals import Bail
from procession.steps.step import InlineRun, Step
from procession.workflows.workflow import Workflow, create_workflow

__all__ = ["GuardsBeside", "ModelCallBeside", "input_before_model"]

_is_guard: ContextVar[bool] = ContextVar("procession_guard_beside", default=False)
"""Whether the code that runs belongs to a guard beside the model call."""


class GuardsBeside:
    """
    The guards of one run that have yet to pass, and what waits for them.
    """

    __slots__ = ("_data", "_messages", "_over", "_state", "_stream", "_stream_stopped", "_workflow", "replaced")

    def __init__(self, state: LoopState, workflow: Workflow[InputPayload, InputPayload]) -> None:
        self._state = state
        self._workflow = workflow
        self._messages: MessageList | None = None
        """What the guards look at, once the processors before the model call have left it so."""
        self._stream: HeldStream | None = None
        self._over = anyio.Event()
        self._stream_stopped = False
        self._data: list[tuple[Chunk, str | None, str | None]] = []
        """What guards have written for the reader: the stream's processors are busy with the answer."""
        self.replaced = False
        """Whether a guard gave the answer itself."""

    def begin(self) -> None:
        """
        The processors before the model call are done: guards look at what they left, and from now on all is held.
        """
        self._messages = self._state.messages.fork()
        self._stream = HeldStream(self._state)
        self._state.scope.resources["write_data"] = self._write_data

    def answer_begins(self) -> None:
        """
        The model is about to be asked.
        """
        if self._stream is not None:
            self._stream.mark()

    async def check(self, state: LoopState, run: InlineRun, path: str) -> None:
        """
        Run the guards here and now, with no model call beside them, and let everything go once they have passed.
        """
        await self._look(run, path)
        await self._pass()
        await self.write_late()

    async def check_beside(self, run: InlineRun, path: str) -> None:
        """
        Run the guards beside the model call; let go what is held once they have passed.

        Raises ``Bail`` where one of them gave the answer itself: the model's is not wanted.
        """
        try:
            await self._look(run, path)
        except Exception:
            if not self._stream_stopped:
                raise
            self._over.set()  # to stop beats to fail (D27): what stopped the stream decides
            return
        if self._state.scope.replacement is not None:
            self.replaced = True
            raise Bail(None)
        await self._pass()

    async def passed(self, verdict: TripwireInfo | None = None) -> None:
        """
        Wait until the guards have passed; whoever waits is cancelled where they do not.

        *verdict* is that of a processor of the stream: where it is a stop it counts unless a guard blocks.
        """
        if verdict is not None and not verdict.retry:
            self._stream_stopped = True
        await self._over.wait()

    async def answer_instead(self) -> bool:
        """
        Let the answer that a guard gave take the place of the model's.
        """
        if self._stream is not None:
            self._stream.forget()
        if self._state.attempt is not None:
            self._state.attempt.begun = False  # nobody has heard of it, nor will
        await self._pass()
        return await answered(self._state)

    def drop(self, state: LoopState) -> None:
        """
        The run has ended before they passed: nobody gets what was held.
        """
        state.guards = None
        if self._stream is not None:
            self._stream.drop(state)

    @property
    def are_through(self) -> bool:
        """
        Whether nothing waits for them any more.
        """
        return self._over.is_set()

    async def write_late(self) -> None:
        """
        Deliver what guards wrote, now that the stream's processors have nothing else to do.
        """
        data, self._data = self._data, []
        for chunk, sender, message_id in data:
            await write_data(self._state, chunk, sender, message_id)

    async def _look(self, run: InlineRun, path: str) -> None:
        messages = self._messages if self._messages is not None else self._state.messages.fork()
        version = messages.version
        token = _is_guard.set(True)
        try:
            only = self._state.pipelines.only[Hook.INPUT]
            await run.call(self._workflow, InputPayload(messages), path, only)
        finally:
            _is_guard.reset(token)
        if messages.version != version:  # not a processor's doing: each is looked at by itself
            raise changed_all_the_same(", ".join(self._state.pipelines.guards_beside), Hook.INPUT.value, path)

    async def _pass(self) -> None:
        state = self._state
        if self._stream is not None:
            await self._stream.let_go(state)
            state.scope.resources["write_data"] = partial(write_data, state)
        state.guards = None
        self._over.set()

    async def _write_data(self, chunk: Chunk, sender: str | None = None, message_id: str | None = None) -> None:
        if _is_guard.get():
            if message_id is not None:
                check_message(self._state, message_id)
            self._data.append((chunk, sender, message_id))
        else:
            await write_data(self._state, chunk, sender, message_id)


async def input_before_model(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    ``process_input`` of what may change messages: once, before the first step.  Guards that only check come later.
    """
    workflow = state.pipelines.beside
    assert workflow is not None  # else this node is not in the loop
    guards = GuardsBeside(state, workflow)
    state.guards = guards
    await process_input(state, run, path)
    if not guards.are_through:  # else a processor gave the answer, and they have passed by now
        guards.begin()
    return state


class ModelCallBeside:
    """
    The model call, with guards beside it where they have not passed yet: at the first step.
    """

    def __init__(self, guards: Workflow[InputPayload, InputPayload], call: Step[LoopState, LoopState]) -> None:
        checks: Step[LoopState, LoopState] = Step(
            id="guards", inline=_check, kind="hook", body=guards, description="Input guards that only check."
        )
        self.workflow: Workflow[Any, Any] = (
            create_workflow("beside", description="The model call, and the guards beside it.")
            .parallel([checks, call.replace(inline=_ask)])
            .commit()
        )
        """Both, to be run at the same time: the first stop ends the other."""

    async def ask(self, state: LoopState, run: InlineRun, path: str) -> LoopState:
        """
        Ask the model, and run the guards beside it that have not passed yet.
        """
        guards = state.guards
        if not isinstance(guards, GuardsBeside):
            return await model_call(state, run, path)
        attempt = await state.open()
        guards.answer_begins()
        await run.call(self.workflow, state, path)
        if guards.replaced and await guards.answer_instead():
            await guards.write_late()
            raise Bail(state)
        await guards.write_late()
        if state.attempt is not attempt:  # sent back, or answered by a processor of the stream
            raise Bail(state)
        return state


async def _check(state: LoopState, run: InlineRun, path: str) -> LoopState:
    guards = state.guards
    if isinstance(guards, GuardsBeside):
        await guards.check_beside(run, path)
    return state


async def _ask(state: LoopState, run: InlineRun, path: str) -> LoopState:
    """
    Ask the model.  Whatever comes of it waits for the guards, whose word comes first.
    """
    guards = state.guards
    try:
        await model_call(state, run, path)
    except Bail:  # out of the step, not only out of this: the attempt is gone
        pass
    except Exception:  # a processor of the stream failed
        if guards is not None:
            await guards.passed()
        raise
    return state
