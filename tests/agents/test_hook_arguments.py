"""Every hook is given what the documents promise it, with the right value: alone and in nested parallel workflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool
from tests.agents.test_nested_hooks import nested

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, TextDelta, TextEnd, TextStart
from procession.messages.message_list import MessageList
from procession.messages.usage import Usage
from procession.models.model import ModelRequest
from procession.processors.context import StreamWriter
from procession.processors.hooks import Hook
from procession.processors.processor import Processor
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say

pytestmark = pytest.mark.anyio

WARNING = {"type": "unsupported-setting", "setting": "seed"}
METADATA = {"fake": {"trace": "t-1"}}
TRACER = object()
SYSTEM = [("Be brief.", None), ("Be kind.", "user-provided")]


def texts(messages: Any) -> list[str]:
    """Return the texts of messages."""
    return [message.text for message in messages]


def counted(ctx: Any) -> int:
    """Return which call of any hook this is, by the processor's state."""
    ctx.state["calls"] = ctx.state.get("calls", 0) + 1
    return int(ctx.state["calls"])


# How each argument is read, so that it can be compared.
READ: Mapping[str, Callable[[Any], Any]] = {
    "messages": lambda ctx: texts(ctx.messages),
    "view": lambda ctx: texts(ctx.view),
    "message_list": lambda ctx: (isinstance(ctx.message_list, MessageList), texts(ctx.message_list.view("input"))),
    "system_messages": lambda ctx: [(one.text, one.tag) for one in ctx.system_messages],
    "state": counted,
    "retry_count": lambda ctx: ctx.retry_count,
    "request_context": lambda ctx: ctx.request_context.get("tenant"),
    "agent": lambda ctx: ctx.agent.id,
    "run_id": lambda ctx: ctx.run_id,
    "writer": lambda ctx: isinstance(ctx.writer, StreamWriter),
    "send_signal": lambda ctx: callable(getattr(ctx, "send_signal", None)),
    "abort": lambda ctx: all(map(callable, (ctx.abort, ctx.warn, ctx.replace_response, ctx.background))),
    "abort_signal": lambda ctx: isinstance(ctx.abort_signal, AbortSignal) and not ctx.abort_signal.aborted,
    "tracing_context": lambda ctx: ctx.tracing_context is TRACER,
    "step_number": lambda ctx: ctx.step_number,
    "steps": lambda ctx: [(step.step_number, step.text) for step in ctx.steps],
    "message_id": lambda ctx: isinstance(ctx.message_id, str) and ctx.message_id != "",
    "model": lambda ctx: ctx.model.id,
    "tools": lambda ctx: sorted(ctx.tools),
    "tool_choice": lambda ctx: ctx.tool_choice,
    "active_tools": lambda ctx: ctx.active_tools,
    "provider_options": lambda ctx: ctx.provider_options,
    "model_settings": lambda ctx: ctx.model_settings,
    "structured_output": lambda ctx: ctx.structured_output,
    "response_format": lambda ctx: ctx.response_format,
    "prompt": lambda ctx: [message.role for message in ctx.prompt],
    "chunks": lambda ctx: "".join(chunk.text for chunk in ctx.chunks if isinstance(chunk, TextDelta)),
    "from_cache": lambda ctx: ctx.from_cache,
    "warnings": lambda ctx: list(ctx.warnings),
    "request": lambda ctx: isinstance(ctx.request, ModelRequest),
    "raw_response": lambda ctx: ctx.raw_response,
    "error": lambda ctx: (ctx.error.kind, ctx.error.status_code),
    "can_retry": lambda ctx: ctx.can_retry,
    "text": lambda ctx: ctx.text,
    "tool_calls": lambda ctx: [(call.tool_name, call.args) for call in ctx.tool_calls],
    "usage": lambda ctx: ctx.usage,
    "finish_reason": lambda ctx: ctx.finish_reason,
    "provider_metadata": lambda ctx: ctx.provider_metadata,
    "tool_name": lambda ctx: ctx.tool_name,
    "tool_call_id": lambda ctx: ctx.tool_call_id,
    "args": lambda ctx: ctx.args,
    "result": lambda ctx: ctx.result if ctx.hook is Hook.TOOL_RESULT else _turn(ctx.result),
    "is_error": lambda ctx: ctx.is_error,
    "provider_executed": lambda ctx: ctx.provider_executed,
    "origin": lambda ctx: ctx.origin,
    "part": lambda ctx: ctx.part is ctx.chunk,
    "stream_parts": lambda ctx: ctx.stream_parts[-1] is ctx.chunk,
}


def _turn(result: Any) -> Any:
    return result.text, result.finish_reason, len(result.steps), result.usage


