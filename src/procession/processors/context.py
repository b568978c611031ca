"""
HookContext: what every hook is given.

A context is made per processor and hook call (one per stream for ``process_output_stream``) and is cheap to make:
``messages``, ``state`` and ``writer`` come into being when they are first read.  What single hooks are given besides
is in ``contexts.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar, cast

from procession.errors import MessageError
from procession.messages.chunks import DataChunk, TripwireInfo
from procession.messages.draft import MessageDraft
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.signal import SentSignal
from procession.processors.hooks import Hook
from procession.processors.log import log_callback_error
from procession.processors.payloads import HookPayload
from procession.processors.violation import GuardOutcome, Violation
from procession.steps.abort import AbortSignal
from procession.steps.later import later
from procession.steps.left import is_left_behind
from procession.steps.own_task import leave
from procession.steps.request_context import RequestContext
from procession.steps.scope import Leftover, RequestScope
from procession.steps.signals import Signal, Tripwire

__all__ = ["HookContext", "Replaced", "SignallingContext", "StreamWriter", "tell"]

P = TypeVar("P", bound=HookPayload)


class Replaced(Signal):
    """
    A processor gave the final answer itself: ``ctx.replace_response(text)``.
    """

    def __init__(self, text: str) -> None:
        super().__init__("replaced")
        self.text = text


class StreamWriter:
    """
    Sends data of the application to whoever reads the stream.
    """

    __slots__ = ("_processor_id", "_scope")

    def __init__(self, scope: RequestScope, processor_id: str | None = None) -> None:
        self._scope = scope
        self._processor_id = processor_id

    async def custom(self, chunk: DataChunk | Mapping[str, Any], *, message_id: str | None = None) -> None:
        """
        Send a ``data-*`` chunk at once; it passes the processors that opted in, except the sender (D18).

        Unless it is ``transient`` it is kept as a part of the present answer, or of the message *message_id*.

        Raises ``MessageError`` where its type does not start with ``data-``, or no message has that id.
        """
        if isinstance(chunk, Mapping):
            chunk = DataChunk(
                str(chunk.get("type")), chunk.get("data"), chunk.get("id"), bool(chunk.get("transient", False))
            )
        if not chunk.type.startswith("data-"):
            raise MessageError(
                f"a custom chunk of type {chunk.type!r}", hint="the type of a custom chunk starts with 'data-'"
            )
        write = self._scope.resources.get("write_data")
        if write is not None:
            await write(chunk, self._processor_id, message_id)


class HookContext(Generic[P]):
    """
    What every hook is given.
    """

    hook: ClassVar[Hook]

    # A context is made for every hook call, so what most calls leave alone, and nobody asks for, stands on the class.
    violated: bool = False
    """Whether something was reported in this hook call."""
    shown: tuple[str, ...] = ()
    """The ids of the messages that they were made of."""
    _state: dict[str, Any] | None = None

    def __init__(self, payload: P, scope: RequestScope, owner: Any) -> None:
        self._payload = payload
        self._scope = scope
        self.verdict: Signal | None = None
        """What the hook decided, noted before it was raised (D12)."""
        self.drafts: list[MessageDraft] | None = None
        """The drafts, if the hook has asked for them."""
        self.owner = owner
        self.processor_id: str = owner.id

    # -- messages

    @property
    def message_list(self) -> MessageList:
        """
        The run's message list; in a parallel branch, the branch's fork of it, and for what was left behind one that
        nobody looks at.
        """
        messages = self._payload.message_list
        return messages.fork() if is_left_behind() else messages

    @property
    def view(self) -> Sequence[Message]:
        """
        The messages in this hook's scope, read-only and of constant cost.
        """
        return self._payload.messages

    @property
    def messages(self) -> list[MessageDraft]:
        """
        The messages in this hook's scope as a fresh list of drafts: what is edited in them is applied (D9).
        """
        if self.drafts is None:
            self.drafts = [MessageDraft(message) for message in self._payload.messages]
            self.shown = tuple(draft.original.id for draft in self.drafts)
        return self.drafts

    @property
    def system_messages(self) -> tuple[SystemMessage, ...]:
        """
        All system messages, those with a tag included (D23).
        """
        return self._payload.message_list.system_messages

    # -- the request

    @property
    def state(self) -> dict[str, Any]:
        """
        This processor's own state, kept for the request and shared by all its hooks (D11).
        """
        if self._state is None:
            self._state = self._scope.state(self.processor_id)
        return self._state

    @property
    def request_context(self) -> RequestContext:
        """
        The values of this request.
        """
        return self._scope.request_context

    @property
    def scope(self) -> RequestScope:
        """
        What the request carries beside its payload; for framework processors.
        """
        return self._scope

    @property
    def run_id(self) -> str:
        """
        The id of the run.
        """
        return self._scope.run_id

    @property
    def agent(self) -> Any:
        """
        The agent whose run this is, or ``None`` in a workflow that runs by itself.
        """
        return self._scope.resources.get("agent")

    @property
    def writer(self) -> StreamWriter:
        """
        Sends ``data-*`` chunks to the reader of the stream.
        """
        return StreamWriter(self._scope, self.processor_id)

    @property
    def abort_signal(self) -> AbortSignal:
        """
        Says whether the answer is still wanted: what runs in a thread, or hands work to others, may look at it.
        """
        return self._scope.abort

    @property
    def tracing_context(self) -> Any:
        """
        What the call was given as ``tracing_context=``, as it is, or ``None``: such as the span that it belongs to.
        """
        return self._scope.tracing_context

    @property
    def retry_count(self) -> int:
        """
        Attempts of this step so far, whatever caused them (D16).
        """
        return self._payload.retry_count

    @property
    def step_number(self) -> int:
        """
        The step that makes, or made, the model call, from 0.
        """
        return self._payload.step_number

    @property
    def steps(self) -> Sequence[Any]:
        """
        The completed steps that this hook sees (D16).
        """
        return self._payload.steps

    # -- outcomes

    def abort(
        self,
        reason: str | None = None,
        *,
        retry: bool = False,
        metadata: object = None,
        message: str | None = None,
    ) -> NoReturn:
        """
        Stop the run; with *retry*, send the step back to the model with *reason* as feedback (D14).

        *message* is what the user is shown.  Never returns, and cannot be swallowed (D12).
        """
        info = TripwireInfo(
            reason or f"Tripwire triggered by {self.processor_id}", retry, metadata, self.processor_id, message
        )
        self._decide(Tripwire(info))

    def replace_response(self, text: str) -> NoReturn:
        """
        Give *text* as the final answer: no further model call is made.

        Never returns.  What the model has said in this step is rejected, like an attempt that is sent back; text that has
        been streamed stays with its reader, who is told to drop it.
        """
        self._decide(Replaced(text))

    def _decide(self, verdict: Signal) -> NoReturn:
        if not is_left_behind():  # else it comes too late, and the context may serve others by now
            self.verdict = verdict
        raise verdict

    def warn(self, reason: str, *, metadata: object = None) -> None:
        """
        Note that something was found, and go on.
        """
        self.report(reason, metadata, "warned")

    # -- for the library's own processors

    def speak_for(self, owner: Any) -> None:
        """
        Be the context of *owner* from now on: its id on what is reported, its state, its callback.
        """
        self.owner = owner
        self.processor_id = owner.id
        self._state = None

    def apart(self) -> Self:
        """
        Return a context of its own that goes on showing what this one shows now: for what goes on beside the run.
        """
        made = copy(self)
        made._payload = cast("P", self._payload.fork())
        made.violated = False
        return made

    def leave_behind(self, work: Leftover) -> None:
        """
        Leave the hook behind, which ignored its cancellation: what it still does with the context touches no run.
        """
        if self.hook is not Hook.OUTPUT_STREAM:  # there the context is the stream's
            self._payload = cast("P", self._payload.fork())
        leave(self._scope, f"processor {self.processor_id!r} in {self.hook.value}", work)

    def background(self, function: Callable[..., Any], *args: Any) -> None:
        """
        Do ``function(*args)``, plain or async, without holding up the answer.

        Inside ``async with Runtime() as runtime`` it goes on in the background of that runtime, else it is done before
        the call returns.  It sees the context variables of this moment; that it fails is logged, without its words.
        """
        later(self._scope, function, *args)

    def report(self, message: str, detail: object, outcome: GuardOutcome) -> None:
        """
        Note a finding and what became of it, and tell ``on_violation`` of the first one in this hook call (D13).
        """
        if is_left_behind():
            return
        violation = Violation(self.processor_id, message, detail, outcome, self.hook.value, self._payload.step_number)
        self._scope.violations.append(violation)
        if not self.violated:
            self.violated = True
            tell(self.owner, violation, self._scope)


class SignallingContext(HookContext[P]):
    """
    What the hooks are given in which a signal can be sent.
    """

    async def send_signal(self, signal: Mapping[str, Any]) -> SentSignal:
        """
        Put a signal into the conversation: kept as a message of role ``signal``, shown to the model as markup.

        ``type`` is ``user``, ``state``, ``reactive`` or ``notification``; ``contents`` a text or parts.  It may have
        ``tag_name``, ``attributes``, ``metadata``, ``provider_options``, an ``id``, and be ``transient``: then it is
        not stored, and takes the place of its earlier copy.  Readers of the stream get a ``data-signal`` chunk.

        Raises ``MessageError`` for what is no signal, and outside of an agent's run.
        """
        send = self._scope.resources.get("send_signal")
        if send is None:
            raise MessageError("signals are sent within an agent's run", hint="run the processor in an agent's list")
        sent: SentSignal = await send(self._payload, signal, self.processor_id)
        return sent


def tell(owner: Any, violation: Violation, scope: RequestScope) -> None:
    """
    Call the owner's ``on_violation``: it cannot change the outcome, so what it raises is logged and dropped.
    """
    callback = getattr(owner, "on_violation", None)
    if callback is None:
        return
    try:
        waiting = callback(violation)
    except Exception as error:
        log_callback_error(violation.processor_id, error)
        return
    if waiting is not None and hasattr(waiting, "__await__"):
        scope.pending.append(_Callback(violation.processor_id, waiting))


class _Callback:
    """
    An asynchronous callback that waits to be awaited; what it raises is logged and dropped.
    """

    __slots__ = ("_processor_id", "_waiting")

    def __init__(self, processor_id: str, waiting: Any) -> None:
        self._processor_id = processor_id
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            yield from self._waiting.__await__()
        except Exception as error:
            log_callback_error(self._processor_id, error)

    def close(self) -> None:
        """
        Give it up: the run was cancelled.
        """
        close = getattr(self._waiting, "close", None)
        if close is not None:
            close()
