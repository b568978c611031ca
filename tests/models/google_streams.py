"""
Answers of Gemini in the form in which its server streams them.
"""

from __future__ import annotations

import json
from typing import Any

from tests.models.google_kit import SIGNATURE

__all__ = ["STREAMS", "body_of"]

_VERSION: dict[str, Any] = {"modelVersion": "gemini-3-pro-preview", "responseId": "0a1aaPCfH_2x"}


def _said(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **more}]}


def _counted(prompt: int, **counts: int) -> dict[str, Any]:
    return {"usageMetadata": {"promptTokenCount": prompt, "totalTokenCount": prompt + sum(counts.values()), **counts}}


STREAMS: dict[str, list[dict[str, Any]]] = {
    "thoughts, then text with a signature at the end": [
        {**_said({"text": "**Greeting**\n\nThe user says hello, in 你好.", "thought": True}), **_counted(7, thoughtsTokenCount=20)},
        {**_said({"text": "Grüße, "}), **_counted(7, candidatesTokenCount=2, thoughtsTokenCount=31)},
        {**_said({"text": "🙂‍↔️ \u2028 wie geht's?"}), **_counted(7, candidatesTokenCount=9, thoughtsTokenCount=31)},
        {
            **_said({"text": "", "thoughtSignature": SIGNATURE}, finishReason="STOP"),
            **_counted(7, candidatesTokenCount=9, thoughtsTokenCount=31, cachedContentTokenCount=4),
        },
    ],
    "parallel calls, of which the first is signed": [
        _said(
            {"functionCall": {"name": "weather", "args": {"city": "Zürich"}, "id": "k2x"}, "thoughtSignature": SIGNATURE},
            {"functionCall": {"name": "weather", "args": {"city": "Genève", "days": [1, 2.5, None]}, "id": "k2y"}},
        ),
        {**_said({"text": ""}, finishReason="STOP"), **_counted(50, candidatesTokenCount=30)},
    ],
    "calls without ids, every event with a reason": [
        {**_said({"text": "One moment."}, finishReason="STOP"), **_counted(5, candidatesTokenCount=3)},
        {**_said({"functionCall": {"name": "now", "args": {}}}, finishReason="STOP"), **_counted(5, candidatesTokenCount=8)},
    ],
    "code that Google ran": [
        _said({"executableCode": {"language": "PYTHON", "code": "print(6 * 7)\n"}}),
        _said({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}),
        {**_said({"text": "It is 42."}, finishReason="STOP"), **_counted(5, candidatesTokenCount=9, toolUsePromptTokenCount=12)},
    ],
    "an image": [
        _said({"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thoughtSignature": SIGNATURE}),
        _said(finishReason="STOP"),
    ],
    "grounded on pages": [
        _said({"text": "Spain won."}),
        _said(
            {"text": " In 2024."},
            finishReason="STOP",
            groundingMetadata={
                "webSearchQueries": ["euro 2024 winner"],
                "groundingChunks": [{"web": {"uri": "https://example.org/euro", "title": "example.org"}}],
                "groundingSupports": [{"segment": {"endIndex": 10, "text": "Spain won."}, "groundingChunkIndices": [0]}],
            },
        ),
    ],
    "cut at the limit": [{**_said({"text": "Once upon a"}, finishReason="MAX_TOKENS"), **_counted(5, candidatesTokenCount=3)}],
    "stopped by a filter": [_said({"text": "Well, "}), {"candidates": [{"finishReason": "SAFETY", "index": 0}]}],
    "a prompt that is blocked": [
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}}
    ],
    "a call that the model spoilt": [
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed: f(", "index": 0}]}
    ],
}  # fmt: skip
for _events in STREAMS.values():
    _events[:] = [{**event, **_VERSION} for event in _events]


def body_of(events: list[dict[str, Any]], end: str = "\r\n") -> bytes:
    """
    Return events as Google's server writes them, which ends lines with CRLF.
    """
    return "".join(f"data: {json.dumps(event, ensure_ascii=False)}{end}{end}" for event in events).encode()
