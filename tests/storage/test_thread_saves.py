"""Saving and deleting messages: what every store of conversations promises."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.storage.conversations import NOON, Conversations, said, texts

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.parts import FilePart, Part, ReasoningPart, TextPart, ToolCallPart
from procession.messages.serial import to_json
from procession.storage.notes import NoteKey


async def test_the_thread_is_written_with_the_first_message(conversations: Conversations) -> None:
    """With no messages nothing is written, whatever else is given, and in whoever's name (D34)."""
    await conversations.save("t", "ada", [], title="Title", metadata={"a": 1}, indexes=["i"])
    assert await conversations.thread("t") is None
    await conversations.save("t", "ada", [said("Hi")])
    before = await conversations.thread("t")
    await conversations.save("t", "ada", [], title="Title", metadata={"a": 1}, indexes=["i"])
    await conversations.save("t", "bob", [], title="Title")
    assert await conversations.thread("t") == before
    assert await conversations.waiting("i") == 0


async def test_a_message_comes_back_as_it_was(conversations: Conversations) -> None:
    """
    Everything in a message is kept: all parts, times, metadata, and texts of any characters; half of one needs no other way to
    be written (SEC-007).
    """
    message = Message(
        "assistant",
        [
            TextPart('zero \0, snowman ☃, rocket 🚀, quote ", line\n, lone \ud800 and \udfff'),
            ReasoningPart("Hm."),
            FilePart(b"\x00\xff", media_type="image/png"),
        ],
        id="m",
        created_at=NOON.replace(microsecond=123456),
        thread_id="t",
        resource_id="ada",
        type="kind",
        metadata={"n": 1, "f": 0.1, "deep": {"list": [1, None, True], "tuple": (1, "two")}},
        provider_metadata={"openai": {"id": "x"}},
    )
    await conversations.save("t", "ada", [message])
    assert await conversations.messages("t") == [message]


async def test_thoughts_come_back_byte_for_byte(conversations: Conversations) -> None:
    """ANT-004: thoughts, their signature, redacted thoughts and a call survive in each store, in order and as they were."""
    parts: list[Part] = [
        ReasoningPart("a é 😀  \n", signature="SIG+/=="),
        ReasoningPart("", redacted="ENC=="),
        ToolCallPart("c1", "look", args={"q": " é \n"}, raw_input='{"q": " é \\n"}'),
    ]
    message = Message("assistant", parts, id="m", created_at=NOON)
    await conversations.save("t", "ada", [message])
    [kept] = await conversations.messages("t", resource_id="ada")
    assert list(kept.parts) == parts
    assert to_json(kept) == to_json(message)


async def test_a_message_takes_the_place_of_the_one_with_its_id(conversations: Conversations) -> None:
    """Saving a message whose id is known puts it in place of the known one, where its time says."""
    await conversations.save("t", "ada", [said("before", 0, id="m"), said("more", 1)])
    await conversations.save("t", "ada", [said("after", 0, id="m")])
    assert texts(await conversations.messages("t")) == ["after", "more"]
    await conversations.save("t", "ada", [said("last", 2, id="m")])
    assert texts(await conversations.messages("t")) == ["more", "last"]


async def test_of_one_id_twice_in_a_save_the_last_counts(conversations: Conversations) -> None:
    """One id given twice at once is one message, and noted once."""
    await conversations.save("t", "ada", [said("one", id="m"), said("x"), said("two", id="m")], indexes=["i"])
    assert texts(await conversations.messages("t")) == ["two", "x"]
    assert await conversations.waiting("i") == 2


async def test_an_id_is_of_its_thread(conversations: Conversations) -> None:
    """Two threads may have messages of one id, and know nothing of each other."""
    await conversations.save("one", "ada", [said("first", id="m")])
    await conversations.save("two", "bob", [said("second", id="m")])
    assert texts(await conversations.messages("one")) == ["first"]
    assert texts(await conversations.messages("two")) == ["second"]
    assert await conversations.delete_messages("one", "ada", ["m"]) == 1
    assert texts(await conversations.messages("two")) == ["second"]


async def test_another_resource_writes_nothing(conversations: Conversations) -> None:
    """Saving into another resource's thread is refused and changes nothing: no message, no title, nothing noted."""
    await conversations.save("t", "ada", [said("Hi")], metadata={"a": 1})
    before = await conversations.thread("t")
    with pytest.raises(MessageError, match="'t' belongs to another resource"):
        await conversations.save(
            "t", "bob", [said("mine now", 1), said("Hi")], title="Bob's", metadata={"a": 2}, indexes=["i"]
        )
    assert await conversations.thread("t") == before
    assert texts(await conversations.messages("t")) == ["Hi"]
    assert await conversations.waiting("i") == 0
    assert "i" not in await conversations.indexes()


async def test_a_title_is_given_to_a_thread_that_has_none(conversations: Conversations) -> None:
    """The first title stays, until somebody gives the thread another one or takes it away."""
    await conversations.save("t", "ada", [said("1")])
    for number, title in enumerate(("First", "Second")):
        await conversations.save("t", "ada", [said(str(number), number)], title=title)
    thread = await conversations.thread("t")
    assert thread is not None
    assert thread.title == "First"
    await conversations.update_thread("t", "ada", title=None)
    await conversations.save("t", "ada", [said("3", 3)], title="Third")
    thread = await conversations.thread("t")
    assert thread is not None
    assert thread.title == "Third"


async def test_metadata_is_laid_over_what_the_thread_has(conversations: Conversations) -> None:
    """What is given replaces values of the same name, and the others stay."""
    await conversations.save("t", "ada", [said("1")], metadata={"a": 1, "b": {"x": 1}})
    await conversations.save("t", "ada", [said("2", 1)])
    await conversations.save("t", "ada", [said("3", 2)], metadata={"b": {"y": 2}, "c": None})
    thread = await conversations.thread("t")
    assert thread is not None
    assert thread.metadata == {"a": 1, "b": {"y": 2}, "c": None}


