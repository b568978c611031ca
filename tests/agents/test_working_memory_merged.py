"""Several who write down something at once, and stores that fail."""

from __future__ import annotations

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, at
from tests.agents.writing_kit import ADA, KEY, TEMPLATE, Person, note, shown

from procession.agents.agent import Agent
from procession.errors import ProcessorError, StoreError
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.storage.notes import Note, NoteKey
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall

both_ways = pytest.mark.parametrize("way", WAYS)


# -- several at once


async def test_many_runs_at_once_lose_nothing() -> None:
    """Each of forty runs that began with the same adds a line and changes one: all of that is there."""
    store = InMemoryStore()
    base = "\n".join(["# Facts", *[f"- {number}: ?" for number in range(40)]])
    await store.put_note(KEY, base, version=0)
    memory = Memory(store, working_memory=True)
    began = 0
    all_began = anyio.Event()

    async def one(number: int) -> None:
        async def write(request: ModelRequest) -> Reply:
            nonlocal began
            began += 1
            if began == 40:
                all_began.set()
            await all_began.wait()
            text = shown(request) or ""
            return note(text.replace(f"- {number}: ?", f"- {number}: known") + f"\n- new {number}")

        agent = Agent("a", model=FakeModel([write, "done"]), memory=memory)
        result = await agent.generate("Hi", thread=f"t{number}", resource="ada")
        assert result.text == "done"

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(one, number)
    lines = (await memory.working_memory(resource="ada")).split("\n")
    assert lines[:41] == ["# Facts", *[f"- {number}: known" for number in range(40)]]
    assert sorted(lines[41:]) == sorted(f"- new {number}" for number in range(40))


async def test_two_runs_fill_a_template() -> None:
    """Two first turns at once each fill a line of the template: both are filled, and none stands twice."""
    store = InMemoryStore()
    memory = Memory(store, working_memory={"template": TEMPLATE})
    other = Agent("a", model=FakeModel([note("# User\n- Name:\n- Likes: tea"), "done"]), memory=memory)

    async def write(request: ModelRequest) -> Reply:
        await other.generate("Hi", thread="u", resource="ada")
        return note("# User\n- Name: Bob\n- Likes:")

    await Agent("a", model=FakeModel([write, "done"]), memory=memory).generate("Hi", **ADA)
    assert await memory.working_memory(resource="ada") == "# User\n- Name: Bob\n- Likes: tea"


async def test_two_calls_in_one_answer() -> None:
    """Two calls of one answer know nothing of each other: what each has put in is kept."""
    store = InMemoryStore()
    twice = Reply(
        tool_calls=[
            ScriptedCall("updateWorkingMemory", {"memory": "# User\n- Name: Bob\n- Likes:"}, "w1"),
            ScriptedCall("updateWorkingMemory", {"memory": "# User\n- Name:\n- Likes: tea"}, "w2"),
        ]
    )
    agent = Agent("a", model=FakeModel([twice, "x"]), memory=Memory(store, working_memory={"template": TEMPLATE}))
    await agent.generate("Hi", **ADA)
    assert await store.note(KEY) == Note("# User\n- Name: Bob\n- Likes: tea", 1)


async def test_later_steps_go_on_from_earlier_ones() -> None:
    """What a later step leaves out of what an earlier one has written is deleted."""
    store = InMemoryStore()
    model = FakeModel([note("- a\n- b", "w1"), note("- b\n- c", "w2"), "done"])
    await Agent("a", model=model, memory=Memory(store, working_memory=True)).generate("Hi", **ADA)
    assert await store.note(KEY) == Note("- b\n- c", 1)


async def test_fields_that_two_runs_change_at_once() -> None:
    """Different fields of both are kept, lists are merged; of one field that both set the later one's value stands,
    which is said in the log without its value."""
    store = InMemoryStore()
    memory = Memory(store, working_memory={"schema": Person})
    await memory.set_working_memory({"name": "B", "likes": ["tea"]}, resource="ada")
    earlier = {"name": "Bobby-private", "likes": ["tea", "jam"]}
    other = Agent("a", model=FakeModel([note(earlier), "done"]), memory=memory)

    async def write(request: ModelRequest) -> Reply:
        await other.generate("Hi", thread="u", resource="ada")
        return note({"name": "Bill", "age": 5, "likes": ["tea", "eggs"]})

    with capture_logs() as logs:
        await Agent("a", model=FakeModel([write, "done"]), memory=memory).generate("Hi", **ADA)
    merged = await memory.working_memory(resource="ada")
    assert merged == {"name": "Bill", "likes": ["tea", "eggs", "jam"], "age": 5}
    assert [entry["fields"] for entry in logs if "fields" in entry] == [1]
    assert "private" not in str(logs)


