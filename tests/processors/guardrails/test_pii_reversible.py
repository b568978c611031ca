"""Reversible redaction: one token per value over a request, and the values only for those who may have them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import TextDelta
from procession.messages.message import Message
from procession.models.model import ModelRequest
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.processors.stand_ins import RestoredStream, StandIns
from procession.steps.scope import RequestScope
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.tools.tool import tool

NAMES = ["Mara Voss", "Jon Tal"]
TALK = [
    Message.user("I am Mara Voss", id="1"),
    Message.assistant("Hello Mara Voss", id="2"),
    Message.user("ask Jon Tal to call Mara Voss", id="3"),
]


def guard(**options: Any) -> PIIDetector:
    """Return a guard that knows two names and redacts so that it can be undone."""
    return PIIDetector(names=NAMES, redaction="reversible", **options)


def seen(request: ModelRequest) -> list[str]:
    """Return the texts that the model was shown."""
    return [message.text for message in request.messages]


async def test_one_value_has_one_token_however_it_is_cut() -> None:
    """PII-012: the model sees one token per person over all messages, the reader the names, however the answer is cut."""
    model = FakeModel(Reply(text=["Dear <PER", "SON_1", ">, <PERSON_2> will call"]))
    mine = guard(restore=True)
    agent = Agent("a", model=model, input_processors=[mine], output_processors=[mine])
    async with agent.stream(TALK) as stream:
        shown = [chunk.text async for chunk in stream.full_stream if isinstance(chunk, TextDelta)]
        result = await stream.result()
    assert "".join(shown) == result.text == "Dear Mara Voss, Jon Tal will call"
    assert seen(model.requests[0]) == ["I am <PERSON_1>", "Hello <PERSON_1>", "ask <PERSON_2> to call <PERSON_1>"]
    assert not any(name in repr(vars(mine)) for name in ("_tokens", "PERSON_1"))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
async def test_generate_and_stream_agree(size: int) -> None:
    """PII-012: in pieces of any size, streamed or not, the reader gets the same."""
    answer = "Dear <PERSON_1>, <b>write</b> to <PERSON_2> or <PERSON_3> < 5 <EMAIL_1"
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    wanted = "Dear Mara Voss, <b>write</b> to Jon Tal or <PERSON_3> < 5 <EMAIL_1"
    for streamed in (False, True):
        mine = guard(restore=True)
        agent = Agent("a", model=FakeModel(Reply(text=pieces)), input_processors=[mine], output_processors=[mine])
        if streamed:
            async with agent.stream(TALK) as stream:
                assert "".join([text async for text in stream.text_stream]) == wanted
        else:
            assert (await agent.generate(TALK)).text == wanted


async def test_memory_and_messages_keep_the_tokens() -> None:
    """What is stored, and what the result calls messages and steps, has tokens; nothing else of the run has names."""
    store = InMemoryStore()
    mine = guard(restore=True)
    agent = Agent(
        "a",
        model=FakeModel("Hello <PERSON_1>"),
        memory=Memory(store),
        input_processors=[mine],
        output_processors=[mine],
    )
    result = await agent.generate("I am Mara Voss", thread="t", resource="r")
    assert result.text == result.final_text == "Hello Mara Voss"
    assert result.steps[0].text == "Hello <PERSON_1>"
    kept = [message.text for message in await store.messages("t")]
    assert kept == ["I am <PERSON_1>", "Hello <PERSON_1>"]
    assert "Mara" not in repr((result.messages, result.violations, result.outcomes, result.steps))


async def test_a_later_request_never_reuses_a_token() -> None:
    """A token of an earlier request stands in the history: nobody gets it now, and it is not restored to another."""
    store = InMemoryStore()
    mine = guard(restore=True)
    model = FakeModel(["Hello <PERSON_1>", "<PERSON_1> and <PERSON_2>"])
    agent = Agent("a", model=model, memory=Memory(store), input_processors=[mine], output_processors=[mine])
    await agent.generate("I am Mara Voss", thread="t", resource="r")
    result = await agent.generate("ask Jon Tal", thread="t", resource="r")
    assert seen(model.requests[1])[-1] == "ask <PERSON_2>"
    assert result.text == "<PERSON_1> and Jon Tal"


async def test_what_a_user_types_is_not_restored_to_somebody() -> None:
    """A token that the user has typed himself is text: no value gets it, and no value comes out of it."""
    mine = guard(restore=True)
    model = FakeModel("<PERSON_1>, <PERSON_2>")
    agent = Agent("a", model=model, input_processors=[mine])
    result = await agent.generate("who is <PERSON_1>? I am Mara Voss")
    assert seen(model.requests[0]) == ["who is <PERSON_1>? I am <PERSON_2>"]
    assert result.text == "<PERSON_1>, Mara Voss"


async def test_requests_at_once_have_their_own_tokens() -> None:
    """PII-012: one guard serves two requests at the same time; each reader gets its own value back."""

    async def slowly(request: ModelRequest) -> Reply:
        await anyio.lowlevel.checkpoint()
        return Reply(text="to <EMAIL_1>")

    mine = PIIDetector(redaction="placeholder", reversible=True, restore=True)
    agent = Agent("a", model=FakeModel([slowly, slowly]), input_processors=[mine], output_processors=[mine])
    found: dict[str, str] = {}

    async def one(address: str) -> None:
        found[address] = (await agent.generate(f"write to {address}")).text

    async with anyio.create_task_group() as group:
        for address in ("eva@example.net", "jon@example.net"):
            group.start_soon(one, address)
    assert found == {address: f"to {address}" for address in ("eva@example.net", "jon@example.net")}


async def test_a_tool_gets_the_value_and_the_model_the_token() -> None:
    """With restore_tool_args a tool runs with the value; its result is hidden behind the same token again."""
    got: list[str] = []

    @tool
    def send(address: str) -> str:
        """Send a mail."""
        got.append(address)
        return f"sent to {address}"

    call = Reply(tool_calls=[ScriptedCall("send", {"address": "<EMAIL_1>"})])
    for wanted, sees in ((True, "eva@example.net"), (False, "<EMAIL_1>")):
        got.clear()
        mine = PIIDetector(redaction="reversible", restore_tool_args=wanted)
        model = FakeModel([call, "Done, <EMAIL_1>."])
        agent = Agent("a", model=model, tools=[send], input_processors=[mine], output_processors=[mine])
        result = await agent.generate("mail eva@example.net")
        assert got == [sees]
        assert "eva@" not in repr([request.messages for request in model.requests])
        assert "sent to <EMAIL_1>" in repr(model.requests[1].messages)
        assert result.text == "Done, <EMAIL_1>."  # the reader was not promised the values
        assert "eva@" not in repr(result)


def test_tokens_tell_nothing() -> None:
    """Neither the tokens' own words nor the scope's show a value."""
    tokens = StandIns()
    tokens.token("eva@example.net", "email", shown=True)
    assert repr(tokens) == "<StandIns for 1 values>"
    assert tokens.token("X", "2nd-type") == "<VALUE_2ND_TYPE_1>"


def test_other_chunks_keep_their_place() -> None:
    """Blocks are held apart, and what is held of a block comes before whatever ends it."""
    from procession.messages.chunks import StepFinish, TextEnd

    scope = RequestScope()
    scope.stand_ins = StandIns()
    scope.stand_ins.token("Mara", "name", shown=True)
    view = RestoredStream(scope)
    assert view.chunks(TextDelta("a <PERS", "1")) == [TextDelta("a ", "1")]
    assert view.chunks(TextDelta("<PERSON_1> b", "2")) == [TextDelta("Mara b", "2")]
    assert view.chunks(TextDelta("ON_1>", "1")) == [TextDelta("Mara", "1")]
    assert view.chunks(TextDelta("<PER", "1")) == []
    assert view.chunks(TextEnd("1")) == [TextDelta("<PER", "1"), TextEnd("1")]
    done = view.chunks(StepFinish("stop", False, "<PERSON_1>"))[0]
    assert isinstance(done, StepFinish)
    assert done.text == "Mara"


@pytest.mark.parametrize("options", [{"restore": True}, {"restore_tool_args": True, "redaction": "hash"}])
def test_what_is_not_kept_cannot_be_restored(options: dict[str, Any]) -> None:
    """Restoring what is masked for good is refused where it is asked for."""
    with pytest.raises(ProcessorDefinitionError, match="restore what it does not keep"):
        PIIDetector(**options)
