"""A prompt as contents of Gemini, and what comes back with its signature."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.prompt_memo import PromptMemo
from procession.models.formats.google.prompt import UNSIGNED, contents_of, google_piece
from procession.models.pieces import Piece, pieces_of

SIGNATURE = "Cs4BAXLI2nwf+/8AAQ=="
SIGNED = {"google": {"thoughtSignature": SIGNATURE}}
FOREIGN = {"anthropic": {"signature": "x"}}


def piece(role: Any, *parts: PromptPart, signs: bool = False) -> Piece:
    """Return one entry of a prompt on the wire."""
    return google_piece(PromptMessage(role, parts), signs=signs)


def parts_of(role: Any, *parts: PromptPart, signs: bool = False) -> list[Any]:
    """Return the parts that an entry becomes."""
    (entry,) = piece(role, *parts, signs=signs).entries
    made: list[Any] = entry["parts"]
    return made


def answer(kind: str, value: Any, *, signs: bool = False) -> list[Any]:
    """Return what a tool's answer becomes."""
    return parts_of("tool", PromptToolResult("c", "f", {"type": kind, "value": value}), signs=signs)


def test_conversation() -> None:
    """Roles are user and model, the system has its own place, and a tool's answer has the name and the id of its call."""
    messages = [
        PromptMessage("system", (TextPart("Be brief."),)),
        PromptMessage("system", (TextPart("Be kind."),)),
        PromptMessage("user", (TextPart("Weather?"),)),
        PromptMessage("assistant", (TextPart("Let me check."), PromptToolCall("c", "weather", {"city": "Zürich"}))),
        PromptMessage("tool", (PromptToolResult("c", "weather", {"type": "json", "value": {"temp": 21}}),)),
        PromptMessage("assistant", (TextPart("It is 21."),)),
    ]
    contents, system, changes = contents_of([google_piece(message) for message in messages])
    assert system == [{"text": "Be brief."}, {"text": "Be kind."}]
    assert contents == [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me check."},
                {"functionCall": {"id": "c", "name": "weather", "args": {"city": "Zürich"}}},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c", "name": "weather", "response": {"output": {"temp": 21}}}}],
        },
        {"role": "model", "parts": [{"text": "It is 21."}]},
    ]
    assert changes == ()


def test_entries_of_one_role_become_one() -> None:
    """What follows each other in one role is one entry, and the entries that are kept do not change with it."""
    pieces = [
        piece("user", TextPart("a")),
        piece("user", TextPart("b")),
        piece("tool", PromptToolResult("c", "f", {"type": "text", "value": "d"})),
        piece("assistant", TextPart("e")),
        piece("assistant", TextPart("f")),
    ]
    for _ in range(2):
        contents, _, _ = contents_of(pieces)
        assert [(entry["role"], len(entry["parts"])) for entry in contents] == [("user", 3), ("model", 2)]


def test_a_later_system_message_is_told_of() -> None:
    """There is one system instruction, before the conversation: what came later moves there, and hooks are told."""
    contents, system, changes = contents_of(
        [piece("user", TextPart("a")), piece("system", TextPart("b")), piece("user", TextPart("c"))]
    )
    assert [entry["parts"] for entry in contents] == [[{"text": "a"}, {"text": "c"}]]
    assert system == [{"text": "b"}]
    assert "system message" in changes[0]["message"]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_nothing_is_no_entry(role: Any) -> None:
    """An entry without anything in it is not sent, since the server refuses it."""
    assert piece(role, TextPart("")).entries == ()


