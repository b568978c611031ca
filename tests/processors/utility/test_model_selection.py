"""ModelSelection: the model that answers is chosen once, and the configured one answers where nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from procession.agents.agent import Agent
from procession.errors import InputError, ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.usage import Usage
from procession.processors.contexts import APIErrorContext, InputContext, OutputStepContext
from procession.processors.processor import Processor
from procession.processors.utility.model_selection import (
    ModelChoice,
    ModelDecision,
    ModelSelection,
    ModelSelectionProcessor,
)
from procession.steps.request_context import RequestContext
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow


@tool
def look() -> str:
    """Look around."""
    return "nothing yet"


LOOK = call_tool("look")


class Models:
    """A configured model and two that may be chosen, each of which answers with its name."""

    def __init__(self) -> None:
        self.small, self.large, self.own = (
            FakeModel([LOOK, name], id=name, repeat_last=True) for name in ("small", "large", "own")
        )
        self.choices = [
            ModelChoice(model=self.small, criteria="short questions"),
            ModelChoice(model=self.large, criteria="long ones", name="big"),
        ]
        self.told: list[ModelDecision] = []

    def judged(self, *answers: Any, **options: Any) -> ModelSelection:
        """Return a selection by a model that answers so."""
        self.judge = FakeModel(list(answers), id="judge")
        return ModelSelection(choices=self.choices, model=self.judge, on_decision=self.told.append, **options)

    def selected(self, select: Any, **options: Any) -> ModelSelection:
        """Return a selection by a function."""
        return ModelSelection(choices=self.choices, select=select, on_decision=self.told.append, **options)

    def agent(self, *processors: Any, **options: Any) -> Agent:
        """Return an agent with these processors."""
        return Agent("a", model=self.own, tools=[look], input_processors=list(processors), **options)


def verdict(choice: str, probability: float = 0.9) -> str:
    """Return what a judging model says."""
    return f'{{"choice": "{choice}", "probability": {probability}}}'


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_judges_once(stream: bool) -> None:
    """The choice holds for the whole run, the judge is asked once, about the latest words of the user, and is paid."""
    models = Models()
    made = models.agent(models.judged(verdict("big")))
    history = [Message.user("First?"), Message.assistant("Yes."), Message.user("Compare these.")]
    if stream:
        async with made.stream(history) as answer:
            result = await answer.result()
    else:
        result = await made.generate(history)
    assert (result.text, len(models.large.requests), models.own.requests) == ("large", 2, [])
    (asked,) = models.judge.requests
    assert "Compare these." in asked.messages[1].text
    assert "First?" not in asked.messages[1].text
    assert "- small: short questions\n- big: long ones" in asked.messages[0].text
    assert asked.settings == {"temperature": 0}
    assert (result.guard_usage, result.usage) == (Usage(10, 5), Usage(20, 10))
    assert models.told == [ModelDecision(choice="big", model="large", probability=0.9)]


async def test_the_first_step_only() -> None:
    """With ``scope="first-step"`` the configured model answers from the second step on."""
    models = Models()
    result = await models.agent(models.judged(verdict("small"), scope="first-step")).generate("Hi")
    assert (result.text, len(result.steps)) == ("own", 3)
    assert (len(models.small.requests), len(models.own.requests), len(models.judge.requests)) == (1, 2, 1)


@pytest.mark.parametrize(
    ("answer", "decision", "outcomes"),
    [
        (verdict("big", 0.4), ModelDecision(choice="big", probability=0.4, abstained="below-threshold"), []),
        (verdict("none", 0.9), ModelDecision(probability=0.9, abstained="no-model-for-choice"), []),
        (verdict("other"), ModelDecision(abstained="error", error="ModelError (other)"), ["error"]),
        (verdict("big", 7), ModelDecision(abstained="error", error="ModelError (other)"), ["error"]),
        ("Hm.", ModelDecision(abstained="error", error="ModelError (other)"), ["error"]),
        (
            fail("secret words", status=503),
            ModelDecision(abstained="error", error="ModelError (unavailable)"),
            ["error"],
        ),
        (fail("odd", plain=True), ModelDecision(abstained="error", error="RuntimeError"), ["error"]),
    ],
)
async def test_where_nothing_is_chosen_the_configured_model_answers(
    answer: Any, decision: ModelDecision, outcomes: list[str]
) -> None:
    """A judge that is not sure, knows none, fails or talks nonsense chooses nothing, and the decision says why."""
    models = Models()
    result = await models.agent(models.judged(answer, min_probability=0.5)).generate("Hi")
    assert (result.text, len(models.own.requests), models.told) == ("own", 2, [decision])
    assert [one.outcome for one in result.violations] == outcomes
    assert "secret" not in str(result.violations)


async def test_a_judge_that_takes_too_long() -> None:
    """After the time limit the configured model answers."""
    models = Models()

    async def forever(request: Any) -> str:
        await anyio.sleep_forever()
        return ""

    result = await models.agent(models.judged(forever, timeout=0.001)).generate("Hi")
    assert (result.text, models.told) == ("own", [ModelDecision(abstained="error", error="TimeoutError")])


async def test_without_a_text_nothing_is_asked() -> None:
    """A request without words of a user is left to the configured model, and no judge is paid for it."""
    models = Models()
    for messages in ([Message.user("  ")], [Message.assistant("Hello.")]):
        await models.agent(models.judged()).generate(messages)
        assert models.judge.requests == []
    assert models.told == [ModelDecision(abstained="no-text")] * 2


async def test_a_function_selects_offline() -> None:
    """A plain or async function of the text and the request context returns a name, a model, or nothing."""
    models = Models()

    def plain(text: str, context: RequestContext) -> Any:
        return {"name": "big", "model": models.small, "odd": "other", "none": None}[context["want"]]

    async def later(text: str, context: RequestContext) -> Any:
        return plain(text, context)

    for select in (plain, later):
        models.told.clear()
        answered: list[str] = []
        for want in ("name", "model", "odd", "none"):
            fresh = Models()
            models.choices[:] = fresh.choices
            models.small = fresh.small
            result = await fresh.agent(models.selected(select)).generate(
                "Hi", request_context=RequestContext({"want": want})
            )
            answered.append(result.text)
        assert answered == ["large", "small", "own", "own"]
        assert [(one.choice, one.model, one.abstained) for one in models.told] == [
            ("big", "large", None),
            ("small", "small", None),
            (None, None, "no-model-for-choice"),
            (None, None, "no-model-for-choice"),
        ]


async def test_a_function_that_raises() -> None:
    """A faulty function chooses nothing; its words, which may be private, are told to nobody."""
    models = Models()

    def faulty(text: str, context: RequestContext) -> Any:
        raise ValueError(f"cannot read {text}")

    result = await models.agent(models.selected(faulty)).generate("My secret")
    assert (result.text, models.told) == ("own", [ModelDecision(abstained="error", error="ValueError")])
    assert "secret" not in str(result.violations)


async def test_a_classifier_and_a_function_of_its_answers() -> None:
    """A classifier is asked once, with the account that it is paid from, and the function reads its answers."""
    asked: list[tuple[str, str]] = []

    class Topics:
        async def classify(self, text: str, *, scope: Any = None) -> Mapping[str, Any]:
            asked.append((text, scope.run_id))
            return {"topic": "law"}

    def read(answers: Mapping[str, Any], context: RequestContext) -> str | None:
        return "big" if answers["topic"] == "law" else None

    def plain(text: str) -> Mapping[str, Any]:
        return {"topic": "law"}

    for classifier in (Topics(), plain):
        models = Models()
        pick = ModelSelection(choices=models.choices, classifier=classifier, select=read)
        assert (await models.agent(pick).generate("Is this legal?", run_id="run-1")).text == "large"
    assert asked == [("Is this legal?", "run-1")]


async def test_a_classifier_that_gives_no_answers() -> None:
    """What is no mapping of answers chooses nothing."""
    models = Models()
    wrong: Any = len

    def read(answers: Any, context: RequestContext) -> str:
        return "big"

    pick = models.selected(read, classifier=wrong)
    result = await models.agent(pick).generate("Hi")
    assert (result.text, models.told) == ("own", [ModelDecision(abstained="error", error="SchemaError")])


class SendsBack(Processor):
    """Sends the first answer of a run back."""

    id = "sends-back"

    def process_output_step(self, ctx: OutputStepContext) -> None:
        """Send it back."""
        if not ctx.state.get("sent"):
            ctx.state["sent"] = True
            ctx.abort("again", retry=True)


class Retries(Processor):
    """Has each failed call made again, once."""

    id = "retries"

    def process_api_error(self, ctx: APIErrorContext) -> Any:
        """Retry."""
        return {"retry": ctx.retry_count == 0}


async def test_a_fallback_in_progress_is_left_alone() -> None:
    """Where the chosen model has failed and a fallback answers, an attempt made anew stays with the fallback."""
    models = Models()
    down = FakeModel(fail("down", status=503), id="down", repeat_last=True)
    spare = FakeModel(["One.", "Two."], id="spare")
    pick = ModelSelection(choices=[ModelChoice(model=down)], select=lambda text, context: "down")
    agent = Agent(
        "a",
        model=[models.own, spare],
        input_processors=[pick],
        output_processors=[SendsBack()],
        max_processor_retries=1,
    )
    result = await agent.generate("Hi")
    assert (result.text, len(down.requests), len(spare.requests), models.own.requests) == ("Two.", 1, 2, [])


async def test_an_attempt_that_is_made_again_keeps_the_choice() -> None:
    """A retry asks the chosen model, and the judge no second time."""
    models = Models()
    broken = FakeModel([fail("down", status=503), "Well."], id="broken")
    models.choices = [ModelChoice(model=broken, criteria="a", name="x"), ModelChoice(model=models.small, criteria="b")]
    pick = models.judged(verdict("x"))
    result = await models.agent(pick, error_processors=[Retries()]).generate("Hi")
    assert (result.text, len(broken.requests), len(models.judge.requests)) == ("Well.", 2, 1)


class Hides(Processor):
    """Hides what must not be seen."""

    id = "hides"

    def process_input(self, ctx: InputContext) -> None:
        """Hide it."""
        for message in ctx.messages:
            message.text = message.text.replace("secret", "[hidden]")


async def test_the_judge_sees_what_guards_have_left() -> None:
    """What a guard hides is hidden from the judge as well, wherever the guard stands."""
    models = Models()
    await models.agent(models.judged(verdict("small")), Hides()).generate("My secret")
    assert "My [hidden]" in models.judge.requests[0].messages[1].text


async def test_a_callback_that_raises_changes_nothing() -> None:
    """What goes wrong in ``on_decision`` is logged, and the choice stands; it may be async."""
    models = Models()

    async def broken(decision: ModelDecision) -> None:
        models.told.append(decision)
        raise ValueError("no")

    pick = ModelSelection(choices=models.choices, select=lambda text, context: "small", on_decision=broken)
    result = await models.agent(pick).generate("Hi")
    assert (result.text, len(models.told)) == ("small", 1)


async def test_it_works_in_a_workflow() -> None:
    """In a workflow of processors it does what it does in a list, for many runs at the same time."""
    models = Models()
    names = {"1": "small", "2": "big"}

    def by_name(text: str, context: RequestContext) -> str | None:
        return names.get(text)

    flow: Any = create_workflow("w", kind="processor").then(models.selected(by_name).as_step())
    made = models.agent(flow.commit())
    found: dict[str, str] = {}

    async def one(text: str) -> None:
        result = await made.generate(text, tools=[], max_steps=1)
        found[text] = (result.steps[0].response.model_id if result.steps[0].response else None) or ""

    async with anyio.create_task_group() as group:
        for text in ("1", "2", "3"):
            group.start_soon(one, text)
    assert found == {"1": "small", "2": "large", "3": "own"}


CHOICES = [{"model": FakeModel([], id="a"), "criteria": "x"}, {"model": FakeModel([], id="b"), "criteria": "y"}]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"choices": CHOICES},
        {"model": FakeModel([])},
        {"model": FakeModel([]), "choices": CHOICES[:1]},
        {"model": FakeModel([]), "choices": [{"model": FakeModel([], id="c")}, *CHOICES[:1]]},
        {"model": FakeModel([]), "choices": [*CHOICES, CHOICES[0]]},
        {"model": FakeModel([]), "choices": [*CHOICES, {**CHOICES[0], "name": "none"}]},
        {"model": FakeModel([]), "choices": CHOICES, "select": len},
        {"model": FakeModel([]), "choices": CHOICES, "min_probability": 2},
        {"model": FakeModel([]), "choices": CHOICES, "scope": "thread"},
        {"model": FakeModel([]), "choices": CHOICES, "timeout": 0},
        {"model": FakeModel([]), "choices": [{"modle": "a"}]},
        {"model": FakeModel([]), "choices": ["a"]},
        {"model": FakeModel([]), "choices": [ModelChoice(model=object()), *CHOICES]},  # type: ignore[arg-type]
        {"choices": CHOICES, "select": "big"},
        {"choices": CHOICES, "select": len, "min_probability": 0.5},
        {"choices": CHOICES, "select": len, "classifier": object()},
        {"choices": CHOICES, "select": len, "on_decision": 3},
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    """A wrong option is refused where it is given."""
    with pytest.raises(ProcessorDefinitionError):
        ModelSelection(**options)


def test_names_of_models_are_resolved_at_once() -> None:
    """A name that leads nowhere is found when the processor is made, and not on the day of need."""
    with pytest.raises(InputError):
        ModelSelection(choices=[{"model": "nobody/nothing"}], select=lambda text, context: None)
    assert ModelSelectionProcessor is ModelSelection