async def test_metadata_is_the_stores_own(conversations: Conversations) -> None:
    """Changing the mapping that was given changes nothing in the store."""
    given: dict[str, Any] = {"a": 1}
    await conversations.save("t", "ada", [said("1")], metadata=given)
    given["a"] = 2
    thread = await conversations.thread("t")
    assert thread is not None
    assert thread.metadata == {"a": 1}
    await conversations.update_thread("t", "ada", metadata=given)
    given["a"] = 3
    thread = await conversations.thread("t")
    assert thread is not None
    assert thread.metadata == {"a": 2}


async def test_many_save_at_once(conversations: Conversations) -> None:
    """Twenty that save in one thread at the same time lose nothing, double nothing, and lay their metadata over."""

    async def one(number: int) -> None:
        messages = [said(f"{number}.{part}", number) for part in range(3)]
        await conversations.save("t", "ada", messages, metadata={str(number): number}, indexes=["i"])

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    found = texts(await conversations.messages("t"))
    assert found == [f"{number}.{part}" for number in range(20) for part in range(3)]
    assert await conversations.waiting("i") == 60
    thread = await conversations.thread("t")
    assert thread is not None
    assert thread.metadata == {str(number): number for number in range(20)}


async def test_messages_are_deleted(conversations: Conversations) -> None:
    """Those that are there are deleted, counted once each, with what is noted of them; the thread stays."""
    await conversations.save("t", "ada", [said("a"), said("b", 1), said("c", 2)], indexes=["i", "j"])
    assert await conversations.delete_messages("t", "ada", ["a", "c", "a", "no"]) == 2
    assert texts(await conversations.messages("t")) == ["b"]
    assert [await conversations.waiting(index) for index in "ij"] == [1, 1]
    assert await conversations.delete_messages("t", "ada", ["a"]) == 0
    assert await conversations.delete_messages("t", "ada", []) == 0
    assert await conversations.delete_messages("t", "bob", ["b"]) == 0
    assert await conversations.delete_messages("nowhere", "ada", ["b"]) == 0
    assert await conversations.delete_messages("t", "ada", ["b"]) == 1
    assert await conversations.thread("t") is not None
    assert await conversations.messages("t") == []


async def test_very_many_messages_are_deleted_at_once(conversations: Conversations) -> None:
    """However many ids are given, and however many messages saved, it is one call."""
    await conversations.save("t", "ada", [said(str(number), number) for number in range(2_000)])
    assert await conversations.delete_messages("t", "ada", [str(number) for number in range(1, 40_000)]) == 1_999
    assert texts(await conversations.messages("t")) == ["0"]


async def test_a_thread_is_deleted_with_all_that_belongs_to_it(conversations: Conversations) -> None:
    """Its messages, its notes and what is noted for indexes go; the resource's own notes and other threads stay."""
    own = NoteKey(kind="working-memory", resource_id="ada", thread_id="t")
    other = own.replace(thread_id="u")
    of_all = own.replace(thread_id=None)
    for thread_id in "tu":
        await conversations.save(thread_id, "ada", [said("Hi", id="m")], indexes=["i"])
    for key in (own, other, of_all):
        await conversations.put_note(key, "text", version=0)
    assert not await conversations.delete_thread("t", "bob")
    assert await conversations.note(own) is not None
    assert await conversations.delete_thread("t", "ada")
    assert await conversations.thread("t") is None
    assert await conversations.messages("t") == []
    assert await conversations.waiting("i") == 1
    assert [await conversations.note(key) is None for key in (own, other, of_all)] == [True, False, False]
    assert not await conversations.delete_thread("t", "ada")
    assert [thread.id for thread in (await conversations.threads("ada")).threads] == ["u"]
    await conversations.save("t", "bob", [said("mine", id="m")])  # the id is free again
    assert texts(await conversations.messages("t")) == ["mine"]


async def test_notes_of_a_thread_that_was_never_saved_go_with_it(conversations: Conversations) -> None:
    """What was written down for a thread before its first message is deleted by its name."""
    key = NoteKey(kind="working-memory", resource_id="ada", thread_id="t")
    await conversations.put_note(key, "text", version=0)
    assert not await conversations.delete_thread("t", "ada")
    assert await conversations.note(key) is None


async def test_a_resource_is_deleted_with_all_that_belongs_to_it(conversations: Conversations) -> None:
    """All threads, messages, notes and what is noted of a resource go, and nobody else's."""
    for resource_id in ("ada", "bob"):
        for number in range(3):
            await conversations.save(f"{resource_id}{number}", resource_id, [said("Hi", id="m")], indexes=["i"])
        for thread_id in (None, f"{resource_id}0", "never"):
            key = NoteKey(kind="k", resource_id=resource_id, thread_id=thread_id)
            await conversations.put_note(key, "text", version=0)
    assert await conversations.delete_resource("ada") == 3
    assert (await conversations.threads("ada")).threads == ()
    assert len((await conversations.threads("bob")).threads) == 3
    assert await conversations.messages("ada0") == []
    assert texts(await conversations.messages("bob0")) == ["Hi"]
    assert await conversations.waiting("i") == 3
    for resource_id in ("ada", "bob"):
        for thread_id in (None, f"{resource_id}0", "never"):
            note = await conversations.note(NoteKey(kind="k", resource_id=resource_id, thread_id=thread_id))
            assert (note is None) == (resource_id == "ada")
    assert await conversations.delete_resource("ada") == 0
    assert await conversations.delete_resource("nobody") == 0
