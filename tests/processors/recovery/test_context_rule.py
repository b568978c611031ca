"""``ContextRule``: what providers say of a request that is too long, and with which numbers."""

from __future__ import annotations

from typing import Any

import pytest

from procession.errors import ModelError, ProcessorDefinitionError
from procession.models.failures import failure_of
from procession.processors.recovery.context_length import ContextLengthRecovery
from procession.processors.recovery.context_rule import ContextOverflow, ContextRule

SAID: list[tuple[str, Any, ContextOverflow]] = [
    (
        "openai, Chat Completions",
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 "
                "tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
        ContextOverflow(limit=8192, used=9001),
    ),
    (
        "openai, Responses",
        {
            "error": {
                "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
        ContextOverflow(),
    ),
    (
        "openai, with the answer that was asked for",
        {
            "error": {
                "message": "This model's maximum context length is 4097 tokens, however you requested 5100 tokens (4100 in "
                "your prompt; 1000 for the completion). Please reduce your prompt; or completion length."
            }
        },
        ContextOverflow(limit=4097, used=4100, reserved=1000),
    ),
    (
        "vLLM",
        {
            "object": "error",
            "message": "This model's maximum context length is 32768 tokens. However, you requested 40960 tokens (32960 in "
            "the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
            "code": 400,
        },
        ContextOverflow(limit=32768, used=32960, reserved=8000),
    ),
    (
        "vLLM, newer",
        {
            "error": {
                "message": "This model's maximum context length is 32768 tokens. However, your request has 40000 input "
                "tokens. Please reduce the length of the input messages."
            }
        },
        ContextOverflow(limit=32768, used=40000),
    ),
    (
        "OpenRouter",
        {
            "error": {
                "message": "This endpoint's maximum context length is 32768 tokens. However, you requested about 50000 "
                "tokens (49000 of text input, 1000 in the output). Please reduce the length of either one."
            }
        },
        ContextOverflow(limit=32768, used=49000, reserved=1000),
    ),
    (
        "Groq",
        {
            "error": {
                "message": "Please reduce the length of the messages or completion.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
        ContextOverflow(),
    ),
    (
        "anthropic",
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 205431 tokens > 200000 maximum",
            },
        },
        ContextOverflow(limit=200000, used=205431),
    ),
    (
        "anthropic, with the answer that was asked for",
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 197626 + 8192 > 200000, decrease input "
                "length or `max_tokens` and try again",
            },
        },
        ContextOverflow(limit=200000, used=197626, reserved=8192),
    ),
    ("Bedrock", {"message": "Input is too long for requested model."}, ContextOverflow()),
    (
        "google",
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                "status": "INVALID_ARGUMENT",
            }
        },
        ContextOverflow(limit=1048576, used=1200000),
    ),
    (
        "google, without its count",
        {
            "error": {
                "code": 400,
                "message": "The input token count exceeds the maximum number of tokens allowed 1048576.",
                "status": "INVALID_ARGUMENT",
            }
        },
        ContextOverflow(limit=1048576),
    ),
    (
        "xAI",
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
        ContextOverflow(limit=131072, used=537812),
    ),
    (
        "mistral",
        {
            "object": "error",
            "message": "Prompt contains 33171 tokens and 0 draft tokens, too large for model with 32768 maximum context "
            "length",
            "code": 3051,
        },
        ContextOverflow(limit=32768, used=33171),
    ),
    (
        "llama.cpp",
        {
            "error": {
                "code": 400,
                "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
                "type": "exceed_context_size_error",
            }
        },
        ContextOverflow(limit=4096, used=9000),
    ),
]


@pytest.mark.parametrize(("who", "body", "said"), SAID, ids=[who for who, _, _ in SAID])
def test_providers_are_understood(who: str, body: Any, said: ContextOverflow) -> None:
    """What each provider answers is known for what it is, with the numbers that it says."""
    error = failure_of(body, model="m", status=400)
    assert ContextLengthRecovery().overflow_of(error) == said


