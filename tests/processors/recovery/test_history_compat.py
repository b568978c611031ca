"""``ProviderHistoryCompat``: what one provider wrote is made fit for another, before the call and once it was refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession import Memory
from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.message import Message
from procession.messages.parts import Part, ReasoningPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.fallback import FallbackModel
from procession.processors.recovery.history_compat import ProviderHistoryCompat
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail

both_ways = pytest.mark.parametrize("way", WAYS)
BAD_ID = fail("messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", status=400)
OWN = {"anthropic": {"signature": "A+/=="}}
HIDDEN = {"anthropic": {"redactedData": "ENC=="}}


def model_of(provider: str, *script: Any, **options: Any) -> FakeModel:
    """Return a model of *provider*."""
    return FakeModel([*(script or ("ok",))], id=f"{provider}/m", provider=provider, **options)


async def sent(model: Any, parts: Sequence[Part], way: str = "generate", **options: Any) -> tuple[Any, ...]:
    """Return what *model* was sent, in its last request, of an earlier answer of *parts*."""
    history = [Message.user("one"), Message("assistant", parts), Message.user("two")]
    agent = Agent("a", model=model, input_processors=[ProviderHistoryCompat(**options)])
    assert (await ask(agent, way, history)).result.text == "ok"
    return tuple(part for message in model.requests[-1].messages[1:-1] for part in message.content)


def searched(id: str, **fields: Any) -> ToolCallPart:
    """Return a search that a provider ran."""
    return ToolCallPart(id, "web_search", {"q": "x"}, "result", {"hits": []}, provider_executed=True, **fields)


# -- before the call


@both_ways
@pytest.mark.parametrize(
    ("provider", "part", "stays"),
    [
        ("anthropic", searched("s1", provider_metadata={"openai": {"itemId": "ws_1"}}), False),
        ("anthropic", searched("s1", provider_metadata=OWN), True),
        ("anthropic", searched("srvtoolu_1"), True),
        ("openai", searched("srvtoolu_1"), False),
        ("openai", searched("ws_1"), True),
        ("openai", searched("s1"), True),
        ("proxy", searched("srvtoolu_1"), True),
        ("azure", searched("s1", provider_metadata={"openai": {}}), True),
        ("google-vertex", searched("s1", provider_metadata={"google": {}}), True),
        ("google", searched("s1", provider_metadata=OWN), False),
        ("google", ToolCallPart("srvtoolu_1", "own", {}, "result", "x"), True),
    ],
)
async def test_what_another_provider_ran_is_not_sent(way: str, provider: str, part: ToolCallPart, stays: bool) -> None:
    """Rule 1: a call goes with its result; who ran it is in its metadata, or in the form of its id, or nobody knows."""
    got = await sent(model_of(provider), [TextPart("So."), part], way)
    kinds = [type(each).__name__ for each in got]
    assert kinds == (["TextPart", "PromptToolCall", "PromptToolResult"] if stays else ["TextPart"])


THOUGHTS = {
    "unsigned": ReasoningPart("hm"),
    "signed": ReasoningPart("hm", signature="A+/=="),
    "own": ReasoningPart("hm", signature="A+/==", provider_metadata=OWN),
    "own note": ReasoningPart("hm", provider_metadata=OWN),
    "redacted": ReasoningPart("", redacted="ENC=="),
    "empty": ReasoningPart("", signature="A+/=="),
    "foreign": ReasoningPart("hm", provider_metadata={"openai": {"itemId": "rs_1"}}),
    "foreign signed": ReasoningPart("hm", signature="G==", provider_metadata={"google": {"thoughtSignature": "G=="}}),
}


@pytest.mark.parametrize(
    ("provider", "kept"),
    [
        ("anthropic", ["signed", "own", "own note", "redacted", "empty"]),
        ("cerebras", []),
        ("openai", list(THOUGHTS)),
        ("fake", list(THOUGHTS)),
    ],
)
async def test_reasoning_that_a_provider_refuses_is_not_sent(provider: str, kept: list[str]) -> None:
    """Rules 3, 5 and 6: Anthropic takes what it signed, byte for byte, Cerebras none; nobody else is spared anything.

    What has a signature and no text is kept, too: models that keep their thoughts to themselves want it back.
    """
    got = await sent(model_of(provider), [*THOUGHTS.values(), TextPart("So.")])
    assert got == (*(THOUGHTS[name] for name in kept), TextPart("So."))


async def test_a_message_of_nothing_else_is_left_out() -> None:
    """No empty entry is sent; the messages themselves keep what was left out."""
    model = model_of("cerebras")
    assert await sent(model, [ReasoningPart("hm")]) == ()
    assert [message.role for message in model.requests[0].messages] == ["user", "user"]


@pytest.mark.parametrize("provider", ["azure", "azure-openai", "openai"])
async def test_azure_gets_other_tags(provider: str) -> None:
    """Rule 7: its filter takes a reminder of ours for an attack."""

    async def remind(ctx: Any) -> None:
        await ctx.send_signal({"type": "reactive", "contents": "be brief", "attributes": {"kind": "x"}})

    model = model_of(provider)
    await Agent("a", model=model, input_processors=[at("process_input", remind), ProviderHistoryCompat()]).generate(
        "Hi"
    )
    tag = "system-reminder" if provider == "openai" else "memory-context"
    assert [message.text for message in model.requests[0].messages] == ["Hi", f'<{tag} kind="x">be brief</{tag}>']


async def test_nothing_is_stored_of_it() -> None:
    """Prompt rules change what is sent; memory keeps what was said."""
    store = InMemoryStore()
    agent = Agent(
        "a", model=model_of("cerebras", "one", "ok"), memory=Memory(store), input_processors=[ProviderHistoryCompat()]
    )
    first = [Message.user("x"), Message("assistant", [ReasoningPart("hm"), TextPart("y")]), Message.user("z")]
    await agent.generate(first, thread="t", resource="r")
    stored = await store.messages("t")
    assert ReasoningPart("hm") in [part for message in stored for part in message.parts]


async def test_what_was_made_of_a_message_stays_the_same_object() -> None:
    """So that a client converts it once in a run; another model of the run gets its own."""
    lookup, _ = counted_tool()
    thought = Message(
        "assistant", [ReasoningPart("hm", signature="S", provider_metadata={"google": {}}), TextPart("y")]
    )
    first = model_of("anthropic", call_tool("lookup", id="c1"), fail("down"))
    second = model_of("google")
    agent = Agent("a", model=[first, second], tools=[lookup], input_processors=[ProviderHistoryCompat()])
    assert (await agent.generate([Message.user("x"), thought, Message.user("z")])).text == "ok"
    one, two = (request.messages[1] for request in first.requests)
    assert one is two
    assert one.content == (TextPart("y"),)
    assert second.requests[0].messages[1].content == thought.parts


async def test_a_model_of_several_providers_is_sent_everything() -> None:
    """Nobody knows yet who will answer: its clients leave out what they must."""
    spare = model_of("openai")
    got = await sent(
        FallbackModelOf(model_of("anthropic", fail("down")), spare), [THOUGHTS["unsigned"], TextPart("So.")]
    )
    assert got == (THOUGHTS["unsigned"], TextPart("So."))


class FallbackModelOf(FallbackModel):
    """A model of several that shows the requests of the last one."""

    def __init__(self, *models: FakeModel) -> None:
        super().__init__(models)
        self.requests = models[-1].requests


# -- once a provider has refused


def calls_of(messages: Sequence[PromptMessage]) -> list[str]:
    """Return the ids of calls and results, in order."""
    parts = (part for message in messages for part in message.content)
    return [part.tool_call_id for part in parts if isinstance(part, (PromptToolCall, PromptToolResult))]


@both_ways
@pytest.mark.parametrize("where", ["input_processors", "output_processors", "error_processors"])
async def test_ids_that_a_provider_refuses_are_mended(way: str, where: str) -> None:
    """Rule 2, in whichever list it stands (08 #26): ids that differ stay different, legal ones stay as they are."""
    history = [
        Message.user("x"),
        Message(
            "assistant",
            [ToolCallPart(id, "find", {"q": id}, "result", id) for id in ("a.1", "a_1", "a:1", "ok-1", "a.1")],
        ),
        Message.user("z"),
    ]
    model = model_of("proxy", BAD_ID, "ok")
    agent = Agent("a", model=model, **{where: [ProviderHistoryCompat()]})  # type: ignore[arg-type]
    seen = await ask(agent, way, history)
    assert seen.result.text == "ok"
    assert calls_of(model.requests[0].messages) == ["a.1", "a_1", "a:1", "ok-1", "a.1"] * 2
    assert calls_of(model.requests[1].messages) == ["a_1-2", "a_1", "a_1-3", "ok-1", "a_1-2"] * 2
    assert [step.finish_reason for step in seen.result.rejected] == ["retry"]


@both_ways
async def test_the_present_turn_is_mended_too(way: str) -> None:
    """A call of this run is found under its new id from then on, and its result stays with it."""
    lookup, ran = counted_tool()
    model = model_of("anthropic", call_tool("lookup", id="c.1"), BAD_ID, call_tool("lookup", id="c2"), "ok")
    seen = await ask(Agent("a", model=model, tools=[lookup], error_processors=[ProviderHistoryCompat()]), way)
    assert (seen.result.text, len(ran)) == ("ok", 2)
    assert calls_of(model.requests[-1].messages) == ["c_1", "c_1", "c2", "c2"]
    stored = [part.tool_call_id for part in seen.result.messages[-1].parts if isinstance(part, ToolCallPart)]
    assert stored == ["c_1", "c2"]


ITEM = {"openai": {"itemId": "msg_1", "phase": "final"}, "x": {"itemId": "kept"}}


@pytest.mark.parametrize(
    ("error", "before", "after"),
    [
        (  # rule 1
            "messages.1.content.0.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
            [searched("call_1"), searched("srvtoolu_1"), TextPart("So.")],
            ["srvtoolu_1", "srvtoolu_1", "So."],
        ),
        (  # rule 3
            "messages.1.assistant.reasoning_content: property 'reasoning_content' is unsupported",
            [ReasoningPart("hm"), TextPart("So.")],
            ["So."],
        ),
        (  # rule 4
            "messages.1.content.0.thinking: each thinking block must contain thinking",
            [ReasoningPart("", signature="S"), ReasoningPart("", redacted="E"), ReasoningPart("hm", signature="S")],
            ["", "hm"],
        ),
        (  # rule 5
            "messages.1.content.0.thinking.signature: Field required",
            [ReasoningPart("a"), ReasoningPart("b", signature="S"), TextPart("So.")],
            ["b", "So."],
        ),
        (  # rule 6
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            [ReasoningPart("a", signature="S", provider_metadata={"google": {}}), ReasoningPart("b", signature="S")],
            ["b"],
        ),
        (
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            [ReasoningPart("a", signature="S"), ReasoningPart("b"), TextPart("So.")],
            ["b", "So."],
        ),
        (  # the documents' way to keep a signature
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            [ReasoningPart("a", provider_metadata=OWN), ReasoningPart("b"), TextPart("So.")],
            ["b", "So."],
        ),
        (
            "messages.1.content.0.thinking: each thinking block must contain thinking",
            [ReasoningPart("", provider_metadata=OWN), ReasoningPart("", provider_metadata=HIDDEN), TextPart("So.")],
            ["", "So."],
        ),
        (
            "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
            [ReasoningPart("", redacted="E"), ReasoningPart("", provider_metadata=HIDDEN), TextPart("So.")],
            ["So."],
        ),
        (  # rule 8
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            [ReasoningPart("hm", provider_metadata={"openai": {"itemId": "rs_1"}}), TextPart("So.", ITEM)],
            ["So."],
        ),
    ],
)
@pytest.mark.parametrize("told", ["message", "body", "cause"])
async def test_what_a_provider_refused_is_taken_out(
    error: str, before: list[Part], after: list[str], told: str
) -> None:
    """The refusal is known by its words, wherever they stand; what was not refused stays."""
    refused = ModelError(error, kind="rejected", status_code=400)
    if told == "body":
        refused = ModelError("bad request", status_code=400, body={"error": {"message": error}})
    elif told == "cause":
        refused = ModelError("bad request", status_code=400)
        refused.__cause__ = ValueError(error)
    model = model_of("proxy", refused, "ok")
    got = await sent(model, before)
    shown = [getattr(part, "text", "") or getattr(part, "tool_call_id", "") for part in got]
    assert shown == after
    assert len(model.requests) == 2


async def test_an_item_whose_neighbour_is_gone_is_sent_without_its_id() -> None:
    """OAI-001: the id goes, all else that is noted stays; a second identical failure is not retried."""
    orphan = fail(
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.", status=400
    )
    call = ToolCallPart("c1", "find", {}, "result", 1, provider_metadata={"openai": {"itemId": "fc_1"}})
    got = await sent(model_of("openai", orphan, "ok"), [TextPart("So.", ITEM), call])
    assert got[0] == TextPart("So.", {"openai": {"phase": "final"}, "x": {"itemId": "kept"}})
    assert [part.provider_metadata for part in got if isinstance(part, PromptToolCall)] == [{"openai": {}}]

    store = InMemoryStore()
    model = model_of("openai", "x", orphan, orphan)
    agent = Agent("a", model=model, memory=Memory(store), error_processors=[ProviderHistoryCompat()])
    await store.save("t", "r", [Message.user("q"), Message("assistant", [TextPart("So.", ITEM)])])
    await agent.generate("q2", thread="t", resource="r")
    before = [message.parts for message in await store.messages("t")]
    with pytest.raises(ModelError) as caught:
        await agent.generate("q3", thread="t", resource="r")
    assert caught.value is orphan
    assert [
        ITEM in [part.provider_metadata for part in request.messages[1].content if isinstance(part, TextPart)]
        for request in model.requests
    ] == [True, True, False]
    after = [message.parts for message in await store.messages("t")]
    assert after[: len(before)] == before
    assert any(TextPart("So.", ITEM) in parts for parts in before)


@both_ways
async def test_it_tries_once_in_each_step(way: str) -> None:
    """The second refusal of a step comes out; another step has its own chance (08 #27)."""
    lookup, _ = counted_tool()
    agent = Agent("a", model=model_of("p", BAD_ID, BAD_ID), error_processors=[ProviderHistoryCompat()])
    history = [
        Message.user("x"),
        Message("assistant", [ToolCallPart("a.1", "find", {}, "result", 1)]),
        Message.user("z"),
    ]
    seen = await ask(agent, way, history)
    assert isinstance(seen.error, ModelError)
    again = model_of("p", BAD_ID, call_tool("lookup", id="c.1"), BAD_ID, "ok")
    agent = Agent("a", model=again, tools=[lookup], error_processors=[ProviderHistoryCompat()])
    assert (await ask(agent, way, history)).result.text == "ok"


@both_ways
async def test_what_others_tried_before_does_not_count(way: str) -> None:
    """A retry of another processor leaves this one its own (08 #27)."""
    first = at("process_api_error", lambda ctx: {"retry": True} if "down" in ctx.error.message else None, id="other")
    model = model_of("p", fail("down"), BAD_ID, "ok")
    agent = Agent("a", model=model, error_processors=[first, ProviderHistoryCompat()])
    history = [
        Message.user("x"),
        Message("assistant", [ToolCallPart("a.1", "find", {}, "result", 1)]),
        Message.user("z"),
    ]
    assert (await ask(agent, way, history)).result.text == "ok"


@both_ways
@pytest.mark.parametrize(("error", "budget"), [(BAD_ID, 0), (fail("overloaded", status=529), 5), (BAD_ID, 5)])
async def test_nothing_is_asked_again_where_nothing_was_changed(way: str, error: ModelError, budget: int) -> None:
    """Not without a budget, not for an error that no rule knows, and not where a rule finds nothing to change."""
    id = "a.1" if budget == 0 else "a1"
    history = [Message.user("x"), Message("assistant", [ToolCallPart(id, "find", {}, "result", 1)]), Message.user("z")]
    model = model_of("p", error)
    agent = Agent("a", model=model, error_processors=[ProviderHistoryCompat()], max_processor_retries=budget)
    seen = await ask(agent, way, history)
    assert (seen.error, len(model.requests)) == (error, 1)
