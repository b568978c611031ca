"""The journal of runs: one suite for every store."""

from __future__ import annotations

from typing import get_args

import anyio
import pytest
from tests.storage.journals import RUN, Clock, entry, known

from procession.errors import StoreError
from procession.storage.base import FINAL, JournalRow, JournalStore, RunRow, RunStatus

WAITS = ("suspended", RUN.data)


async def test_a_run_is_kept_until_it_is_asked_for(store: JournalStore, clock: Clock) -> None:
    """What was added is there whole, with the time that the store has set, and nothing else is."""
    row = RunRow(
        run_id="r",
        owner="flow",
        kind="workflow",
        status="pending",
        data='{"input":"ü"}',
        graph_hash="abc",
        parent_run_id="p",
        forked_at="a/b[2]",
        resource_id="user-1",
    )
    assert await store.row("r") is None
    assert await store.add(row.replace(created_at=1.0, updated_at=2.0, claimed=True, cancel_requested=True))
    assert await store.row("r") == row.replace(created_at=100.0, updated_at=100.0)
    assert await store.row("other") is None


async def test_a_run_id_is_used_once(store: JournalStore) -> None:
    """A second run of the same id is not written over the first one."""
    assert await store.add(RUN)
    assert not await store.add(RUN.replace(data="other"), token="me", seconds=30)
    assert known(await store.row("r")) == WAITS
    assert await store.claim("r", "second", 30) is not None


async def test_a_run_may_be_held_from_its_beginning(store: JournalStore, clock: Clock) -> None:
    """Who adds a run with a token holds it: there is no moment at which another one could take it."""
    assert await store.add(RUN.replace(status="running"), token="first", seconds=30)
    found = await store.row("r")
    assert found is not None and found.claimed
    assert await store.claim("r", "second", 30, of=["running"]) is None
    assert await store.write("r", "first", [entry(0)])
    clock.now += 30
    found = await store.row("r")
    assert found is not None and not found.claimed
    assert await store.claim("r", "second", 30, of=["running"]) is not None


async def test_one_claim_wins(store: JournalStore) -> None:
    """A run that is held is nobody else's, and it is given back by whoever holds it alone (SUS-001)."""
    await store.add(RUN)
    won = await store.claim("r", "first", 30)
    assert known(won) == WAITS
    assert won is not None and won.claimed
    assert await store.claim("r", "second", 30) is None
    assert not await store.write("r", "second", release=True)
    assert not await store.write("r", "second", status="success")
    assert await store.write("r", "first", release=True)
    assert known(await store.claim("r", "second", 30)) == WAITS


async def test_of_many_claims_at_once_one_wins(store: JournalStore) -> None:
    """A hundred claims at the same time have one winner (SUS-001)."""
    await store.add(RUN)
    won: list[int] = []

    async def one(number: int) -> None:
        if await store.claim("r", str(number), 30) is not None:
            won.append(number)

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(one, number)
    assert len(won) == 1


async def test_a_claim_ends_with_its_time(store: JournalStore, clock: Clock) -> None:
    """A holder that died frees the run; one that lives prolongs its claim; one that was late has lost it (SUS-001)."""
    await store.add(RUN)
    assert await store.claim("r", "first", 30)
    clock.now += 20
    assert known(await store.claim("r", "first", 30)) == WAITS
    clock.now += 20
    assert await store.claim("r", "second", 30) is None
    clock.now += 11
    assert known(await store.claim("r", "second", 30)) == WAITS
    assert await store.claim("r", "first", 30) is None
    assert not await store.write("r", "first", [entry(0)], status="success", data=None)
    assert known(await store.row("r")) == WAITS
    assert await store.entries("r") == []


async def test_a_claim_that_ran_out_counts_until_somebody_takes_the_run(store: JournalStore, clock: Clock) -> None:
    """A holder that was late, as after a sleep of the machine, goes on where nobody has come in between."""
    await store.add(RUN.replace(status="running"), token="first", seconds=30)
    clock.now += 1000
    assert await store.write("r", "first", [entry(0)])
    assert await store.claim("r", "first", 30, of=["running"]) is not None
    clock.now += 1000
    assert await store.claim("r", "second", 30, of=["running"]) is not None
    assert not await store.write("r", "first", [entry(1)])
    assert [row.seq for row in await store.entries("r")] == [0]


