"""What every store of vectors keeps to, whatever it is made of."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.storage.vector_stores import KINDS, ids, item, made

from procession.errors import InputError, StoreError
from procession.storage.threads import MessageRef
from procession.storage.vectors import VectorStore

EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]
NORTH_EAST = [1.0, 1.0]


@pytest.fixture(params=KINDS)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[VectorStore]:
    """Yield an empty store."""
    async with made(request.param, tmp_path, monkeypatch, request.getfixturevalue) as each:
        yield each


async def test_the_most_alike_come_first_with_their_cosines(store: VectorStore) -> None:
    """``search`` returns messages by their cosine, whatever the lengths of the vectors."""
    assert isinstance(store, VectorStore)
    await store.put_vectors("i", [item("w", WEST), item("ne", [5, 5]), item("e", array("f", EAST)), item("n", NORTH)])
    hits = await store.search("i", [3.0, 0.0], top_k=10, resource_id="ada")
    assert ids(hits) == ["e", "ne", "n", "w"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0, -1], abs=1e-6)
    assert hits[0].ref == MessageRef("t", "e")


async def test_no_more_than_top_k(store: VectorStore) -> None:
    """``top_k`` bounds the messages that are returned."""
    await store.put_vectors("i", [item("e", EAST), item("ne", NORTH_EAST), item("n", NORTH)])
    assert ids(await store.search("i", EAST, top_k=2, resource_id="ada")) == ["e", "ne"]


async def test_a_message_is_replaced(store: VectorStore) -> None:
    """What is put takes the place of all that the index has of the same message, and of no other's."""
    await store.put_vectors("i", [item("m", EAST), item("m", NORTH_EAST, part=1), item("other", EAST)])
    assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) != []
    await store.put_vectors("i", [item("m", NORTH)])
    hits = await store.search("i", EAST, top_k=9, resource_id="ada")
    assert [(hit.message_id, round(hit.score, 6)) for hit in hits] == [("other", 1), ("m", 0)]
    await store.put_vectors("j", [item("m", WEST)])
    assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) == ["other", "m"]


async def test_the_same_id_in_another_thread_is_another_message(store: VectorStore) -> None:
    """Ids of messages are those of their thread."""
    await store.put_vectors("i", [item("m", EAST, thread_id="t1"), item("m", NORTH, thread_id="t2")])
    hits = await store.search("i", EAST, top_k=9, resource_id="ada")
    assert [hit.ref for hit in hits] == [MessageRef("t1", "m"), MessageRef("t2", "m")]


async def test_each_message_comes_once_with_its_best_piece(store: VectorStore) -> None:
    """A message in pieces takes one place, however many of them are alike."""
    pieces = [item("long", [1.0, at / 1000], part=at) for at in range(300)]
    await store.put_vectors("i", [*pieces, item("n", NORTH), item("ne", NORTH_EAST)])
    hits = await store.search("i", EAST, top_k=3, resource_id="ada")
    assert ids(hits) == ["long", "ne", "n"]
    assert hits[0].score == pytest.approx(1, abs=1e-6)


async def test_nothing_below_the_threshold(store: VectorStore) -> None:
    """``threshold`` is the least score, and one that is met is enough."""
    await store.put_vectors("i", [item("e", [0.3, 0.7]), item("ne", NORTH_EAST), item("n", NORTH)])
    assert ids(await store.search("i", [0.3, 0.7], top_k=9, resource_id="ada", threshold=1.0)) == ["e"]
    assert ids(await store.search("i", EAST, top_k=9, resource_id="ada", threshold=0.7)) == ["ne"]
    assert await store.search("i", WEST, top_k=9, resource_id="ada", threshold=0.1) == []
    same = [[1.0, at + 0.1, 0.7] for at in range(30)]
    await store.put_vectors("j", [item(f"m{at}", vector) for at, vector in enumerate(same)])
    found = [ids(await store.search("j", vector, top_k=1, resource_id="ada", threshold=1.0)) for vector in same]
    assert found == [[f"m{at}"] for at in range(30)]


