"""``ToolCallFilter``: which tool calls the model is still sent, and that nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, counted_tool
from tests.processors.kit import passed

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import ReasoningPart, StepStartPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.to_prompt import PromptBuilder
from procession.processors.memory.memory import Memory
from procession.processors.payloads import LLMRequestPayload
from procession.processors.utility.tool_filter import ToolCallFilter
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool, client_tool

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


def shown(prompt: Any) -> list[str]:
    """Return what a prompt says, each call and result by its id."""
    said: list[str] = []
    for entry in prompt:
        for part in entry.content:
            if isinstance(part, PromptToolCall):
                said.append(f"call {part.tool_call_id}")
            elif isinstance(part, PromptToolResult):
                said.append(f"result {part.tool_call_id}")
            else:
                said.append(part.text)
    return said


def called(id: str, name: str = "lookup", **more: Any) -> ToolCallPart:
    """Return an answered call."""
    return ToolCallPart(id, name, {}, "result", "found", **more)


async def filtered(messages: MessageList, **options: Any) -> Any:
    """Return the prompt of *messages* as the filter leaves it."""
    payload = LLMRequestPayload(messages, prompt=PromptBuilder().build(messages))
    return (await passed(payload, ToolCallFilter(**options))).prompt


def history(*parts: Any) -> MessageList:
    """Return an earlier turn whose answer is made of *parts*, and a new question."""
    messages = MessageList([Message.user("one", id="u1")], source="memory")
    messages.add([Message("assistant", parts, id="a1")], "memory")
    messages.add([Message.user("two", id="u2")], "input")
    return messages


@both_ways
async def test_calls_of_earlier_turns_go_and_those_of_this_turn_stay(way: str) -> None:
    """The model sees this turn's calls with their results, none of the last turn's; the store keeps all of them."""
    tool, _ = counted_tool()
    store = InMemoryStore()
    model = FakeModel([call_tool("lookup", id="c1"), "one done", call_tool("lookup", id="c2"), "two done"])
    agent = Agent(
        "parrot", model=model, tools=[tool], memory=Memory(store), input_processors=[ToolCallFilter()]
    )  # fmt: skip
    await ask(agent, way, "one", **IDS)
    await ask(agent, way, "two", **IDS)
    assert [shown(request.messages) for request in model.requests] == [
        ["one"],
        ["one", "call c1", "result c1"],
        ["one", "one done", "two"],
        ["one", "one done", "two", "call c2", "result c2"],
    ]
    kept = [part for message in await store.messages("t") for part in message.parts if isinstance(part, ToolCallPart)]
    assert [(part.tool_call_id, part.result) for part in kept] == [("c1", "found"), ("c2", "found")]


@both_ways
@pytest.mark.parametrize("steps", [None, 1])
async def test_ids_may_repeat(way: str, steps: int | None) -> None:
    """A server that numbers its calls anew with every answer loses nothing of this turn: the earlier call goes, alone."""
    tool, _ = counted_tool()
    model = FakeModel([call_tool("lookup", id="c1"), "one done", call_tool("lookup", id="c1"), "two done"])
    agent = Agent(
        "parrot", model=model, tools=[tool], memory=Memory(),
        input_processors=[ToolCallFilter(filter_after_tool_steps=steps)],
    )  # fmt: skip
    await ask(agent, way, "one", **IDS)
    await ask(agent, way, "two", **IDS)
    assert shown(model.requests[3].messages) == ["one", "one done", "two", "call c1", "result c1"]


async def test_ids_may_repeat_within_one_answer() -> None:
    """Of two calls at a time that have one id, the one that goes takes its own result along."""
    first, second = called("c1", "search"), ToolCallPart("c1", "lookup", {}, "result", "another")
    for exclude, call, output in (("search", "lookup", "another"), ("lookup", "search", "found")):
        prompt = await filtered(history(first, second), exclude=[exclude])
        _, said, answered, _ = prompt
        assert [part.tool_name for part in said.content] == [call]
        assert [part.output["value"] for part in answered.content] == [output]


async def test_what_is_left_of_a_repeated_id_is_its_own() -> None:
    """With ``preserve_model_output`` each call of one id leaves its own text, also where the first is not in the prompt."""
    messages = MessageList([Message.user("one")], source="memory")
    for said in ("first", "second"):
        parts = (called("c1", model_output={"type": "text", "value": said}),)
        messages.add([Message("assistant", parts)], "memory")
        messages.add([Message.user(f"after {said}")], "memory")
    messages.add([Message.user("two")], "input")
    prompt = PromptBuilder().build(messages)
    for begin, left in ((0, ["one", "lookup result:\nfirst", "after first"]), (4, [])):
        payload = LLMRequestPayload(messages, prompt=prompt[begin:])
        made = (await passed(payload, ToolCallFilter(preserve_model_output=True))).prompt
        assert shown(made) == [*left, "lookup result:\nsecond", "after second", "two"]


@pytest.mark.parametrize("steps", [None, 0])
async def test_a_name_that_no_provider_takes_is_known_all_the_same(steps: int | None) -> None:
    """A tool called ``files.read`` is ``files_read`` in a prompt, and excluded by its own name."""
    messages = history(called("c1", "files.read"), called("c2"), TextPart("said"))
    prompt = await filtered(messages, exclude=["files.read"], filter_after_tool_steps=steps)
    assert shown(prompt) == ["one", "call c2", "said", "result c2", "two"]


async def test_it_is_the_same_after_a_resume() -> None:
    """What this turn called before it waited for an answer is not taken for an earlier turn's, in another process either."""
    tool, _ = counted_tool()
    store = InMemoryStore()
    door: Tool[Any] = Tool(
        name="door", parameters={"type": "object"}, execute=lambda args, ctx: "open", requires_approval=True
    )
    model = FakeModel([call_tool("lookup", id="c1"), call_tool("door", id="d1"), "done"])
    agent = Agent(
        "parrot", model=model, tools=[tool, door], memory=Memory(store), input_processors=[ToolCallFilter()]
    )  # fmt: skip
    waiting = await agent.generate("one", **IDS)
    assert waiting.status == "suspended"
    await agent.resume(waiting.run_id, {"d1": {"approved": True}}, resource="ada")
    assert shown(model.requests[-1].messages) == ["one", "call c1", "result c1", "call d1", "result d1"]


