"""How a turn may end, each end once: what the table in docs/memory.md is held against."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import anyio
from pydantic import BaseModel
from tests.agents.kit import HOOKS, ask, at, list_of, text_only
from tests.agents.suspending import go_on

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta
from procession.processors.hooks import Hook
from procession.processors.memory.memory import Memory
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.hash_embedder import HashEmbedder
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import Tool

IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}
QUESTION, FIRST, LAST = "What is up?", "Let me see. ", "The sky."
Scene: TypeAlias = Callable[[str, InMemoryStore], Awaitable[Any]]
"""What happens in one turn, called one way or the other, that remembers in a store."""

NOTE = call_tool("updateWorkingMemory", {"memory": "- Name: Ada"}, id="w1")


def first_step() -> Reply:
    """Return the answer of the first step: some text, a call of a tool, and a note of what is to be kept in mind."""
    return say(FIRST) + call_tool("lookup", id="l1") + NOTE


def lookup(act: Callable[[], Any] = lambda: "found", **options: Any) -> Tool[Any]:
    """Return the tool that the first step calls."""
    return Tool(name="lookup", parameters={"type": "object"}, execute=lambda args, ctx: act(), **options)


def agent(store: InMemoryStore, *replies: Any, tool: Tool[Any] | None = None, **options: Any) -> Agent:
    """Return an agent that remembers all that a memory can, says *replies*, and then goes on to say the last one."""
    settings = {name: options.pop(name) for name in MEMORY if name in options}
    memory = Memory(store, **{**REMEMBERING, **settings})
    model = FakeModel(list(replies) or [first_step(), say(LAST)], repeat_last=True)
    return Agent("clerk", model=model, tools=[tool or lookup()], memory=memory, **options)


MEMORY = (
    "semantic_recall",
    "embedder",
    "read_only",
    "persist_on_tripwire",
    "save_per_step",
    "last_messages",
    "working_memory",
)
REMEMBERING: dict[str, Any] = {"working_memory": True, "semantic_recall": True, "embedder": HashEmbedder()}
"""What a memory is made with in every scene: each feature that keeps something."""


async def completed(way: str, store: InMemoryStore, *replies: Any, **options: Any) -> Any:
    """A turn with these options, whatever becomes of it."""
    return await ask(agent(store, *replies, **options), way, QUESTION, **IDS)


def stop(ctx: Any) -> None:
    """Stop the run."""
    ctx.abort("no")


async def tripped(hook: str, way: str, store: InMemoryStore, **options: Any) -> Any:
    """A tripwire at *hook*, in the last step where there are several."""
    if hook == Hook.API_ERROR:
        replies: Sequence[Any] = (fail("overloaded", status=503),)
    else:
        replies = ()

    def late(ctx: Any) -> Any:
        tools = hook == Hook.TOOL_RESULT
        return (
            stop(ctx)
            if tools or hook in _ONCE or ctx.step_number
            else (ctx.chunk if hook == Hook.OUTPUT_STREAM else None)
        )

    lists: dict[str, Any] = {list_of(hook): [at(hook, text_only(late))]}
    return await completed(way, store, *replies, **lists, **options)


_ONCE = (Hook.INPUT, Hook.OUTPUT_RESULT, Hook.API_ERROR)


async def sent_back(times: int, way: str, store: InMemoryStore) -> Any:
    """A last step that is rejected, and may be tried once more: the second attempt is good, or is not."""
    seen: list[str] = []

    def picky(ctx: Any) -> None:
        if ctx.step_number and len(seen) < times:
            seen.append(ctx.text)
            ctx.abort("again", retry=True)

    replies = (first_step(), say("Rejected."), say(LAST))
    guards = [at("process_output_step", picky)]
    return await completed(way, store, *replies, max_processor_retries=1, output_processors=guards)


async def aborted(when: str, way: str, store: InMemoryStore) -> Any:
    """A caller who no longer wants the answer: before there is any, in its middle, or when it is there."""
    signal = AbortSignal()

    def pieces() -> Any:
        yield "The "
        signal.abort("enough")
        yield "sky."

    options: dict[str, Any] = {}
    if when == "before":
        signal.abort("enough")
    elif when == "after":
        options["output_processors"] = [at("process_output_result", lambda ctx: signal.abort("enough"))]
    replies = (first_step(), Reply(pieces()) if when == "during" else say(LAST))
    return await ask(agent(store, *replies, **options), way, QUESTION, abort_signal=signal, **IDS)


async def broken(way: str, store: InMemoryStore) -> Any:
    """A processor with a fault, at the last step."""

    def fault(ctx: Any) -> None:
        if ctx.step_number:
            raise ValueError

    return await completed(way, store, output_processors=[at("process_output_step", fault)])


async def cancelled(way: str, store: InMemoryStore) -> None:
    """A task that is cancelled while the last step is made."""
    with anyio.CancelScope() as scope:

        def leave(ctx: Any) -> None:
            if ctx.step_number:
                scope.cancel()

        await completed(way, store, input_processors=[at("process_input_step", leave)])


async def hung_up(way: str, store: InMemoryStore) -> None:
    """A client that goes away in the middle of the last step: what serves it leaves the stream."""

    async def stuck(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta) and ctx.chunk.text == "sky.":
            await anyio.sleep_forever()
        return ctx.chunk

    replies, guards = (first_step(), Reply(["The ", "sky."])), [at("process_output_stream", stuck)]
    async with agent(store, *replies, output_processors=guards).stream(QUESTION, **IDS) as stream:
        async for chunk in stream.full_stream:
            if isinstance(chunk, TextDelta) and chunk.text == "The ":
                break


async def suspended(way: str, store: InMemoryStore, **options: Any) -> tuple[Agent, Any]:
    """A tool that a person has to allow."""
    made = agent(store, tool=lookup(requires_approval=True), **options)
    return made, await ask(made, way, QUESTION, **IDS)


async def resumed(way: str, store: InMemoryStore, **options: Any) -> Any:
    """A tool that was allowed: the run goes on, to its end."""
    made, seen = await suspended(way, store, **options)
    return await go_on(made, way, seen.result.run_id, {"l1": {"approved": True}}, **IDS)


class Answer(BaseModel):
    """An answer as an object."""

    where: str


async def nested(way: str, store: InMemoryStore) -> Any:
    """An agent inside, as a tool, with a memory of its own: it is in no conversation."""
    inner = Agent("lookup", model=FakeModel("inner"), memory=Memory(store), description="Looks things up.")
    reply = say(FIRST) + call_tool("lookup", {"prompt": "look"}, id="l1") + NOTE
    return await completed(way, store, reply, say(LAST), tool=inner.as_tool(name="lookup"))


def rejecting(ctx: Any) -> None:
    """Stop the run in the last step."""
    if ctx.step_number:
        stop(ctx)


LATE: dict[str, Any] = {"output_processors": [at("process_output_step", rejecting)]}

SCENES: dict[str, Scene] = {
    "completed": completed,
    **{f"tripwire in `{hook}`": partial(tripped, hook) for hook in HOOKS},
    'tripwire, `persist_on_tripwire="input"`': partial(completed, persist_on_tripwire="input", **LATE),
    'tripwire, `persist_on_tripwire="accepted_steps"`': partial(
        completed, persist_on_tripwire="accepted_steps", **LATE
    ),
    "tripwire in the last step, `save_per_step`": partial(completed, save_per_step=True, **LATE),
    "sent back, and then accepted": partial(sent_back, 1),
    "sent back too often": partial(sent_back, 2),
    "aborted before the answer": partial(aborted, "before"),
    "aborted in the answer": partial(aborted, "during"),
    "aborted after the answer": partial(aborted, "after"),
    "the model failed": lambda way, store: completed(way, store, first_step(), fail("overloaded", status=503)),
    "a processor failed": broken,
    "the task was cancelled": cancelled,
    "the reader left the stream": hung_up,
    "suspended": suspended,
    "resumed": resumed,
    "resumed, and a tripwire behind it": partial(resumed, **LATE),
    "`read_only`": partial(completed, read_only=True),
    "`last_messages=False`": partial(completed, last_messages=False, semantic_recall=False, embedder=None),
    "`max_steps` reached": partial(completed, max_steps=1),
    "structured output": lambda way, store: completed(
        way, store, first_step(), say('{"where": "up"}'), structured_output=Answer
    ),
    "`replace_response`": partial(
        completed, input_processors=[at("process_input", lambda ctx: ctx.replace_response("Ask a pilot."))]
    ),
    "an agent inside, as a tool": nested,
}
"""By the name of the row."""


async def answer_in(store: InMemoryStore) -> str:
    """Return all that an assistant said."""
    return "".join(one.text for one in await store.messages("t") if one.role == "assistant")


async def user_column(store: InMemoryStore) -> str:
    """Whether what the user said is kept."""
    said = [one.text for one in await store.messages("t") if one.role == "user"]
    assert said in ([], [QUESTION])
    return "yes" if said else "no"


_ANSWERS = {
    "": "no",
    FIRST + LAST: "yes",
    FIRST: "first step",
    FIRST + "The ": "as delivered",
    FIRST + '{"where": "up"}': "yes",
    "Ask a pilot.": "the replacement",
}


async def answer_column(store: InMemoryStore) -> str:
    """How much of the answer is kept."""
    return _ANSWERS[await answer_in(store)]


async def thread_column(store: InMemoryStore) -> str:
    """Whether the thread is there."""
    return "yes" if await store.thread("t") is not None else "no"


async def working_column(store: InMemoryStore) -> str:
    """Whether what the model noted in the first step is kept."""
    return "yes" if await Memory(store, working_memory=True).working_memory(resource="ada") else "no"


async def vectors_column(store: InMemoryStore) -> str:
    """Whether something that was said can be found by what it says."""
    memory = Memory(store, **REMEMBERING)
    await memory.drain()
    return "yes" if await memory.search(QUESTION, resource="ada") else "no"


COLUMNS: dict[str, Callable[[InMemoryStore], Awaitable[str]]] = {
    "User's message": user_column,
    "Answer": answer_column,
    "Thread": thread_column,
    "Working memory": working_column,
    "Vectors": vectors_column,
}
"""By the name of the column: what is looked for in the store afterwards."""
