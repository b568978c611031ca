"""What is kept of a turn, by how it ended: the table in docs/memory.md, row by row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.persistence_kit import COLUMNS, IDS, REMEMBERING, SCENES, agent, completed, lookup

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta
from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "memory.md"


def _table() -> tuple[list[str], dict[str, list[str]]]:
    """Return the titles of the table's columns, and its rows by their names."""
    found = re.search(
        r"^\| How the turn ended \|(.*)\|\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert found is not None
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in found[2].splitlines()]
    return [title.strip() for title in found[1].split("|")], {row[0]: row[1:] for row in rows}


TITLES, ROWS = _table()
both_ways = pytest.mark.parametrize("way", WAYS)


def test_the_table_is_whole() -> None:
    """The table has a row for each end that is tried, in the same order, and a column for each thing that is kept."""
    assert list(ROWS) == list(SCENES)
    assert list(COLUMNS) == TITLES


@both_ways
@pytest.mark.parametrize("row", ROWS)
async def test_what_is_kept(way: str, row: str) -> None:
    """
    The row is true: MEM-003 for every hook that may stop a turn, and all other ends (D34).

    With ``generate`` what was delivered of an answer is the steps that were over.
    """
    store = InMemoryStore()
    await SCENES[row](way, store)
    told = [
        "first step" if cell == "as delivered" and row.startswith("aborted") and way == "generate" else cell
        for cell in ROWS[row]
    ]
    assert {title: await COLUMNS[title](store) for title in TITLES} == dict(zip(TITLES, told, strict=True))


@both_ways
@pytest.mark.parametrize(
    "hook", ["process_input", "process_output_step", "process_output_stream", "process_output_result"]
)
async def test_the_next_turn_knows_nothing_of_a_blocked_one(way: str, hook: str) -> None:
    """
    MEM-003: the store has neither the blocked user text nor the blocked answer, vectors and working memory included; the
    prompt of the next turn holds only "hi"; the same for both run modes, input- and output-blocked.
    """
    store = InMemoryStore()

    def guard(ctx: Any) -> Any:
        text = ctx.message_list.latest_user_text() or ""
        if "<blocked>" in text:
            ctx.abort("no")
        return getattr(ctx, "chunk", None)

    model = FakeModel(
        [Reply("a secret answer") + call_tool("updateWorkingMemory", {"memory": "a secret"}), "ok", "hello"]
    )
    where = "input_processors" if hook == "process_input" else "output_processors"
    lists: dict[str, Any] = {where: [at(hook, guard)]}
    made = Agent("clerk", model=model, memory=Memory(store, **REMEMBERING), **lists)
    blocked = await ask(made, way, "<blocked>", **IDS)
    assert blocked.result.status == "blocked"
    assert await store.messages("t") == []
    assert await store.thread("t") is None
    memory = Memory(store, **REMEMBERING)
    assert await memory.working_memory(resource="ada") is None
    await memory.drain()
    assert await memory.search("<blocked>", resource="ada") == []
    before = len(model.requests)
    model = FakeModel(["hello"])
    made = Agent("clerk", model=model, memory=Memory(store, **REMEMBERING), **lists)
    assert (await ask(made, way, "hi", **IDS)).result.status == "completed"
    assert before <= 2
    assert [one.text for one in model.requests[0].messages if one.role != "system"] == ["hi"]
    assert "secret" not in str(model.requests)
    assert "<blocked>" not in str(model.requests)
    assert [one.text for one in await store.messages("t")] == ["hi", "hello"]


@both_ways
async def test_deltas_are_one_message(way: str) -> None:
    """
    MEM-005: a processor that returns a new text for each piece leaves one stored message "ABC"; ids and places of the
    pieces are the framework's.
    """
    store = InMemoryStore()

    def loud(ctx: Any) -> Any:
        return type(ctx.chunk)(text=ctx.chunk.text.upper()) if ctx.chunk.type == "text-delta" else None

    made = Agent(
        "clerk", model=FakeModel(Reply(["a", "b", "c"])), memory=Memory(store), output_processors=[at("process_output_stream", loud)]
    )  # fmt: skip
    seen = await ask(made, way, **IDS)
    pieces = [chunk for chunk in seen.chunks if isinstance(chunk, TextDelta)]
    assert len({chunk.id for chunk in pieces}) == 1
    answers = [one for one in await store.messages("t") if one.role == "assistant"]
    assert [one.text for one in answers] == ["ABC"]
    assert len(answers[0].parts) == 1