async def test_facts_filter(store: VectorStore) -> None:
    """All the facts that are asked for must be true, as JSON compares them; no facts ask for nothing."""
    await store.put_vectors(
        "i",
        [
            item("a", EAST, facts={"role": "user", "n": 1, "ok": True}),
            item("b", EAST, facts={"role": "user", "n": 2.5, "ok": False}),
            item("c", EAST, facts={"role": "assistant", "n": 1.0}),
            item("d", EAST),
        ],
    )

    async def found(**facts: Any) -> set[str]:
        return set(ids(await store.search("i", EAST, top_k=9, resource_id="ada", facts=facts)))

    assert await found(role="user") == {"a", "b"}
    assert await found(role="user", n=1) == {"a"}
    assert await found(n=1) == {"a", "c"}
    assert await found(n=2.5) == {"b"}
    assert await found(ok=True) == {"a"}
    assert await found(ok=1) == set()
    assert await found(role="o'brien") == await found(colour="red") == set()
    assert await found() == {"a", "b", "c", "d"}


async def test_top_k_is_filled_behind_what_the_facts_leave_out(store: VectorStore) -> None:
    """A filter is part of the search: what it leaves out takes no places."""
    nearer = [item(f"a{at}", EAST, facts={"role": "assistant"}) for at in range(200)]
    wanted = [item(f"u{at}", [1.0, 0.1 + at / 100], facts={"role": "user"}) for at in range(3)]
    await store.put_vectors("i", [*nearer, *wanted])
    hits = await store.search("i", EAST, top_k=3, resource_id="ada", facts={"role": "user"})
    assert ids(hits) == ["u0", "u1", "u2"]


async def test_what_is_left_out_takes_no_places(store: VectorStore) -> None:
    """Messages ``without`` are never found, and others come in their places."""
    await store.put_vectors("i", [item(f"m{at}", [1.0, at / 100]) for at in range(300)])
    without = [MessageRef("t", f"m{at}") for at in range(200)]
    assert ids(await store.search("i", EAST, top_k=2, resource_id="ada", without=without)) == ["m200", "m201"]
    assert ids(await store.search("i", EAST, top_k=1, resource_id="ada", without=[MessageRef("u", "m0")])) == ["m0"]


async def test_other_resources_take_no_places(store: VectorStore) -> None:
    """MEM-001: a search has hits of its own resource only, and other resources' nearer messages take none of its places."""
    await store.put_vectors("i", [item(f"u1-{at}", EAST, thread_id="t1", resource_id="u1") for at in range(300)])
    own = [item(f"u2-{at}", [0.1, 1.0 + at], thread_id="t2", resource_id="u2") for at in range(3)]
    await store.put_vectors("i", own)
    assert ids(await store.search("i", EAST, top_k=3, resource_id="u2")) == ["u2-0", "u2-1", "u2-2"]
    assert await store.search("i", EAST, top_k=3, resource_id="u2", thread_id="t1") == []
    assert await store.search("i", EAST, top_k=3, resource_id="u3") == []
    assert await store.search("i", EAST, top_k=3, resource_id="*") == []
    assert await store.search("i", EAST, top_k=3, resource_id="") == []


async def test_every_resource_where_that_is_asked_for(store: VectorStore) -> None:
    """``resource_id=None`` seeks among all of them (D35)."""
    await store.put_vectors("i", [item("a", EAST, thread_id="t1", resource_id="u1")])
    await store.put_vectors("i", [item("b", NORTH_EAST, thread_id="t2", resource_id="u2")])
    assert ids(await store.search("i", EAST, top_k=3, resource_id=None)) == ["a", "b"]
    assert ids(await store.search("i", EAST, top_k=3, resource_id=None, thread_id="t2")) == ["b"]


