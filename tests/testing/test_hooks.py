"""One hook by itself (DX-004): what it is given, and what is told of what it did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from procession.errors import InputError, ModelError, ProcessorDefinitionError, ProcessorError
from procession.messages.chunks import DataChunk, TextDelta, ToolCall
from procession.messages.message import Message
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.hooks import HOOK_NAMES, Hook
from procession.processors.processor import Processor, processor
from procession.testing.hooks import run_hook
from procession.workflows.workflow import create_workflow

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.anyio


def at(hook: str, act: Callable[[Any], Any], **options: Any) -> Processor:
    """Return a processor that does *act* at *hook*."""
    made = processor(hook=hook, id="guard")(act)
    for name, value in options.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("hook", sorted(HOOK_NAMES))
async def test_every_hook_runs_by_itself(hook: str) -> None:
    """DX-004: each of the nine hooks is run with messages, and what it kept and reported is told."""

    def look(ctx: Any) -> Any:
        ctx.state["texts"] = [message.text for message in ctx.view]
        ctx.warn("seen", metadata=ctx.request_context.get("tenant"))
        return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None

    talk = [Message.user("Hi"), Message("assistant", "Hello.")]
    ran = await run_hook(at(hook, look), hook, talk, request_context={"tenant": "acme"})
    everything = ["Hello."] if hook == "process_output_result" else ["Hi", "Hello."]
    assert ran.state["guard"]["texts"] == everything
    assert {(one.outcome, one.hook, one.detail) for one in ran.violations} == {("warned", hook, "acme")}
    assert [message.text for message in ran.messages] == ["Hi", "Hello."]
    assert ran.tripwire is None


async def test_what_a_hook_is_given_besides() -> None:
    """DX-004: arguments go by the names that the context has."""
    seen: list[Any] = []
    await run_hook(
        at("process_output_step", lambda ctx: seen.append((ctx.text, ctx.tool_calls[0].tool_name, ctx.retry_count))),
        "process_output_step", text="Let me see.", tool_calls=[ToolCall("c1", "lookup", {})], retry_count=2,
    )  # fmt: skip
    await run_hook(
        at("process_api_error", lambda ctx: seen.append((ctx.error.kind, ctx.can_retry))), "process_api_error",
        error=ModelError("busy", kind="unavailable"), can_retry=False,
    )  # fmt: skip
    await run_hook(
        at("process_input_step", lambda ctx: seen.append((ctx.model_settings, ctx.step_number))), "process_input_step",
        model_settings={"temperature": 0}, step_number=3,
    )  # fmt: skip
    assert seen == [("Let me see.", "lookup", 2), ("unavailable", False), ({"temperature": 0}, 3)]


async def test_what_a_hook_changed() -> None:
    """DX-004: changed messages, prompts, results, settings and retries are in the result."""
    redacted = await run_hook(PIIDetector(redaction="placeholder"), "process_input", "Mail eva@example.net")
    assert redacted.messages[0].text == "Mail [EMAIL]"
    result = await run_hook(
        PIIDetector(redaction="placeholder"), "process_tool_result", tool_name="find", result={"to": "eva@example.net"}
    )
    assert result.payload.result == {"to": "[EMAIL]"}
    step = await run_hook(at("process_input_step", lambda ctx: {"tool_choice": "none"}), "process_input_step")
    assert step.payload.tool_choice == "none"
    again = await run_hook(at("process_api_error", lambda ctx: {"retry": True}), "process_api_error")
    assert again.payload.retry is True
    system = await run_hook(at("process_input", lambda ctx: ctx.message_list.add_system("Be brief.")), "process_input")
    assert [message.text for message in system.system_messages] == ["Be brief."]


async def test_a_stream() -> None:
    """DX-004: chunks, or a text in pieces, pass the stream's hook, and what is held back is let go at the end."""
    guard = PIIDetector(redaction="placeholder")
    assert (
        await run_hook(guard, "process_output_stream", text=["Mail eva@exam", "ple.net now"])
    ).text == "Mail [EMAIL] now"
    upper = at("process_output_stream", lambda ctx: ctx.chunk.replace(text=ctx.chunk.text.upper()))
    assert (await run_hook(upper, "process_output_stream", chunks=[TextDelta("a")])).chunks == (TextDelta("A"),)
    blocked = await run_hook(PIIDetector(strategy="block"), "process_output_stream", text=["eva@exam", "ple.net"])
    assert blocked.text == ""
    assert blocked.tripwire is not None
    assert blocked.tripwire.processor_id == "pii-detector"