@pytest.mark.parametrize(
    ("file", "sent"),
    [
        (FilePart(b"\x00\xff", "image/png"), {"inlineData": {"mimeType": "image/png", "data": "AP8="}}),
        (FilePart("AP8=", "audio/wav"), {"inlineData": {"mimeType": "audio/wav", "data": "AP8="}}),
        (
            FilePart("data:image/png;base64,AP8=", "image/png"),
            {"inlineData": {"mimeType": "image/png", "data": "AP8="}},
        ),
        (
            FilePart("https://example.org/a.pdf", "application/pdf"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.org/a.pdf"}},
        ),
        (FilePart("gs://b/a.mp4", "video/mp4"), {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a.mp4"}}),
    ],
)
def test_files(file: FilePart, sent: Any) -> None:
    """Bytes and base64 go with the request, and what has an address by its address."""
    assert parts_of("user", TextPart("See:"), file) == [{"text": "See:"}, sent]


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (TextPart("a", SIGNED), {"text": "a"}),
        (ReasoningPart("hm", provider_metadata=SIGNED), {"text": "hm", "thought": True}),
        (
            ReasoningPart("", provider_metadata={"google": {"thoughtSignature": SIGNATURE, "thought": False}}),
            {"text": ""},
        ),
        (FilePart("AP8=", "image/png", None, SIGNED), {"inlineData": {"mimeType": "image/png", "data": "AP8="}}),
        (
            PromptToolCall("c", "f", {"a": 1}, False, SIGNED),
            {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}},
        ),
        (
            PromptToolCall("c", "code_execution", {"language": "PYTHON", "code": "1"}, True, SIGNED),
            {"executableCode": {"language": "PYTHON", "code": "1"}},
        ),
    ],
)
@pytest.mark.parametrize("signs", [True, False])
def test_a_signature_goes_back_with_its_part(part: PromptPart, sent: dict[str, Any], signs: bool) -> None:
    """A signature goes back byte for byte, with the part it came with and no other."""
    assert parts_of("assistant", TextPart("before"), part, TextPart("after"), signs=signs) == [
        {"text": "before"},
        {**sent, "thoughtSignature": SIGNATURE},
        {"text": "after"},
    ]


def test_thoughts_without_a_signature_are_gemini_s_own_too() -> None:
    """A thought that Gemini did not sign goes back as a thought; an empty one would say nothing."""
    own: Any = {"google": {}}
    thought, nothing = ReasoningPart("hm", provider_metadata=own), ReasoningPart("", provider_metadata=own)
    assert parts_of("assistant", thought, nothing) == [{"text": "hm", "thought": True}]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ((ReasoningPart("hm", "sig"),), "reasoning of another provider"),
        ((ReasoningPart("hm", "sig", None, FOREIGN),), "reasoning of another provider"),
        ((ReasoningPart("", None, "xyz"),), "reasoning of another provider"),
        ((FilePart("AP8=", "image/png"),), "files"),
        (
            (
                PromptToolCall("c", "web_search", {"q": "x"}, True, FOREIGN),
                PromptToolResult("c", "web_search", {"type": "json", "value": []}),
            ),
            "another provider's tools",
        ),
    ],
)
def test_what_another_provider_did_is_left_out(parts: tuple[PromptPart, ...], told: str) -> None:
    """What only its provider can read is not sent to Gemini; the rest is, and hooks are told."""
    made = piece("assistant", *parts, TextPart("Hi."))
    assert made.entries == ({"role": "model", "parts": [{"text": "Hi."}]},)
    (change,) = made.changes
    assert told in change["message"]
    assert piece("assistant", *parts).entries == ()


def test_an_unsigned_call_of_another_provider() -> None:
    """Gemini 3 refuses a step whose first call is not signed, so that one of another model has Google's placeholder."""
    calls = (PromptToolCall("a", "f", {}, False, FOREIGN), PromptToolCall("b", "g", {}))
    old, new = piece("assistant", *calls), piece("assistant", *calls, signs=True)
    assert [part.get("thoughtSignature") for part in old.entries[0]["parts"]] == [None, None]
    assert [part.get("thoughtSignature") for part in new.entries[0]["parts"]] == [UNSIGNED, None]
    assert old.changes == ()
    assert "placeholder" in new.changes[0]["message"]


def test_calls_that_gemini_made_together() -> None:
    """Of parallel calls Gemini signs the first: they go back as they came."""
    made = piece("assistant", PromptToolCall("a", "f", {}, False, SIGNED), PromptToolCall("b", "g", {}), signs=True)
    assert [part.get("thoughtSignature") for part in made.entries[0]["parts"]] == [SIGNATURE, None]
    assert made.changes == ()


@pytest.mark.parametrize(
    ("args", "sent"),
    [
        ({"a": date(2026, 1, 2)}, {"a": "2026-01-02"}),
        (None, {}),
        ('{"a": ', {"input": '{"a": '}),
        ([1], {"input": [1]}),
    ],
)
def test_arguments_are_an_object(args: Any, sent: Any) -> None:
    """Arguments that a model wrote wrongly go back in an object, since nothing else is taken."""
    (part,) = parts_of("assistant", PromptToolCall("c", "f", args))
    assert part["functionCall"]["args"] == sent


