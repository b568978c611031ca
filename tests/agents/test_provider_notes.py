"""What a provider says beside its tools' results: guards look at it, and it goes back byte for byte or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.test_provider_tools import ADDRESS, CALL, RESULT, Provider, calls_of

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, TextDelta
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
NOTED = RESULT.replace(result="fine", provider_metadata={"p": {"quote": f"mail {ADDRESS}", "sign": "abc=="}})


@both_ways
@pytest.mark.parametrize("strategy", ["redact", "filter"])
async def test_metadata_in_which_a_guard_finds_something_are_dropped(way: str, strategy: str) -> None:
    """What the provider says beside a result often repeats it: nobody gets it where a guard would change it."""
    model = Provider((CALL, NOTED, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    guard: Any = PIIDetector(strategy=strategy)  # type: ignore[arg-type]
    seen = await ask(Agent("a", model=model, output_processors=[guard]), way)
    assert ADDRESS not in repr([*seen.chunks, *model.requests, seen.result.messages, seen.result.steps])
    (part,) = calls_of(seen.result.messages)
    assert (part.result, part.provider_metadata) == ("fine", {"p": {"call": 1}})
    assert [one.processor_id for one in seen.result.violations] == [guard.id]


@both_ways
async def test_metadata_in_which_a_guard_finds_something_trip(way: str) -> None:
    """A guard that blocks looks at the metadata of a provider's result as at the result."""
    seen = await ask(
        Agent("a", model=Provider((CALL, NOTED, Finish("stop"))), output_processors=[PIIDetector(strategy="block")]),
        way,
    )
    assert seen.result.status == "blocked"
    assert ADDRESS not in repr([*seen.chunks, seen.result.messages, seen.result.steps])


@both_ways
@pytest.mark.parametrize("in_place", [False, True])
async def test_metadata_of_a_changed_result_are_dropped(way: str, in_place: bool) -> None:
    """A processor that replaced the result, or changed something inside it, has not seen what the metadata tell."""

    def act(ctx: Any) -> Any:
        if not in_place:
            return {"result": "hidden"}
        ctx.result["found"] = "hidden"
        return None

    model = Provider(
        (CALL, NOTED.replace(result={"found": "Zoe"}), Finish("tool-calls")), (TextDelta("So."), Finish("stop"))
    )
    seen = await ask(Agent("a", model=model, output_processors=[at("process_tool_result", act)]), way)
    assert ADDRESS not in repr([*seen.chunks, *model.requests, seen.result.messages, seen.result.steps])


@both_ways
async def test_what_a_branch_dropped_of_the_metadata_stays_dropped(way: str) -> None:
    """Whichever branch a map picks, the metadata that one of the branches dropped do not come back."""
    model = Provider((CALL, NOTED, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    other = at("process_tool_result", lambda ctx: None, id="other")
    both = create_workflow("both", kind="processor").parallel([PIIDetector(strategy="redact"), other])
    both.map(lambda out: out["processor:other"], allow_drop=True).commit()
    seen = await ask(Agent("a", model=model, output_processors=[both]), way)
    assert ADDRESS not in repr([*seen.chunks, *model.requests, seen.result.messages, seen.result.steps])


@both_ways
@pytest.mark.parametrize("strategy", ["block", "redact", "warn"])
async def test_metadata_in_which_nothing_is_found_stay(way: str, strategy: str) -> None:
    """Signatures and ids go back to the provider byte for byte, and a guard that warns changes none."""
    notes = NOTED.provider_metadata if strategy == "warn" else {"p": {"sign": "YWJjZA==", "at": [1, None, 0.5]}}
    result = NOTED.replace(provider_metadata=notes)
    guard: Any = PIIDetector(strategy=strategy)  # type: ignore[arg-type]
    seen = await ask(Agent("a", model=Provider((CALL, result, Finish("stop"))), output_processors=[guard]), way)
    assert list(seen.result.tool_results) == [result]
    assert len(seen.result.violations) == (strategy == "warn")


@both_ways
async def test_a_detector_is_asked_about_metadata_too(way: str) -> None:
    """A guard that asks somebody outside asks about the metadata's texts as about the result's."""
    asked: list[str] = []

    class Names:
        """Finds one name."""

        id = "names"

        async def detect(self, text: str, scope: Any = None) -> Verdict:
            """Find it."""
            asked.append(text)
            at = text.find("Zoe Lind")
            return Verdict(scores={"name": 1.0}, spans=(Span(at, at + 8, "name"),)) if at >= 0 else Verdict()

    noted = RESULT.replace(result="fine", provider_metadata={"p": {"quote": "it was Zoe Lind"}})
    model = Provider((CALL, noted, Finish("tool-calls")), (TextDelta("So."), Finish("stop")))
    guard = PIIDetector(strategy="redact", detector=Names())
    seen = await ask(Agent("a", model=model, output_processors=[guard]), way)
    assert asked[0] == "it was Zoe Lind"
    assert "Zoe Lind" not in repr([*seen.chunks, *model.requests, seen.result.messages, seen.result.steps])
