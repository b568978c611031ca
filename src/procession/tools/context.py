"""
ToolContext: what a tool is given beside its arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from procession.errors import InputError, RunCancelled
from procession.messages.chunks import Chunk, DataChunk, ToolOutput
from procession.messages.message import Message
from procession.steps.abort import AbortSignal
from procession.steps.later import later
from procession.steps.left import is_left_behind
from procession.steps.request_context import RequestContext
from procession.steps.scope import Emit, RequestScope
from procession.steps.signals import Bail, Suspend
from procession.steps.step import SupportsStep
from procession.tools.answers import Question, read_answer, schema_as_json
from procession.tools.json_value import json_value

__all__ = ["ToolContext", "ToolWriter"]

Caller: TypeAlias = Callable[[SupportsStep[Any, Any], Any, str], Awaitable[Any]]
"""Runs a definition on a value at a path of the run."""


class ToolContext:
    """
    What a tool is given beside its arguments.

    The agent loop makes one for each call.  Where a tool is run by hand, nothing needs to be given:

    >>> ToolContext().tool_call_id
    ''
    """

    __slots__ = (
        "_answers", "_asked", "_called", "_caller", "_emit", "_messages", "_path", "apart", "attempt", "inner_run", "over",
        "question", "refused", "run_id", "scope", "tool_call_id", "tool_name",
    )  # fmt: skip

    def __init__(
        self,
        *,
        tool_call_id: str = "",
        tool_name: str = "",
        scope: RequestScope | None = None,
        run_id: str = "",
        messages: Sequence[Message] | Callable[[], Sequence[Message]] = (),
        emit: Emit | None = None,
        caller: Caller | None = None,
        path: str = "",
        answers: Sequence[Any] = (),
        apart: bool = False,
        inner_run: str | None = None,
    ) -> None:
        self.tool_call_id = tool_call_id
        """The model's name for the call."""
        self.tool_name = tool_name
        self.scope = scope if scope is not None else RequestScope(run_id=run_id)
        """What the request carries beside its payload."""
        self.run_id = run_id or self.scope.run_id
        self._messages = messages
        self.attempt = 1
        """Which attempt this is, from 1."""
        self.apart = apart
        """Whether an async tool runs in a task of its own, that can be left behind."""
        self.over = False
        """Whether the call has ended: what was left behind of it may still go on."""
        self.inner_run = inner_run
        """The id of the run, of an agent or a workflow that is the tool, that the call waits for or has begun."""
        self._emit = emit
        self._caller = caller
        self._path = path
        self._called: dict[str, int] | None = None
        self._answers = answers
        self._asked = 0
        self.question: Question | None = None
        """What the tool has asked and nobody has answered yet: noted here, so that no ``except`` swallows it (D12)."""
        self.refused: Exception | None = None
        """Why the answer to that question was not taken."""

    @property
    def messages(self) -> Sequence[Message]:
        """
        The conversation so far, to read.
        """
        return self._messages() if callable(self._messages) else self._messages

    @property
    def request_context(self) -> RequestContext:
        """
        The values of this request.
        """
        return self.scope.request_context

    @property
    def tracing_context(self) -> Any:
        """
        What the call was given as ``tracing_context=``, as it is, or ``None``: such as the span that it belongs to.
        """
        return self.scope.tracing_context

    def background(self, function: Callable[..., Any], *args: Any) -> None:
        """
        Do ``function(*args)``, plain or async, without holding up the answer: in the background of the open
        ``Runtime``, else before the call returns.  That it fails is logged, without its words.
        """
        later(self.scope, function, *args)

    @property
    def abort_signal(self) -> AbortSignal:
        """
        Says whether the answer is still wanted: a tool that runs in a thread cannot be cancelled, and may look at it.
        """
        return self.scope.abort

    @property
    def writer(self) -> ToolWriter:
        """
        The way to whoever reads the run's stream.
        """
        return ToolWriter(self, self._emit if self._emit is not None else self.scope.emit)

    def begin_again(self) -> None:
        """
        Another attempt begins: the tool asks its questions anew.
        """
        self.attempt += 1
        self._asked = 0

    @property
    def answered(self) -> Sequence[Any]:
        """
        The answers that the tool has taken, in the order of its questions.
        """
        return self._answers[: self._asked - (self.question is not None)]

    @property
    def resumed(self) -> bool:
        """
        Whether the tool was suspended before and is run again, from the top, with an answer.
        """
        return bool(self._answers)

    @property
    def answers_given(self) -> int:
        """
        How many of its questions have been answered: 0 where it runs for the first time.
        """
        return len(self._answers)

    def suspend(self, payload: Any = None, *, resume_schema: Any = None, label: str | None = None) -> Any:
        """
        Ask somebody outside, and return the answer.

        The first time this never returns: the run ends as suspended, with *payload*, as JSON can say it, for whoever is
        to answer.  Once an answer is given (``agent.resume``) the tool runs again from the top and gets it here, checked
        strictly against *resume_schema*: a type that pydantic knows, or a JSON schema.  What stands before this call
        is done twice.  A tool that asks several times gets its answers in the order of its questions.

        >>> ToolContext(answers=["yes"]).suspend("Go on?")
        'yes'
        """
        if is_left_behind():  # another attempt may be asking by now
            raise Suspend
        number, self._asked = self._asked, self._asked + 1
        if number < len(self._answers):
            try:
                return read_answer(self._answers[number], resume_schema, f"the answer to tool {self.tool_name!r}")
            except InputError as error:
                self.refused = error
        self.question = Question(payload=json_value(payload), resume_schema=schema_as_json(resume_schema), label=label)
        raise Suspend(self.question.payload, label=label)

    async def call(self, step: SupportsStep[Any, Any], value: Any) -> Any:
        """
        Run another definition (a step, a workflow, an agent, a processor) inside this run and return its output.

        It shares the run's cancellation, its request context and its account of tokens.  What ends it ends this call:
        its error is raised, and so is a tripwire's signal; with ``ctx.bail(value)`` of whatever scope it returns *value*,
        since what is called here has no place in a workflow that could end.  Raises ``InputError`` where the tool is run by hand,
        ``RunCancelled`` where it was left behind.
        """
        if is_left_behind():
            raise RunCancelled(f"tool {self.tool_name!r} was left behind: its run goes on without it")
        if self._caller is None:
            raise InputError(
                f"tool {self.tool_name!r} asked for ctx.call() outside a run",
                hint="let an agent or a workflow run the tool",
            )
        id = step.as_step().id
        if self._called is None:
            self._called = {}
        number = self._called[id] = self._called.get(id, 0) + 1
        path = f"{self._path}/{self.tool_call_id}/{id}"
        if number > 1:
            path += f"[{number - 1}]"
        try:
            return await self._caller(step, value, path)
        except Bail as bailed:
            return bailed.value


