"""What every store of costs does: exact sums, rolling windows, each call once, reservations that hold."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage.journals import Clock

from procession.errors import DefinitionError, StoreError
from procession.storage.costs import CostBalance, CostEntry, CostStore, Reservation
from procession.storage.memory_costs import InMemoryCosts
from procession.storage.sqlite.costs import SQLiteCosts
from procession.storage.sqlite.journal import SQLiteJournal

DAY = 86_400.0


@pytest.fixture(params=["memory", "sqlite"])
async def costs(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[CostStore]:
    """Yield an empty store of either kind."""
    if request.param == "memory":
        yield InMemoryCosts(clock=clock)
        return
    async with SQLiteCosts(tmp_path / "costs.db", clock=clock) as made:
        yield made


def hold(id: str, amount: int, limit: int, seconds: float = 60.0) -> Reservation:
    """Return a reservation."""
    return Reservation(id=id, amount=amount, limit=limit, seconds=seconds)


async def test_each_call_counts_once(costs: CostStore) -> None:
    """A call that is booked again, by whomever, does not count again; on another account it counts there."""
    await costs.book("a", [CostEntry(id="1", amount=5), CostEntry(id="2", amount=7)])
    await costs.book("a", [CostEntry(id="2", amount=900), CostEntry(id="3", amount=1)])
    await costs.book("b", [CostEntry(id="1", amount=40)])
    assert (await costs.balance("a")).spent == 13
    assert (await costs.balance("b")).spent == 40
    assert await costs.balance("c") == CostBalance()


async def test_a_window_rolls(costs: CostStore, clock: Clock) -> None:
    """What was booked counts until the window has passed to the second, and no longer."""
    await costs.book("a", [CostEntry(id="1", amount=5)])
    clock.now += 100
    await costs.book("a", [CostEntry(id="2", amount=7)])
    assert (await costs.balance("a", seconds=100.5)).spent == 12
    assert (await costs.balance("a", seconds=100)).spent == 7
    assert (await costs.balance("a")).spent == 12
    clock.now += 3500
    assert (await costs.balance("a", seconds=3600)).spent == 7


async def test_what_is_estimated_is_told(costs: CostStore) -> None:
    """Of what was spent it is said how much is estimated, and which model cost what."""
    rows = [
        CostEntry(id="1", amount=5, model="m"),
        CostEntry(id="2", amount=7, model="n", estimated=True),
        CostEntry(id="3", amount=2, model="m"),
    ]
    stands = await costs.book("a", rows)
    assert (stands.spent, stands.estimated) == (14, 7)
    assert await costs.by_model("a") == {"m": 7, "n": 7}
    assert await costs.by_model("a", seconds=60) == {"m": 7, "n": 7}
    assert await costs.by_model("nobody") == {}


async def test_reservations_hold_until_released(costs: CostStore) -> None:
    """What others hold counts against the limit; released, it is free again, and what it came to is booked with that."""
    assert (await costs.book("a", reserve=hold("one", 60, 100))).granted
    refused = await costs.book("a", reserve=hold("two", 60, 100))
    assert (refused.granted, refused.reserved, refused.total) == (False, 60, 60)
    assert (await costs.balance("a", besides="one")).reserved == 0
    stands = await costs.book("a", [CostEntry(id="1", amount=10)], release="one")
    assert (stands.spent, stands.reserved) == (10, 0)
    assert (await costs.book("a", reserve=hold("two", 90, 100))).granted
    assert not (await costs.book("a", reserve=hold("three", 1, 100))).granted


async def test_a_reservation_takes_the_place_of_its_own(costs: CostStore) -> None:
    """A second reservation of one id does not count beside the first."""
    await costs.book("a", reserve=hold("one", 60, 100))
    assert (await costs.book("a", reserve=hold("one", 100, 100))).granted
    assert (await costs.balance("a")).reserved == 100


async def test_a_reservation_ends_with_its_time(costs: CostStore, clock: Clock) -> None:
    """What a process held that died is free again after its time."""
    await costs.book("a", reserve=hold("dead", 100, 100, seconds=30))
    clock.now += 29
    assert not (await costs.book("a", reserve=hold("next", 1, 100))).granted
    clock.now += 1
    assert (await costs.book("a", reserve=hold("next", 100, 100))).granted


async def test_a_refused_reservation_books_all_the_same(costs: CostStore) -> None:
    """Calls that were made are booked, whether or not there is room for the next one."""
    stands = await costs.book("a", [CostEntry(id="1", amount=150)], reserve=hold("one", 1, 100))
    assert (stands.granted, stands.spent) == (False, 150)
    assert (await costs.balance("a")).spent == 150


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_old_entries_are_collected(kind: str, tmp_path: Path, clock: Clock) -> None:
    """What is older than the store keeps is deleted, also on accounts that nobody asks for any more."""
    path = tmp_path / "costs.db"
    costs: CostStore = (
        InMemoryCosts(kept=2 * DAY, clock=clock) if kind == "memory" else SQLiteCosts(path, kept=2 * DAY, clock=clock)
    )
    await costs.book("left", [CostEntry(id="1", amount=5)], reserve=hold("r", 1, 100))
    await costs.book("a", [CostEntry(id="1", amount=5)])
    clock.now += DAY
    await costs.book("a", [CostEntry(id="2", amount=7)])
    clock.now += DAY
    await costs.book("a", [CostEntry(id="3", amount=1)])
    assert (await costs.balance("a")).spent == 8
    assert (await costs.balance("a", seconds=DAY + 1)).spent == 8
    assert (await costs.balance("a", seconds=DAY)).spent == 1
    assert await costs.by_model("a") == {"": 8}
    assert (await costs.balance("left")) == CostBalance()
    if isinstance(costs, SQLiteCosts):
        await costs.aclose()
        made = sqlite3.connect(path)
        assert made.execute("SELECT account, id FROM procession_costs ORDER BY id").fetchall() == [
            ("a", "2"),
            ("a", "3"),
        ]
        assert made.execute("SELECT count(*) FROM procession_cost_reservations").fetchone() == (0,)
        made.close()


AMOUNTS = st.integers(0, 10**15)
LATER = st.one_of(st.floats(0, 5000), st.sampled_from([0.0, 1800.0, 3500.0, 3600.0, 7200.0]))
BOOKINGS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 8), AMOUNTS, LATER), max_size=25)
WINDOWS = st.one_of(st.none(), st.floats(0.001, 20_000), st.sampled_from([100.0, 3600.0, 7200.0, 3700.0]))


@given(bookings=BOOKINGS, seconds=WINDOWS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sums_are_exact(bookings: list[tuple[str, int, int, float]], seconds: float | None) -> None:
    """For any bookings at any times, each store's sum over any window is that of whole numbers, to the last unit."""

    async def both() -> None:
        clock = Clock()
        memory = InMemoryCosts(clock=clock)
        async with SQLiteCosts(":memory:", clock=clock) as file:
            expected: dict[tuple[str, str], tuple[float, int]] = {}
            for account, id, amount, later in bookings:
                clock.now += later
                expected.setdefault((account, str(id)), (clock.now, amount))
                for store in (memory, file):
                    await store.book(account, [CostEntry(id=str(id), amount=amount)])
            since = -1.0 if seconds is None else clock.now - seconds
            for account in "ab":
                sum_of = sum(a for (name, _), (at, a) in expected.items() if name == account and at > since)
                for store in (memory, file):
                    assert (await store.balance(account, seconds=seconds)).spent == sum_of

    anyio.run(both)


