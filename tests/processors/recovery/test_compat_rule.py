"""``CompatRule``: rules for histories, those of the library and of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.processors.recovery.test_history_compat import model_of, sent

from procession.errors import ModelError, ProcessorDefinitionError
from procession.messages.parts import ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage
from procession.processors.recovery.compat_rule import CompatRule, family_of, words_of
from procession.processors.recovery.history_compat import ProviderHistoryCompat
from procession.testing.script import fail


async def test_rules_of_ones_own_come_after() -> None:
    """For single messages, for the whole prompt, and for errors; none sees what an earlier one left out."""
    seen: list[Any] = []

    def shout(message: PromptMessage, model: Any) -> PromptMessage:
        seen.append(model.id)
        return message.replace(
            content=tuple(
                part.replace(text=part.text.upper()) if isinstance(part, TextPart) else part for part in message.content
            )
        )

    def newest(prompt: Sequence[PromptMessage], model: Any) -> Sequence[PromptMessage] | None:
        return prompt[-3:] if len(prompt) > 3 else None

    def forget(messages: Any) -> bool:
        messages[1].text = "short"
        return True

    rules = [
        CompatRule(name="shout", apply_to_message=shout),
        CompatRule(name="newest", apply_to_prompt=newest),
        CompatRule(name="too-long", error_patterns=["PROMPT is too long"], fix=forget),
    ]
    model = model_of("cerebras", fail("prompt is too long: 9 tokens"), "ok")
    assert await sent(model, [ReasoningPart("hm"), TextPart("a long story")], additional_rules=rules) == (
        TextPart("SHORT"),
    )
    assert [message.text for message in model.requests[0].messages] == ["ONE", "A LONG STORY", "TWO"]
    assert set(seen) == {"cerebras/m"}
    assert len(seen) == 5  # three messages; the one that was mended, and what comes behind it


async def test_a_rule_with_the_name_of_an_own_one_takes_its_place() -> None:
    """Which also switches it off."""
    off = CompatRule(name="cerebras-strip-reasoning-content")
    compat = ProviderHistoryCompat(additional_rules=[off])
    assert [rule.name for rule in compat.rules] == [rule.name for rule in ProviderHistoryCompat().rules]
    got = await sent(model_of("cerebras"), [ReasoningPart("hm"), TextPart("So.")], additional_rules=[off])
    assert got == (ReasoningPart("hm"), TextPart("So."))


def change(messages: Any) -> bool:
    """Change nothing."""
    return False


async def change_later(messages: Any) -> bool:
    """Change nothing, later."""
    return False


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"error_patterns": ["x"], "fix": change_later}, "is async"),
        ({"apply_to_prompt": change_later}, "is async"),
        ({"error_patterns": ["x"]}, "has no fix"),
        ({"fix": change}, "has no error_patterns"),
        ({"error_patterns": "x", "fix": change}, "is a text"),
        ({"error_patterns": ["("], "fix": change}, "is no regular expression"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(fields: Any, fault: str) -> None:
    """Where it is made, naming it."""
    with pytest.raises(ProcessorDefinitionError, match=f"'mine'.*{fault}"):
        CompatRule(name="mine", **fields)


def test_what_is_no_rule_is_refused() -> None:
    """And so are two rules with one name."""
    rule = CompatRule(name="mine")
    with pytest.raises(ProcessorDefinitionError, match="two rules are called 'mine'"):
        ProviderHistoryCompat(additional_rules=[rule, rule])
    with pytest.raises(ProcessorDefinitionError, match="additional_rules is CompatRule"):
        ProviderHistoryCompat(additional_rules=rule)  # type: ignore[arg-type]
    with pytest.raises(ProcessorDefinitionError, match="dict is no rule"):
        ProviderHistoryCompat(additional_rules=[{"name": "x"}])  # type: ignore[list-item]


def test_the_rules_are_the_documents() -> None:
    """All eight, in their order."""
    assert [rule.name for rule in ProviderHistoryCompat().rules] == [
        "strip-foreign-provider-executed-tools", "anthropic-tool-id-format", "cerebras-strip-reasoning-content",
        "anthropic-strip-empty-signed-reasoning-content", "anthropic-strip-foreign-reasoning-content",
        "anthropic-strip-foreign-signed-reasoning", "azure-system-reminder-transform", "openai-orphan-item-id",
    ]  # fmt: skip
    assert [family_of(name) for name in ("anthropic.messages", "openai.responses", "", 3)] == [
        "anthropic", "openai", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words", ["thinking missing ", "srvtoolu_", "reasoning ", "tool_use.id ", "was provided without its required "]
)
def test_what_a_provider_says_is_read_in_linear_time(words: str) -> None:
    """A server that says the beginning of a refusal again and again, but never its end, holds nobody up."""
    error = ModelError("refused", body={"error": {"message": words * (60_000 // len(words))}})
    refused = words_of(error)
    assert len(refused) < 21_000
    assert [rule.name for rule in ProviderHistoryCompat().rules if rule.matches(refused)] == []