async def test_one_thread_only(store: VectorStore) -> None:
    """``thread_id`` is part of the search: other threads take no places."""
    await store.put_vectors("i", [item(f"m{at}", EAST, thread_id="t1") for at in range(200)])
    await store.put_vectors("i", [item(f"n{at}", [1.0, 1.0 + at], thread_id="t2") for at in range(2)])
    assert ids(await store.search("i", EAST, top_k=5, resource_id="ada", thread_id="t2")) == ["n0", "n1"]
    assert await store.search("i", EAST, top_k=5, resource_id="ada", thread_id="t3") == []


async def test_an_index_that_does_not_exist_has_nothing(store: VectorStore) -> None:
    """Seeking in, and deleting, what was never put is no error."""
    assert await store.search("i", EAST, top_k=5, resource_id="ada") == []
    assert await store.search("i", EAST, top_k=5, resource_id=None, thread_id="t") == []
    assert await store.delete_vectors(index="i") == 0
    await store.put_vectors("i", [])
    assert await store.search("i", [1.0, 2.0, 3.0], top_k=5, resource_id="ada") == []


async def test_vectors_of_another_length_are_refused(store: VectorStore) -> None:
    """An index has vectors of one length: others are refused by a message with both lengths, and nothing is written."""
    await store.put_vectors("i", [item("a", EAST)])
    with pytest.raises(StoreError, match="'i' has vectors of 2 numbers, and this one has 3") as failure:
        await store.put_vectors("i", [item("a", [1.0, 0.0, 0.0])])
    assert failure.value.hint is not None
    with pytest.raises(StoreError, match="'i' has vectors of 2 numbers, and this one has 1"):
        await store.put_vectors("i", [item("b", EAST), item("c", [1.0])])
    with pytest.raises(StoreError, match="'j' has vectors of 2 numbers, and this one has 1"):
        await store.put_vectors("j", [item("b", EAST), item("c", [1.0])])
    for resource_id in ("ada", "bob", None):
        with pytest.raises(StoreError, match="'i' has vectors of 2 numbers, and this one has 4"):
            await store.search("i", [1.0, 0.0, 0.0, 0.0], top_k=1, resource_id=resource_id)
    assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) == ["a"]
    await store.put_vectors("other", [item("a", [1.0, 0.0, 0.0])])
    assert ids(await store.search("other", [1.0, 0.0, 0.0], top_k=9, resource_id="ada")) == ["a"]


async def test_an_index_that_is_empty_again_takes_any_length(store: VectorStore) -> None:
    """Once everything is deleted another embedder may begin."""
    await store.put_vectors("i", [item("a", EAST)])
    assert ids(await store.search("i", EAST, top_k=9, resource_id="ada")) == ["a"]
    assert await store.delete_vectors(index="i") == 1
    await store.put_vectors("i", [item("a", [1.0, 0.0, 0.0])])
    assert ids(await store.search("i", [1.0, 0.0, 0.0], top_k=9, resource_id="ada")) == ["a"]


@pytest.mark.parametrize(
    "vector",
    [[], [0.0, 0.0], [float("nan"), 1.0], [1.0, float("inf")], [-float("inf"), float("inf")], [[1.0], [2.0]], ["a"]],
    ids=str,
)
async def test_a_vector_without_a_direction_is_refused(store: VectorStore, vector: Any) -> None:
    """Zeros, numbers that are not finite and what is no vector are refused by an error that names the message."""
    await store.put_vectors("i", [item("a", EAST)])
    with pytest.raises(InputError, match="the vector of message 'bad one'"):
        await store.put_vectors("i", [item("a", NORTH), item("bad one", vector)])
    with pytest.raises(InputError, match="what is sought"):
        await store.search("i", vector, top_k=1, resource_id="ada")
    hits = await store.search("i", EAST, top_k=9, resource_id="ada")
    assert [(hit.message_id, round(hit.score, 6)) for hit in hits] == [("a", 1)]


async def test_very_large_and_very_small_numbers_have_a_direction(store: VectorStore) -> None:
    """Only the direction counts, also where a square would be too large for a number, or too small."""
    await store.put_vectors("i", [item("large", [1e300, 1e300]), item("small", [1e-300, -1e-300])])
    hits = await store.search("i", [1e-200, 1e-200], top_k=9, resource_id="ada")
    assert [(hit.message_id, round(hit.score, 6)) for hit in hits] == [("large", 1), ("small", 0)]