@both_ways
async def test_a_clients_answer_is_of_this_turn(way: str) -> None:
    """A call that the client answers now is sent with its answer: the model waits for it."""
    store = InMemoryStore()
    model = FakeModel([call_tool("door", id="d1"), "It is open."])
    agent = Agent(
        "parrot", model=model, tools=[client_tool("door", "Open the door.")], memory=Memory(store),
        input_processors=[ToolCallFilter()],
    )  # fmt: skip
    await ask(agent, way, "Open it.", **IDS)
    output = {"type": "text", "value": "opened"}
    part = {"type": "tool-result", "toolCallId": "d1", "toolName": "door", "output": output}
    await ask(agent, way, [{"role": "tool", "content": [part]}], **IDS)
    assert shown(model.requests[-1].messages) == ["Open it.", "call d1", "result d1"]


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        (0, ["one", "said", "two"]),
        (1, ["one", "call c2", "call c3", "result c2", "result c3", "said", "two"]),
        (2, ["one", "call c1", "result c1", "call c2", "call c3", "result c2", "result c3", "said", "two"]),
    ],
)
async def test_the_last_steps_stay(kept: int, left: list[str]) -> None:
    """A step is what one answer called, however many calls that were; results go with their calls."""
    messages = history(
        called("c1"), StepStartPart(), called("c2"), called("c3"), StepStartPart(), TextPart("said")
    )  # fmt: skip
    assert shown(await filtered(messages, filter_after_tool_steps=kept)) == left


async def test_only_the_named_tools_are_concerned() -> None:
    """Calls of others stay, also of the same answer; an empty list names nobody."""
    messages = history(called("c1", "search"), called("c2", "lookup"))
    assert shown(await filtered(messages, exclude=["search"])) == ["one", "call c2", "result c2", "two"]
    assert shown(await filtered(messages, exclude="search")) == ["one", "call c2", "result c2", "two"]
    whole = PromptBuilder().build(messages)
    assert list(await filtered(messages, exclude=[])) == list(whole)


async def test_what_was_made_for_the_model_stays_as_text() -> None:
    """A call whose tool made an output for the model leaves that behind in its place, whatever its kind; others leave nothing."""
    content = {"type": "content", "value": [{"type": "text", "text": "a"}, {"type": "media", "data": "AA"}]}
    messages = history(
        called("c1", "clock", model_output={"type": "text", "value": "noon"}),
        called("c2", "json", model_output={"type": "json", "value": {"temp": "21°"}}),
        called("c3", "page", model_output=content),
        called("c4"),
        ToolCallPart("c5", "clock", {}, "output-error", error_text="no", model_output="late"),
    )  # fmt: skip
    prompt = await filtered(messages, preserve_model_output=True)
    assert shown(prompt) == ["one", "clock result:\nnoon", 'json result:\n{"temp": "21°"}', "page result:\na", "two"]


async def test_a_thought_is_not_left_alone() -> None:
    """Reasoning whose call is left out goes with it; with a text behind it, and in answers without calls, it stays."""
    thought = ReasoningPart("hm", "signed")
    assert shown(await filtered(history(thought, called("c1")))) == ["one", "two"]
    assert shown(await filtered(history(thought, TextPart("so"), called("c1")))) == ["one", "hm", "so", "two"]


async def test_what_is_not_concerned_is_the_same_object() -> None:
    """Entries without such calls are those of the prompt, so that what a client made of them is found again."""
    messages = history(called("c1", model_output="noon"), TextPart("said"))
    prompt: list[PromptMessage] = list(PromptBuilder().build(messages))
    payload = LLMRequestPayload(messages, prompt=prompt)
    left = (await passed(payload, ToolCallFilter(preserve_model_output=True))).prompt
    assert left[0] is prompt[0]
    assert left[-1] is prompt[-1]


async def test_the_present_answer_stays_beside_it() -> None:
    """What the model says in the step goes on as it is: the filter changes no message."""
    messages = history(called("c1"))
    before = list(messages.view())
    await filtered(messages)
    assert list(messages.view()) == before


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "2"])
def test_a_count_that_is_none_is_refused(wrong: Any) -> None:
    """The error names the option and what it may be."""
    with pytest.raises(ProcessorDefinitionError, match="filter_after_tool_steps") as caught:
        ToolCallFilter(filter_after_tool_steps=wrong)
    assert caught.value.hint


async def test_it_works_twice_with_text_before_the_call() -> None:
    """Words said before a call stay where they were."""
    model = FakeModel(
        [say("Let me look.") + call_tool("lookup", id="c1"), "Found it.", "Bye."],
    )
    tool, _ = counted_tool()
    agent = Agent("parrot", model=model, tools=[tool], memory=Memory(), input_processors=[ToolCallFilter()])
    await agent.generate("one", **IDS)
    await agent.generate("two", **IDS)
    assert shown(model.requests[-1].messages) == ["one", "Let me look.", "Found it.", "two"]
