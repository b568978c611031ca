"""Whatever is put, deleted and sought, a search finds what comparing each vector with each would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.vector_stores import KINDS, Oracle, ids, item, made

from procession.storage.threads import MessageRef
from procession.storage.vector_rows import RowsView, SearchFor
from procession.storage.vectors import Facts, VectorHit, VectorItem, VectorStore

INDEXES = st.sampled_from(["i", "j"])
THREADS = st.sampled_from(["t1", "t2", "t3"])
OWNERS = {"t1": "ada", "t2": "ada", "t3": "bob"}
"""A thread belongs to one resource."""
MESSAGES = st.sampled_from(["m1", "m2", "m3", "m4"])
RESOURCES = st.sampled_from(["ada", "bob", "nobody"])
VECTORS = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)
FACTS = st.none() | st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "tool"])}, optional={"n": st.integers(0, 1)}
)

PUT = st.tuples(
    st.just("put"),
    INDEXES,
    st.lists(st.tuples(THREADS, MESSAGES, VECTORS, FACTS, st.integers(1, 2)), max_size=6),
)
DELETE = st.tuples(
    st.just("delete"),
    st.fixed_dictionaries({}, optional={"index": INDEXES, "resource_id": RESOURCES, "thread_id": THREADS}).filter(bool),
    st.none() | st.lists(MESSAGES, max_size=2),
)
SEARCH = st.tuples(
    st.just("search"),
    INDEXES,
    VECTORS,
    st.integers(1, 8),
    st.fixed_dictionaries(
        {
            "resource_id": st.none() | RESOURCES,
            "thread_id": st.none() | THREADS,
            "threshold": st.none() | st.sampled_from([-0.55, 0.05, 0.61, 0.999]),
            "facts": st.none() | st.sampled_from([{"role": "user"}, {"n": 1}, {"role": "tool", "n": 0}]),
            "without": st.lists(st.builds(MessageRef, THREADS, MESSAGES), max_size=3),
        }
    ),
)


def pieces(thread_id: str, message_id: str, vector: list[float], facts: Facts | None, parts: int) -> list[VectorItem]:
    """Return a message in so many pieces, which are different ones."""
    return [
        item(message_id, each, thread_id=thread_id, resource_id=OWNERS[thread_id], part=part, facts=facts)
        for part, each in enumerate([vector, vector[::-1]][:parts])
    ]


async def check(stores: list[VectorStore], steps: list[Any]) -> None:
    """Do the steps, by each store in turn, and hold each result against the oracle's."""
    oracle = Oracle()
    for number, (kind, *what) in enumerate(steps):
        store = stores[number % len(stores)]
        if kind == "put":
            index, given_items = what
            items = {
                (thread_id, message_id): pieces(thread_id, message_id, vector, facts, parts)
                for thread_id, message_id, vector, facts, parts in given_items
            }
            flat = [each for of in items.values() for each in of]
            await store.put_vectors(index, flat)
            oracle.put(index, flat)
        elif kind == "delete":
            wanted, message_ids = what
            if message_ids is not None and "thread_id" in wanted:
                wanted = {**wanted, "message_ids": message_ids}
            assert await store.delete_vectors(**wanted) == oracle.delete(**wanted)
        else:
            index, vector, top_k, scope = what
            hits = await store.search(index, vector, top_k=top_k, **scope)
            right = oracle.scores(index, vector, **scope)
            best = sorted(right.values(), reverse=True)[:top_k]
            assert [hit.score for hit in hits] == pytest.approx(best, abs=1e-5)
            assert len({hit.ref for hit in hits}) == len(hits)
            assert all(right[hit.ref] == pytest.approx(hit.score, abs=1e-5) for hit in hits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_finds_what_brute_force_finds(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Ties aside, hits and scores are those of an oracle, after any puts and deletions."""

    examples(kind, tmp_path, monkeypatch, 1, request.getfixturevalue)


def test_what_others_write_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Two stores on one file, each with a memory of its own, see at once what the other one puts and deletes."""
    monkeypatch.setattr("procession.storage.vector_rows._MOST_GONE", 1)
    examples("sqlite-cached", tmp_path, monkeypatch, 2, request.getfixturevalue)


def examples(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, fixture: Callable[[str], Any]
) -> None:
    """Hold so many stores, which are one, against the oracle: each example begins with nothing."""

    @given(steps=st.lists(PUT | DELETE | SEARCH | SEARCH, max_size=25))
    @settings(max_examples=40, deadline=None)
    def hold(steps: list[Any]) -> None:
        async def example() -> None:
            for index in ("i", "j"):
                await stores[0].delete_vectors(index=index)
            await check(stores, steps)

        portal.call(example)

    with start_blocking_portal() as portal, ExitStack() as stack:
        stores = [
            stack.enter_context(portal.wrap_async_context_manager(made(kind, folder, monkeypatch, fixture)))
            for _ in range(count)
        ]
        hold()


@pytest.mark.parametrize("kind", ["memory", "memory-plain", "sqlite"])
async def test_the_event_loop_compares_no_more_than_it_can_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes NumPy no time is compared on the event loop; where it is missing, or a file is read, that is done beside it."""
    threads: list[int] = []
    search = RowsView.search

    def noted(view: RowsView, sought: SearchFor) -> list[VectorHit]:
        threads.append(threading.get_ident())
        return search(view, sought)

    monkeypatch.setattr(RowsView, "search", noted)
    async with made(kind, tmp_path, monkeypatch, lambda name: name) as store:
        await store.put_vectors("i", [item(f"m{at}", [1.0] * 383 + [float(at)]) for at in range(200)])
        hits = await store.search("i", [0.0] * 383 + [1.0], top_k=1, resource_id="ada")
        few = await store.search("i", [1.0] * 384, top_k=1, resource_id="ada", thread_id="other")
    assert ids(hits) == ["m199"]
    assert few == []
    assert (threads[0] == threading.get_ident()) is (kind == "memory")