@pytest.mark.parametrize("status", get_args(RunStatus))
async def test_a_claim_is_of_the_states_that_were_asked_for(store: JournalStore, status: RunStatus) -> None:
    """A run in another state is not taken, and one that has ended never is."""
    await store.add(RUN.replace(status=status))
    others = [one for one in get_args(RunStatus) if one != status]
    assert await store.claim("r", "first", 30, of=others) is None
    assert await store.claim("r", "first", 30, of=()) is None
    found = await store.claim("r", "first", 30, of=[status])
    assert (found is None) == (status in FINAL)


async def test_a_run_may_be_suspended_again(store: JournalStore, clock: Clock) -> None:
    """A holder writes what the run has come to, and gives it back."""
    await store.add(RUN)
    await store.claim("r", "first", 30)
    clock.now += 1
    assert await store.write("r", "first", status="suspended", data="later", release=True)
    found = await store.row("r")
    assert found == RUN.replace(data="later", created_at=100.0, updated_at=101.0)
    assert known(await store.claim("r", "second", 30)) == ("suspended", "later")


async def test_how_far_a_run_has_come_is_noted_by_its_holder(store: JournalStore, clock: Clock) -> None:
    """A holder writes how far it has come and holds the run still; whoever comes after it finds that."""
    await store.add(RUN)
    assert not await store.write("r", "first", data="never")
    await store.claim("r", "first", 30)
    assert await store.write("r", "first", data="half")
    assert await store.claim("r", "second", 30) is None
    assert not await store.write("r", "second", data="never")
    assert known(await store.row("r")) == ("suspended", "half")
    clock.now += 31
    assert known(await store.claim("r", "second", 30)) == ("suspended", "half")
    assert not await store.write("r", "first", data="never")
    assert await store.write("r", "second", release=True)
    assert known(await store.row("r")) == ("suspended", "half")


@pytest.mark.parametrize("status", sorted(FINAL))
async def test_an_end_is_final(store: JournalStore, status: RunStatus) -> None:
    """A run that has ended is given back, and cannot be written, claimed, cancelled or begun again."""
    await store.add(RUN, token="first", seconds=30)
    assert await store.write("r", "first", [entry(0)], status=status, data=None)
    ended = await store.row("r")
    assert ended is not None and not ended.claimed
    assert known(ended) == (status, None)
    assert await store.claim("r", "first", 30, of=get_args(RunStatus)) is None
    assert not await store.write("r", "first", status="suspended", data="x")
    assert not await store.write("r", "first", [entry(1)])
    assert not await store.write("r", "first", release=True)
    assert not await store.request_cancel("r")
    assert not await store.add(RUN)
    assert await store.row("r") == ended
    assert await store.entries("r") == [entry(0)]


async def test_nobody_holds_a_run_that_was_added_after_its_end(store: JournalStore) -> None:
    """A run may be added that has ended already; a token takes no hold of it, and so it can be deleted."""
    await store.add(RUN.replace(status="success"), token="first", seconds=30)
    assert not await store.write("r", "first", [entry(0)])
    assert await store.delete("r")


async def test_a_run_that_is_not_there(store: JournalStore) -> None:
    """It cannot be claimed, written, cancelled or deleted, and has no rows."""
    assert await store.claim("r", "first", 30) is None
    assert not await store.write("r", "first", [entry(0)], release=True)
    assert not await store.write("r", "first")
    assert not await store.request_cancel("r")
    assert not await store.delete("r")
    assert await store.entries("r") == []


async def test_rows_are_read_in_order(store: JournalStore) -> None:
    """Rows come in the order of their numbers, whichever was written first, and from any of them on."""
    rows = [
        JournalRow(seq=0, kind="start", path="", data='{"x":"\\u00fc"}'),
        JournalRow(seq=1, kind="failed", path="outer/inner[2]/step", attempt=3, data=None),
        JournalRow(seq=2, kind="step", path="ü", data="ü"),
    ]
    await store.add(RUN, token="me", seconds=30)
    await store.add(RUN.replace(run_id="other"), token="me", seconds=30)
    assert await store.write("r", "me", [rows[2]])
    assert await store.write("other", "me", [entry(0), entry(7)])
    assert await store.write("r", "me", rows[:2])
    assert await store.entries("r") == rows
    assert await store.entries("r", after=0) == rows[1:]
    assert await store.entries("r", after=2) == []
    assert [row.seq for row in await store.entries("other")] == [0, 7]


