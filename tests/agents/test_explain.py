"""``agent.explain()``: which processor runs at which hook, in order, and why one never will."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import HOOKS, ask, at, list_of, spy

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.hooks import Hook
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.workflows.nodes import arm
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio


class Tone(Processor):
    """Looks at each step."""

    id = "tone"
    on_error = "skip"
    timeout = 2.5

    def process_output_step(self, ctx: Any) -> None:
        """Look."""


def is_long(payload: Any) -> bool:
    """Say whether there is much to look at."""
    return len(payload.messages) > 10


def rich() -> Agent:
    """Return an agent with memory, a workflow, guards beside the model, and processors that never run."""
    checks = (
        create_workflow("checks", kind="processor")
        .parallel([PIIDetector(), arm(RegexFilter(presets=["secrets"], mode="monitor"), on=["process_input"])])
        .branch([(is_long, at("process_input", lambda ctx: None, id="summary"))], default=at("process_input", lambda ctx: None, id="short"))
        .commit()
    )  # fmt: skip
    return Agent(
        "bot",
        model=[FakeModel("x", id="first"), FakeModel("x", id="second")],
        memory=Memory(),
        guard_mode="concurrent",
        max_processor_retries=2,
        input_processors=[checks, PromptInjectionDetector(), at("process_output_stream", lambda ctx: ctx.chunk, id="late")],
        output_processors=[checks, Tone()],
        error_processors=lambda context: [at("process_api_error", lambda ctx: None, id=f"for-{context.get('tenant')}")],
    )  # fmt: skip


RICH = """\
agent 'bot': model 'first', then 'second', at most 5 steps, each sent back at most 2 times
process_input (once, before the first step)
  1. message-history (memory) [on_error=stop, timeout=30 s]
  2. checks/pii-detector (input_processors, in parallel with regex-filter) [strategy=redact, mode=enforce, \
on_error=stop, blocks where it cannot check]
  3. checks/regex-filter (input_processors, in parallel with pii-detector) [strategy=block, mode=monitor, on_error=skip]
  4. checks/summary (input_processors, if is_long) [on_error=stop]
  5. checks/short (input_processors, if no condition holds) [on_error=stop]
  beside the first model call:
  6. prompt-injection-detector (input_processors) [strategy=block, mode=enforce, on_error=stop, \
blocks where it cannot check]
process_input_step: nobody
process_llm_request: nobody
process_output_stream (each chunk of the answer)
  1. checks/pii-detector (output_processors) [strategy=redact, mode=enforce, on_error=stop, blocks where it cannot check]
process_api_error (each failed model call; the first retry wins)
  1. prefill-error-handler (default) [on_error=stop]
process_llm_response: nobody
process_output_step (after each model call, before its tools run)
  1. tone (output_processors) [on_error=skip, timeout=2.5 s]
process_tool_result (each result of a tool)
  1. checks/pii-detector (output_processors) [strategy=redact, mode=enforce, on_error=stop, blocks where it cannot check]
process_output_result (once, after the last step)
  1. checks/pii-detector (output_processors) [strategy=redact, mode=enforce, on_error=stop, blocks where it cannot check]
  2. message-history (memory) [on_error=stop, timeout=30 s]
never called:
  - regex-filter (input_processors) process_output_stream, process_tool_result, process_output_result: \
input_processors does not serve that, output_processors does
  - prompt-injection-detector (input_processors) process_tool_result: \
input_processors does not serve that, output_processors does
  - late (input_processors) process_output_stream: input_processors does not serve that, output_processors does
  - regex-filter (output_processors) process_output_stream, process_tool_result, process_output_result: \
its workflow restricts it to other hooks (on=)
notes:
  - error_processors is a function of the request: await agent.explain_for(request_context) asks it
  - a call without thread= and resource= remembers nothing, and has nothing remembered
  - the answer is held until the guards beside the first model call have passed"""


def test_a_rich_agent() -> None:
    """All that runs is told hook by hook in order, with its list, workflow, neighbours and options; so is what does not."""
    assert str(rich().explain()) == RICH


async def test_what_depends_on_the_request() -> None:
    """``explain_for`` asks the functions of the request, and takes the lists of a call."""
    explained = await rich().explain_for({"tenant": "acme"})
    assert [place.processor_id for place in explained.at(Hook.API_ERROR)] == ["for-acme", "prefill-error-handler"]
    assert not any("function of the request" in note for note in explained.notes)
    explained = await rich().explain_for(
        input_processors=[Tone()], output_processors=[], prepare_step=print, guard_mode="before"
    )
    assert [(place.processor_id, place.source) for place in explained.at("process_input_step")] == [
        ("prepare-step", "prepare_step")
    ]
    assert [str(each) for each in explained.never] == [
        "tone (input_processors) process_output_step: input_processors does not serve that, output_processors does"
    ]
    with pytest.raises(DefinitionError, match="unknown option 'modle'"):
        await rich().explain_for(modle="x")
    with pytest.raises(InputError):
        await rich().explain_for(max_steps=0)


async def test_what_it_says_is_what_happens() -> None:
    """The order that is told is the order in which hooks are called."""
    calls: list[str] = []
    one, two = spy(calls, "one"), spy(calls, "two")
    inner = create_workflow("inner", kind="processor").then(two).commit()
    agent = Agent(
        "bot", model=FakeModel("Yes."), input_processors=[one, inner], output_processors=[inner, one],
        prefill_error_handler=False,
    )  # fmt: skip
    await ask(agent)
    explained = agent.explain()
    for hook in HOOKS:
        told = [f"{place.processor_id}.{hook}" for place in explained.at(hook)]
        called = list(dict.fromkeys(call for call in calls if call.endswith(f".{hook}")))
        assert called in (told, []), hook


def test_a_listed_history_takes_the_place_of_memorys() -> None:
    """Where the user lists a processor of memory, the explanation says whose place it takes."""
    memory = Memory()
    agent = Agent("bot", model=FakeModel("x"), memory=memory, input_processors=list(memory.input_processors()))
    assert any("takes the place of memory's" in note for note in agent.explain().notes)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_told_where_it_belongs(hook: str) -> None:
    """A processor of each hook is found at that hook, and nowhere else."""
    lists: dict[str, Any] = {list_of(hook): [at(hook, lambda ctx: None)]}
    explained = Agent("bot", model=FakeModel("x"), prefill_error_handler=False, **lists).explain()
    assert [(place.hook, place.processor_id) for place in explained.places] == [(Hook(hook), "guard")]
    assert explained.never == ()
