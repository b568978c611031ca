"""What was saved is embedded in the end, whatever fails meanwhile, and one message that fails holds up no other."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.processors.recall_kit import WORDS_INDEX as INDEX
from tests.processors.recall_kit import Failing, Watched, Words, found, indexer, said, saved

from procession.errors import InputError, ModelError
from procession.messages.message import Message
from procession.models.embedder import Embeddings
from procession.processors.memory.recalled.turn import BATCH, turn_of
from procession.storage.memory import InMemoryStore


async def test_a_failing_embedder_loses_nothing() -> None:
    """What could not be embedded waits, is left alone for growing pauses, and is embedded once that works again."""
    clock = [1000.0]
    store, failing = InMemoryStore(), Failing()
    await saved(store, *said("my cat"))
    work = indexer(store, failing, clock=lambda: clock[0])
    with capture_logs() as logs:
        turn = turn_of(store, INDEX)
        pauses: list[float] = []
        for calls in range(1, 12):
            await work.work(INDEX)
            await work.work(INDEX)  # in its pause it is not asked
            assert failing.calls == calls
            pauses.append(turn.rests_until - clock[0])
            clock[0] = turn.rests_until
        assert await store.waiting(INDEX) == 1
        failing.error = None
        await work.work(INDEX)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert await found(store, "cat") == ["u1"]
    assert [(entry["event"], entry.get("error")) for entry in logs] == [
        ("messages could not be embedded, and are tried again; drain() raises why", "ModelError"), ("messages are embedded again", None)
    ]  # fmt: skip
    assert "secret" not in str(logs)


class Picky(Words):
    """An embedder that refuses one text."""

    error: Exception = ModelError("refused", status_code=400)

    async def embed(self, texts: Any) -> Embeddings:
        """Return the vectors, or refuse them all."""
        if any("dog" in text for text in texts):
            raise self.error
        return await super().embed(texts)


async def test_one_refused_text_does_not_hold_up_the_others() -> None:
    """A text that the embedder refuses stays for later, and all others are embedded."""
    clock = [0.0]
    store, picky = InMemoryStore(clock=lambda: clock[0]), Picky()
    await saved(store, *said("my cat", "a dog", "a cat"))
    await indexer(store, picky, clock=lambda: clock[0]).work(INDEX)
    assert await found(store, "cat") == ["u1", "u2"]
    assert await store.waiting(INDEX) == 1
    clock[0] += 1000  # its time is over, and the embedder takes it now
    await indexer(store, clock=lambda: clock[0]).work(INDEX)
    assert await found(store, "dog") == ["a1"]


class Choking(Words):
    """An embedder that fails at one text as it does where it is down."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.sizes: list[int] = []

    async def embed(self, texts: Any) -> Embeddings:
        """Return the vectors, or fail."""
        self.sizes.append(len(texts))
        if any("dog" in text for text in texts):
            raise self.error
        return await super().embed(texts)


@pytest.mark.parametrize("error", [ModelError("broken", status_code=500), ValueError("a bug"), TimeoutError()])
@pytest.mark.parametrize("place", [0, 20, 39])
async def test_a_message_that_always_fails_holds_up_no_other(error: Exception, place: int) -> None:
    """Where the embedder breaks at one message that is found out, by trying fewer at a time, and all others are embedded."""
    clock = [0.0]
    store, choking = InMemoryStore(clock=lambda: clock[0]), Choking(error)
    await saved(store, *said(*["a dog" if at == place else "cat" for at in range(40)]))
    work = indexer(store, choking, clock=lambda: clock[0])
    turn = turn_of(store, INDEX)
    tries = 0
    while await store.waiting(INDEX) > 1:
        await work.work(INDEX)
        clock[0] = max(turn.rests_until, clock[0])
        tries += 1
        assert tries < 10
    for number in range(3):  # and from then on nobody waits for it
        clock[0] += 1000
        await saved(store, Message("user", "the sun", id=f"new{number}"))
        await work.work(INDEX)
        assert await store.waiting(INDEX) == 1
        assert turn.pause == 0
    assert choking.sizes[-2:] == [1, 1]
    clock[0] += 1000
    await indexer(store, clock=lambda: clock[0]).work(INDEX)  # once it works it is embedded as well
    assert await found(store, "dog") == [said(*["a dog"] * 40)[place].id]


async def test_many_that_are_refused_hold_up_no_other() -> None:
    """However many texts the embedder refuses, each is asked about ever more seldom, and what is new is embedded at once."""
    clock = [0.0]
    store = InMemoryStore(clock=lambda: clock[0])
    asked: list[float] = []

    class Counting(Picky):
        async def embed(self, texts: Any) -> Embeddings:
            clock[0] += 1  # a second each
            asked.append(clock[0])
            return await super().embed(texts)

    picky = Counting()
    await saved(store, *said(*["a dog"] * 100))
    work = indexer(store, picky, clock=lambda: clock[0])
    for number in range(20):
        clock[0] += 100
        await saved(store, Message("user", "cat", id=f"new{number}"))
        await work.work(INDEX)
        assert await store.waiting(INDEX) == 100
    assert len(asked) < 100 * 8
    clock[0] += 7 * 3600
    await indexer(store, clock=lambda: clock[0]).work(INDEX)  # the embedder takes them now
    assert await store.waiting(INDEX) == 0


