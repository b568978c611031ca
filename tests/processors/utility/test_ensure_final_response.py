"""EnsureFinalResponse: the last step that a run may make ends with a text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import Chunk, FileChunk, Finish
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.processors.utility.ensure_final_response import EnsureFinalResponse, EnsureFinalResponseProcessor
from procession.processors.utility.tool_search import ToolSearch
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow


@tool
def look() -> str:
    """Look around."""
    return "nothing yet"


LOOK = call_tool("look")


def agent(model: FakeModel, *processors: Any, **options: Any) -> Agent:
    """Return an agent that looks around."""
    return Agent("a", model=model, tools=[look], input_processors=list(processors), **options)


def said(request: Any) -> str:
    """Return all that a model was told."""
    return "\n".join(message.text for message in request.messages)


@pytest.mark.parametrize("stream", [False, True])
async def test_the_last_step_has_no_tools(stream: bool) -> None:
    """At the last step the model has no tools and is told why; before that it has them and is told nothing."""
    model = FakeModel([LOOK, LOOK, "Nothing there."])
    made = agent(model, EnsureFinalResponse(), max_steps=3)
    if stream:
        async with made.stream("What is there?") as answer:
            result = await answer.result()
    else:
        result = await made.generate("What is there?")
    assert (result.text, result.finish_reason, len(result.steps)) == ("Nothing there.", "stop", 3)
    assert [len(request.tools) for request in model.requests] == [1, 1, 0]
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
    assert ["final step (step 3 of 3)" in said(request) for request in model.requests] == [False, False, True]
    assert '<system-reminder reason="max-steps-reached" step="3">' in said(model.requests[2])


async def test_the_calls_own_limit_counts() -> None:
    """The limit is the call's where it says one, else the agent's; the processor's own may only be lower."""
    for max_steps, of_call, first_without in ((None, 2, 1), (None, None, 3), (2, None, 1), (9, 3, 2)):
        options: dict[str, Any] = {} if of_call is None else {"max_steps": of_call}
        model = FakeModel([*[LOOK] * first_without, "Nothing there."])
        result = await agent(model, EnsureFinalResponse(max_steps), max_steps=4).generate("What is there?", **options)
        assert (result.text, [len(request.tools) for request in model.requests]) == (
            "Nothing there.",
            [*[1] * first_without, 0],
        )


async def test_the_reminder_is_gone_with_the_turn() -> None:
    """What the model was reminded of is not kept, so that the next turn does not begin with it."""
    model = FakeModel([LOOK, "Nothing there.", "Hello."])
    made = agent(model, EnsureFinalResponse(), max_steps=2, memory=Memory())
    await made.generate("What is there?", thread="t", resource="r")
    await made.generate("Hi", thread="t", resource="r")
    assert "final step" in said(model.requests[1])
    assert "final step" not in said(model.requests[2])
    assert len(model.requests[2].tools) == 1


async def test_nothing_is_said_where_there_is_nothing_to_call() -> None:
    """Without tools, or with none that may be called, the model is told nothing."""
    calls: list[dict[str, Any]] = [{"tool_choice": "none"}, {"active_tools": []}]
    for options in calls:
        model = FakeModel("Hello.")
        await agent(model, EnsureFinalResponse(), max_steps=1).generate("Hi", **options)
        assert "final step" not in said(model.requests[0])
    model = FakeModel("Hello.")
    await Agent("a", model=model, max_steps=1, input_processors=[EnsureFinalResponse()]).generate("Hi")
    assert "final step" not in said(model.requests[0])


async def test_tools_that_come_later_are_taken_as_well() -> None:
    """Where it stands before the processor that brings the tools, the last step has none of them either."""
    model = FakeModel([call_tool("search_tools", {"query": "look"}), "Nothing."])
    made = Agent("a", model=model, max_steps=2, input_processors=[EnsureFinalResponse(), ToolSearch(tools=[look])])
    assert (await made.generate("Hi")).text == "Nothing."
    assert [len(request.tools) for request in model.requests] == [2, 0]


