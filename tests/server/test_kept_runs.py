"""Runs that are not in memory are shown as a store has them; forks name the run that they came from."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.watch_kit import events_of, look

from procession.agents.agent import Agent
from procession.errors import RunNotFound
from procession.runtime.runtime import Runtime
from procession.server.redaction import DEFAULT
from procession.server.runs import Runs
from procession.steps.step import StepContext, step
from procession.storage.memory_journal import InMemoryJournal
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.workflows.workflow import Workflow, create_workflow


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """What is kept needs no server, and is the same on both."""
    backend: str = request.param
    return backend


@step
def shout(ctx: StepContext[str]) -> str:
    return ctx.input.upper()


@step
async def ask(ctx: StepContext[str]) -> str:
    return f"{ctx.input} {await ctx.suspend('How much?', label='amount')}"


def asking() -> Workflow[Any, Any]:
    return create_workflow("asking", str).then(shout).then(ask).commit()


def observed(store: InMemoryJournal, **options: Any) -> tuple[Runtime, Runs]:
    """Return a runtime of *store* and who sees its runs, as another process would have them."""
    runs = Runs(redact=None, **options)
    runtime = Runtime(store)
    runs.watch(runtime)
    runs.watch(runtime)
    assert runtime.observers == (runs,)
    return runtime, runs


async def test_a_run_of_another_process_is_read_from_the_store() -> None:
    """How it stands, its nodes, what it asks and its events, numbered from 0."""
    store = InMemoryJournal()
    workflow = asking()
    await observed(store)[0].create_run(workflow, run_id="r", resource_id="ann").start("hello")
    runtime, runs = observed(store)
    runtime.registry.add(workflow)
    assert runs.get("r") is None
    shown = await runs.summary("r")
    assert (shown["status"], shown["owner"], shown["kind"], shown["resource_id"]) == (
        "suspended",
        "asking",
        "workflow",
        "ann",
    )
    assert shown["input"] == "hello"
    assert [(one["path"], one["label"], one["payload"]) for one in shown["suspended"]] == [
        ("ask", "amount", "How much?")
    ]
    assert [(node["path"], node["status"], node["output"]) for node in shown["nodes"]][0] == (
        "shout",
        "success",
        "HELLO",
    )
    events = await events_of(runs, "r")
    assert [event["seq"] for event in events] == list(range(shown["last_seq"] + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run.started", "run.suspended")
    live = [event.data async for event in await runs.read("r", after=1)]
    assert live == events[2:]


async def test_a_run_that_is_taken_up_shows_what_was_done_before() -> None:
    """Its log begins where it goes on, and its nodes are all there."""
    store = InMemoryJournal()
    workflow = asking()
    await observed(store)[0].create_run(workflow, run_id="r").start("hello")
    runtime, runs = observed(store)
    await runtime.resume("r", "7", workflow=workflow)
    shown = await runs.summary("r")
    assert shown["status"] == "success" and shown["output"] == "HELLO 7"
    assert [(node["path"], node["status"]) for node in shown["nodes"]] == [("shout", "success"), ("ask", "success")]


async def test_a_run_that_waits_and_is_resumed_here_is_one_log() -> None:
    """Suspended, it has its question with the schema of the answer; resumed, the numbers go on."""
    runtime, runs = observed(InMemoryJournal())
    await runtime.create_run(asking(), run_id="r").start("hello")
    shown = await runs.summary("r")
    assert [(one["path"], one["label"], one["payload"]) for one in shown["suspended"]] == [
        ("ask", "amount", "How much?")
    ]
    before = await events_of(runs, "r")
    await runtime.resume("r", "7")
    events = await events_of(runs, "r")
    assert events[: len(before)] == before and [event["seq"] for event in events] == list(range(len(events)))
    assert (await runs.summary("r"))["suspended"] == []


async def test_a_run_that_waits_here_and_was_answered_elsewhere_is_shown_as_it_ended() -> None:
    """Another process that shares the store has answered it, or cancelled it: its question is shown no longer."""
    store = InMemoryJournal()
    runtime, runs = observed(store)
    workflow = asking()
    for run_id in ("answered", "cancelled"):
        await runtime.create_run(workflow, run_id=run_id).start("hello")
    elsewhere = Runtime(store)
    elsewhere.registry.add(workflow)
    await elsewhere.resume("answered", "7")
    await elsewhere.cancel("cancelled")
    assert (await runs.list(status="suspended"))["runs"] == []
    shown = await runs.summary("answered")
    assert (shown["status"], shown["output"], shown["suspended"]) == ("success", "HELLO 7", [])
    assert [node["status"] for node in shown["nodes"]] == ["success", "success"]
    assert (await events_of(runs, "answered"))[-1]["type"] == "run.finished"
    shown = await runs.summary("cancelled")
    assert (shown["status"], shown["suspended"]) == ("cancelled", [])
    assert [node["status"] for node in shown["nodes"]] == ["success", "cancelled"]
    assert [event["type"] for event in await events_of(runs, "cancelled")][-2:] == ["node.cancelled", "run.finished"]


async def test_a_fork_names_the_run_it_came_from_and_leaves_it_as_it_was() -> None:
    """The original lists its forks, and neither its log nor its nodes change."""
    runtime, runs = observed(InMemoryJournal())
    workflow = create_workflow("loud", str).then(shout).then(shout.renamed("again")).commit()
    await runtime.create_run(workflow, run_id="r").start("hello")
    before = await runs.summary("r"), await events_of(runs, "r")
    await runtime.fork("r", "again", outputs={"shout": "other"}, new_run_id="f")
    fork = await runs.summary("f")
    assert (fork["parent_run_id"], fork["forked_at"], fork["output"]) == ("r", "again", "OTHER")
    assert [node["path"] for node in fork["nodes"]] == ["shout", "again"]
    after = await runs.summary("r")
    assert after["forks"] == ["f"] and after | {"forks": []} == before[0] and await events_of(runs, "r") == before[1]


async def test_lists_have_each_run_once_wherever_it_is() -> None:
    """In memory, in the store, or both; page by page, the newest first."""
    store = InMemoryJournal()
    workflow = create_workflow("loud", str).then(shout).commit()
    for number in range(3):
        await observed(store)[0].create_run(workflow, run_id=f"old{number}", resource_id="ann").start("x")
    runtime, runs = observed(store)
    for number in range(3):
        await runtime.create_run(workflow, run_id=f"new{number}", resource_id="bob").start("x")
    found: list[str] = []
    after: str | None = None
    while True:
        page = await runs.list(after=after, limit=2)
        found += [one["run_id"] for one in page["runs"]]
        after = page["next"]
        if after is None:
            break
    assert found == ["new2", "new1", "new0", "old2", "old1", "old0"]
    assert [one["run_id"] for one in (await runs.list(resource="ann", limit=9))["runs"]] == ["old2", "old1", "old0"]
    assert (await runs.list(status="failed"))["runs"] == [] and (await runs.list(kind="agent"))["runs"] == []


async def test_an_agents_run_that_waits_is_read_from_the_store() -> None:
    """With what it waits for; of its events nothing is kept."""
    store = InMemoryJournal()

    def agent(runtime: Runtime) -> Agent:
        call = Reply(tool_calls=[ScriptedCall("look", {"what": "a"})])
        return Agent(
            "careful", model=FakeModel([call, "Done."]), tools=[look], require_tool_approval=True, runtime=runtime
        )

    waiting = await agent(observed(store)[0]).generate("Hello")
    _, runs = observed(store)
    shown = await runs.summary(waiting.run_id)
    assert (shown["kind"], shown["status"], shown["owner"]) == ("agent", "suspended", "careful")
    (one,) = shown["suspended"]
    assert (one["question_id"], one["tool"], one["kind"]) == (waiting.suspended[0].question_id, "look", "approval")
    assert shown["input"][0]["text"] == "Hello" and await events_of(runs, waiting.run_id) == []


async def test_what_is_kept_is_masked_as_well() -> None:
    """Inputs, outputs and events of a run that is read from a store."""
    store = InMemoryJournal()
    await (
        observed(store)[0]
        .create_run(create_workflow("loud", str).then(shout).commit(), run_id="r")
        .start("eva@example.com")
    )
    runs = Runs(redact=DEFAULT)
    runs.watch(Runtime(store))
    told = str([await runs.summary("r"), await runs.events("r"), [one.text async for one in await runs.read("r")]])
    assert "example.com" not in told.lower() and "‹email›" in told


async def test_what_is_nowhere_is_not_found() -> None:
    """In memory or in a store."""
    _, runs = observed(InMemoryJournal())
    for ask in (runs.summary, runs.events, runs.read):
        with pytest.raises(RunNotFound):
            await ask("nothing")


async def test_a_run_that_never_begins_is_not_listed_and_goes_first() -> None:
    """Making a run is nothing yet: where room is needed, it is made there; one that begins all the same is seen."""
    runtime, runs = observed(InMemoryJournal(), max_runs=2)
    late = runtime.create_run(asking(), run_id="late")
    assert (await runs.list())["runs"] == []
    for number in range(3):
        await runtime.run(asking(), "x", run_id=f"r{number}")
    assert runs.get("late") is None
    await late.start("hello")
    assert (await runs.summary("late"))["status"] == "suspended"
