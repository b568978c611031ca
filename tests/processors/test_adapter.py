"""A processor as a step: how its hooks are called, timed and settled."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import anyio
import pytest
from tests.processors.kit import at, ids, passed, payload_of, texts, through

from procession.errors import MessageError, ProcessorError
from procession.processors.adapter import HookCaller
from procession.processors.processor import Processor
from procession.steps.scope import RequestScope
from procession.steps.signals import Bail, CancelRun
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow


def edit(ctx: Any) -> None:
    """Change the input."""
    ctx.messages[-1].text = "edited"


async def edit_later(ctx: Any) -> None:
    """Change the input after waiting."""
    await anyio.lowlevel.checkpoint()
    edit(ctx)


@pytest.mark.parametrize(
    ("act", "options", "plain"),
    [
        (edit, {}, True),
        (edit_later, {}, False),
        (edit, {"blocking": True}, False),
        (edit, {"timeout": 5}, False),
        (edit_later, {"timeout": 5}, False),
        (edit, {"on_error": "skip"}, True),
    ],
)
async def test_kinds_of_hooks(act: Any, options: dict[str, Any], plain: bool) -> None:
    """Plain, asynchronous and blocking hooks do the same; only plain ones are called without awaiting anything."""
    processor = at("process_input", act, **options)
    payload = await passed(payload_of("process_input"), processor)
    assert texts(payload.messages)[-1] == "edited"
    assert HookCaller(processor).plain is plain
    assert processor.as_step().inline_async is not plain


async def test_plain_and_async_hooks_of_one_processor() -> None:
    """One processor may have hooks of both kinds."""

    class Both(Processor):
        id = "both"

        def process_input(self, ctx: Any) -> None:
            seen.append("plain")

        async def process_input_step(self, ctx: Any) -> None:
            seen.append("async")

    seen: list[str] = []
    for hook in ("process_input", "process_input_step"):
        await passed(payload_of(hook), Both())
    assert seen == ["plain", "async"]


async def test_where_hooks_run() -> None:
    """A plain hook runs in place, a blocking one in a worker thread."""
    threads: list[bool] = []
    main = threading.get_ident()

    def note(ctx: Any) -> None:
        threads.append(threading.get_ident() == main)

    await passed(payload_of("process_input"), at("process_input", note))
    await passed(payload_of("process_input"), at("process_input", note, blocking=True))
    assert threads == [True, False]


async def test_a_verdict_of_a_blocking_hook_counts() -> None:
    """A blocking hook may stop the run from its thread."""
    result = await through(payload_of("process_input"), at("process_input", lambda ctx: ctx.abort("no"), blocking=True))
    assert result.status == "blocked"


async def test_other_hooks_pass() -> None:
    """A processor that does not have the payload's hook hands it on as it is."""
    payload = payload_of("process_input_step")
    assert await passed(payload, at("process_input", edit)) is payload
    assert texts(payload.messages)[-2] == "Hi"


async def test_duck_typed_processors_are_called() -> None:
    """An object that derives from nothing is called like any other, its options read from it."""

    class Duck:
        id = "duck"
        on_error = "skip"

        def process_input(self, ctx: Any) -> None:
            raise ValueError

    scope = RequestScope()
    await passed(payload_of("process_input"), Duck(), scope=scope)
    assert [(one.processor_id, one.outcome) for one in scope.violations] == [("duck", "error")]


async def test_tool_errors_are_for_those_who_ask() -> None:
    """A tool that raised is shown only to processors with ``process_tool_errors``."""
    seen: list[str] = []
    payload = payload_of("process_tool_result")
    payload.is_error = True
    await passed(
        payload,
        at("process_tool_result", lambda ctx: seen.append("a"), id="a"),
        at("process_tool_result", lambda ctx: seen.append("b"), id="b", process_tool_errors=True),
    )
    assert seen == ["b"]


async def test_a_failure_names_processor_hook_and_path() -> None:
    """``ProcessorError`` says who failed, how, in which hook and where; what the exception says is its cause's."""

    def broken(ctx: Any) -> None:
        raise LookupError("no such key")

    with pytest.raises(ProcessorError) as caught:
        await passed(payload_of("process_input"), at("process_input", broken))
    error = caught.value
    assert (error.processor_id, error.hook, error.path) == ("guard", "process_input", "processor:guard")
    assert error.message == "processor 'guard' failed in process_input: LookupError"
    assert str(error.__cause__) == "no such key"


