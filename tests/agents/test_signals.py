"""``ctx.send_signal``: a note to the model that a processor puts into the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import MessageError, ProcessorError
from procession.messages.chunks import DataChunk, StepFinish, StepStart
from procession.messages.signal import SentSignal
from procession.processors.hooks import HOOK_NAMES
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}
HINT: dict[str, Any] = {"type": "reactive", "contents": "Be <brief>.", "attributes": {"step": 1}}
MARKUP = '<system-reminder step="1">Be &lt;brief&gt;.</system-reminder>'
SENDERS = ("process_input", "process_input_step", "process_output_step", "process_api_error", "process_output_result")


def sender(
    signal: Any = HINT, *, hook: str = "process_input_step", step: int = 0, sent: list[Any] | None = None
) -> Any:
    """Return a processor that sends *signal* at *hook* of the step *step*."""

    async def send(ctx: Any) -> Any:
        if ctx.step_number == step:
            made = await ctx.send_signal(signal)
            if sent is not None:
                sent.append(made)
        return {"retry": True} if hook == "process_api_error" else None

    return at(hook, send, id="sender")


def asked(model: FakeModel, call: int) -> list[str]:
    """Return the texts of what the model was asked with in one call."""
    return [message.text for message in model.requests[call].messages]


@both_ways
async def test_a_signal_is_shown_to_the_model_and_to_the_reader(way: str) -> None:
    """The model gets markup that no text can pose as, the reader a transient ``data-signal`` chunk, the sender the signal."""
    model, sent = FakeModel("Yes."), list[Any]()
    seen = await ask(Agent("parrot", model=model, input_processors=[sender(sent=sent)]), way)
    assert asked(model, 0) == ["Hi", MARKUP]
    (chunk,) = seen.chunks.of(DataChunk)
    assert (chunk.type, chunk.transient) == ("data-signal", True)
    assert chunk.data == sent[0].as_data()
    assert list(chunk.data) == ["id", "type", "tagName", "contents", "createdAt", "acceptedAt", "attributes"]
    assert isinstance(sent[0], SentSignal)
    assert sent[0].tag_name == "system-reminder"
    assert seen.result.text == "Yes."


@both_ways
@pytest.mark.parametrize("hook", SENDERS)
async def test_signals_can_be_sent_in_these_hooks(way: str, hook: str, store: InMemoryStore) -> None:
    """A signal from any of these hooks is kept in the thread and in the messages, and leaves the answer as it is."""
    lists: dict[str, Any] = {}
    name = {"process_api_error": "error", "process_output_step": "output", "process_output_result": "output"}
    lists[f"{name.get(hook, 'input')}_processors"] = [sender(hook=hook)]
    model = FakeModel([fail("down", status=503), "Yes."] if hook == "process_api_error" else ["Yes."])
    seen = await ask(Agent("parrot", model=model, memory=Memory(store), **lists), way, **IDS)
    assert [step.text for step in seen.result.steps] == ["Yes."]
    kept = [(message.role, message.text) for message in await store.messages("t")]
    assert sorted(kept) == [("assistant", "Yes."), ("signal", "Be <brief>."), ("user", "Hi")]
    assert len(seen.chunks.of(DataChunk)) == (hook != "process_input")  # the stream has not begun yet


@pytest.mark.parametrize("hook", sorted(set(HOOK_NAMES) - set(SENDERS)))
async def test_other_hooks_have_no_signals(hook: str) -> None:
    """A hook in which the documents give no ``send_signal`` has none."""
    seen: list[bool] = []

    def look(ctx: Any) -> Any:
        seen.append(hasattr(ctx, "send_signal"))
        return ctx.chunk if hook == "process_output_stream" else None

    tool, _ = counted_tool()
    side = "input_processors" if "llm" in hook else "output_processors"
    lists: dict[str, Any] = {side: [at(hook, look)]}
    await ask(Agent("parrot", model=FakeModel([call_tool("lookup"), "Yes."]), tools=[tool], **lists))
    assert set(seen) == {False}


@pytest.fixture
def store() -> InMemoryStore:
    """Return an empty store."""
    return InMemoryStore()


@both_ways
async def test_an_answer_begins_anew_behind_a_signal(way: str, store: InMemoryStore) -> None:
    """Before a model call the answer so far is sealed: what follows is another message, behind the signal."""
    tool, _ = counted_tool()
    model = FakeModel([say("Looking.") + call_tool("lookup"), "Found."])
    agent = Agent("parrot", model=model, tools=[tool], input_processors=[sender(step=1)], memory=Memory(store))
    seen = await ask(agent, way, **IDS)
    assert [(message.role, message.text) for message in await store.messages("t")] == [
        ("user", "Hi"), ("assistant", "Looking."), ("signal", "Be <brief>."), ("assistant", "Found."),
    ]  # fmt: skip
    assert asked(model, 1)[-1] == MARKUP
    assert [step.text for step in seen.result.steps] == ["Looking.", "Found."]
    starts = [chunk.message_id for chunk in seen.chunks.of(StepStart)]
    assert len(set(starts)) == 2
    assert [message.id for message in seen.result.messages] == starts == [step.message_id for step in seen.result.steps]


@both_ways
async def test_an_answer_goes_on_after_a_signal_behind_it(way: str, store: InMemoryStore) -> None:
    """A signal from ``process_output_step`` stands behind the answer, which goes on in the same message."""
    tool, _ = counted_tool()
    model = FakeModel([say("Looking.") + call_tool("lookup"), "Found."])
    guard = sender(hook="process_output_step")
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[guard], memory=Memory(store))
    seen = await ask(agent, way, **IDS)
    assert [step.text for step in seen.result.steps] == ["Looking.", "Found."]
    assert [message.role for message in await store.messages("t")] == ["user", "assistant", "signal"]


@both_ways
async def test_a_signal_after_a_failed_call(way: str) -> None:
    """A handler's signal is in the next attempt; the failed one leaves nothing, and each step keeps its text."""
    tool, _ = counted_tool()
    model = FakeModel([say("Looking.") + call_tool("lookup"), fail("down", status=503), "Found."])
    handler = sender(hook="process_api_error", step=1)
    seen = await ask(Agent("parrot", model=model, tools=[tool], error_processors=[handler]), way)
    assert asked(model, 2)[-1] == MARKUP
    assert [step.text for step in seen.result.steps] == ["Looking.", "Found."]
    assert [message.text for message in seen.result.messages] == ["Looking.", "Found."]
    assert len({chunk.message_id for chunk in seen.chunks.of(StepFinish)}) == 2


