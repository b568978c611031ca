"""Reported failures of broken processors, each as the smallest run that shows it (ERR-)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, Seen, ask, at, counted_tool, list_of, text_only, turn

from procession.agents.agent import Agent
from procession.errors import ProcessionError, ProcessorError
from procession.messages.chunks import Chunk, ErrorChunk
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.recorder import record

both_ways = pytest.mark.parametrize("way", WAYS)
every_hook = pytest.mark.parametrize("hook", HOOKS)

MESSAGE_HOOKS = [
    "process_input", "process_input_step", "process_output_step", "process_tool_result", "process_output_result",
]  # fmt: skip
OWN_FORMS = ["process_llm_request", "process_api_error"]


class Turn:
    """A turn in which one hook takes place, with *guard* in its list and somebody behind who handles model errors."""

    def __init__(self, hook: str, guard: Processor | None = None) -> None:
        again = at("process_api_error", lambda ctx: {"retry": True}, id="again")
        lists: dict[str, list[Processor]] = {"error_processors": [again]}
        if guard is not None:
            lists.setdefault(list_of(hook), []).insert(0, guard)
        tool, self.tool_calls = counted_tool()
        self.model = FakeModel(turn(hook))
        self.agent = Agent("parrot", model=self.model, tools=[tool], **lists)  # type: ignore[arg-type]


# -- ERR-001


async def delivered_until_failure(hook: str, way: str) -> tuple[ProcessorError, list[Chunk], list[Chunk]]:
    """Return what a call with a broken processor raises, and the chunks delivered before and after it failed."""
    chunks: list[Chunk] = []
    read: list[Chunk] = []
    failed_at: list[tuple[int, int, int]] = []

    def divide(ctx: Any) -> None:
        failed_at.append((len(chunks), len(ran.model.requests), len(ran.tool_calls)))
        raise ZeroDivisionError

    ran = Turn(hook, at(hook, text_only(divide)))
    with pytest.raises(ProcessionError) as caught:
        if way == "generate":
            await ran.agent.generate("Hi", on_chunk=chunks.append)
        else:
            async with ran.agent.stream("Hi", on_chunk=chunks.append) as stream:
                read.extend(await record(stream.full_stream))
                await stream.result()
    assert type(caught.value) is ProcessorError
    ((seen, asked, called),) = failed_at
    assert read == (chunks if way == "stream" else [])
    assert (asked, called) == (len(ran.model.requests), len(ran.tool_calls))
    return caught.value, chunks[:seen], chunks[seen:]


@both_ways
@every_hook
async def test_a_processor_that_fails_delivers_nothing_more(hook: str, way: str) -> None:
    """ERR-001: one class of error in both modes names processor and hook; after the failure comes only its chunk."""
    error, _, after = await delivered_until_failure(hook, way)
    assert (error.processor_id, error.hook) == ("guard", hook)
    assert "'guard'" in str(error) and hook in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError)
    (last,) = after
    assert isinstance(last, ErrorChunk)
    assert last.error is error


@every_hook
async def test_both_modes_say_the_same_of_a_failure(hook: str) -> None:
    """ERR-001: ``generate`` and ``stream`` raise the same error, to the word."""
    told = [(await delivered_until_failure(hook, way))[0] for way in WAYS]
    assert type(told[0]) is type(told[1])
    assert str(told[0]) == str(told[1])


@both_ways
@every_hook
async def test_a_skipped_failure_is_in_the_result(hook: str, way: str) -> None:
    """ERR-001: with ``on_error="skip"`` the run goes on, and the result lists that the processor did not look."""

    def divide(ctx: Any) -> None:
        raise ZeroDivisionError

    seen = await ask(Turn(hook, at(hook, text_only(divide), on_error="skip")).agent, way)
    assert seen.result.status == "completed"
    assert seen.result.text.endswith("done")
    found = {(one.processor_id, one.hook, one.outcome) for one in seen.result.violations}
    assert found == {("guard", hook, "error")}
    assert {one.message for one in seen.result.violations} == {"guard failed: ZeroDivisionError"}


# -- ERR-003


async def later() -> list[Any]:
    """Return nothing of use."""
    return []


RETURNED: dict[str, Callable[[Any], Any]] = {
    "generator": lambda ctx: (item for item in (1, 2)),
    "dict": lambda ctx: {"role": "user"},
    "coroutine": lambda ctx: later(),
    "str": lambda ctx: "text",
    "int": lambda ctx: [1, 2],
}


async def returning(hook: str, way: str, act: Any, **options: Any) -> Seen:
    """Return what a caller sees of a run whose guard returns something."""
    return await ask(Turn(hook, at(hook, act, **options)).agent, way)


@both_ways
@pytest.mark.parametrize("hook", [*MESSAGE_HOOKS, *OWN_FORMS])
async def test_nothing_returned_is_nothing_changed(hook: str, way: str) -> None:
    """ERR-003: a hook that returns ``None`` leaves the run as it is without it."""
    plain, guarded = Turn(hook), Turn(hook, at(hook, lambda ctx: None))
    results = [(await ask(each.agent, way)).result for each in (plain, guarded)]
    assert results[0].text == results[1].text
    sent = [[(m.role, m.text) for r in each.model.requests for m in r.messages] for each in (plain, guarded)]
    assert sent[0] == sent[1]


@both_ways
@pytest.mark.parametrize("received", RETURNED)
@pytest.mark.parametrize("hook", MESSAGE_HOOKS)
async def test_what_means_nothing_is_named_where_it_was_returned(hook: str, received: str, way: str) -> None:
    """ERR-003: the error names processor, hook, what was received and what is expected, and nothing goes on."""
    error = (await returning(hook, way, RETURNED[received])).error
    assert isinstance(error, ProcessorError)
    assert (error.processor_id, error.hook) == ("guard", hook)
    assert "'guard'" in str(error) and hook in str(error)
    assert ("int is no message" if received == "int" else f"returned {received}") in str(error)
    assert ("async def" if received == "coroutine" else "return None") in str(error)


@both_ways
@pytest.mark.parametrize("received", RETURNED)
@pytest.mark.parametrize("hook", OWN_FORMS)
async def test_the_hooks_with_forms_of_their_own_refuse_too(hook: str, received: str, way: str) -> None:
    """ERR-003: what means nothing for a request or for a model error is refused by name as well."""
    error = (await returning(hook, way, RETURNED[received])).error
    assert isinstance(error, ProcessorError)
    assert (error.processor_id, error.hook) == ("guard", hook)
    assert f"returned {'list' if received == 'int' else received}" in str(error)
    assert ("async def" if received == "coroutine" else "return None") in str(error)


@both_ways
@pytest.mark.parametrize("options", [{}, {"timeout": 5}, {"blocking": True}])
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_what_was_not_awaited_is_reported_and_closed(kind: str, options: dict[str, Any], way: str) -> None:
    """ERR-003: an un-awaited coroutine is an error, or awaited, however the hook is called, and is not left open."""

    async def act(ctx: Any) -> Any:
        return later()

    seen = await returning("process_input", way, act if kind == "async" else RETURNED["coroutine"], **options)
    assert isinstance(seen.error, ProcessorError)
    assert (seen.error.processor_id, seen.error.hook) == ("guard", "process_input")
    assert "coroutine" in str(seen.error)
