"""The store of conversations in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from procession.errors import MessageError
from procession.messages.message import Message
from procession.storage.memory import InMemoryStore
from procession.storage.threads import ThreadStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def store() -> ThreadStore:
    """Return an empty store."""
    return InMemoryStore()


def said(text: str, minute: int, *, id: str | None = None) -> Message:
    """Return a user's message of a minute past noon."""
    made = Message.user(text, id=id)
    return made.replace(created_at=NOON + timedelta(minutes=minute))


async def test_nothing_is_there_before_the_first_save(store: ThreadStore) -> None:
    """A thread that nothing was saved in is none, and has no messages."""
    assert await store.thread("t") is None
    assert await store.messages("t") == []


async def test_the_thread_is_written_with_the_first_message(store: ThreadStore) -> None:
    """Saving messages writes the thread, saving none writes nothing."""
    await store.save("t", "ada", [])
    assert await store.thread("t") is None
    await store.save("t", "ada", [said("Hi", 0)])
    thread = await store.thread("t")
    assert thread is not None
    assert (thread.id, thread.resource_id) == ("t", "ada")
    assert thread.created_at.tzinfo is not None


async def test_messages_come_back_oldest_first(store: ThreadStore) -> None:
    """Messages are read in the order of their times, in whatever order they were saved."""
    await store.save("t", "ada", [said("third", 3), said("first", 1)])
    await store.save("t", "ada", [said("second", 2)])
    assert [message.text for message in await store.messages("t")] == ["first", "second", "third"]


@pytest.mark.parametrize(("last", "expected"), [(None, 3), (2, 2), (3, 3), (9, 3), (1, 1)])
async def test_only_the_newest_are_read(store: ThreadStore, last: int | None, expected: int) -> None:
    """With ``last`` only so many of the newest messages are read."""
    await store.save("t", "ada", [said(str(minute), minute) for minute in range(3)])
    found = await store.messages("t", last=last)
    assert [message.text for message in found] == ["0", "1", "2"][-expected:]


async def test_a_message_is_replaced_by_its_id(store: ThreadStore) -> None:
    """Saving a message whose id is known puts it in place of the known one."""
    await store.save("t", "ada", [said("before", 0, id="m"), said("more", 1)])
    await store.save("t", "ada", [said("after", 0, id="m")])
    assert [message.text for message in await store.messages("t")] == ["after", "more"]


async def test_threads_are_apart(store: ThreadStore) -> None:
    """What is saved in one thread is not read in another."""
    await store.save("one", "ada", [said("Hi", 0)])
    assert await store.messages("two") == []


async def test_another_resource_reads_nothing(store: ThreadStore) -> None:
    """For a reader that names another resource the thread is as good as not there."""
    await store.save("t", "ada", [said("Hi", 0)])
    assert await store.messages("t", resource_id="bob") == []
    assert len(await store.messages("t", resource_id="ada")) == 1


async def test_another_resource_writes_nothing(store: ThreadStore) -> None:
    """Saving into another resource's thread is refused and changes nothing."""
    await store.save("t", "ada", [said("Hi", 0)])
    with pytest.raises(MessageError, match="'t' belongs to another resource"):
        await store.save("t", "bob", [said("mine now", 1)])
    assert [message.text for message in await store.messages("t")] == ["Hi"]


async def test_what_was_read_is_the_readers_own(store: ThreadStore) -> None:
    """Changing the list that was read changes nothing in the store."""
    await store.save("t", "ada", [said("Hi", 0)])
    (await store.messages("t")).clear()
    assert len(await store.messages("t")) == 1
