"""Guards that look at what tools are called with (``scan_tool_args``): in streams, in answers, alone and side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.agents.kit import WAYS, Seen, ask, counted_tool

from procession.agents.agent import Agent
from procession.messages.chunks import ToolCall, ToolInputDelta
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.text.patterns import Rule
from procession.messages.text.spans import Span
from procession.processors.chain import chain, processor_steps
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.memory.memory import Memory
from procession.processors.payloads import OutputResultPayload
from procession.processors.text_guard import TextGuard
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.hooks import run_hook
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)

ARGS = {"to": "mara.k@example.com", "n": 3, "opts": {"cc": ["li@example.org"], "ok": True, "x": None, "f": 1.5}}
HIDDEN = {"to": "[EMAIL]", "n": 3, "opts": {"cc": ["[EMAIL]"], "ok": True, "x": None, "f": 1.5}}


def pii(**options: Any) -> PIIDetector:
    """Return a guard that hides mail addresses, also in what tools are called with."""
    settings: dict[str, Any] = {"detection_types": ["email"], "redaction": "placeholder", "scan_tool_args": True}
    return PIIDetector(**{**settings, **options})


class Run:
    """A turn in which a tool is called with personal data and no word is said."""

    def __init__(self, *guards: Any, args: Mapping[str, Any] = ARGS, **options: Any) -> None:
        self.store = InMemoryStore()
        tool, self.calls = counted_tool("send")
        self.model = FakeModel([call_tool("send", args, stream_input=['{"to": "mara.k@', 'example.com"}']), "done"])
        self.agent = Agent(
            "bot", model=self.model, tools=[tool], output_processors=list(guards), memory=Memory(self.store), **options
        )

    async def seen(self, way: str) -> Seen:
        """Return what a caller sees."""
        return await ask(self.agent, way, thread="t", resource="ada")


@both_ways
@pytest.mark.parametrize("place", ["alone", "side by side", "asks", "side by side, asks"])
async def test_arguments_are_hidden_and_keep_their_form(place: str, way: str) -> None:
    """TOOL-009: arguments of a call without text are hidden; keys, types and structure stay, for tool, reader and store."""
    guard = pii(detector=Nobody()) if "asks" in place else pii()
    other = RegexFilter(rules=[{"name": "x", "pattern": "never there"}], scan_tool_args=True)
    guards: list[Any] = [create_workflow("both", kind="processor").parallel([other, guard]).commit()]
    run = Run(*(guards if "side" in place else [guard]))
    seen = await run.seen(way)
    assert seen.result.status == "completed"
    assert run.calls == [HIDDEN]  # the tool runs with what the guard left
    assert [chunk.args for chunk in seen.chunks.of(ToolCall)] == [HIDDEN]
    assert seen.chunks.of(ToolInputDelta) == []  # the text of raw arguments does not go by
    kept = [
        part.args
        for message in await run.store.messages("t")
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    assert kept == [HIDDEN]
    assert "example" not in str(run.model.requests[1].messages)
    assert [one.outcome for one in seen.result.violations] == ["modified", "modified"]
    assert "example" not in repr(seen.result.violations)


@both_ways
async def test_arguments_are_left_alone_unless_asked_for(way: str) -> None:
    """TOOL-009: without ``scan_tool_args``, the default, a call stays as it is, and the tool gets what the model wrote."""
    run = Run(pii(scan_tool_args=False))
    seen = await run.seen(way)
    assert run.calls == [ARGS]
    assert [chunk.args for chunk in seen.chunks.of(ToolCall)] == [ARGS]
    assert list(seen.result.violations) == []


@both_ways
async def test_an_argument_can_block(way: str) -> None:
    """With ``block`` the run stops before the tool does, and nothing of the arguments is seen."""
    run = Run(pii(strategy="block"))
    seen = await run.seen(way)
    assert (seen.tripwire.processor_id, run.calls) == ("pii-detector", [])
    assert "example" not in repr(seen.chunks)
    assert "example" not in repr(seen.tripwire)


@both_ways
@pytest.mark.parametrize(
    ("options", "outcome"), [({"strategy": "warn"}, "warned"), ({"mode": "monitor"}, "would_block")]
)
async def test_who_only_looks_changes_nothing(options: dict[str, Any], outcome: str, way: str) -> None:
    """A guard that warns, or monitors, lets arguments by as they are and reports each once."""
    run = Run(pii(**options))
    seen = await run.seen(way)
    assert run.calls == [ARGS]
    assert seen.chunks.of(ToolInputDelta)
    assert [(one.outcome, one.detail["path"]) for one in seen.result.violations] == [
        (outcome, "args.to"), (outcome, "args.opts.cc[0]"),
    ]  # fmt: skip


@both_ways
async def test_filter_leaves_a_notice(way: str) -> None:
    """With ``filter`` a notice stands in place of the argument."""
    run = Run(pii(strategy="filter"), args={"to": "mara.k@example.com", "n": 3})
    await run.seen(way)
    assert run.calls == [{"to": "[removed]", "n": 3}]


@both_ways
async def test_arguments_that_are_no_object(way: str) -> None:
    """Text that is no JSON is looked at as one text; names of arguments stay what they are."""
    run = Run(pii(), args={"li@example.org": "li@example.org"})
    await run.seen(way)
    assert run.calls == [{"li@example.org": "[EMAIL]"}]
    tool, _ = counted_tool("send")
    model = FakeModel([call_tool("send", raw="to: li@example.org"), "done"])
    seen = await ask(Agent("bot", model=model, tools=[tool], output_processors=[pii()]), way)
    assert [chunk.args for chunk in seen.chunks.of(ToolCall)] == ["to: [EMAIL]"]


class Nobody:
    """A detector that finds a name in longer texts."""

    async def detect(self, text: str, scope: Any = None) -> Verdict:
        """Return where the name is."""
        at = text.find("Mara Kovacs")
        return Verdict(spans=(Span(at, at + 11, "name", "name", 1.0),) if at >= 0 else ())


@both_ways
async def test_a_guard_that_asks_looks_at_arguments(way: str) -> None:
    """A detector that is awaited is asked about the texts in arguments."""
    run = Run(pii(detector=Nobody(), detection_types=["name"]), args={"note": "tell Mara Kovacs", "n": 1})
    await run.seen(way)
    assert run.calls == [{"note": "tell [NAME]", "n": 1}]


@pytest.mark.parametrize("side_by_side", [False, True])
async def test_an_answer_that_was_not_streamed(side_by_side: bool) -> None:
    """TOOL-009: ``process_output_result`` looks at the calls in an answer that has no text, and does not blank it."""
    messages = MessageList([Message.user("Hi")], source="input")
    messages.append_response((ToolCallPart("c1", "send", ARGS),), message_id="a")
    guard = pii()
    beside = RegexFilter(rules=[Rule("code", "ABC")], strategy="redact", scan_tool_args=True)
    things = [create_workflow("both", kind="processor").parallel([guard, beside]).commit()] if side_by_side else [guard]
    workflow = chain(processor_steps(things, where="list"), "list")
    assert workflow is not None
    (await Runtime().run(workflow, OutputResultPayload(messages))).unwrap()
    (part,) = messages.view("response")[0].parts
    assert isinstance(part, ToolCallPart)
    assert (part.args, part.tool_call_id) == (HIDDEN, "c1")


async def test_a_reported_message_is_hidden_in_place() -> None:
    """TOOL-009: the reported message, with no text and one call, keeps id, name, keys, types and structure."""
    args = {"to": "mara.k@example.com", "n": 3, "opts": {"cc": ["li@example.org"]}}
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "send", "args": args}
    ran = await run_hook(
        pii(phase="output"),
        "process_output_result",
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [call]}],
    )
    (part,) = ran.messages[-1].parts
    assert isinstance(part, ToolCallPart)
    assert (part.tool_call_id, part.tool_name) == ("c1", "send")
    assert part.args == {"to": "[EMAIL]", "n": 3, "opts": {"cc": ["[EMAIL]"]}}


async def test_calls_that_came_with_the_input() -> None:
    """A guard that looks at arguments does so in a conversation that the client brings, too."""
    model = FakeModel(["ok"])
    history = [
        Message.user("Hi"),
        Message("assistant", (ToolCallPart("c1", "send", ARGS, "result", "sent"), TextPart("Done."))),
        Message.user("Thanks"),
    ]
    await ask(Agent("bot", model=model, input_processors=[pii()]), "generate", history)
    assert "example" not in str(model.requests[0].messages)
    assert "[EMAIL]" in str(model.requests[0].messages)


async def test_a_guard_of_ones_own() -> None:
    """The option is that of every text guard, as an argument and on the class."""

    class Codes(TextGuard):
        id = "codes"
        strategy = "redact"
        scan_tool_args = True
        rules = (Rule("code", "ABC-[0-9]+"),)

    for guard, sent in ((Codes(), "[CODE]"), (Codes(scan_tool_args=False), "ABC-1")):
        run = Run(guard, args={"q": "ABC-1"})
        await run.seen("stream")
        assert run.calls == [{"q": sent}]
