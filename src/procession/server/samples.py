"""
Samples: for each hook something that it can be run with, to begin from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from procession.processors.hooks import Hook
from procession.workflows.workflow import Workflow

__all__ = ["samples"]

_QUESTION: Final = {"role": "user", "content": "Where is my parcel? Mail me at eva@example.net."}
_ANSWER: Final = {"role": "assistant", "content": "It left the warehouse today. Call +49 30 5550 1234 if it is late."}
_TALK: Final = [
    {"role": "system", "content": "You help customers of a shop."},
    {"role": "user", "content": "Hello!"},
    {"role": "assistant", "content": "Hello! How can I help?"},
    _QUESTION,
]
_PIECES: Final = ("It left the ware", "house today. Write to help@exam", "ple.com if it is late.")
_CHUNKS: Final = [
    {"type": "text-start", "id": "t1"},
    *({"type": "text-delta", "id": "t1", "text": piece} for piece in _PIECES),
    {"type": "text-end", "id": "t1"},
    {"type": "finish", "reason": "stop"},
]
_CALL: Final = {"tool_call_id": "call-1", "tool_name": "lookup", "args": {"order": "A-17"}}

_SAMPLES: Final[Mapping[Hook, Mapping[str, Any]]] = {
    Hook.INPUT: {"A question": {"messages": [_QUESTION]}, "A conversation": {"messages": _TALK}},
    Hook.INPUT_STEP: {
        "First step": {"messages": _TALK, "step_number": 0},
        "Second step": {"messages": [*_TALK, _ANSWER, {"role": "user", "content": "And then?"}], "step_number": 1},
    },
    Hook.LLM_REQUEST: {"A prompt": {"messages": _TALK}},
    Hook.OUTPUT_STREAM: {
        "Text in pieces": {"messages": [_QUESTION], "chunks": _CHUNKS},
        "A tool call": {
            "messages": [_QUESTION],
            "chunks": [{"type": "tool-call", **_CALL}, {"type": "finish", "reason": "tool-calls"}],
        },
    },
    Hook.API_ERROR: {
        "Too many requests": {
            "messages": [_QUESTION],
            "error": {
                "message": "429 Too Many Requests", "kind": "rate_limited", "status_code": 429, "retryable": True,
            },
        },
        "Prompt too long": {
            "messages": _TALK,
            "error": {
                "message": "This model's maximum context length is 8192 tokens", "kind": "rejected", "status_code": 400,
            },
        },
    },
    Hook.LLM_RESPONSE: {"An answer": {"messages": [_QUESTION], "chunks": _CHUNKS}},
    Hook.OUTPUT_STEP: {
        "Text": {"messages": [_QUESTION, _ANSWER], "finish_reason": "stop"},
        "Text and a tool call": {
            "messages": [_QUESTION, _ANSWER], "tool_calls": [_CALL], "finish_reason": "tool-calls",
        },
    },
    Hook.TOOL_RESULT: {
        "A result": {
            "messages": [_QUESTION],
            "tool_result": {**_CALL, "result": {"status": "sent", "contact": "eva@example.net"}, "is_error": False},
        },
        "An error": {
            "messages": [_QUESTION],
            "tool_result": {**_CALL, "result": "the service did not answer", "is_error": True},
        },
    },
    Hook.OUTPUT_RESULT: {"A whole turn": {"messages": [_QUESTION, _ANSWER]}},
}  # fmt: skip


def samples(workflow: Workflow[Any, Any]) -> list[dict[str, Any]]:
    """
    Return samples for the hooks that *workflow* has, in order of firing: ``[{"hook", "title", "body"}]``, where the body is
    what a run of the workflow is posted with.
    """
    hooks = workflow.as_step().hooks
    return [
        {"hook": hook.value, "title": title, "body": {"hook": hook.value, **body}}
        for hook, named in _SAMPLES.items()
        if hook.value in hooks
        for title, body in named.items()
    ]
