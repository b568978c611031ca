"""How guards ask a model: with what is passed on to its provider, and in which form the answer is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from procession import Agent
from procession.processors.guardrails.language import LanguageDetector
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.system_prompt import SystemPromptScrubber
from procession.testing.fake_model import FakeModel

TEXT = "a long answer of several words to judge"
OPTIONS = {"openai": {"reasoningEffort": "low"}}
GUARDS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "language": (LanguageDetector, '{"iso_code": "en", "confidence": 0.9}', "input"),
    "moderation": (ModerationProcessor, '{"category_scores": null, "reason": null}', "input"),
    "pii": (PIIDetector, '{"categories": null, "detections": null}', "input"),
    "injection": (PromptInjectionDetector, '{"categories": null, "reason": null}', "input"),
    "scrubber": (SystemPromptScrubber, '{"detections": null, "reason": null}', "output"),
}


async def asked(name: str, **options: Any) -> Any:
    """Return what the guard asked its model about one text."""
    make, answer, side = GUARDS[name]
    judge = FakeModel([answer] * 4)
    guard = make(model=judge, **options)
    lists: Any = {f"{side}_processors": [guard]}
    assert (await Agent("clerk", model=FakeModel(TEXT), **lists).generate(TEXT)).status == "completed"
    return judge.requests[0]


@pytest.mark.parametrize("name", GUARDS)
async def test_options_are_passed_on_to_the_provider(name: str) -> None:
    """What a guard is given for a provider goes out with its question, and is part of what tells its verdicts apart."""
    request = await asked(name, provider_options=OPTIONS)
    assert request.provider_options == OPTIONS
    assert request.response_format["type"] == "json"
    assert (await asked(name)).provider_options is None


@pytest.mark.parametrize("name", GUARDS)
async def test_the_schema_may_stand_in_the_question(name: str) -> None:
    """A model that cannot be held to a schema is told it, and answers in text that is read as strictly."""
    request = await asked(name, json_prompt_injection=True)
    assert request.response_format is None
    said = request.messages[0].text
    schema = (await asked(name)).response_format["schema"]
    assert all(f'"{field}"' in said for field in schema["properties"])


def test_verdicts_of_other_options_are_others() -> None:
    """A guard that asks with other options is not given what was kept of these."""
    made = [ModerationProcessor(model=FakeModel("{}"), provider_options=each) for each in (None, OPTIONS)]
    one, other = (guard.detector.identity for guard in made)  # type: ignore[union-attr]
    assert one != other