async def test_more_than_a_store_can_count_is_refused(tmp_path: Path) -> None:
    """A sum that does not fit is an error, and never a wrong number."""
    async with SQLiteCosts(tmp_path / "costs.db") as costs:
        await costs.book("a", [CostEntry(id="1", amount=2**62)])
        for amounts in ((2**62,), (2**63,), (2**62, 5)):
            with pytest.raises(StoreError):
                await costs.book("a", [CostEntry(id=str(amount), amount=amount) for amount in amounts])
        assert (await costs.balance("a", seconds=60)).spent == (await costs.balance("a")).spent == 2**62


async def test_one_file_with_a_journal(tmp_path: Path) -> None:
    """Costs and runs stand in one file, and a file that was made before there were costs is used as it is."""
    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as journal:
        await journal.save_graph("h", "{}")
    async with SQLiteCosts(path) as costs, SQLiteJournal(path) as journal:
        await costs.book("a", [CostEntry(id="1", amount=5)])
        assert (await costs.balance("a")).spent == 5
        assert await journal.graph("h") == "{}"


@pytest.mark.parametrize("kept", [0, -1, True, "1d"])
def test_a_time_that_is_none_is_refused(kept: float) -> None:
    """How long entries are kept is a number of seconds."""
    with pytest.raises(DefinitionError, match="kept"):
        InMemoryCosts(kept=kept)
    with pytest.raises(DefinitionError, match="kept"):
        SQLiteCosts(":memory:", kept=kept)


WORKER = """
import sys, anyio, anyio.lowlevel
from procession.storage.costs import CostEntry, Reservation
from procession.storage.sqlite.costs import SQLiteCosts

async def one(costs, name):
    stands = await costs.book("a", reserve=Reservation(id=name, amount=10, limit=LIMIT, seconds=600))
    if stands.granted:
        granted.append(name)
        await anyio.lowlevel.checkpoint()
        await costs.book("a", [CostEntry(id=name, amount=10)], release=name)

async def main():
    async with SQLiteCosts(sys.argv[1]) as costs:
        print("ready", flush=True)
        sys.stdin.readline()
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(one, costs, f"{sys.argv[2]}-{number}")
    print(len(granted), flush=True)

LIMIT, granted = 500, []
anyio.run(main)
"""


def test_two_processes_stay_within_a_limit(tmp_path: Path) -> None:
    """Two processes with sixty calls each at the same time get as many granted as fit into the limit, and no more."""
    path = tmp_path / "costs.db"
    made = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER, str(path), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in "pq"
    ]  # fmt: skip
    for process in made:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in made:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    granted = [int(process.communicate(timeout=50)[0]) for process in made]
    assert sum(granted) == 50

    async def stands() -> CostBalance:
        async with SQLiteCosts(path) as costs:
            return await costs.balance("a")

    assert anyio.run(stands) == CostBalance(spent=500)


async def test_entries_may_be_kept_for_ever(tmp_path: Path, clock: Clock) -> None:
    """A store that forgets nothing sweeps reservations alone."""
    async with SQLiteCosts(tmp_path / "costs.db", kept=float("inf"), clock=clock) as forever:
        for costs in (forever, InMemoryCosts(kept=float("inf"), clock=clock)):
            await costs.book("a", [CostEntry(id="1", amount=5)], reserve=hold("r", 1, 10))
        clock.now += 4000 * DAY
        await forever.book("a", [CostEntry(id="2", amount=7)])
        assert await forever.balance("a") == CostBalance(spent=12)
