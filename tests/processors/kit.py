"""What the tests of the processors room share: a payload sent through a list of processors by the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from procession.errors import ModelError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart
from procession.processors.chain import chain, processor_steps
from procession.processors.payload import HookPayload
from procession.processors.payloads import (
    APIErrorPayload,
    InputPayload,
    InputStepPayload,
    LLMRequestPayload,
    LLMResponsePayload,
    OutputResultPayload,
    OutputStepPayload,
    ToolResultPayload,
)
from procession.processors.processor import Processor, processor
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.scope import RequestScope

P = TypeVar("P", bound=HookPayload)


def at(hook: str, act: Callable[[Any], Any], *, id: str = "guard", **options: Any) -> Processor:
    """Return a processor that does *act* at *hook*; *options* are attributes such as ``timeout``."""
    made = processor(hook=hook, id=id)(act)
    for name, value in options.items():
        setattr(made, name, value)
    return made


async def through(payload: HookPayload, *things: Any, scope: RequestScope | None = None) -> RunResult[Any]:
    """Send *payload* through a list of processors and return how the run ended."""
    workflow = chain(processor_steps(things, where="list"), "list")
    assert workflow is not None
    return await Runtime().create_run(workflow, scope=scope).start(payload)


async def passed(payload: P, *things: Any, scope: RequestScope | None = None) -> P:
    """Send *payload* through a list of processors and return what came out; raises what failed."""
    out: P = (await through(payload, *things, scope=scope)).unwrap()
    return out


def conversation() -> MessageList:
    """Return a message of memory, one of context, the input, and an answer with a tool call."""
    messages = MessageList([Message.user("facts", id="c")], source="context")
    messages.add([Message.user("before", id="m")], "memory")
    messages.add([Message.user("Hi", id="u")], "input")
    messages.append_response((ToolCallPart("call-1", "lookup", {}),), message_id="a")
    messages.add_system("Be brief.")
    messages.add_system("remember", "memory")
    return messages


def payload_of(hook: str, messages: MessageList | None = None) -> Any:
    """Return a payload of *hook* over *messages*."""
    messages = messages if messages is not None else conversation()
    make: dict[str, Callable[[], HookPayload]] = {
        "process_input": lambda: InputPayload(messages),
        "process_input_step": lambda: InputStepPayload(messages),
        "process_llm_request": lambda: LLMRequestPayload(messages),
        "process_llm_response": lambda: LLMResponsePayload(messages),
        "process_api_error": lambda: APIErrorPayload(messages, error=ModelError("no"), can_retry=True),
        "process_output_step": lambda: OutputStepPayload(messages, text="", message_id="a"),
        "process_tool_result": lambda: ToolResultPayload(
            messages, tool_name="lookup", tool_call_id="call-1", result="raw"
        ),
        "process_output_result": lambda: OutputResultPayload(messages),
    }
    return make[hook]()


def ids(messages: Any) -> list[str]:
    """Return the ids of messages."""
    return [message.id for message in messages]


def texts(messages: Any) -> list[str]:
    """Return the texts of messages."""
    return [message.text for message in messages]