@both_ways
async def test_a_sealed_answer_is_rejected_with_the_turn(way: str, store: InMemoryStore) -> None:
    """Where the turn is rejected as a whole, nothing of an answer that a signal parted is left."""
    tool, _ = counted_tool()
    model = FakeModel([say("Looking.") + call_tool("lookup"), "Found."])
    memory = Memory(store, persist_on_tripwire="accepted_steps")
    agent = Agent(
        "parrot", model=model, tools=[tool], input_processors=[sender(step=1)], memory=memory,
        output_processors=[at("process_output_result", lambda ctx: ctx.abort("no"))],
    )  # fmt: skip
    seen = await ask(agent, way, **IDS)
    assert seen.result.text == ""
    assert "assistant" not in [message.role for message in await store.messages("t")]


@both_ways
async def test_an_answer_in_place_of_a_parted_one(way: str) -> None:
    """``replace_response`` at the end takes the place of all texts, also of those before a signal."""
    tool, _ = counted_tool()
    model = FakeModel([say("Looking.") + call_tool("lookup"), "Found."])
    agent = Agent(
        "parrot", model=model, tools=[tool], input_processors=[sender(step=1)],
        output_processors=[at("process_output_result", lambda ctx: ctx.replace_response("Sorry."))],
    )  # fmt: skip
    seen = await ask(agent, way)
    assert seen.result.text == "Sorry."
    assert "".join(message.text for message in seen.result.messages) == "Sorry."