# A turn: the first call fails and is made again, a tool is called, the answer follows.  Each value is what the calls of
# the hook are given, one after the other; those of the stream, of which there are many, once for each change.
EVERYWHERE: Mapping[str, Any] = {
    "run_id": "run-1", "agent": "parrot", "request_context": "acme", "writer": True, "abort": True,
    "abort_signal": True, "tracing_context": True, "message_list": (True, ["Hi"]), "system_messages": SYSTEM,
}  # fmt: skip
STEPS_BEFORE = [[], [], [(0, "Let me see.")]]
STEPS_WITH = [[(0, "Let me see.")], [(0, "Let me see."), (1, "Found.")]]
ARGUMENTS: Mapping[str, Mapping[str, list[Any]]] = {
    "process_input": {
        "messages": [["Hi"]], "view": [["Hi"]], "retry_count": [0], "step_number": [0], "steps": [[]],
        "send_signal": [True],
    },
    "process_input_step": {
        "messages": [["Hi"], ["Hi"], ["Hi", "Let me see."]], "view": [["Hi"], ["Hi"], ["Hi", "Let me see."]],
        "retry_count": [0, 1, 0], "step_number": [0, 0, 1], "steps": STEPS_BEFORE, "send_signal": [True] * 3,
        "message_id": [True] * 3, "model": ["fake"] * 3, "tools": [["lookup"]] * 3, "tool_choice": ["auto"] * 3,
        "active_tools": [["lookup"]] * 3, "provider_options": [{"fake": {"a": 1}}] * 3,
        "model_settings": [{"temperature": 0}] * 3, "structured_output": [None] * 3,
    },
    "process_llm_request": {
        "prompt": [["system", "system", "user"]] * 2 + [["system", "system", "user", "assistant", "tool"]],
        "model": ["fake"] * 3, "retry_count": [0, 1, 0], "step_number": [0, 0, 1], "steps": STEPS_BEFORE,
        "tools": [["lookup"]] * 3, "tool_choice": ["auto"] * 3, "active_tools": [["lookup"]] * 3,
        "provider_options": [{"fake": {"a": 1}}] * 3, "model_settings": [{"temperature": 0}] * 3,
        "response_format": [None] * 3, "send_signal": [False] * 3,
    },
    "process_output_stream": {
        "part": [True], "stream_parts": [True], "retry_count": [0, 1, 0], "step_number": [0, 1],
        "steps": [[], [(0, "Let me see.")]], "send_signal": [False],
    },
    "process_llm_response": {
        "chunks": ["", "Let me see.", "Found."], "model": ["fake"] * 3, "from_cache": [False] * 3,
        "warnings": [[], [WARNING], []], "request": [True] * 3, "raw_response": [None] * 3, "retry_count": [0, 1, 0],
        "step_number": [0, 0, 1], "steps": [[(0, "")], *STEPS_WITH], "send_signal": [False] * 3,
    },
    "process_api_error": {
        "error": [("unavailable", 503)], "text": [""], "can_retry": [True], "messages": [["Hi"]], "view": [["Hi"]],
        "retry_count": [0], "step_number": [0], "steps": [[]], "send_signal": [True], "message_id": [True],
    },
    "process_output_step": {
        "messages": [["Hi", "Let me see."], ["Hi", "Let me see.Found."]], "text": ["Let me see.", "Found."],
        "view": [["Hi", "Let me see."], ["Hi", "Let me see.Found."]], "finish_reason": ["tool-calls", "stop"],
        "tool_calls": [[("lookup", {"q": 1})], []], "usage": [Usage(10, 5)] * 2, "provider_metadata": [METADATA, None],
        "retry_count": [1, 0], "step_number": [0, 1], "steps": STEPS_WITH, "send_signal": [True] * 2,
    },
    "process_tool_result": {
        "messages": [["Hi", "Let me see."]], "view": [["Hi", "Let me see."]], "tool_name": ["lookup"],
        "tool_call_id": ["call-1"], "args": [{"q": 1}], "result": ["found"], "is_error": [False],
        "provider_executed": [False], "origin": ["agent"], "retry_count": [1], "step_number": [0], "steps": STEPS_WITH[:1],
        "send_signal": [False],
    },
    "process_output_result": {
        "messages": [["Let me see.Found."]], "view": [["Let me see.Found."]], "send_signal": [True],
        "result": [("Let me see.Found.", "stop", 2, Usage(20, 10))], "retry_count": [0],
    },
}  # fmt: skip


class Probe(Processor):
    """Takes part in every hook and reads everything it is given in one of them."""

    uses_stream_parts = True

    def __init__(self, hook: str, read: list[dict[str, Any]]) -> None:
        super().__init__(id="probe")
        self.hook = hook
        self.read = read