@pytest.mark.parametrize(
    "error",
    [
        failure_of(
            {"error": {"message": "Invalid value for 'content'", "code": "invalid_value"}}, model="m", status=400
        ),
        failure_of({"error": {"message": "max_tokens is too large: 9000"}}, model="m", status=400),
        failure_of(
            {"error": {"message": "Request too large: tokens per min (TPM): Limit 10000, Requested 12000"}},
            model="m",
            status=429,
        ),
        failure_of({"message": "Too many tokens, please wait before trying again."}, model="m", status=429),
        failure_of({"error": {"message": "prompt is too long for this tier"}}, model="m", status=429),
        ModelError("overloaded", kind="unavailable"),
    ],
)
def test_other_errors_are_not_taken_for_it(error: ModelError) -> None:
    """Other refusals, and limits of so many tokens a minute, are none of its business."""
    assert ContextLengthRecovery().overflow_of(error) is None


def test_causes_are_looked_at() -> None:
    """What a client of your own raised stands in the cause."""
    error = ModelError("it failed")
    error.__cause__ = ValueError("prompt is too long: 9 tokens > 8 maximum")
    assert ContextLengthRecovery().overflow_of(error) == ContextOverflow(limit=8, used=9)


def test_rules_of_your_own_come_first() -> None:
    """An additional rule is asked before the others, by patterns or by a function; one with the name of ours replaces it."""
    error = ModelError("Der Text ist zu lang (12.000 von 8.000)", body={"code": "E77"})
    pattern = ContextRule(name="german", patterns=[r"zu lang \((?P<used>[\d.]+) von (?P<limit>[\d.]+)\)"])
    assert ContextLengthRecovery(additional_rules=[pattern]).overflow_of(error) == ContextOverflow(
        limit=8000, used=12000
    )

    def knows(error: ModelError) -> bool:
        return "E77" in str(error.body)

    def tells(error: ModelError) -> ContextOverflow | None:
        return ContextOverflow(limit=5) if knows(error) else None

    assert ContextRule(name="a", match=knows).read(error) == ContextOverflow()
    assert ContextRule(name="a", match=tells).read(error) == ContextOverflow(limit=5)
    assert ContextRule(name="a", match=tells).read(ModelError("x")) is None
    mine = ContextRule(name="anthropic", match=knows)
    rules = ContextLengthRecovery(additional_rules=[mine]).rules
    assert rules[0] is mine
    assert [rule.name for rule in rules].count("anthropic") == 1


async def later(error: ModelError) -> bool:
    """Match, some time."""
    return True


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "neither"),
        ({"patterns": ["a"], "match": bool}, "patterns and match"),
        ({"patterns": "a"}, "a text"),
        ({"patterns": ["("]}, "no regular expression"),
        ({"match": 7}, "plain function"),
        ({"match": later}, "plain function"),
    ],
)
def test_rules_that_are_none_are_refused(options: dict[str, Any], named: str) -> None:
    """A rule that could never work is an error when it is made, with its name."""
    with pytest.raises(ProcessorDefinitionError, match=named):
        ContextRule(name="mine", **options)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"share": 0}, "share"),
        ({"share": 1}, "share"),
        ({"share": True}, "share"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"trim_mode": "memory-only"}, "trim_mode"),
        ({"counter": "gpt2"}, "gpt2"),
        ({"additional_rules": ["prompt too long"]}, "str"),
        ({"additional_rules": ContextRule(name="a", match=bool)}, "additional_rules=ContextRule"),
        ({"additional_rules": [ContextRule(name="a", match=bool)] * 2}, "'a'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], named: str) -> None:
    """A wrong option is an error when the processor is made, and says which."""
    with pytest.raises(ProcessorDefinitionError, match=named):
        ContextLengthRecovery(**options)


@pytest.mark.parametrize(
    "words", ["input token count{}", "input token count (1){}", "maximum context length is 1 tokens{}"]
)
def test_what_a_provider_says_is_read_in_linear_time(words: str) -> None:
    """A server that fills its answer with blanks holds nobody up: a hundred times as long an answer is read the same way."""
    recovery = ContextLengthRecovery()
    for blanks in (1_000, 100_000):
        found = recovery.overflow_of(ModelError(words.format(" " * blanks)))
        assert (found is None) is ("maximum" not in words)