@both_ways
async def test_a_transient_signal_is_for_one_call(way: str, store: InMemoryStore) -> None:
    """A transient signal is seen by the model and not stored; the next turn does not know it."""
    model = FakeModel(["One.", "Two."])
    once = sender(HINT | {"transient": True})
    agent = Agent("parrot", model=model, input_processors=[once], memory=Memory(store))
    await ask(agent, way, **IDS)
    assert asked(model, 0)[-1] == MARKUP
    assert [message.role for message in await store.messages("t")] == ["user", "assistant"]
    await ask(agent, way, "Again", input_processors=[], **IDS)
    assert asked(model, 1) == ["Hi", "One.", "Again"]


@both_ways
@pytest.mark.parametrize(
    ("first", "second", "copies"),
    [
        ({}, {}, 1),
        ({"id": "a"}, {"id": "b"}, 1),
        ({"id": "a", "contents": "one"}, {"id": "a", "contents": "two"}, 1),
        ({"contents": "one"}, {"contents": "two"}, 2),
        ({"tag_name": "a"}, {"tag_name": "b"}, 2),
        ({}, {"type": "notification", "tag_name": "system-reminder"}, 2),
        ({"transient": False}, {"transient": False}, 2),
    ],
)
async def test_a_transient_signal_replaces_its_copy(
    way: str, first: dict[str, Any], second: dict[str, Any], copies: int
) -> None:
    """One with the same id, or the same type, tag and contents, stands once, where it was sent last."""
    tool, _ = counted_tool()
    model = FakeModel([call_tool("lookup"), "Yes."])

    async def send(ctx: Any) -> None:
        await ctx.send_signal(HINT | {"transient": True} | (second if ctx.step_number else first))

    await ask(Agent("parrot", model=model, tools=[tool], input_processors=[at("process_input_step", send)]), way)
    messages = model.requests[1].messages
    assert [message.role for message in messages].count("user") == 1 + copies
    assert messages[-1].role == "user"


async def test_signals_are_hidden_from_people(store: InMemoryStore) -> None:
    """The model is shown stored signals again; UI views and ``Memory.recall`` leave them out unless asked for."""
    model, views = FakeModel(["One.", "Two."]), list[Any]()
    memory = Memory(store)
    look = at("process_output_result", lambda ctx: views.append(ctx.message_list.get.all.ui()))
    agent = Agent("parrot", model=model, input_processors=[sender()], output_processors=[look], memory=memory)
    await ask(agent, **IDS)
    await ask(agent, messages="Again", input_processors=[], **IDS)
    assert asked(model, 1) == ["Hi", MARKUP, "One.", "Again"]
    assert "signal" not in [form["role"] for form in views[0]]
    assert [message.text for message in await memory.recall("t", "ada")] == ["Hi", "One.", "Again", "Two."]
    assert [message.text for message in await memory.recall("t", "ada", last=3)] == ["One.", "Again", "Two."]
    assert [message.role for message in await memory.recall("t", "ada", last=4, signals=True)][0] == "signal"
    assert await memory.recall("t", "eve") == []


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ("Answer now.", "a signal is a mapping, not str"),
        ({"contents": "x"}, "of the type None"),
        ({"type": "urgent", "contents": "x"}, "of the type 'urgent'"),
        ({"type": ["user"], "contents": "x"}, "of the type"),
        ({"type": "reactive"}, "has no contents"),
        ({"type": "reactive", "contents": 3}, "a signal's contents"),
        ({"type": "reactive", "contents": "x", "content": "y"}, "has no 'content'"),
        ({"type": "reactive", "contents": "x", "attributes": "y"}, "a signal's attributes"),
        ({"type": "reactive", "contents": "x", "metadata": ["y"]}, "a signal's metadata"),
        ({"type": "reactive", "contents": "x", "transient": "yes"}, "a signal's transient"),
        ({"type": "reactive", "contents": "x", "id": ""}, "a signal's id"),
        ({"type": "reactive", "contents": "x", "tag_name": 1}, "a signal's tag_name"),
        ({"type": "state", "contents": "x", "transient": True}, "state signals cannot be transient"),
    ],
)
async def test_what_is_no_signal_is_refused(signal: Any, message: str) -> None:
    """A signal of another shape fails the hook with an error that names the field."""
    seen = await ask(Agent("parrot", model=FakeModel("x"), input_processors=[sender(signal)]))
    assert isinstance(seen.error, ProcessorError)
    assert isinstance(seen.error.__cause__, MessageError)
    assert message in str(seen.error)