def _read(self: Probe, ctx: Any) -> Any:
    if ctx.hook.value == self.hook:
        self.read.append({name: READ[name](ctx) for name in ("state", *EVERYWHERE, *ARGUMENTS[self.hook])})
    if ctx.hook is Hook.API_ERROR:
        return {"retry": True}
    return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None


for _hook in HOOKS:
    setattr(Probe, _hook, _read)


def idle() -> Processor:
    """Return a processor that takes part in every hook and does nothing."""
    made = Processor(id="idle")
    for hook in HOOKS:
        setattr(made, hook, _pass)
    return made


def _pass(ctx: Any) -> Any:
    return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None


async def given(hook: str, way: str, inside: bool) -> list[dict[str, Any]]:
    """Return what *hook* was given in a turn, call by call."""
    read: list[dict[str, Any]] = []
    probe, beside = Probe(hook, read), idle()
    tool, _ = counted_tool()
    first = say("Let me see.") + call_tool("lookup", {"q": 1}) + Reply(warnings=[WARNING], provider_metadata=METADATA)
    agent = Agent(
        "parrot",
        model=FakeModel([fail("overloaded", status=503), first, say("Found.")]),
        instructions="Be brief.",
        tools=[tool],
        provider_options={"fake": {"a": 1}},
        input_processors=[nested("in", [probe, beside], "probe") if inside else probe],
        output_processors=[nested("out", [probe, beside], "probe") if inside else probe],
    )
    seen = await ask(
        agent, way, tracing_context=TRACER, run_id="run-1", request_context={"tenant": "acme"}, system="Be kind.", active_tools=["lookup"],
        model_settings={"temperature": 0},
    )  # fmt: skip
    assert seen.result.text == "Let me see.Found."
    return read


def changes(values: list[Any]) -> list[Any]:
    """Return *values* without those that are equal to the one before."""
    return [value for at, value in enumerate(values) if at == 0 or value != values[at - 1]]


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "nested"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("hook", HOOKS)
async def test_what_each_hook_is_given(hook: str, way: str, inside: bool) -> None:
    """Every argument of the documents is there in every hook, and says what it should (D9, D16)."""
    read = await given(hook, way, inside)
    many = hook == "process_output_stream"
    got = {name: [call[name] for call in read] for name in ARGUMENTS[hook]}
    if many:
        got = {name: changes(values) for name, values in got.items()}
    assert got == dict(ARGUMENTS[hook])
    for name, expected in EVERYWHERE.items():
        assert changes([call[name] for call in read]) == [expected], name
    assert [call["state"] for call in read] == list(range(1, len(read) + 1))


def test_the_table_has_every_argument() -> None:
    """What a context offers by name, except words for outcomes and for the library itself, is in the table above."""
    from procession.processors.contexts import CONTEXTS

    apart = {
        "abort", "warn", "replace_response", "report", "speak_for", "apart", "leave_behind", "background", "scope",
        "note", "hook", "verdict", "violated", "drafts", "shown", "chunk", "state",
    }  # fmt: skip
    for hook, context in CONTEXTS.items():
        offered = {name for name in dir(context) if not name.startswith("_")} - apart
        listed = {*ARGUMENTS[hook.value], *EVERYWHERE, "messages", "view", "step_number", "steps"}
        assert offered <= listed, (hook.value, sorted(offered - listed))


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_said_of_a_response_that_stands_for_the_models(way: str) -> None:
    """A response that a processor gives may have warnings, a request and a raw response of its own."""
    seen: list[Any] = []
    chunks = [TextStart(), TextDelta("kept"), TextEnd(), Finish("stop")]
    kept = {"chunks": chunks, "warnings": [WARNING], "request": {"model": "m"}, "raw_response": {"status": 200}}
    agent = Agent(
        "parrot", model=FakeModel([]),
        input_processors=[
            at("process_llm_request", lambda ctx: {"response": kept}, id="cache"),
            at("process_llm_response", lambda ctx: seen.append(
                (ctx.from_cache, list(ctx.warnings), ctx.request, ctx.raw_response)), id="look"),
        ],
    )  # fmt: skip
    assert (await ask(agent, way)).result.text == "kept"
    assert seen == [(True, [WARNING], {"model": "m"}, {"status": 200})]


@pytest.mark.parametrize("way", WAYS)
async def test_warnings_of_a_model_are_in_the_result(way: str) -> None:
    """What a provider could not do as asked stands in the step and in ``result.warnings``."""
    result = (await ask(Agent("parrot", model=FakeModel(Reply("Yes.", warnings=[WARNING]))), way)).result
    assert list(result.warnings) == list(result.steps[0].warnings) == [WARNING]
