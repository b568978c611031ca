"""Notes: what every store that keeps them promises."""

from __future__ import annotations

import anyio
import pytest
from tests.storage.conversations import Conversations

from procession.storage.notes import Note, NoteKey

KEY = NoteKey(kind="working-memory", resource_id="ada", thread_id="t")


async def test_nothing_is_written_at_first(conversations: Conversations) -> None:
    """Under a key that nobody wrote under there is nothing, and nothing to forget."""
    assert await conversations.note(KEY) is None
    assert not await conversations.delete_note(KEY)


async def test_what_is_written_is_there(conversations: Conversations) -> None:
    """Versions count from 1, and each write replaces the text."""
    assert await conversations.put_note(KEY, "first", version=0) == Note("first", 1)
    assert await conversations.note(KEY) == Note("first", 1)
    text = "☃ 🚀 \"'\n" * 5_000
    assert await conversations.put_note(KEY, text, version=1) == Note(text, 2)
    assert await conversations.note(KEY) == Note(text, 2)
    assert await conversations.put_note(KEY, "", version=2) == Note("", 3)
    assert await conversations.note(KEY) == Note("", 3)


@pytest.mark.parametrize("text", ["half \ud800", '{"\udfff', "\0", "procession:json:1", "procession:text:\ud800"])
async def test_a_note_may_be_any_text(conversations: Conversations, text: str) -> None:
    """Models write what they like, half of a character as well: it is there as it was written."""
    assert await conversations.put_note(KEY, text, version=0) == Note(text, 1)
    assert await conversations.note(KEY) == Note(text, 1)


@pytest.mark.parametrize("version", [0, 1, 3, 99])
async def test_who_writes_in_place_of_another_version_is_told(conversations: Conversations, version: int) -> None:
    """Where somebody else wrote meanwhile nothing is written."""
    await conversations.put_note(KEY, "one", version=0)
    await conversations.put_note(KEY, "two", version=1)
    assert await conversations.put_note(KEY, "mine", version=version) is None
    assert await conversations.note(KEY) == Note("two", 2)


async def test_a_version_of_nothing_cannot_be_replaced(conversations: Conversations) -> None:
    """Where nothing is written only version 0 fits."""
    assert await conversations.put_note(KEY, "mine", version=1) is None
    assert await conversations.note(KEY) is None


async def test_keys_are_apart(conversations: Conversations) -> None:
    """Another kind, resource or thread is another note; one of all threads is none of a thread without a name."""
    keys = [
        KEY,
        KEY.replace(kind="observations"),
        KEY.replace(resource_id="bob"),
        KEY.replace(thread_id="u"),
        KEY.replace(thread_id=None),
        KEY.replace(thread_id=""),
        NoteKey(kind="a:b", resource_id="c"),
        NoteKey(kind="a", resource_id="b:c"),
    ]
    for number, key in enumerate(keys):
        assert await conversations.put_note(key, str(number), version=0) == Note(str(number), 1)
    for number, key in enumerate(keys):
        assert await conversations.note(key) == Note(str(number), 1)
    assert await conversations.delete_note(KEY)
    assert [await conversations.note(key) is None for key in keys] == [True] + [False] * 7


async def test_a_note_is_forgotten(conversations: Conversations) -> None:
    """What is forgotten is not there any more, once, and begins anew."""
    await conversations.put_note(KEY, "one", version=0)
    assert await conversations.delete_note(KEY)
    assert await conversations.note(KEY) is None
    assert not await conversations.delete_note(KEY)
    assert await conversations.put_note(KEY, "two", version=1) is None
    assert await conversations.put_note(KEY, "two", version=0) == Note("two", 1)


async def test_of_many_who_write_one_wins(conversations: Conversations) -> None:
    """Of ten that write in place of one version one does; those who try again lose nothing."""
    written = 0

    async def add(name: str) -> None:
        nonlocal written
        while True:
            note = await conversations.note(KEY)
            text, version = (note.text, note.version) if note is not None else ("", 0)
            if await conversations.put_note(KEY, text + name, version=version) is not None:
                written += 1
                return

    async with anyio.create_task_group() as group:
        for name in "abcdefghij":
            group.start_soon(add, name)
    note = await conversations.note(KEY)
    assert note is not None
    assert (sorted(note.text), note.version, written) == (list("abcdefghij"), 10, 10)
