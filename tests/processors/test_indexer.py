"""What was saved is embedded: all of it, once, whatever fails meanwhile."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.processors.recall_kit import WORDS_INDEX as INDEX
from tests.processors.recall_kit import Words, found, indexer, said, saved

from procession.messages.message import Message
from procession.messages.parts import ReasoningPart, StepStartPart, TextPart, ToolCallPart
from procession.models.embedder import Embeddings
from procession.processors.memory.recalled.text import PIECE, facts_of, pieces_of_message
from procession.storage.memory import InMemoryStore
from procession.storage.threads import MessageRef


async def test_what_waits_is_embedded() -> None:
    """After work everything that was noted has a vector, and nothing waits."""
    store = InMemoryStore()
    await saved(store, *said("my cat", "a dog", "the sun"))
    await indexer(store).work(INDEX)
    assert await found(store, "cat") == ["u1"]
    assert await found(store, "dog") == ["a1"]
    assert await store.waiting(INDEX) == 0


async def test_only_what_was_said_is_embedded() -> None:
    """Reasoning, calls and results of tools, signals and system messages are not."""
    store, words = InMemoryStore(), Words()
    call = ToolCallPart("c1", "lookup", {"q": "cat"}, "result", {"found": "cat"})
    answer = Message(
        "assistant", [ReasoningPart("cat?"), TextPart("Let me see."), call, StepStartPart(), TextPart("A dog.")]
    )
    await saved(
        store, answer, Message("signal", [TextPart("cat")]), Message("system", [TextPart("cat")]), Message("assistant", [call])
    )  # fmt: skip
    await indexer(store, words).work(INDEX)
    assert words.texts == ["Let me see.\nA dog."]
    assert await store.waiting(INDEX) == 0


async def test_facts_come_along() -> None:
    """A vector knows the role of its message, and the plain values of its metadata; the rest it does not."""
    store = InMemoryStore()
    told = {"language": "en", "tags": ["a"], "long": "x" * 1000, "role": "spy", "odd": float("nan")}
    await saved(store, said("my cat")[0].with_metadata(**told))
    await indexer(store).work(INDEX)
    assert await found(store, "cat", facts={"role": "user", "language": "en"}) == ["u1"]
    for name, value in (("tags", "a"), ("long", "x" * 1000), ("role", "spy")):
        assert await found(store, "cat", facts={name: value}) == []
    assert set(facts_of(said("")[0].with_metadata(**told))) == {"language", "role"}


@pytest.mark.parametrize(
    "odd",
    [{"n": 10**400}, {"n": -(2**63)}, {"n": "a\0b"}, {"n": "\ud800"}, {"a\0b": 1}, {"x" * 300: 1}, {"n": float("inf")}],
)
async def test_odd_metadata_stops_nothing(odd: Any) -> None:
    """Metadata that no database takes, such as a client may send, is no fact, and keeps no message from being embedded."""
    store = InMemoryStore()
    await saved(store, said("my cat")[0].with_metadata(**odd, language="en"))
    await indexer(store).drain(INDEX)
    assert await found(store, "cat", facts={"language": "en"}) == ["u1"]
    assert facts_of(said("")[0].with_metadata(**odd, language="en")) == {"language": "en", "role": "user"}


def test_facts_of_a_message_are_few() -> None:
    """A client that sends metadata without end has a few of them kept, and the role all the same."""
    assert len(facts_of(Message.user("").with_metadata(**{f"n{at}": at for at in range(1000)}))) == 65


async def test_a_long_text_is_found_by_any_of_its_pieces() -> None:
    """A text is cut where a sentence or a word ends, nothing of it is lost, and it is found once."""
    text = "A cat. " + "Nothing here. " * 400 + "The sun."
    pieces = pieces_of_message(Message.user(text))
    assert len(pieces) > 2
    assert all(len(piece) <= PIECE and piece.endswith(".") for piece in pieces)
    assert " ".join(pieces) == text
    store = InMemoryStore()
    await saved(store, Message("user", text, id="long"))
    await indexer(store).work(INDEX)
    assert await found(store, "cat") == ["long"]
    assert await found(store, "sun") == ["long"]


def test_texts_without_a_border_are_cut_all_the_same() -> None:
    """A text without blanks is cut by its length; half a surrogate pair does no harm; blanks are nothing."""
    assert [len(piece) for piece in pieces_of_message(Message.user("x" * (2 * PIECE + 1)))] == [PIECE, PIECE, 1]
    assert pieces_of_message(Message.user("a\ud800b")) == ["a?b"]
    assert pieces_of_message(Message.user(" \n ")) == []


async def test_what_was_changed_is_embedded_anew() -> None:
    """A message that is saved again is found by what it says now; one that says nothing any more is not found."""
    store = InMemoryStore()
    await saved(store, *said("my cat", "a dog"))
    await indexer(store).work(INDEX)
    mine, answer = said("the sun", "")
    await saved(store, mine, answer)
    await indexer(store).work(INDEX)
    assert await found(store, "cat") == []
    assert await found(store, "dog") == []
    assert await found(store, "sun") == ["u1"]


class Meddling(Words):
    """An embedder during whose work something happens."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self._act: Any = act

    async def embed(self, texts: Any) -> Embeddings:
        """Let it happen once, and return the vectors."""
        act, self._act = self._act, None
        if act is not None:
            await act()
        return await super().embed(texts)


