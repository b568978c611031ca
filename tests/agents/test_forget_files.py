"""Files that were put elsewhere go with the last message that names them, and with no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agents.test_forget import OWNERS

from procession.agents.agent import Agent
from procession.errors import NotForgotten, StoreError
from procession.messages.message import Message
from procession.messages.parts import FilePart, TextPart
from procession.processors.memory.memory import Memory
from procession.processors.memory.outbox import TurnToSave, outbox_of
from procession.processors.utility.attachments import AttachmentUploader
from procession.storage.file_sink import FileSink
from procession.storage.memory_store import InMemoryStore
from procession.testing.fake_model import FakeModel


class Stuck(FileSink):
    """A sink that deletes nothing while it is stuck."""

    stuck = False

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """Fail while it is stuck."""
        if self.stuck:
            raise OSError("private words")
        return await super().delete(reference, scope=scope)


async def test_files_go_with_the_last_that_names_them(tmp_path: Path) -> None:
    """A file goes with its thread unless another thread of the resource has it, too; another resource has its own."""
    sink, store = Stuck(tmp_path), InMemoryStore()
    uploader = AttachmentUploader(sink, threshold=0)
    agent = Agent(
        "a", model=FakeModel(["Hi"], repeat_last=True), memory=Memory(store), input_processors=[uploader]
    )  # fmt: skip

    def kept_files() -> int:
        return len([path for path in tmp_path.rglob("*") if path.is_file()])

    for thread, resource in OWNERS:
        for data in (b"shared", thread.encode()):
            message = Message("user", [TextPart("Look"), FilePart(data, "text/plain")])
            await agent.generate([message], resource=resource, thread=thread)
    assert kept_files() == 5
    assert (await agent.forget(resource="ada", thread="t1")).files == 1
    assert kept_files() == 4
    sink.stuck = True
    with pytest.raises(NotForgotten, match="files in sinks: 2 of 2 are left.*attachment:") as caught:
        await agent.forget(resource="ada")
    assert "private" not in str(caught.value)
    assert caught.value.deleted.threads == 1
    sink.stuck = False
    assert (await agent.forget(resource="bob")).files == 2
    assert kept_files() == 2


class Unreadable(InMemoryStore):
    """A store with a thread that cannot be read, and one that cannot be deleted."""

    unread = undeleted = ""

    async def messages(self, thread_id: str, **which: Any) -> list[Message]:
        """Fail for the one thread."""
        if thread_id == self.unread:
            raise StoreError(f"record of {thread_id} cannot be read")
        return await super().messages(thread_id, **which)

    async def delete_thread(self, thread_id: str, resource_id: str) -> bool:
        """Fail for the other one."""
        if thread_id == self.undeleted:
            raise StoreError("the disk is full")
        return await super().delete_thread(thread_id, resource_id)


async def with_files(folder: Path, store: InMemoryStore) -> tuple[Agent, Any]:
    """Return an agent with two threads that name one file, and each another one, and what tells how many there are."""
    agent = Agent(
        "a",
        model=FakeModel(["Hi"], repeat_last=True),
        memory=Memory(store),
        input_processors=[AttachmentUploader(FileSink(folder), threshold=0)],
    )
    for thread in ("t1", "t2"):
        for data in (b"shared", thread.encode()):
            message = Message("user", [TextPart("Look"), FilePart(data, "text/plain")])
            await agent.generate([message], resource="ada", thread=thread)
    return agent, lambda: len([path for path in folder.rglob("*") if path.is_file()])


async def test_files_that_others_may_name_stay(tmp_path: Path) -> None:
    """Where another thread cannot be read nobody knows which files it names: they stay, and the error says which."""
    store = Unreadable()
    agent, count = await with_files(tmp_path, store)
    store.unread = "t2"
    with pytest.raises(NotForgotten, match="record of t2 cannot be read") as caught:
        await agent.forget(resource="ada", thread="t1")
    assert str(caught.value).count("attachment:") == 2
    assert caught.value.deleted.threads == 1
    assert count() == 3
    with pytest.raises(NotForgotten, match="record of t2 cannot be read"):  # of it no file is known
        await agent.forget(resource="ada")
    assert await store.thread("t2") is None


async def test_a_thread_that_cannot_be_read_keeps_no_other_file(tmp_path: Path) -> None:
    """Of a resource the files of all threads go that can be read."""
    store = Unreadable()
    agent, count = await with_files(tmp_path, store)
    store.unread = "t1"
    with pytest.raises(NotForgotten, match="record of t1 cannot be read") as caught:
        await agent.forget(resource="ada")
    assert caught.value.deleted.files == 2
    assert count() == 1


async def test_files_stay_with_the_messages_that_name_them(tmp_path: Path) -> None:
    """Where messages could not be deleted, what they name stays, and goes with them when it is done again."""
    store = Unreadable()
    agent, count = await with_files(tmp_path, store)
    store.undeleted = "t1"
    with pytest.raises(NotForgotten, match="threads in Unreadable: the disk is full"):
        await agent.forget(resource="ada", thread="t1")
    assert count() == 3
    store.undeleted = ""
    assert (await agent.forget(resource="ada", thread="t1")).files == 1
    assert count() == 2


@pytest.mark.parametrize("is_first", [True, False])
async def test_files_that_a_thread_of_another_store_names_stay(tmp_path: Path, is_first: bool) -> None:
    """Agents with stores of their own may put files into one sink: what a thread in the other store names stays."""
    one, other = InMemoryStore(), InMemoryStore()
    agent, count = await with_files(tmp_path, one)
    await with_files(tmp_path, other)
    await one.delete_thread("t2", "ada")
    await other.delete_thread("t1", "ada")
    stores = (one, other) if is_first else (other, one)
    inner, outer = [
        Agent(f"a{number}", model=FakeModel(["Hi"]), memory=Memory(store)) for number, store in enumerate(stores)
    ]
    agent = Agent(
        "b", model=FakeModel(["Hi"]), input_processors=agent.input_processors, tools=[inner.as_tool(), outer.as_tool()]
    )  # fmt: skip
    assert (await agent.forget(resource="ada", thread="t1")).files == 1
    assert count() == 2


@pytest.mark.parametrize("thread", [None, "t1"])
async def test_files_of_turns_that_wait_go(tmp_path: Path, thread: str | None) -> None:
    """A turn that no store could take names files, too: they go with it, unless another one that waits has them."""
    store = InMemoryStore()
    agent, count = await with_files(tmp_path, store)
    for each in ("t1", "t2"):
        turn = TurnToSave(thread_id=each, resource_id="ada", messages=await store.messages(each))
        await store.delete_thread(each, "ada")
        assert outbox_of(store).hold(turn)
    forgotten = await agent.forget(resource="ada", thread=thread)
    assert (forgotten.files, count()) == ((3, 0) if thread is None else (1, 2))
