"""One hook of a processor workflow, run from JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from procession.errors import InputError, SchemaError
from procession.messages.chunks import TextDelta
from procession.processors.chain import chain, processor_steps
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.hooks import Hook
from procession.runtime.runtime import Runtime
from procession.server.hook_input import hook_call
from procession.server.samples import samples


class Everywhere:
    """Takes part in every hook."""

    id = "everywhere"
    process_tool_errors = True

    def __init__(self) -> None:
        self.seen: list[str] = []


def _hook(name: str) -> Any:
    async def method(self: Everywhere, ctx: Any) -> Any:
        self.seen.append(name)
        return ctx.chunk if name == Hook.OUTPUT_STREAM.value else None

    method.__name__ = name
    return method


for each in Hook:
    setattr(Everywhere, each.value, _hook(each.value))


def workflow_of(*processors: Any) -> Any:
    made = chain(processor_steps(list(processors), where="test"), "guards")
    assert made is not None
    return made


async def run(workflow: Any, body: Any) -> Any:
    what, value = hook_call(workflow, json.loads(json.dumps(body)))
    return (await Runtime().create_run(what, durable=False).start(value)).unwrap()


async def test_every_hook_has_samples_and_each_of_them_runs() -> None:
    """Each of the nine hooks can be run from a sample, and reaches the processor."""
    processor = Everywhere()
    workflow = workflow_of(processor)
    found = samples(workflow)
    assert {each["hook"] for each in found} == {hook.value for hook in Hook}
    for each in found:
        processor.seen.clear()
        await run(workflow, each["body"])
        assert set(processor.seen) == {each["hook"]}, each


async def test_a_guard_is_run_on_messages_and_on_a_stream() -> None:
    """What a guard does to messages and to chunks is what it does in an agent, a value split over chunks included."""
    workflow = workflow_of(PIIDetector(redaction="placeholder"))
    payload = await run(workflow, {"hook": "process_input", "messages": "Mail eva@example.net"})
    assert payload.message_list.view()[0].text == "Mail [EMAIL]"
    [sample] = [each for each in samples(workflow) if each["title"] == "Text in pieces"]
    left = await run(workflow, sample["body"])
    text = "".join(chunk.text for chunk in left if isinstance(chunk, TextDelta))
    assert text == "It left the warehouse today. Write to [EMAIL] if it is late."


async def test_only_hooks_that_there_are_have_samples() -> None:
    """A workflow is offered no hook that it does not have."""
    workflow = workflow_of(PIIDetector())
    hooks = workflow.as_step().hooks
    assert {each["hook"] for each in samples(workflow)} == {hook.value for hook in Hook} & hooks


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"hook": "process_output_stream", "chunks": [{"type": "text-delta"}]}, "chunks[0]"),
        ({"hook": "process_output_stream", "chunks": "x"}, "chunks"),
        ({"hook": "process_output_stream", "chunks": [{"type": "tripwire", "reason": "x"}]}, "chunks[0]"),
        ({"hook": "process_tool_result", "tool_result": {"tool": "x"}}, "tool_result.tool"),
        ({"hook": "process_tool_result", "tool_result": []}, "tool_result"),
        ({"hook": "process_api_error", "error": {"kind": "odd"}}, "error.kind"),
        ({"hook": "process_api_error", "error": {"status_code": "429"}}, "error.status_code"),
        ({"hook": "process_input", "messages": [{"role": "nobody", "content": "x"}]}, "messages"),
        ({"hook": "process_input", "messages": "x", "step_number": -1}, "step_number"),
        ({"hook": "process_output_step", "tool_calls": [{"tool_name": "x"}]}, "tool_calls[0]"),
    ],
)
def test_what_does_not_fit_is_named(body: Any, where: str) -> None:
    """An error of a body names the field, so that a form can show it there."""
    with pytest.raises(SchemaError) as caught:
        hook_call(workflow_of(Everywhere()), body)
    assert caught.value.faults[0].startswith(where)


def test_a_hook_that_is_not_there_is_refused_with_those_that_are() -> None:
    """A wrong name of a hook is answered with the near one, and with those that the workflow has."""
    workflow = workflow_of(PIIDetector())
    with pytest.raises(InputError, match="has no 'process_inputs'") as caught:
        hook_call(workflow, {"hook": "process_inputs"})
    assert caught.value.hint == "did you mean 'process_input'?"
    with pytest.raises(InputError) as caught:
        hook_call(workflow, {"hook": "process_api_error"})
    assert "process_input" in str(caught.value.hint)
