"""Threads are observed the same on every store."""

from __future__ import annotations

import anyio
from tests.processors.memory.observing_kit import (
    RESOURCE,
    THREAD,
    long_thread,
    numbers,
    observed_numbers,
    observer,
    observing,
)
from tests.storage.conversations import Conversations

from procession.processors.memory.observed.observing import thread_key

KEY = thread_key(THREAD, RESOURCE)


async def test_on_every_store(conversations: Conversations) -> None:
    """A thread is observed, shown and read anew the same on every store, also by two processes in turns."""
    await conversations.save(THREAD, RESOURCE, long_thread(150))
    model = observer()
    for _ in range(4):
        await observing(conversations).catch_up(model, None)
    noted, version = await observing(conversations).read()
    raw, whole = await observing(conversations).raw(noted)
    assert whole
    assert [*observed_numbers(noted, shown=True), *numbers(raw)] == list(range(150))
    assert await conversations.put_note(KEY, "x", version=version - 1) is None
    other, asked = observer(), len(model.requests)
    await observing(conversations).catch_up(other, None)
    assert (len(other.requests), len(model.requests)) == (0, asked)
    await conversations.delete_messages(THREAD, RESOURCE, [noted.batches[-1].last.message_id])
    await conversations.save(THREAD, RESOURCE, long_thread(20, start=150))
    await observing(conversations).catch_up(model, None)
    noted, _ = await observing(conversations).read()
    raw, _ = await observing(conversations).raw(noted)
    assert [*observed_numbers(noted, shown=True), *numbers(raw)] == list(range(170))
    await conversations.delete_thread(THREAD, RESOURCE)
    assert await conversations.note(KEY) is None


async def test_claims_on_every_store(conversations: Conversations) -> None:
    """Of two that observe at the same moment one asks, on every store; nobody writes twice."""
    await conversations.save(THREAD, RESOURCE, long_thread(20))
    model = observer()
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(observing(conversations).catch_up, model, None)
    noted, _ = await observing(conversations).read()
    assert (len(model.requests), observed_numbers(noted)) == (1, list(range(16)))
