"""An option that means nothing is refused where it is given, by an error that names the class and what would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from procession import Agent
from procession.errors import ProcessorDefinitionError
from procession.processors.guardrails.cost_guard import CostGuard
from procession.processors.guardrails.language import LanguageDetector
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.recovery.history_compat import ProviderHistoryCompat
from procession.processors.recovery.prefill import PrefillErrorHandler
from procession.processors.recovery.stream_retry import StreamErrorRetry
from procession.testing.fake_model import FakeModel

NO_LIST: Any = 3
NO_DETECTOR: Any = object()


@pytest.mark.parametrize("guard", [PIIDetector, PromptInjectionDetector, ModerationProcessor, LanguageDetector])
def test_a_detector_that_cannot_be_asked_is_refused_when_the_guard_is_made(guard: Any) -> None:
    """Not at the first message, which would be blocked then, and every one after it."""
    options: dict[str, Any] = {"target_languages": ["en"]} if guard is LanguageDetector else {}
    with pytest.raises(ProcessorDefinitionError, match="has a detector that has no method detect: object") as error:
        guard(detector=NO_DETECTOR, **options)
    assert guard.__name__ in str(error.value) and "async detect(text, *, scope)" in str(error.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PIIDetector(detection_types=NO_LIST), "PIIDetector has detection_types=3"),
        (lambda: PIIDetector(allow=NO_LIST), "PIIDetector has allow=3"),
        (lambda: PIIDetector(regions=["Germany"]), "PIIDetector: 'Germany' is no region"),
        (lambda: PromptInjectionDetector(detection_types=NO_LIST), "PromptInjectionDetector has detection_types=3"),
        (lambda: RegexFilter(presets=["pii"], deny=NO_LIST), "RegexFilter has deny=3"),
        (lambda: StreamErrorRetry(matchers=NO_LIST), "StreamErrorRetry: matchers is int"),
        (lambda: StreamErrorRetry(max_retries=-1), "StreamErrorRetry: max_retries is -1"),
        (lambda: PrefillErrorHandler(matchers=NO_LIST), "PrefillErrorHandler: matchers is int"),
        (lambda: ProviderHistoryCompat(additional_rules=NO_LIST), "ProviderHistoryCompat: additional_rules is int"),
        (lambda: LanguageDetector(target_languages=["en"], min_text_length=-1), "LanguageDetector has min_text_length=-1"),
        (lambda: CostGuard(max_cost=1, scope="user", store=NO_DETECTOR), "CostGuard has a store that is none: object"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_name_of_the_class(make: Callable[[], Any], said: str) -> None:
    """Who has a dozen processors reads which one of them it is, and what would do."""
    with pytest.raises(ProcessorDefinitionError) as error:
        make()
    assert said in str(error.value) and "hint: " in str(error.value)


@pytest.mark.parametrize("timeout", ["5", -1, 0, True])
def test_a_time_limit_that_is_no_time_is_refused_with_the_agent(timeout: Any) -> None:
    """Else the first message would fail, for a reason that looks like the guard's."""
    with pytest.raises(ProcessorDefinitionError, match="'pii-detector' has timeout=") as error:
        Agent("bot", model=FakeModel("x"), input_processors=[PIIDetector(timeout=timeout)])
    assert "number of seconds" in str(error.value)
