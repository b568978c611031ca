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
from procession.storage.memory import InMemoryStore
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
        memory=Memory(InMemoryStore()),
        guard_mode="concurrent",
        max_processor_retries=2,
        input_processors=[checks, PromptInjectionDetector(), at("process_output_stream", lambda ctx: ctx.chunk, id="late")],
        output_processors=[checks, Tone()],
        error_processors=lambda context: [at("process_api_error", lambda ctx: None, id=f"for-{context.get('tenant')}")],
    )  # fmt: skip


RICH = """\
agent 'bot': model 'first', then 'second', at most 5 steps, each sent back at most 2 times
process_input (once, before the first step)
  1. memory-input-filter (memory) [on_error=stop, timeout=30 s]
  2. message-history (memory) [on_error=stop, timeout=30 s]
  3. checks/pii-detector (input_processors, in parallel with regex-filter) [strategy=redact, mode=enforce, \
on_error=stop, blocks where it cannot check]
  4. checks/regex-filter (input_processors, in parallel with pii-detector) [strategy=block, mode=monitor, on_error=skip]
  5. checks/summary (input_processors, if is_long) [on_error=stop]
  6. checks/short (input_processors, if no condition holds) [on_error=stop]
  beside the first model call:
  7. prompt-injection-detector (input_processors) [strategy=block, mode=enforce, on_error=stop, \
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
  - turns are kept in InMemoryStore, which lasts as long as the process
  - a call without thread= and resource= remembers nothing, and has nothing remembered (D35)
  - the agent has no tools: process_tool_result waits for tools of a call or of a step
  - memory-input-filter, message-history, checks may change messages, and run before the first model call
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


def where(explained: Any) -> list[tuple[str, ...]]:
    """Return how each processor stands at ``process_input``."""
    return [(place.processor_id, *place.where) for place in explained.at("process_input")]


def checking(id: str) -> Processor:
    """Return a guard of new input that only checks."""
    return at("process_input", lambda ctx: None, id=id, check_only=True)


def test_arms_in_turn_and_arms_of_which_one_runs() -> None:
    """Branches that are chained are told in turn, an arm behind the first with ``else if``, a map where it picks."""
    flow = create_workflow("flow", kind="processor").parallel([checking("a"), checking("b")], merge="chain")
    flow.branch([(is_long, checking("c")), (is_long, checking("d"))], mode="first", on_no_match="skip")
    flow.parallel([checking("e"), checking("f")]).map(lambda outputs: outputs["processor:e"])
    agent = Agent("bot", model=FakeModel("x"), input_processors=[flow.commit()])
    picked = "then a map picks what goes on"
    assert where(agent.explain()) == [
        ("a",), ("b", "in turn after a"), ("c", "if is_long"), ("d", "else if is_long"),
        ("e", "in parallel with f", picked), ("f", "in parallel with e", picked),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["before", "concurrent"])
async def test_concurrent_guards_stand_where_they_run(mode: Any) -> None:
    """Entries beside the model are told so, workflows in workflows included; the others stand before, and why."""
    inner = create_workflow("inner", kind="processor").parallel([checking("one"), checking("two")]).commit()
    outer = create_workflow("outer", kind="processor").then(inner).commit()
    changes = at("process_input", lambda ctx: None, id="changes")
    agent = Agent("bot", model=FakeModel("x"), guard_mode=mode, input_processors=[outer, changes])
    explained = agent.explain()
    places = [(place.processor_id, place.workflows, place.beside_model) for place in explained.at("process_input")]
    nested = [("one", ("outer", "inner"), mode == "concurrent"), ("two", ("outer", "inner"), mode == "concurrent")]
    alone = [("changes", (), False)]
    assert places == (alone + nested if mode == "concurrent" else nested + alone)
    assert ("changes may change messages, and run before the first model call" in explained.notes) == (
        mode == "concurrent"
    )
    assert (agent.guards_beside == ("outer",)) == (mode == "concurrent")


def test_what_will_come_to_nothing() -> None:
    """A handler without a budget, results without tools, and hooks that no list serves are told, with the reason."""
    handler = at("process_api_error", lambda ctx: {"retry": True}, id="handler")
    results = at("process_tool_result", lambda ctx: None, id="results")
    agent = Agent(
        "bot", model=FakeModel("x"), max_processor_retries=0, output_processors=[results], error_processors=[handler, results],
    )  # fmt: skip
    explained = agent.explain()
    assert [str(each) for each in explained.never] == []  # it is called from the other list
    assert explained.notes == (
        "max_processor_retries=0: a processor that asks for another call after a failed one does not get it",
        "the agent has no tools: process_tool_result waits for tools of a call or of a step",
    )
    misplaced = Agent("bot", model=FakeModel("x"), error_processors=[at("process_input", lambda ctx: None, id="lost")])
    assert [str(each) for each in misplaced.explain().never] == [
        "lost (error_processors) process_input: error_processors does not serve that, input_processors does"
    ]