async def test_rows_and_changes_are_one(store: JournalStore, clock: Clock) -> None:
    """Rows, status, data and the giving back are written together."""
    await store.add(RUN, token="me", seconds=30)
    assert await store.write("r", "me", [entry(0), entry(1)], status="running", data="so far", release=True)
    found = await store.row("r")
    assert found is not None and not found.claimed
    assert known(found) == ("running", "so far")
    assert len(await store.entries("r")) == 2
    assert not await store.write("r", "me", [entry(2)])


async def test_data_that_is_not_given_stays(store: JournalStore, clock: Clock) -> None:
    """``None`` empties the data, and leaving it out leaves it; rows leave the time of the last change as it is."""
    await store.add(RUN, token="me", seconds=30)
    clock.now += 1
    assert await store.write("r", "me", [entry(0)])
    assert await store.write("r", "me")
    found = await store.row("r")
    assert found is not None and (found.data, found.updated_at) == (RUN.data, 100.0)
    assert await store.write("r", "me", status="running")
    found = await store.row("r")
    assert found is not None and (found.data, found.updated_at) == (RUN.data, 101.0)
    assert await store.write("r", "me", data=None)
    found = await store.row("r")
    assert found is not None and known(found) == ("running", None)
    assert found.claimed


@pytest.mark.parametrize("rows", [[entry(1), entry(0)], [entry(1), entry(1)]])
async def test_a_row_is_never_written_over(store: JournalStore, rows: list[JournalRow]) -> None:
    """A number that is taken is refused by name, and nothing of what was to be written with it is."""
    await store.add(RUN, token="me", seconds=30)
    await store.write("r", "me", [entry(0, "first")])
    with pytest.raises(StoreError, match="r has a row [01] already"):
        await store.write("r", "me", rows, status="success", data=None)
    assert await store.entries("r") == [entry(0, "first")]
    assert known(await store.row("r")) == WAITS
    assert await store.write("r", "me", [entry(1)])


async def test_a_holder_is_told_that_it_is_to_cancel(store: JournalStore, clock: Clock) -> None:
    """Whoever prolongs a claim, or takes one, learns that somebody asked for the end."""
    await store.add(RUN.replace(status="running"), token="me", seconds=30)
    found = await store.claim("r", "me", 30, of=["running"])
    assert found is not None and not found.cancel_requested
    assert await store.request_cancel("r")
    assert await store.request_cancel("r")
    found = await store.claim("r", "me", 30, of=["running"])
    assert found is not None and found.cancel_requested
    assert await store.write("r", "me", status="cancelled")
    found = await store.row("r")
    assert found is not None and found.cancel_requested


async def test_many_runs_write_at_once(store: JournalStore) -> None:
    """A hundred runs that write at the same time, row after row, each have their own rows, in order."""

    async def one(run_id: str) -> None:
        assert await store.add(RUN.replace(run_id=run_id), token=run_id, seconds=30)
        for seq in range(5):
            assert await store.write(run_id, run_id, [entry(seq, run_id)])
        assert await store.write(run_id, run_id, status="success")

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(one, str(number))
    for number in range(100):
        assert await store.entries(str(number)) == [entry(seq, str(number)) for seq in range(5)]


async def test_one_fault_does_not_touch_the_others(store: JournalStore) -> None:
    """Of writes that come together, one that is refused fails alone."""
    await store.add(RUN, token="me", seconds=30)
    await store.write("r", "me", [entry(0)])
    failed: list[int] = []

    async def one(seq: int) -> None:
        try:
            assert await store.write("r", "me", [entry(seq)])
        except StoreError:
            failed.append(seq)

    async with anyio.create_task_group() as group:
        for seq in (1, 0, 2, 3):
            group.start_soon(one, seq)
    assert failed == [0]
    assert [row.seq for row in await store.entries("r")] == [0, 1, 2, 3]