async def test_all_who_fail_are_tried_in_turns() -> None:
    """Where nothing waits but messages that failed by themselves each is tried, and the sound ones are embedded."""
    clock = [0.0]
    store, failing = InMemoryStore(clock=lambda: clock[0]), Failing()
    work = indexer(store, failing, clock=lambda: clock[0])
    turn = turn_of(store, INDEX)
    await saved(store, *said("a dog", "my cat", "a cat"))
    for _ in range(20):  # the embedder is down so long that each of them is under suspicion
        await work.work(INDEX)
        clock[0] = turn.rests_until
    work = indexer(store, Choking(ModelError("broken")), clock=lambda: clock[0])
    for _ in range(3):
        await work.work(INDEX)
        clock[0] += 1000
    assert await found(store, "cat") == ["a1", "u2"]


async def test_drain_embeds_all_others_before_it_says_what_was_refused() -> None:
    """One text that the embedder refuses keeps no other from being embedded by ``drain()``, which tells of it each time."""
    store, picky = InMemoryStore(), Picky()
    await saved(store, *said("a dog", *["cat"] * 80))
    for _ in range(2):
        with pytest.raises(ModelError, match="refused"):
            await indexer(store, picky).drain(INDEX)
        assert await store.waiting(INDEX) == 1


async def test_who_has_little_time_makes_headway() -> None:
    """Work that is broken off again and again, because the embedder is slow, embeds fewer at a time, and comes to an end."""
    store = InMemoryStore()
    await saved(store, *said(*["cat"] * 32))
    tries = 0
    while await store.waiting(INDEX):
        tries += 1
        assert tries < 40
        with anyio.CancelScope() as scope:

            class Slow(Words):
                left = 2

                async def embed(self, texts: Any) -> Embeddings:
                    self.left -= len(texts)
                    if self.left < 0:
                        scope.cancel()
                        await anyio.sleep_forever()
                    return await super().embed(texts)

            await indexer(store, Slow()).work(INDEX)


async def test_a_store_that_passes_over_some_is_asked_for_more() -> None:
    """A turn of which the store could read but a part is not the last one: all that can be taken is embedded."""

    class PassingOver(InMemoryStore):
        async def take(self, index: str, *, limit: int, seconds: float) -> Any:
            return (await super().take(index, limit=limit, seconds=seconds))[:-1]

    store = PassingOver()
    await saved(store, *said(*["cat"] * (2 * BATCH)))
    await indexer(store).work(INDEX)
    assert await store.waiting(INDEX) == 2


async def test_a_text_without_a_word_is_done_with() -> None:
    """A text of which the embedder says that it has no direction is not asked about again."""
    store, picky = InMemoryStore(), Picky()
    picky.error = InputError("no word")
    await saved(store, *said("my cat", "a dog"))
    await indexer(store, picky).work(INDEX)
    assert await found(store, "cat") == ["u1"]
    assert await store.waiting(INDEX) == 0


async def test_drain_says_what_fails() -> None:
    """Who waits for all of it is told why it does not come, and the messages wait on."""
    store, failing = InMemoryStore(), Failing()
    await saved(store, *said("my cat"))
    with pytest.raises(ModelError):
        await indexer(store, failing).drain(INDEX)
    failing.error = None
    await indexer(store, failing).drain(INDEX)
    assert await found(store, "cat") == ["u1"]


async def test_a_slow_embedder_is_cut_off() -> None:
    """A call that takes longer than it may is a failure like any other: what it had stays."""

    class Slow(Words):
        async def embed(self, texts: Any) -> Embeddings:
            await anyio.sleep_forever()
            raise AssertionError

    store = InMemoryStore()
    await saved(store, *said("my cat"))
    await indexer(store, Slow(), timeout=0.01).work(INDEX)
    assert await store.waiting(INDEX) == 1
    await indexer(store).drain(INDEX)
    assert await found(store, "cat") == ["u1"]


async def test_who_is_cancelled_gives_back_what_it_took() -> None:
    """Work that is broken off leaves nothing that others could not take at once."""
    began = anyio.Event()

    class Hanging(Words):
        async def embed(self, texts: Any) -> Embeddings:
            began.set()
            await anyio.sleep_forever()
            raise AssertionError

    store = InMemoryStore()
    await saved(store, *said("my cat"))
    async with anyio.create_task_group() as group:
        group.start_soon(indexer(store, Hanging()).work, INDEX)
        await began.wait()
        assert await store.take(INDEX, limit=10, seconds=60) == []
        group.cancel_scope.cancel()
    assert len(await store.take(INDEX, limit=10, seconds=60)) == 1


async def test_what_a_dead_process_took_is_taken_again() -> None:
    """What was taken by who never came back is embedded once its time is over."""
    clock = [0.0]
    store = InMemoryStore(clock=lambda: clock[0])
    await saved(store, *said("my cat"))
    assert len(await store.take(INDEX, limit=10, seconds=60)) == 1
    await indexer(store).work(INDEX)
    assert await store.waiting(INDEX) == 1
    clock[0] += 61
    await indexer(store).work(INDEX)
    assert await found(store, "cat") == ["u1"]


async def test_a_store_that_fails_is_waited_for() -> None:
    """Where the vectors cannot be kept the messages wait, and whoever saves is not told."""

    class Broken(Watched):
        is_broken = True

        async def put_vectors(self, index: str, items: Any) -> None:
            if self.is_broken:
                raise OSError("disk of secrets")
            await super().put_vectors(index, items)

    store = Broken()
    await saved(store, *said("my cat"))
    with capture_logs() as logs:
        await indexer(store).work(INDEX)
    assert "secrets" not in str(logs)
    assert await store.waiting(INDEX) == 1
    store.is_broken = False
    await indexer(store).drain(INDEX)
    assert await found(store, "cat") == ["u1"]