async def test_top_k_below_one_is_refused(store: VectorStore) -> None:
    """``top_k`` is at least 1."""
    with pytest.raises(InputError, match="top_k is 0"):
        await store.search("i", EAST, top_k=0, resource_id="ada")


async def stocked(store: VectorStore) -> None:
    """Put vectors of two resources into two indexes."""
    for index in ("i", "j"):
        await store.put_vectors(
            index,
            [
                item("a1", EAST, thread_id="a"),
                item("a2", EAST, thread_id="a"),
                item("a2", NORTH, thread_id="a", part=1),
                item("b1", EAST, thread_id="b"),
                item("c1", EAST, thread_id="c", resource_id="bob"),
            ],
        )


async def left(store: VectorStore) -> dict[str, set[str]]:
    """Return what each index has."""
    return {index: set(ids(await store.search(index, EAST, top_k=99, resource_id=None))) for index in ("i", "j")}


ALL = {"a1", "a2", "b1", "c1"}
DELETIONS: list[tuple[dict[str, Any], int, set[str], set[str]]] = [
    ({"resource_id": "ada"}, 8, {"c1"}, {"c1"}),
    ({"resource_id": "ada", "index": "i"}, 4, {"c1"}, ALL),
    ({"thread_id": "a"}, 6, {"b1", "c1"}, {"b1", "c1"}),
    ({"thread_id": "a", "resource_id": "bob"}, 0, ALL, ALL),
    ({"thread_id": "a", "message_ids": ["a2", "b1", "x"]}, 4, {"a1", "b1", "c1"}, {"a1", "b1", "c1"}),
    ({"thread_id": "a", "message_ids": ["a2"], "index": "j"}, 2, ALL, {"a1", "b1", "c1"}),
    ({"thread_id": "a", "message_ids": []}, 0, ALL, ALL),
    ({"index": "j"}, 5, ALL, set()),
]


@pytest.mark.parametrize(("what", "count", "i", "j"), DELETIONS, ids=str)
async def test_deleting(store: VectorStore, what: dict[str, Any], count: int, i: set[str], j: set[str]) -> None:
    """``delete_vectors`` deletes that of which all is true, also what a search has just seen, and says how many."""
    await stocked(store)
    assert await left(store) == {"i": {"a1", "a2", "b1", "c1"}, "j": {"a1", "a2", "b1", "c1"}}
    assert await store.delete_vectors(**what) == count
    assert await left(store) == {"i": i, "j": j}
    found = await store.search("i", EAST, top_k=99, resource_id="ada")
    assert set(ids(found)) == i - {"c1"}
    assert await store.delete_vectors(**what) == 0


@pytest.mark.parametrize("what", [{}, {"message_ids": ["m"]}, {"message_ids": ["m"], "resource_id": "ada"}], ids=str)
async def test_deleting_without_saying_what_is_refused(store: VectorStore, what: dict[str, Any]) -> None:
    """One has to say what is to be deleted, and of which thread messages are."""
    await stocked(store)
    with pytest.raises(InputError):
        await store.delete_vectors(**what)
    assert (await left(store))["i"] == {"a1", "a2", "b1", "c1"}


async def test_names_are_taken_by_the_letter(store: VectorStore) -> None:
    """Names may have any signs, and mean nothing but themselves."""
    for name in ("*", "=", "%", "a'b", 'a"b', "\\", "ß", "; DROP TABLE x", "very " * 50):
        await store.put_vectors(name, [item(name, EAST, thread_id=name, resource_id=name, facts={name: name})])
        assert ids(await store.search(name, EAST, top_k=9, resource_id=name, facts={name: name})) == [name]
        assert ids(await store.search(name, EAST, top_k=9, resource_id=name, thread_id=name)) == [name]
    assert await store.delete_vectors(resource_id="%") == 1
    assert ids(await store.search("*", EAST, top_k=9, resource_id=None)) == ["*"]
