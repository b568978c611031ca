"""Agents and runs whose stores are in Postgres, from end to end: ``make services`` runs it."""

from __future__ import annotations

import anyio
import pytest
from tests.storage import postgres_stores
from tests.storage.journals import RUN, entry
from tests.storage.postgres_server import PostgresServer

from procession.agents.agent import Agent
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import JournalRow
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")

pytestmark = pytest.mark.service


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@step
def price(ctx: StepContext[str]) -> int:
    """Say what something costs."""
    return 1200


@step(resume_type=bool)
async def approve(ctx: StepContext[int]) -> bool:
    """Wait for a person."""
    agreed: bool = await ctx.suspend({"amount": ctx.input}, label="manager")
    return agreed


purchase = create_workflow("purchase", str).then(price).then(approve).commit()


def test_an_agent_remembers_in_another_process(postgres_server: PostgresServer) -> None:
    """A url is all that it takes: an agent made anew, on another event loop, is sent what was said before."""
    url = postgres_stores.fresh_database(postgres_server)

    async def talk(text: str, model: FakeModel) -> None:
        async with Memory(url) as memory:
            agent = Agent("helper", model=model, memory=memory)
            result = await agent.generate(text, thread="t", resource="ada")
            assert result.unsaved is None

    async def prepare() -> None:
        from procession.storage.postgres.store import PostgresStore

        async with PostgresStore(url) as store:
            await store.upgrade()

    anyio.run(prepare)
    anyio.run(talk, "My name is Ada.", FakeModel(["Hello Ada."]))
    second = FakeModel(["Ada."])
    anyio.run(talk, "What is my name?", second)
    assert [message.text for message in second.requests[0].messages] == [
        "My name is Ada.", "Hello Ada.", "What is my name?",
    ]  # fmt: skip


async def test_a_lost_connection_takes_no_answer_from_the_user(own_server: PostgresServer) -> None:
    """The answer comes although the server goes meanwhile, and the turn is saved when it is back."""
    async with postgres_stores.made(own_server) as store:
        memory = Memory(store)

        @tool
        def cut() -> str:
            """Cut the connection."""
            own_server.stop()
            return "done"

        model = FakeModel(["One.", call_tool("cut"), "Two."])
        agent = Agent("helper", model=model, memory=memory, tools=[cut])
        await agent.generate("First", thread="t", resource="ada")
        result = await agent.generate("Second", thread="t", resource="ada")
        assert result.text == "Two."
        assert result.unsaved is not None
        assert result.unsaved.waiting
        own_server.start()
        assert await memory.flush() == 0
        found = await store.messages("t", resource_id="ada")
        assert [message.text for message in found if message.text] == ["First", "One.", "Second", "Two."]


def test_a_run_goes_on_elsewhere(postgres_server: PostgresServer) -> None:
    """A run that waits is found and answered by another runtime, on another event loop; what was done is not done again."""
    from procession.storage.postgres.journal import PostgresJournal

    schema = postgres_stores.fresh_schema()

    async def ask() -> str:
        async with PostgresJournal(postgres_server.url, schema=schema) as journal:
            await journal.upgrade()
            return (await Runtime(journal).run(purchase, "desk", run_id="r")).status

    async def answer() -> tuple[str, object, list[str]]:
        async with PostgresJournal(postgres_server.url, schema=schema) as journal:
            runtime = Runtime(journal)
            runtime.registry.add(purchase)
            (row,) = await runtime.list(status="suspended")
            result = await runtime.resume(row.run_id, True)
            return result.status, result.output, [each.path for each in await journal.entries("r")]

    assert anyio.run(ask) == "suspended"
    status, output, paths = anyio.run(answer)
    assert (status, output) == ("success", True)
    assert paths.count("price") == 1


async def test_of_many_who_claim_one_wins(postgres_server: PostgresServer) -> None:
    """Five clients claim twenty runs at the same time: each run has one winner, and only that one's row (SUS-001)."""
    from procession.storage.postgres.journal import PostgresJournal

    schema = postgres_stores.fresh_schema()
    won: list[tuple[str, str]] = []

    async def claim(name: str) -> None:
        async with PostgresJournal(postgres_server.url, schema=schema, pool_size=4) as journal:

            async def one(number: int) -> None:
                if await journal.claim(str(number), name, 30) is None:
                    assert not await journal.write(str(number), name, [entry(1, "lost")])
                else:
                    assert await journal.write(str(number), name, [entry(0, name)])
                    won.append((str(number), name))

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, number)

    async with PostgresJournal(postgres_server.url, schema=schema) as journal:
        await journal.upgrade()
        for number in range(20):
            await journal.add(RUN.replace(run_id=str(number)))
        async with anyio.create_task_group() as group:
            for name in "abcde":
                group.start_soon(claim, name)
        rows = {run_id: await journal.entries(run_id) for run_id, _ in won}
    assert sorted(run_id for run_id, _ in won) == sorted(str(number) for number in range(20))
    assert all(rows[run_id] == [JournalRow(seq=0, kind="step", path="step", data=name)] for run_id, name in won)


async def test_who_is_forgotten_leaves_nothing_there(postgres_server: PostgresServer) -> None:
    """Conversations, notes and runs of a resource go, and nobody else's."""
    from procession.storage.postgres.journal import PostgresJournal

    async with postgres_stores.made(postgres_server) as store:
        schema = postgres_stores.schema_of(store)
        async with PostgresJournal(postgres_server.url, schema=schema) as journal:
            model = FakeModel("Hi.", repeat_last=True)
            agent = Agent("helper", model=model, memory=Memory(store), runtime=Runtime(journal))
            for resource in ("ada", "bob"):
                await agent.generate("Hello", thread=f"of {resource}", resource=resource)
                await journal.add(RUN.replace(run_id=f"run of {resource}", resource_id=resource))
            forgotten = await agent.forget(resource="ada")
            assert (forgotten.threads, forgotten.runs) == (1, 1)
            assert await store.thread("of ada") is None
            assert await journal.row("run of ada") is None
            assert await store.thread("of bob") is not None
            assert await journal.row("run of bob") is not None
