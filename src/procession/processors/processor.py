"""
Processor: the base class for what happens to messages on their way, and ``@processor`` for plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from procession.errors import ProcessorDefinitionError
from procession.processors.adapter import processor_step
from procession.processors.hooks import HOOK_NAMES, Hook, nearest_hook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from procession.messages.draft import MessageDraft
    from procession.messages.message import Message, SystemMessage
    from procession.messages.message_list import MessageList
    from procession.messages.prompt import PromptMessage
    from procession.processors.violation import OnViolation
    from procession.steps.step import Step

__all__ = [
    "FunctionProcessor",
    "MessageChange",
    "MessageResult",
    "Processor",
    "RequestChange",
    "StepOverrides",
    "processor",
]


class MessageChange(TypedDict, total=False):
    """
    Messages and system messages together.
    """

    messages: Sequence[Message | MessageDraft]
    system_messages: Sequence[SystemMessage | str]


MessageResult: TypeAlias = "MessageList | Sequence[Message | MessageDraft] | MessageChange | None"
"""What every message hook may return (D7).  ``None`` means no change, or the edits made to ``ctx.messages``."""


class StepOverrides(TypedDict, total=False):
    """
    What ``process_input_step`` may change for the coming model call; settings are merged key by key.
    """

    model: Any
    tools: Mapping[str, Any] | Sequence[Any]
    tool_choice: Any
    active_tools: Sequence[str] | None
    messages: Sequence[Message | MessageDraft]
    message_list: MessageList
    system_messages: Sequence[SystemMessage | str]
    provider_options: Mapping[str, Any]
    model_settings: Mapping[str, Any]
    structured_output: Any


class RequestChange(TypedDict, total=False):
    """
    What ``process_llm_request`` may return: another prompt, or a response in place of the model's.
    """

    prompt: Sequence[PromptMessage | Mapping[str, Any]]
    response: Any


class Processor:
    """
    Something that happens to messages, chunks or tool results on their way.

    A subclass defines the hooks it needs, each a method of one argument, its typed context; those it does not define
    cost nothing.  A plain ``def`` runs in place, with ``blocking = True`` in a worker thread.

    >>> from procession.processors.contexts import InputContext
    >>> class Greeter(Processor):
    ...     id = "greeter"
    ...     def process_input(self, ctx: InputContext) -> None:
    ...         ctx.messages[-1].text += " Please."
    >>> Greeter().as_step().id
    'processor:greeter'
    """

    id: str = ""
    name: str | None = None
    """Shown in traces and pictures."""
    description: str = ""
    process_data_parts: bool = False
    """Whether ``process_output_stream`` is given ``data-*`` chunks."""
    process_tool_errors: bool = False
    """Whether ``process_tool_result`` is called for tools that raised, with ``ctx.is_error`` (D20)."""
    uses_stream_parts: bool = False
    """Whether ``ctx.stream_parts`` is kept (D37)."""
    nested_text: bool = False
    """
    Whether ``process_output_stream`` is given the chunks of a sub-agent one by one, as if they were the answer's, with a
    context for each stream; other processors get each in its ``tool-output``.
    """
    on_error: Literal["stop", "skip"] = "stop"
    """What an exception in a hook does: stop the run, or leave this processor out (D17)."""
    timeout: float | None = None
    """Seconds that one hook call may take; ``None`` for no limit."""
    blocking: bool = False
    """Whether plain hooks run in a worker thread."""
    mutates: bool = False
    """Whether it may change messages or chunks: two such in parallel are warned about."""
    check_only: bool = False
    """Whether its hooks never change messages: then it may run beside the model call.  One that does all the same fails."""
    redacts: bool = False
    """Whether it removes what must not be seen: a map may not drop its branch (D25)."""
    fails_closed: bool = False
    """Whether a hook that fails or times out trips with ``guard_failed`` or ``guard_timeout`` (D17)."""
    own_retries: bool = False
    """Whether the retries of failed model calls that it asks for are counted by itself, beside the run's budget (D22)."""
    on_violation: OnViolation | None = None
    """Told of what was found; it cannot change the outcome (D13)."""

    def __init__(self, *, id: str | None = None, on_violation: OnViolation | None = None) -> None:
        if id is not None:
            self.id = id
        if on_violation is not None:
            if not callable(on_violation):
                raise ProcessorDefinitionError(
                    f"{type(self).__name__} has on_violation={on_violation!r}", hint="give a function of a Violation"
                )
            self.on_violation = on_violation

    @property
    def notes(self) -> Sequence[str]:
        """
        What ``agent.explain()`` says of it besides where it runs.
        """
        return ()

    def as_step(self) -> Step[Any, Any]:
        """
        Return the processor as a step with the id ``processor:<id>``.
        """
        return processor_step(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r})"


class FunctionProcessor(Processor):
    """
    A plain function as a processor with one hook.
    """

    def __init__(self, function: Callable[[Any], Any], hook: Hook, *, id: str | None = None) -> None:
        super().__init__(id=id or getattr(function, "__name__", "function").replace("_", "-"))
        self.description = (function.__doc__ or "").strip()
        setattr(self, hook.value, function)


def processor(*, hook: Hook | str, id: str | None = None) -> Callable[[Callable[[Any], Any]], FunctionProcessor]:
    """
    Make a processor of a function that takes the context of *hook*.

    >>> @processor(hook="process_input")
    ... def shout(ctx):
    ...     for message in ctx.messages:
    ...         message.text = message.text.upper()
    >>> shout.id
    'shout'
    """
    if hook not in HOOK_NAMES:
        near = nearest_hook(str(hook))
        raise ProcessorDefinitionError(
            f"{hook!r} is no hook", hint=f"did you mean {near!r}?" if near else f"the hooks are {', '.join(HOOK_NAMES)}"
        )
    return lambda function: FunctionProcessor(function, Hook(hook), id=id)