@pytest.mark.parametrize(
    ("kind", "value", "response"),
    [
        ("text", "noon", {"output": "noon"}),
        ("json", {"output": 1, "at": date(2026, 1, 2)}, {"output": {"output": 1, "at": "2026-01-02"}}),
        ("json", None, {"output": None}),
        ("error-text", "No such city.", {"error": "No such city."}),
        ("error-json", {"code": 7}, {"error": {"code": 7}}),
        ("content", [{"type": "text", "text": "noon"}], {"output": "noon"}),
        ("content", [{"type": "text", "text": "a"}, {"text": "b"}, "c"], {"output": ["a", "b", "c"]}),
    ],
)
def test_results(kind: str, value: Any, response: Any) -> None:
    """A tool's answer is always an object, which tells results from errors."""
    assert answer(kind, value) == [{"functionResponse": {"id": "c", "name": "f", "response": response}}]


def test_files_of_a_tool() -> None:
    """A file that a tool answers is part of its answer for models that take it there, and stands beside it for others."""
    value = [{"type": "text", "text": "Here."}, {"type": "media", "data": "AP8=", "mediaType": "image/png"}]
    file = {"inlineData": {"mimeType": "image/png", "data": "AP8="}}
    response: dict[str, Any] = {"id": "c", "name": "f", "response": {"output": "Here."}}
    assert answer("content", value) == [{"functionResponse": response}, file]
    assert answer("content", value, signs=True) == [{"functionResponse": {**response, "parts": [file]}}]


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", "iVBORw0KGgo=", "data:image/*;base64,iVBORw0KGgo="])
def test_an_image_of_any_type(data: str | bytes) -> None:
    """Of what is only known to be an image its first bytes tell which, for Gemini takes no ``image/*``."""
    sent = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    assert parts_of("user", FilePart(data, "image/*")) == [sent]


@pytest.mark.parametrize("key", ["data", "image"])
def test_an_image_of_a_tool_without_a_type(key: str) -> None:
    """An image that a tool answers goes as one, not as text, also where it does not say which kind."""
    value = [{"type": "text", "text": "Here."}, {"type": "image", key: "iVBORw0KGgo="}]
    assert answer("content", value)[1:] == [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]


def test_tools_that_google_ran() -> None:
    """What Google's own tools did goes back in its place, under the ids and with the signatures that Google gave."""
    code: Any = {"google": {"thoughtSignature": "a", "resultThoughtSignature": "b"}}
    search: Any = {"google": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s-1", "thoughtSignature": "c"}}
    outcome = {"outcome": "OUTCOME_FAILED", "output": "1/0"}
    assert parts_of(
        "assistant",
        PromptToolCall("x", "code_execution", {"language": "PYTHON", "code": "1/0"}, True, code),
        PromptToolResult("x", "code_execution", {"type": "error-json", "value": outcome}),
        PromptToolCall("y", "google_search_web", {"query": "q"}, True, search),
        PromptToolResult("y", "google_search_web", {"type": "json", "value": {"hits": 3}}),
    ) == [
        {"executableCode": {"language": "PYTHON", "code": "1/0"}, "thoughtSignature": "a"},
        {"codeExecutionResult": outcome, "thoughtSignature": "b"},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"query": "q"}, "id": "s-1"}, "thoughtSignature": "c"},
        {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": 3}, "id": "s-1"}},
    ]


def test_what_is_kept_is_not_converted_again() -> None:
    """A run's prompt is converted once: the parts of the next request are the very same objects."""
    memo = PromptMemo()
    messages = [PromptMessage("user", (TextPart("a"),)), PromptMessage("assistant", (TextPart("b"),))]
    first = contents_of(pieces_of(messages, google_piece, memo=memo, key="google"))[0]
    messages = [*messages, PromptMessage("user", (TextPart("c"),))]
    second = contents_of(pieces_of(messages, google_piece, memo=memo, key="google"))[0]
    assert [entry["role"] for entry in second] == ["user", "model", "user"]
    assert all(a["parts"][0] is b["parts"][0] for a, b in zip(first, second, strict=False))