async def test_what_was_deleted_meanwhile_stays_deleted() -> None:
    """Where a resource is deleted while a run goes on, only what that run has added is written."""
    store = InMemoryStore()
    memory = Memory(store, working_memory=True)
    await memory.set_working_memory("- secret", resource="ada")

    async def write(request: ModelRequest) -> Reply:
        await store.delete_resource("ada")
        return note("- secret\n- tea")

    await Agent("a", model=FakeModel([write, "done"]), memory=memory).generate("Hi", **ADA)
    assert await memory.working_memory(resource="ada") == "- tea"


# -- stores that fail


class Failing(InMemoryStore):
    """A store whose notes cannot be read, or not be written."""

    def __init__(self, *, read: bool = True, write: bool = True) -> None:
        super().__init__()
        self.can_read, self.can_write = read, write

    async def note(self, key: NoteKey) -> Note | None:
        """Fail, or not."""
        if not self.can_read:
            raise StoreError("private words of a store")
        return await super().note(key)

    async def put_note(self, key: NoteKey, text: str, *, version: int) -> Note | None:
        """Fail, or not."""
        if not self.can_write:
            raise StoreError("private words of a store")
        return await super().put_note(key, text, version=version)


@both_ways
async def test_a_store_that_cannot_be_read(way: str) -> None:
    """The run fails, as it does where the history cannot be read; the model is not asked."""
    model = FakeModel(["x"])
    agent = Agent("a", model=model, memory=Memory(Failing(read=False), working_memory=True))
    seen = await ask(agent, way, "Hi", **ADA)
    assert isinstance(seen.error, ProcessorError)
    assert seen.error.processor_id == "working-memory"
    assert not model.requests


@both_ways
async def test_a_store_that_cannot_be_written(way: str) -> None:
    """The answer reaches the user, the result says that something waits, and it is merged once the store is back."""
    store = Failing(write=False)
    memory = Memory(store, working_memory=True)
    agent = Agent("a", model=FakeModel([note("- Name: Bob"), "hello", "x"]), memory=memory)
    with capture_logs() as logs:
        seen = await ask(agent, way, "Hi", **ADA)
    assert (seen.result.status, seen.result.text) == ("completed", "hello")
    assert seen.result.unsaved is not None
    assert (seen.result.unsaved.messages, seen.result.unsaved.waiting) == (0, True)
    assert "private words" not in str(logs)
    assert await memory.working_memory(resource="ada") is None
    store.can_write = True
    await store.put_note(KEY, "- Likes: tea", version=0)
    assert await memory.flush() == 0
    assert await memory.working_memory(resource="ada") == "- Likes: tea\n- Name: Bob"


async def test_a_failed_write_may_fail_the_call() -> None:
    """With ``on_save_error="raise"`` the call fails."""
    memory = Memory(Failing(write=False), working_memory=True, on_save_error="raise")
    with pytest.raises(StoreError):
        await Agent("a", model=FakeModel([note("x"), "hello"]), memory=memory).generate("Hi", **ADA)


async def test_what_was_not_shown_is_not_overwritten() -> None:
    """With ``on_error="skip"`` a run goes on without a store that cannot be read, and without the tool, although the store
    is back by then."""
    store = Failing(read=False)

    def back(ctx: object) -> None:
        store.can_read = True

    model = FakeModel(["x"])
    memory = Memory(store, working_memory=True, on_error="skip")
    agent = Agent("a", model=model, memory=memory, input_processors=[at("process_input", back)])
    await agent.generate("Hi", **ADA)
    assert not model.requests[0].tools


async def test_a_writer_that_is_always_too_late_gives_up() -> None:
    """A store that never takes what is written is not tried for ever."""

    class Late(InMemoryStore):
        async def put_note(self, key: NoteKey, text: str, *, version: int) -> Note | None:
            return None

    memory = Memory(Late(), working_memory=True)
    with pytest.raises(StoreError, match="others were quicker"):
        await memory.set_working_memory("x", resource="ada")