async def test_what_is_deleted_meanwhile_leaves_no_vector() -> None:
    """A message that is deleted while it is embedded has no vector afterwards."""
    store = InMemoryStore()
    await saved(store, *said("my cat", "a cat"))

    async def delete() -> None:
        await store.delete_messages("t", "ada", ["u1"])

    await indexer(store, Meddling(delete)).work(INDEX)
    assert await found(store, "cat") == ["a1"]


async def test_what_is_changed_meanwhile_is_embedded_again() -> None:
    """A message that is saved anew while its old text is embedded has the vector of the new one in the end."""
    store = InMemoryStore()
    await saved(store, *said("my cat"))

    async def change() -> None:
        await saved(store, *said("my dog"))

    await indexer(store, Meddling(change)).work(INDEX)
    assert await store.waiting(INDEX) == 0
    assert await found(store, "cat") == []
    assert await found(store, "dog") == ["u1"]


async def test_one_at_a_time() -> None:
    """Many who embed at once ask for each text once, and two indexers of one store take turns."""
    store, words = InMemoryStore(), Words()
    at_once = 0

    class Counting(Words):
        async def embed(self, texts: Any) -> Embeddings:
            nonlocal at_once
            at_once += 1
            assert at_once == 1
            await anyio.lowlevel.checkpoint()
            at_once -= 1
            return await words.embed(texts)

    await saved(store, *(Message("user", f"cat {number}", id=str(number)) for number in range(100)))
    one, other = indexer(store, Counting()), indexer(store, Counting())
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(one.work, INDEX)
            group.start_soon(other.work, INDEX)
    assert sorted(words.texts) == sorted(f"cat {number}" for number in range(100))


async def test_who_need_not_wait_leaves_it_to_who_waits() -> None:
    """Of many pieces of background work one waits behind the one that works; what is saved meanwhile is embedded."""
    store = InMemoryStore()
    work = indexer(store)
    returned: list[int] = []

    async def impatient(number: int) -> None:
        await work.work(INDEX, patient=False)
        returned.append(number)

    async def more() -> None:
        for number in range(5):
            await saved(store, Message("user", "dog", id=f"d{number}"))
            group.start_soon(impatient, number)
        await anyio.wait_all_tasks_blocked()
        assert len(returned) == 4

    await saved(store, *said("my cat"))
    async with anyio.create_task_group() as group:
        await indexer(store, Meddling(more)).work(INDEX)
    assert len(returned) == 5
    assert len(await found(store, "dog")) == 5


async def test_whoever_saves_faster_than_is_embedded_waits() -> None:
    """Beyond a number of waiting messages it is embedded first; below it nobody asks the store."""
    store = InMemoryStore()
    work = indexer(store)
    await saved(store, *said(*["cat"] * 10))
    await work.catch_up(INDEX, 5, 10)
    assert await store.waiting(INDEX) == 10  # this process has saved nothing
    work.behind = 6
    await work.catch_up(INDEX, 5, 10)
    assert await store.waiting(INDEX) == 0
    assert work.behind == 0


async def test_refs_are_of_their_thread() -> None:
    """Messages of one id in two threads have a vector each, and the one that goes takes its own along."""
    store = InMemoryStore()
    await saved(store, Message("user", "cat", id="same"))
    await saved(store, Message("user", "cat", id="same"), thread="other")

    async def delete() -> None:
        await store.delete_thread("other", "ada")

    await indexer(store, Meddling(delete)).work(INDEX)
    [vector] = (await Words().embed(["cat"])).vectors
    hits = await store.search(INDEX, vector, top_k=10, resource_id="ada")
    assert [hit.ref for hit in hits] == [MessageRef("t", "same")]