class ToolWriter:
    """
    Sends to whoever reads the run's stream; where nobody does, what is sent is dropped.
    """

    __slots__ = ("_context", "_emit")

    def __init__(self, context: ToolContext, emit: Emit | None) -> None:
        self._context = context
        self._emit = emit

    async def custom(self, chunk: DataChunk | Mapping[str, Any], *, message_id: str | None = None) -> None:
        """
        Send data of the application: a ``DataChunk``, or its fields, such as
        ``{"type": "data-progress", "data": {"percent": 50}}``.

        In an agent's run it is kept, unless it is ``transient``: as a part of the present answer, or of the message
        *message_id*.

        Raises ``InputError`` where the type does not start with ``data-``, and ``MessageError`` where no message of the
        run has the id.
        """
        made = _data_chunk(chunk)
        write = self._context.scope.resources.get("write_data") if message_id is not None else None
        if write is None:
            await self._send(made)
        else:
            await write(made, None, message_id)

    async def write(self, output: Any) -> None:
        """
        Send a value as a ``tool-output`` chunk of this call.  Once the call has ended it is dropped.
        """
        if self._context.over:  # guards have let go of what they held of it, which might end a match
            return
        await self._send(ToolOutput(self._context.tool_call_id, self._context.tool_name, output))

    async def _send(self, chunk: Chunk) -> None:
        if self._emit is not None:
            sent = self._emit(chunk)
            if inspect.isawaitable(sent):
                await sent


def _data_chunk(chunk: DataChunk | Mapping[str, Any]) -> DataChunk:
    fields: Mapping[str, Any] = {"type": chunk.type} if isinstance(chunk, DataChunk) else chunk
    type_ = fields.get("type")
    if not isinstance(type_, str) or not type_.startswith("data-"):
        raise InputError(
            f"a tool wrote a chunk of type {type_!r}",
            hint="data of the application has a type that starts with 'data-', e.g. 'data-progress'",
        )
    if isinstance(chunk, DataChunk):
        return chunk
    unknown = sorted(set(fields) - {"type", "data", "id", "transient"})
    if unknown:
        raise InputError(f"a {type_!r} chunk has no field {unknown[0]!r}: it has type, data, id, transient")
    return DataChunk(type_, fields.get("data"), fields.get("id"), bool(fields.get("transient", False)))