@both_ways
async def test_steps_are_saved_as_they_are_accepted(way: str) -> None:
    """With ``save_per_step`` a step is in the store before the next one begins, and is one message with it at the end."""
    store = InMemoryStore()
    seen: list[list[str]] = []

    async def look(ctx: Any) -> None:
        seen.append([one.text for one in await store.messages("t")])

    await completed(way, store, save_per_step=True, input_processors=[at("process_input_step", look)])
    assert seen == [[], ["What is up?", "Let me see. "]]
    assert [one.text for one in await store.messages("t")] == ["What is up?", "Let me see. The sky."]


@both_ways
async def test_no_rejected_attempt_is_saved_meanwhile(way: str) -> None:
    """With ``save_per_step`` a rejected attempt is never in the store, nor is a step whose guards beside it stop the run."""
    store, saved = InMemoryStore(), list[str]()
    save = store.save

    async def note(thread_id: str, resource_id: str, messages: Any, **more: Any) -> None:
        saved.extend(one.text for one in messages)
        await save(thread_id, resource_id, messages, **more)

    store.save = note  # type: ignore[method-assign]

    def picky(ctx: Any) -> None:
        if "Rejected" in ctx.text:
            ctx.abort("again", retry=True)

    replies = [
        Reply("Rejected.") + call_tool("lookup", id="l0"),
        Reply("Good.") + call_tool("lookup", id="l1"),
        "Done.",
    ]
    made = agent(
        store, *replies, save_per_step=True, max_processor_retries=1, output_processors=[at("process_output_step", picky)]
    )  # fmt: skip
    await ask(made, way, **IDS)
    assert saved == ["Hi", "Good.", "Hi", "Good.Done."]
    saved.clear()
    stop = at("process_input", lambda ctx: ctx.abort("no"), check_only=True)
    made = agent(store, *replies[1:], save_per_step=True, guard_mode="concurrent", input_processors=[stop])
    assert (await ask(made, way, "<blocked>", **IDS)).result.status == "blocked"
    assert saved == []


@both_ways
async def test_steps_of_a_resumed_run_are_saved_too(way: str) -> None:
    """``save_per_step`` holds for a run that goes on: the step that was suspended is saved once it is accepted."""
    store = InMemoryStore()
    seen: list[list[str]] = []

    async def look(ctx: Any) -> None:
        seen.append(
            [part.state for one in await store.messages("t") for part in one.parts if isinstance(part, ToolCallPart)]
        )

    made = agent(
        store, Reply("Let me see.") + call_tool("lookup", id="l1"), "Done.", tool=lookup(requires_approval=True),
        save_per_step=True, input_processors=[at("process_input_step", look)],
    )  # fmt: skip
    first = await ask(made, way, **IDS)
    await made.resume(first.result.run_id, {"l1": {"approved": True}}, **IDS)
    assert seen == [[], ["result"]]


async def test_it_is_the_same_in_a_file(tmp_path: Path) -> None:
    """What is kept is there in the next process, with the default store: a file."""
    for text, answer in (("I am Ada.", "Hello."), ("Who am I?", "Ada.")):
        model = FakeModel(answer)
        async with Runtime() as runtime, Memory(tmp_path / "memory.db") as memory:
            await ask(Agent("clerk", model=model, memory=memory, runtime=runtime), messages=text, **IDS)
    assert [one.text for one in model.requests[0].messages] == ["I am Ada.", "Hello.", "Who am I?"]
    async with SQLiteStore(tmp_path / "memory.db") as store:
        assert [one.text for one in await store.messages("t", resource_id="ada")] == [
            "I am Ada.",
            "Hello.",
            "Who am I?",
            "Ada.",
        ]
        assert isinstance((await store.messages("t"))[0], Message)