async def test_verdicts_and_what_was_sent() -> None:
    """DX-004: verdicts, answers in place of the model's, data and signals stand in the result."""
    stopped = await run_hook(at("process_input", lambda ctx: ctx.abort("no", retry=True)), "process_input", "Hi")
    assert stopped.tripwire is not None
    assert (stopped.tripwire.reason, stopped.tripwire.retry) == ("no", True)
    assert [one.outcome for one in stopped.violations] == ["blocked"]
    given = await run_hook(at("process_input", lambda ctx: ctx.replace_response("safe")), "process_input", "Hi")
    assert given.replacement == "safe"

    async def send(ctx: Any) -> None:
        await ctx.writer.custom({"type": "data-note", "data": 1})
        await ctx.send_signal({"type": "reactive", "contents": "Be brief."})

    sent = await run_hook(at("process_input", send), "process_input", "Hi")
    assert sent.written == (DataChunk("data-note", 1),)
    assert [signal.contents for signal in sent.signals] == ["Be brief."]
    assert [message.role for message in sent.messages] == ["user", "signal"]


async def test_lists_and_workflows() -> None:
    """DX-004: a list of processors and a workflow run like one; a state may be given."""
    seen: list[Any] = []
    first = at("process_input", lambda ctx: seen.append(ctx.state.get("n")))
    checks = (
        create_workflow("checks", kind="processor").parallel([first, PIIDetector(redaction="placeholder")]).commit()
    )
    ran = await run_hook([checks], "process_input", "eva@example.net", state={"guard": {"n": 7}})
    assert (seen, ran.messages[0].text) == ([7], "[EMAIL]")


async def test_what_cannot_be_run() -> None:
    """DX-004: a failing hook raises what it raises in a run; what does not exist is named."""

    def divide(ctx: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ProcessorError, match="processor 'guard' failed in process_input"):
        await run_hook(at("process_input", divide), "process_input", "Hi")
    with pytest.raises(InputError, match="is no hook") as caught:
        await run_hook(PIIDetector(), "process_inputs", "Hi")
    assert caught.value.hint == "did you mean 'process_input'?"
    with pytest.raises(InputError, match="there is no process_output_step to run"):
        await run_hook(PIIDetector(), "process_output_step")
    with pytest.raises(InputError, match="process_input is not given 'prompt'"):
        await run_hook(PIIDetector(), "process_input", prompt=[])
    with pytest.raises(ProcessorDefinitionError):
        await run_hook(object(), "process_input")


def test_fixtures(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """DX-004: a plugin named in ``conftest.py`` gives a model, a hook by itself and stable ids to plain tests."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    pytester.makeconftest('pytest_plugins = ["procession.testing.fixtures"]')
    pytester.makepyfile(
        """
        from procession import Agent, Message
        from procession.processors.guardrails.pii import PIIDetector

        def test_model(fake_model, stable_ids):
            model = fake_model("Hello.")
            assert Agent("bot", model=model).generate_sync("Hi").text == "Hello."
            assert Message.user("Hi").id.startswith("id-")

        def test_hook(run_hook):
            ran = run_hook(PIIDetector(redaction="placeholder"), "process_output_stream", text="eva@example.net")
            assert ran.text == "[EMAIL]"
        """
    )
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=2)
