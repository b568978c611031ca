"""Runs as a whole in a journal: found, listed on pages, deleted, and the graphs beside them; one suite for every store."""

from __future__ import annotations

from typing import Any

import pytest
from tests.storage.journals import RUN, Clock, entry

from procession.errors import RunNotFound
from procession.storage.base import JournalStore, RunRow
from procession.storage.memory import InMemoryJournal


async def test_a_run_that_is_held_is_not_deleted(store: JournalStore, clock: Clock) -> None:
    """A run goes with its rows, once nobody holds it, and its id may be used again."""
    await store.save_graph("g", "{}")
    await store.add(RUN.replace(graph_hash="g"), token="me", seconds=30)
    await store.add(RUN.replace(run_id="other"), token="me", seconds=30)
    await store.write("r", "me", [entry(0), entry(1)])
    await store.write("other", "me", [entry(0)])
    assert not await store.delete("r")
    clock.now += 30
    assert await store.delete("r")
    assert await store.row("r") is None
    assert not await store.write("r", "me", [entry(2)])
    assert await store.add(RUN)
    assert await store.entries("r") == []
    assert not await store.write("r", "me", [entry(2)])
    assert await store.entries("other") == [entry(0)]
    assert await store.graph("g") == "{}"


async def test_graphs_are_kept_by_hash(store: JournalStore) -> None:
    """A workflow as data is found by its hash, and may be saved again."""
    assert await store.graph("h") is None
    await store.save_graph("h", '{"nodes":[]}')
    await store.save_graph("h", '{"nodes":[]}')
    await store.save_graph("i", "{}")
    assert await store.graph("h") == '{"nodes":[]}'


async def test_runs_are_listed_the_newest_first(store: JournalStore, clock: Clock) -> None:
    """Runs come without their content, those of one moment in the order in which they were added."""
    for number in range(4):
        await store.add(RUN.replace(run_id=str(number)), token="me" if number == 1 else None, seconds=30)
        clock.now += number % 2
    found = await store.runs()
    assert [row.run_id for row in found] == ["3", "2", "1", "0"]
    assert [row.claimed for row in found] == [False, False, True, False]
    assert {row.data for row in found} == {None}
    assert found[0] == (await store.row("3") or RUN).replace(data=None)


async def test_runs_come_in_pages(store: JournalStore, clock: Clock) -> None:
    """A page begins behind the last run of the one before, also where runs are added, and deleted, meanwhile."""
    for number in range(7):
        await store.add(RUN.replace(run_id=str(number), owner="ab"[number % 2]))
        clock.now += number % 3 == 0
    pages: list[list[str]] = []
    after: str | None = None
    while page := await store.runs(limit=3, after=after):
        pages.append([row.run_id for row in page])
        after = page[-1].run_id
        await store.add(RUN.replace(run_id=f"new {after}"))
        await store.delete(page[0].run_id) if len(page) > 1 else None
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    assert [row.run_id for row in await store.runs(owner="b", after="5", limit=9)] == ["1"]
    assert await store.runs(limit=0) == []
    with pytest.raises(RunNotFound, match="'6'"):
        await store.runs(after="6")


async def test_runs_are_found_by_what_they_are(store: JournalStore, clock: Clock) -> None:
    """Each filter holds, and those that are given hold together (D35)."""
    rows = [
        RUN.replace(run_id="0", owner="a", kind="agent", status="suspended", resource_id="u1"),
        RUN.replace(run_id="1", owner="a", kind="workflow", status="running", resource_id="u2"),
        RUN.replace(run_id="2", owner="b", kind="workflow", status="success", resource_id="u1", parent_run_id="1"),
        RUN.replace(run_id="3", owner="b", kind="workflow", status="failed"),
    ]
    for row in rows:
        await store.add(row)
        clock.now += 10

    async def ids(**wanted: Any) -> str:
        return "".join([row.run_id for row in await store.runs(**wanted)])

    assert await ids() == "3210"
    assert await ids(owner="a") == "10"
    assert await ids(kind="workflow") == "321"
    assert await ids(status=["suspended", "failed"]) == "30"
    assert await ids(status={"running"}) == "1"
    assert await ids(status=[]) == ""
    assert await ids(resource_id="u1") == "20"
    assert await ids(resource_id="") == ""
    assert await ids(parent_run_id="1") == "2"
    assert await ids(since=110.0) == "321"
    assert await ids(until=120.0) == "10"
    assert await ids(since=110.0, until=130.0, owner="b") == "2"
    assert await ids(owner="a", resource_id="u1", status=["suspended"]) == "0"


async def test_memory_forgets_old_ends() -> None:
    """A journal in memory keeps no more than a thousand runs that have ended, and their rows."""
    store = InMemoryJournal()
    for number in range(1001):
        run_id = str(number)
        await store.add(RUN.replace(run_id=run_id, kind="workflow" if number % 2 else "agent"), token="me", seconds=30)
        await store.write(run_id, "me", [entry(0)], status="success")
    assert await store.row("0") is None
    assert await store.entries("0") == []
    assert await store.row("1") is not None
    assert await store.entries("1") == [entry(0)]
    assert len(await store.runs(limit=2000)) == 1000


async def test_runs_are_listed_by_thread(store: JournalStore) -> None:
    """The thread of a run is kept, and runs are found by it, of one resource or of all."""
    await store.add(RUN.replace(run_id="1", resource_id="ada", thread_id="t"))
    await store.add(RUN.replace(run_id="2", resource_id="ada", thread_id="u"), token="me", seconds=30)
    await store.add(RUN.replace(run_id="3", resource_id="bob", thread_id="t"))
    await store.add(RUN.replace(run_id="4", resource_id="ada"))
    assert [row.run_id for row in await store.runs(thread_id="t")] == ["3", "1"]
    assert [row.run_id for row in await store.runs(thread_id="t", resource_id="ada")] == ["1"]
    assert [(row.run_id, row.thread_id) for row in await store.runs(resource_id="ada")] == [
        ("4", None),
        ("2", "u"),
        ("1", "t"),
    ]
    assert (await _row(store, "2")).thread_id == "u"
    taken = await store.claim("1", "me", 30)
    assert taken is not None and (taken.thread_id, taken.data) == ("t", RUN.data)


async def _row(store: JournalStore, run_id: str) -> RunRow:
    row = await store.row(run_id)
    assert row is not None
    return row
