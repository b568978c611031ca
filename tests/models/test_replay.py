"""A history that was written under one provider goes on under another: what is sent would be taken, and is its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import example, given

pytest.importorskip("anthropic", reason="pip install 'anthropic>=2,<3'")
pytest.importorskip("openai", reason="pip install 'openai>=3,<4'")
pytest.importorskip("google.genai", reason="pip install 'google-genai>=3,<4'")

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types as google_types
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from tests.models.replay_kit import (
    FORMATS,
    Call,
    Hidden,
    Picture,
    Run,
    Said,
    Text,
    Thought,
    Turn,
    mark_of,
    replayed,
    thought_of,
    turns,
)
from tests.models.replay_servers import OWN, REFUSES
from tests.models.sdk_types import RequestTypes

from procession.messages.parts import TextPart
from procession.models.formats.anthropic.body import messages_body
from procession.models.formats.google.body import google_body
from procession.models.formats.openai.chat_body import chat_body
from procession.models.formats.openai.chat_dialects import dialect_of
from procession.models.formats.openai.responses_body import responses_body
from procession.models.model import ModelRequest

_TYPES: Mapping[str, RequestTypes] = {
    "chat": RequestTypes(CompletionCreateParamsStreaming),
    "anthropic": RequestTypes(MessageCreateParamsStreaming),
    "openai": RequestTypes(ResponseCreateParamsStreaming),
}


def body_under(target: str, request: ModelRequest) -> tuple[dict[str, Any], str]:
    """Return what a client sends, and what it says that it left out."""
    if target == "chat":
        dialect = dialect_of("openrouter", "https://openrouter.ai/api/v1", "m")
        body, warnings = chat_body(request, model="m", provider="openrouter", dialect=dialect)
    elif target == "anthropic":
        body, warnings = messages_body(request, model="claude-haiku-5-5")
        body["stream"] = True
    elif target == "openai":
        body, warnings = responses_body(request, model="gpt-5-mini")
    else:
        body, warnings = google_body(request, model="gemini-3-flash")
    return body, json.dumps(warnings, ensure_ascii=False)


def check_types(target: str, body: Mapping[str, Any]) -> None:
    """Hold a body against the types of the provider's own client."""
    if target == "google":
        for content in body["contents"]:
            google_types.Content.model_validate(content)
        return
    if target == "chat":  # whose reasoning is not OpenAI's
        said = [{key: value for key, value in one.items() if key != "reasoning_details"} for one in body["messages"]]
        body = {**body, "messages": said}
    _TYPES[target].check(body)


def said_in(history: Sequence[Turn]) -> Iterator[tuple[str, Said, bool]]:
    """Yield who said what, and whether something of it led to anything in its answer."""
    for turn in history:
        for answer in turn.answers:
            for at, said in enumerate(answer):
                rest = answer if turn.writer == "chat" else answer[at + 1 :]  # which says all that it thought at once
                yield turn.writer, said, any(not isinstance(other, (Thought, Hidden)) for other in rest)


def own_of(target: str, history: Sequence[Turn]) -> list[tuple[str, str, str]]:
    """Return what of *history* its own provider is to get back: with its kind, words and signature, in order."""
    expected: list[tuple[str, str, str]] = []
    signed: set[int] = set()
    for turn in history:
        for answer in turn.answers:
            call = next((said.number for said in answer if isinstance(said, Call)), None)
            if call is not None:
                signed.add(call)
    for writer, said, led in said_in(history):
        if writer != target:
            continue
        if isinstance(said, Thought) and (led or target == "google"):
            expected.append(("thought", thought_of(said), mark_of(said)))
        elif isinstance(said, Hidden) and (led or target == "google"):
            expected.append(("hidden", "", mark_of(said)))
        elif isinstance(said, Run):
            expected.append(("run", "", mark_of(said)))
        elif isinstance(said, Picture):
            expected.append(("picture", "", mark_of(said)))
        elif isinstance(said, Text) and said.signed and target == "google":
            expected.append(("text", said.text, mark_of(said)))
        elif isinstance(said, Call) and said.number in signed and target == "google":
            expected.append(("call", "", mark_of(said)))
    return expected


def foreign_to(target: str, history: Sequence[Turn]) -> Iterator[str]:
    """Yield the words and signatures of *history* that another provider has no use for."""
    for writer, said, _ in said_in(history):
        if writer == target:
            continue
        if isinstance(said, Thought):
            yield f"thought {said.number}:"
        yield mark_of(said)


LONE: tuple[Said, ...] = (Thought(1, "hm"),)
"""An answer that thinks, and says nothing."""
AGAIN = ((Call(1, "call_0", "json"),), (Call(2, "call_0", "error"), Call(3, "a b", "file")), (Text(4, "So."),))
"""Calls that are numbered anew in each answer."""


def check(target: str, request: ModelRequest, history: Sequence[Turn]) -> None:
    """Fail where what *target* is sent of *history* is not what it should be."""
    body, reported = body_under(target, request)
    check_types(target, body)
    REFUSES[target](body)
    assert list(OWN[target](body)) == own_of(target, history)
    sent = json.dumps(body, ensure_ascii=False)
    assert [foreign for foreign in foreign_to(target, history) if foreign in sent] == []
    for writer, said, led in said_in(history):
        if writer != target and isinstance(said, (Thought, Hidden)):
            assert "reasoning" in reported
        if writer == target in ("anthropic", "openai") and isinstance(said, (Thought, Hidden)) and not led:
            assert "reasoning" in reported
        if writer != target and isinstance(said, Run):
            assert "tools" in reported
        if writer != target and isinstance(said, Picture):
            assert "files" in reported
        if isinstance(said, Text):
            assert json.dumps(said.text.strip(), ensure_ascii=False)[1:-1] in sent


@given(history=turns())
@example(history=[Turn("openai", (TextPart("?"),), (LONE,))])
@example(history=[Turn("anthropic", (TextPart("?"),), (LONE,))])
@example(history=[Turn("chat", (TextPart("?"),), AGAIN)])
@example(history=[Turn("other", (TextPart("?"),), ((*LONE, Hidden(2), Run(3), Picture(4), Text(5, "So.")),))])
def test_a_history_of_any_provider_goes_on_under_any_other(history: list[Turn]) -> None:
    """
    Whoever wrote it: the body is of the types of the provider's own client, its server would take it, what the provider
    signed comes back byte for byte and in order, nothing of another one is sent, and what is left out is reported.
    """
    request = anyio.run(replayed, history)
    for target in FORMATS:
        check(target, request, history)