@pytest.mark.parametrize(
    ("signal", "kind", "text"),
    [
        ({"type": "user", "contents": "Go on."}, "user", "Go on."),
        ({"type": "user-message", "contents": "Go on."}, "user", "Go on."),
        ({"type": "system-reminder", "contents": "x"}, "reactive", "<system-reminder>x</system-reminder>"),
        ({"type": "notification", "contents": "x", "tagName": "mail"}, "notification", "<mail>x</mail>"),
        (
            {"type": "state", "contents": [{"type": "text", "text": "x"}], "tag_name": "board"},
            "state",
            "<board>x</board>",
        ),
    ],
)
async def test_kinds_of_signals(signal: Any, kind: str, text: str) -> None:
    """Each type, the documents' older names and both spellings are understood."""
    model, sent = FakeModel("Yes."), list[Any]()
    await ask(Agent("parrot", model=model, input_processors=[sender(signal, sent=sent)]))
    assert sent[0].type == kind
    assert asked(model, 0)[-1] == text


async def test_what_a_signal_carries_besides(store: InMemoryStore) -> None:
    """Id, metadata and provider options are kept with the message."""
    signal = HINT | {"id": "note-1", "metadata": {"why": "late"}, "provider_options": {"x": {"cache": True}}}
    await ask(Agent("parrot", model=FakeModel("x"), input_processors=[sender(signal)], memory=Memory(store)), **IDS)
    kept = (await store.messages("t"))[1]
    assert (kept.id, kept.role) == ("note-1", "signal")
    assert (kept.metadata or {})["signal"]["metadata"] == {"why": "late"}
    assert kept.provider_metadata == {"x": {"cache": True}}


@both_ways
@pytest.mark.parametrize("hook", ["process_input_step", "process_api_error"])
async def test_signals_of_parallel_branches(way: str, hook: str) -> None:
    """Branches side by side may both send a signal: both are kept in the order of declaration, and the answer parts once."""
    tool, _ = counted_tool()
    failed = [fail("down", status=503)] if hook == "process_api_error" else []
    model = FakeModel([say("Looking.") + call_tool("lookup"), *failed, "Found."])
    one, two = (
        sender(HINT | {"contents": "one"}, hook=hook, step=1),
        sender(HINT | {"contents": "two"}, hook=hook, step=1),
    )
    two.id = "second"
    both = create_workflow("both", kind="processor").parallel([one, two]).commit()
    side: dict[str, Any] = {"error_processors" if failed else "input_processors": [both]}
    seen = await ask(Agent("parrot", model=model, tools=[tool], **side), way)
    first, second = asked(model, -1)[-2:]
    assert (">one<" in first, ">two<" in second) == (True, True)
    assert [message.text for message in seen.result.messages] == ["Looking.", "Found."]
    assert [step.text for step in seen.result.steps] == ["Looking.", "Found."]


@both_ways
async def test_a_chunk_of_a_signal_passes_processors_that_opted_in(way: str) -> None:
    """A processor of data may drop a ``data-signal`` chunk; the model is told all the same."""
    model = FakeModel("Yes.")
    drop = at(
        "process_output_stream",
        lambda ctx: None if ctx.chunk.type == "data-signal" else ctx.chunk,
        process_data_parts=True,
    )
    seen = await ask(Agent("parrot", model=model, input_processors=[sender()], output_processors=[drop]), way)
    assert not seen.chunks.of(DataChunk)
    assert asked(model, 0)[-1] == MARKUP