async def test_skipping_takes_everything_back() -> None:
    """What a processor did to the messages before it failed is taken back where it is left out."""

    def half(ctx: Any) -> None:
        ctx.message_list.remove(["m"])
        ctx.message_list.add_system("more")
        raise ValueError

    payload = await passed(
        payload_of("process_input"), at("process_input", edit, id="a"),
        at("process_input", half, id="b", on_error="skip"), at("process_input", lambda ctx: None, id="c"),
    )  # fmt: skip
    assert ids(payload.message_list) == ["c", "m", "u", "a"]
    assert texts(payload.messages)[-1] == "edited"
    assert [message.text for message in payload.message_list.system_messages] == ["Be brief.", "remember"]


async def test_skipping_takes_settings_back() -> None:
    """A return that is refused half-way leaves no half of it behind."""
    payload = await passed(
        payload_of("process_input_step"),
        at("process_input_step", lambda ctx: {"model": FakeModel("x"), "tools": 5}, on_error="skip"),
    )
    assert (payload.model, payload.tools) == (None, {})


async def test_a_verdict_outranks_a_failure() -> None:
    """An exception after ``ctx.abort`` is nothing: the verdict counts."""

    def both(ctx: Any) -> None:
        try:
            ctx.abort("no")
        finally:
            raise ValueError

    assert (await through(payload_of("process_input"), at("process_input", both))).status == "blocked"


async def test_a_timeout_names_its_length() -> None:
    """A hook that takes too long fails with how long it might have taken."""

    async def stuck(ctx: Any) -> None:
        await anyio.sleep_forever()

    with pytest.raises(ProcessorError, match="took longer than 0.01 s"):
        await passed(payload_of("process_input"), at("process_input", stuck, timeout=0.01))


async def test_a_timeout_of_its_own_is_a_failure_like_others() -> None:
    """A hook that raises ``TimeoutError`` itself is not said to have been too slow."""

    def broken(ctx: Any) -> None:
        raise TimeoutError("the database")

    with pytest.raises(ProcessorError, match="failed in process_input: TimeoutError"):
        await passed(payload_of("process_input"), at("process_input", broken))


async def test_other_signals_pass() -> None:
    """A hook may end the workflow that it stands in, or the run."""

    def cancel(ctx: Any) -> None:
        raise CancelRun

    def bail(ctx: Any) -> None:
        raise Bail("early")

    assert (await through(payload_of("process_input"), at("process_input", cancel))).status == "cancelled"
    assert (await through(payload_of("process_input"), at("process_input", bail))).unwrap() == "early"


SLOW = """
import time, anyio
from structlog.testing import capture_logs
from tests.processors.kit import at, passed, payload_of

async def main():
    guard = at("process_input", lambda ctx: time.sleep(0.06))
    with capture_logs() as logs:
        for _ in range(2):
            await passed(payload_of("process_input"), guard)
    print([log["event"] for log in logs if log["log_level"] == "warning"])

anyio.run(main)
"""


def test_a_slow_plain_hook_is_told_of_in_development_mode() -> None:
    """In development mode a plain hook that takes over 50 ms is warned about once, naming ``blocking``."""
    said = subprocess.run([sys.executable, "-X", "dev", "-c", SLOW], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['a plain hook took over 50 ms: set blocking = True']"


@pytest.mark.parametrize("later", [True, False])
async def test_what_is_no_payload_is_said(later: bool) -> None:
    """A plain step that returns something else than its input is told what it should have returned."""

    @step
    def lost(ctx: StepContext[Any]) -> str:
        return "lost"

    async def act_later(ctx: Any) -> None:
        return None

    guard = at("process_input", act_later if later else lambda ctx: None)
    workflow = create_workflow("checks", kind="processor").then(lost).then(guard).commit()
    with pytest.raises(MessageError, match="handed str in place of the phase's payload") as caught:
        await passed(payload_of("process_input"), workflow)
    assert "returns ctx.input" in str(caught.value)
