"""Misuse of runs that are kept: each is refused with what, where and the fix, and nothing is half written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.durable.everything import Death, mortal
from tests.storage.journals import Clock

import procession
import procession.runtime.runtime as runtime_room
from procession.errors import (
    DefinitionError,
    ProcessionError,
    ResumeError,
    RunAlreadyClaimed,
    RunError,
    RunNotFound,
    SchemaError,
    StepError,
    StoreError,
    TargetError,
    UnreadableRun,
    UntypedValue,
)
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import JournalRow, RunRow
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow


class Handle:
    """What cannot be kept: nothing says how."""


@dataclass
class Basket:
    """What can be kept where an annotation says so, but for one of its fields."""

    number: int
    handle: Any = None


@step(resume_type=int)
async def asks(ctx: StepContext[int]) -> int:
    """Wait for a number."""
    return int(await ctx.suspend("?", label="q"))


@step
async def plus_one(ctx: StepContext[int]) -> int:
    """Add one."""
    return ctx.input + 1


ASKING = create_workflow("asking", int).then(plus_one).then(asks).commit()


async def test_runs_that_are_not_there() -> None:
    """What is asked of a run that the store does not know says so; deleting it changes nothing."""
    runtime = Runtime(InMemoryJournal())
    for ask in (
        runtime.resume("nobody", 1), runtime.restart("nobody"), runtime.fork("nobody"), runtime.cancel("nobody"),
        runtime.get("nobody"),
    ):  # fmt: skip
        with pytest.raises(RunNotFound, match="no run 'nobody' is in the store"):
            await ask
    with pytest.raises(RunNotFound):
        async for _ in runtime.observe("nobody"):
            pass
    assert await runtime.delete("nobody") is False
    with pytest.raises(RunNotFound, match="after which the page is to begin"):
        await runtime.list(after="nobody")


async def test_runs_of_agents() -> None:
    """A run of an agent is resumed by its agent; the runtime says so and leaves it alone."""
    store = InMemoryJournal()
    await store.add(RunRow(run_id="r", owner="agent", data="{}"))
    runtime = Runtime(store)
    for ask in (runtime.resume("r", 1), runtime.restart("r"), runtime.fork("r"), runtime.cancel("r"), runtime.get("r")):
        with pytest.raises(RunNotFound, match=r"is one of agent 'agent'.*agent.resume"):
            await ask
    assert await runtime.recover() == []
    row = await store.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("suspended", False)


async def test_runs_in_another_state() -> None:
    """A run that waits is not restarted, one that lost its process is not resumed, and what has ended is neither."""
    clock = Clock()
    store = InMemoryJournal(clock=clock)
    runtime = Runtime(store)
    await runtime.run(ASKING, 1, run_id="r")
    with pytest.raises(ResumeError, match=r"is suspended and cannot be restarted.*runtime.resume"):
        await runtime.restart("r")
    with pytest.raises(Death):
        await Runtime(mortal(store, 1)).resume("r", 1, workflow=ASKING)
    with pytest.raises(RunAlreadyClaimed, match="held by somebody else"):
        await runtime.resume("r", 1)
    clock.now += 60
    with pytest.raises(ResumeError, match=r"is running and cannot be resumed.*runtime.restart"):
        await runtime.resume("r", 1)
    assert (await runtime.restart("r")).unwrap() == 1
    with pytest.raises(RunAlreadyClaimed, match=r"has ended: success.*runtime.fork"):
        await runtime.resume("r", 1)
    with pytest.raises(RunAlreadyClaimed, match="has ended: success"):
        await runtime.restart("r")
    await store.add(RunRow(run_id="new", owner="asking", kind="workflow", status="pending", data="{}"))
    with pytest.raises(ResumeError, match=r"is pending and cannot be restarted.*runtime.delete"):
        await runtime.restart("new")


async def test_answers_to_nobody() -> None:
    """A step or a label that does not wait is named, with what does; the run waits as before."""
    store = InMemoryJournal()
    runtime = Runtime(store)
    await runtime.run(ASKING, 1, run_id="r")
    before = await store.row("r"), await store.entries("r")
    for target, said in (
        ({"step": "nope"}, r"nothing waits at 'nope'.*what waits: asks \(label 'q'\)"),
        ({"label": "nope"}, r"nothing waits under the label 'nope'.*what waits: asks"),
    ):
        with pytest.raises(ResumeError, match=said) as raised:
            await runtime.resume("r", 1, **target)  # type: ignore[arg-type]
        assert raised.value.waiting == ("asks",)
    with pytest.raises(RunAlreadyClaimed, match="'plus_one' waits for no answer"):
        await runtime.resume("r", 1, step="plus_one")
    assert (await store.row("r"), await store.entries("r")) == before


async def test_workflows_that_are_not_known() -> None:
    """A workflow that is not registered, not committed, or not the only one of its id, is refused with the fix."""
    store = InMemoryJournal()
    await Runtime(store).run(ASKING, 1, run_id="r")
    before = await store.row("r"), await store.entries("r")
    runtime = Runtime(store)
    with pytest.raises(TargetError, match=r"workflow 'asking' is not known.*registry.add"):
        await runtime.resume("r", 1)
    assert await runtime.recover() == []
    with pytest.raises(DefinitionError, match=r"is not committed.*commit"):
        await runtime.run(create_workflow("new", int).then(plus_one), 1)
    with pytest.raises(DefinitionError, match="not committed"):
        await runtime.resume("r", 1, workflow=create_workflow("asking", int).then(plus_one).then(asks))
    runtime.registry.add(ASKING)
    with pytest.raises(DefinitionError, match="is the id of another"):
        runtime.registry.add(create_workflow("asking", int).then(plus_one).then(asks).commit())
    assert (await store.row("r"), await store.entries("r")) == before
    assert (await runtime.resume("r", 5)).unwrap() == 5


async def test_ids_that_are_used() -> None:
    """A run is not begun under the id of another, and a run that is started twice says so."""
    store = InMemoryJournal()
    runtime = Runtime(store)
    run = runtime.create_run(ASKING, run_id="r")
    await run.start(1)
    before = await store.row("r"), await store.entries("r")
    with pytest.raises(RunError, match="was started before"):
        await run.start(1)
    with pytest.raises(RunError, match=r"has a run 'r' already.*runtime.get"):
        await runtime.run(ASKING, 1, run_id="r")
    with pytest.raises(RunError, match=r"has a run 'r' already.*new_run_id"):
        await runtime.fork("r", new_run_id="r")
    assert (await store.row("r"), await store.entries("r")) == before


async def test_forks_from_nowhere() -> None:
    """A fork from a step that there is not, or with the output of one, names those that there are; no run is made."""
    store = InMemoryJournal()
    runtime = Runtime(store)
    await runtime.run(ASKING, 1, run_id="r")
    with pytest.raises(ResumeError, match=r"no step at 'nope'.*plus_one, asks"):
        await runtime.fork("r", "nope")
    with pytest.raises(ResumeError, match=r"'asks' has no output before the fork.*plus_one"):
        await runtime.fork("r", "asks", outputs={"asks": 1})
    with pytest.raises(UntypedValue, match="output of 'plus_one'"):
        await runtime.fork("r", "asks", outputs={"plus_one": Handle()})
    assert [row.run_id for row in await store.runs()] == ["r"]


# --- values that cannot be kept -------------------------------------------------------------------------------------


async def test_an_input_that_cannot_be_kept() -> None:
    """A run is not begun with what could not be given to it again."""
    store = InMemoryJournal()
    workflow: Any = create_workflow("w").then(plus_one).commit()
    for value in (Handle(), [1, {"deep": Handle()}]):
        with pytest.raises(UntypedValue, match="input of 'w'"):
            await Runtime(store).run(workflow, value)
    assert await store.runs() == []


@step
async def gives_handle(ctx: StepContext[int]) -> Any:
    """Give what cannot be kept."""
    return {"of": [1, Handle()]}


@step
async def gives_basket(ctx: StepContext[int]) -> Basket:
    """Give what can be kept but for a field."""
    return Basket(1, Handle())


@step
async def memoizes(ctx: StepContext[int]) -> int:
    """Memoize what cannot be kept."""

    def make() -> Any:
        return Handle()

    await ctx.memoize("handle", make)
    return 1


@step
async def asks_handle(ctx: StepContext[int]) -> int:
    """Ask with what cannot be kept."""
    return int(await ctx.suspend({"of": Handle()}))


@step
async def sets_handle(ctx: StepContext[int]) -> int:
    """Set what cannot be kept in the shared state."""
    ctx.set_state(handle=Handle())
    return 1


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (gives_handle, "output of step 'gives_handle'"),
        (gives_basket, "output of step 'gives_basket'"),
        (memoizes, "memo 'handle' of step 'memoizes'"),
        (asks_handle, "payload of suspended step 'asks_handle'"),
        (sets_handle, "state"),
    ],
)
async def test_a_value_that_cannot_be_kept_fails_its_step(bad: Any, said: str) -> None:
    """Outputs, memos, questions and state that cannot be kept fail the run, naming the step, and are not half written."""
    store = InMemoryJournal()
    workflow = create_workflow("w", int).then(plus_one).then(bad).then(plus_one.replace(id="never")).commit()
    result = await Runtime(store).run(workflow, 1, run_id="r")
    assert result.status == "failed"
    assert isinstance(result.error, UntypedValue)
    assert said in str(result.error)
    assert bad.id in str(result.error)
    assert "hint" in str(result.error)
    reader = await Runtime(store).get("r")
    assert (reader.status, reader.waiting) == ("failed", ())
    assert reader.error is not None
    assert said in reader.error["message"]
    assert [row.path for row in await store.entries("r") if row.kind == "completed"] == ["plus_one"]


async def test_an_answer_that_cannot_be_kept() -> None:
    """An answer of no type that can be kept, or of the wrong one, is refused, naming the step; the run waits as before."""
    untyped = asks.replace(id="untyped", resume_type=None)
    workflow = create_workflow("w", int).then(untyped).commit()
    store = InMemoryJournal()
    runtime = Runtime(store)
    await runtime.run(workflow, 1, run_id="r")
    await runtime.run(ASKING, 1, run_id="s")
    before = await store.row("r"), await store.row("s"), await store.entries("r")
    with pytest.raises(UntypedValue, match="answer to step 'untyped'"):
        await runtime.resume("r", Handle())
    for wrong in ("1", 1.5, None, True, Handle()):
        with pytest.raises(SchemaError, match="answer to step 'asks'"):
            await runtime.resume("s", wrong)
    assert (await store.row("r"), await store.row("s"), await store.entries("r")) == before
    assert (await runtime.resume("s", 3)).unwrap() == 3


async def test_a_run_that_is_kept_only_once_it_waits() -> None:
    """Without a store, a run whose values cannot be kept may run, but not wait: it says why."""
    workflow: Any = create_workflow("w").then(gives_handle).then(asks.replace(input_type=None)).commit()
    runtime = Runtime()
    result = await runtime.run(workflow, 1, run_id="r")
    assert isinstance(result.error, UntypedValue)
    assert "output of step 'gives_handle'" in str(result.error)
    passes: Any = create_workflow("w").then(gives_handle).commit()
    assert (await Runtime().run(passes, 1)).status == "success"


async def test_rows_that_are_none_of_ours() -> None:
    """A run whose kept data cannot be read says so and stays as it is."""
    store = InMemoryJournal()
    await Runtime(store).run(ASKING, 1, run_id="r")
    assert await store.claim("r", "x", 30) is not None
    assert await store.write("r", "x", data='{"input":{"out":"no number"}}', release=True)
    with pytest.raises(ProcessionError, match="kept input of 'asking'"):
        await Runtime(store).resume("r", 1, workflow=ASKING)
    assert await store.claim("r", "x", 30) is not None
    assert await store.write("r", "x", data="{not json", release=True)
    with pytest.raises(StoreError, match="run r"):
        await Runtime(store).resume("r", 1, workflow=ASKING)
    row = await store.row("r")
    assert row is not None
    assert (row.status, row.claimed) == ("suspended", False)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("completed", "{not json"), ("completed", "[]"), ("completed", "[" * 100_000), ("newer", "{}"), ("answered", "{}"), ("memoized", '{"key":1}'),
        ("stopped", '{"status":"newer"}'), ("stopped", '{"status":"failed"}'), ("stopped", '{"status":"blocked","tripwire":{"x":1}}'),
    ],
)  # fmt: skip
async def test_a_row_that_is_none_of_ours_stops_its_run_alone(kind: str, data: str) -> None:
    """A journal with a row that nobody understands is not gone on from, and does not keep other runs from being recovered."""
    clock = Clock()
    store = InMemoryJournal(clock=clock)
    runtime = Runtime(store)
    for name in ("odd", "even"):
        await runtime.run(ASKING, 1, run_id=name)
        assert await store.claim(name, "x", 30) is not None
        rows = [JournalRow(seq=2, kind=kind, path="ask", data=data)] if name == "odd" else []
        assert await store.write(name, "x", rows, status="running", release=True)
        clock.now += 1
    with pytest.raises(UnreadableRun, match="row 2 of its journal"):
        await runtime.restart("odd")
    with pytest.raises(UnreadableRun, match="row 2 of its journal"):
        await runtime.get("odd")
    assert [result.run_id for result in await runtime.recover()] == ["even"]
    row = await store.row("odd")
    assert row is not None
    assert (row.status, row.claimed) == ("running", False)
    assert await runtime.delete("odd")


async def test_words_that_are_no_unicode_are_kept(tmp_path: Path) -> None:
    """A run that fails with, or asks, what has no bytes in UTF-8, such as the name of a file, ends as any other."""
    odd = "caf\udce9.txt"

    @step(resume_type=str)
    async def reads(ctx: StepContext[str]) -> str:
        answer: str = await ctx.suspend({odd: odd}, label="file")
        await ctx.memoize(odd, lambda: odd)
        ctx.set_state(**{odd: odd})
        if answer == "read it":
            raise FileNotFoundError(odd)
        return answer

    workflow = create_workflow("w", str).then(reads).commit()
    async with SQLiteJournal(tmp_path / "runs.db") as journal:
        runtime = Runtime(journal)
        await runtime.run(workflow, odd, run_id="r")
        assert (await runtime.get("r")).waiting[0].payload == {odd: odd}
        result = await runtime.resume("r", "read it")
        assert isinstance(result.error, StepError)
        found = await runtime.get("r")
    assert found.status == "failed"
    assert found.error is not None
    assert odd in found.error["message"]


async def test_the_door_without_a_runtime_keeps_nothing() -> None:
    """A run of run(), which nobody could ever resume by its id, leaves nothing behind where it asks."""
    result = await procession.run(ASKING, 1)
    assert result.status == "suspended"
    assert result.suspended == {"asks": "?"}
    kept: list[RunRow] = await runtime_room._default().list()  # pyright: ignore[reportPrivateUsage]
    assert kept == []


async def test_a_label_is_free_again_once_its_question_is_answered() -> None:
    """Labels are unique among what waits, whoever asked first, and can be used again in a later round."""

    @step(resume_type=int)
    async def twice(ctx: StepContext[int]) -> int:
        return int(await ctx.suspend(ctx.input, label="same"))

    body = create_workflow("body", int).then(twice).commit()
    rounds = create_workflow("rounds", int).do_while(body, lambda value: value < 3).commit()
    runtime = Runtime(InMemoryJournal())
    await runtime.run(rounds, 0, run_id="r")
    for answer in (1, 2):
        assert (await runtime.resume("r", answer, label="same")).status == "suspended"
    assert (await runtime.resume("r", 3)).unwrap() == 3
    items = create_workflow("items", list[int]).foreach(twice, concurrency=2).commit()
    result = await runtime.run(items, [1, 2], run_id="i")
    assert isinstance(result.error, ResumeError)
    assert "both wait under the label 'same'" in str(result.error)