async def test_it_is_each_agents_own_last_step() -> None:
    """A sub-agent has its own limit, and what it is reminded of is not told to the agent that asks it."""
    below, above = (
        FakeModel([LOOK, "Nothing there."]),
        FakeModel([call_tool("agent-below", {"prompt": "Look."}), "All is well."]),
    )
    scout = Agent(
        "below", description="Looks.", model=below, tools=[look], max_steps=2, input_processors=[EnsureFinalResponse()]
    )
    asking = Agent("above", model=above, tools=[scout], max_steps=5, input_processors=[EnsureFinalResponse()])
    assert (await asking.generate("Is all well?")).text == "All is well."
    assert [len(request.tools) for request in below.requests] == [1, 0]
    assert [len(request.tools) for request in above.requests] == [1, 1]
    assert "final step" not in said(above.requests[1])


async def test_tools_may_be_left() -> None:
    """With ``take_tools=False`` the prompt stays as it was but for the reminder at its end, in words of one's own."""
    model = FakeModel([LOOK, "Nothing."])
    last = EnsureFinalResponse(take_tools=False, message="Step {step}/{max_steps}: answer.")
    await agent(model, last, max_steps=2).generate("What is there?")
    assert [len(request.tools) for request in model.requests] == [1, 1]
    assert "Step 2/2: answer." in said(model.requests[1])


EMPTY = say("  \n")


async def test_an_empty_answer_after_tools_is_asked_for_again() -> None:
    """Silence after tools is no answer: the model is asked again as often as the run's retries allow."""
    model = FakeModel([LOOK, EMPTY, EMPTY, "Nothing there."])
    ensured = EnsureFinalResponse()
    made = agent(model, ensured, output_processors=[ensured], max_processor_retries=2, max_steps=2)
    result = await made.generate("What is there?")
    assert (result.text, len(result.steps), len(result.rejected)) == ("Nothing there.", 2, 2)
    assert "You gave no answer" in said(model.requests[2])
    assert [len(request.tools) for request in model.requests] == [1, 0, 0, 0]


@pytest.mark.parametrize("retries", [None, 0, 1])
async def test_the_fallback_answers_in_the_end(retries: int | None) -> None:
    """Where the retries are used up, or there are none, the fallback is the answer, if there is one."""
    for fallback, text in (("I could not find out.", "I could not find out."), (None, "  \n")):
        model = FakeModel([LOOK, *[EMPTY] * (1 + (retries or 0))])
        ensured = EnsureFinalResponse(fallback=fallback)
        result = await agent(model, output_processors=[ensured], max_processor_retries=retries).generate(
            "What is there?"
        )
        assert (result.status, result.text) == ("completed", text)
        assert len(model.requests) == 2 + (retries or 0)


@pytest.mark.parametrize("script", [[EMPTY], [LOOK, "Text."], [LOOK, Reply("Let me see.") + LOOK, "Text."]])
async def test_other_answers_stay_as_they_are(script: list[Any]) -> None:
    """A text is an answer, and so is silence where no tool was called."""
    model = FakeModel(script)
    ensured = EnsureFinalResponse(fallback="never")
    result = await agent(model, output_processors=[ensured], max_processor_retries=1).generate("Hi")
    assert ("never" not in result.text, len(model.requests)) == (True, len(script))


async def test_a_picture_is_an_answer() -> None:
    """A file without a word is neither asked for again nor replaced."""

    class Painter(FakeModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
            async for chunk in super().stream(request):
                if isinstance(chunk, Finish) and len(self.requests) > 1:
                    yield FileChunk(b"picture", "image/png")
                yield chunk

    model = Painter([LOOK, say()])
    ensured = EnsureFinalResponse(fallback="Nothing.")
    result = await agent(model, output_processors=[ensured], max_processor_retries=1).generate("Draw it.")
    assert (result.text, len(model.requests)) == ("", 2)
    assert [part.data for part in result.steps[-1].files] == [b"picture"]


async def test_it_works_in_a_workflow() -> None:
    """In a workflow of processors it does what it does in a list."""
    flow: Any = create_workflow("w", kind="processor").then(EnsureFinalResponse().as_step())
    model = FakeModel([LOOK, "Nothing there."])
    assert (await agent(model, flow.commit(), max_steps=2).generate("Hi")).text == "Nothing there."
    assert model.requests[1].tools == ()


@pytest.mark.parametrize("count", [0, -1, True, "3", 2.0])
def test_a_limit_that_is_none_is_refused(count: Any) -> None:
    """A number of steps is a whole one, at least 1."""
    with pytest.raises(ProcessorDefinitionError, match="max_steps"):
        EnsureFinalResponse(count)
    assert EnsureFinalResponseProcessor is EnsureFinalResponse
