"""Counters: which one a model has, and what messages, tools, images and files cost."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from tests.models.tokens.kit import machine, missing

from procession.errors import DefinitionError
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.model import ToolSpec
from procession.models.tokens import router
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.files import UNKNOWN_FILE
from procession.models.tokens.heuristic import HeuristicCounter
from procession.models.tokens.images import ANTHROPIC_AREA, GOOGLE_TILES, OPENAI_TILES, Size, image_size
from procession.models.tokens.pieces import first_that_fits
from procession.models.tokens.router import FunctionCounter, counter_for, resolve_counter
from procession.models.tokens.tiktoken_counter import TiktokenCounter
from procession.testing.fake_model import FakeModel


class Letters(TokenCounter):
    """A token is a character."""

    def count(self, text: str) -> float:
        return len(text)


@pytest.mark.parametrize(
    ("model", "name", "estimated"),
    [
        ("gpt-4o", "o200k_base", False),
        ("openai/gpt-4o-mini-2024-07-18", "o200k_base", False),
        ("openrouter/openai/gpt-4.1-nano", "o200k_base", False),
        ("gpt-5.2-codex", "o200k_base", False),
        ("ft:gpt-4o:acme::1", "o200k_base", False),
        ("o1", "o200k_base", False),
        ("openai/o3-mini", "o200k_base", False),
        ("o4-mini", "o200k_base", False),
        ("ollama/gpt-oss:20b", "o200k_base", False),
        ("gpt-4", "cl100k_base", False),
        ("gpt-4-turbo-preview", "cl100k_base", False),
        ("gpt-3.5-turbo", "cl100k_base", False),
        ("azure/gpt-35-turbo", "cl100k_base", False),
        ("claude-sonnet-4-5", "o200k_base", True),
        ("google/gemini-2.5-flash", "o200k_base", True),
        ("olmo-2", "o200k_base", True),
        ("gpt-4x", "o200k_base", True),
        (None, "o200k_base", True),
    ],
)
def test_a_model_has_its_tokenizer(model: Any, name: str, estimated: bool) -> None:
    """The id tells the tokenizer; for any other model the newest one stands, and says that it estimates."""
    counter = counter_for(model)
    assert (counter.name, counter.estimated) == (name, estimated)
    assert counter_for(FakeModel("ok", id=model or "fake")).name == name


def test_without_the_extra_all_are_estimated() -> None:
    """TOK-008: a model's counter is the estimate where no tokenizer is installed, and says so."""
    with machine(missing("tiktoken")):
        counter = counter_for("gpt-5")
    assert isinstance(counter, HeuristicCounter)
    assert counter.estimated
    assert counter.count("hello") == 2
    assert counter.images is not OPENAI_TILES  # what an image costs needs no tokenizer


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcde", 2), ("你好，世界", 5), ("한국어", 3), ("Привет", 3), ("😀", 1), ("abcd你好", 3)],
)
def test_the_estimate_goes_by_script(text: str, tokens: int) -> None:
    """Four Latin characters, two of another script, or one of Chinese, Japanese or Korean are a token."""
    assert HeuristicCounter().count(text) == tokens


def test_the_estimate_is_near() -> None:
    """For prose in several languages the estimate is between 0.6 and 2.2 times what the tokenizer says."""
    exact = TiktokenCounter()
    for text in (
        "The parcel was sent on Monday and should be with you tomorrow afternoon. " * 5,
        "Das Paket wurde am Montag abgeschickt und sollte morgen Nachmittag ankommen. " * 5,
        "Посылка была отправлена в понедельник и должна прийти завтра днём. " * 5,
        "包裹已于星期一寄出，应该明天下午到达。" * 5,
    ):
        assert 0.6 < HeuristicCounter().count(text) / exact.count(text) < 2.2


def test_what_is_given_becomes_a_counter() -> None:
    """A counter, a function, a name or nothing may be given; anything else is refused with what may be."""
    own = Letters()
    assert resolve_counter(own) is own
    assert resolve_counter(None) is None
    assert resolve_counter("auto") is None
    assert isinstance(resolve_counter("estimate"), HeuristicCounter)
    exact = resolve_counter("cl100k_base")
    assert exact is not None
    assert (exact.name, exact.estimated) == ("cl100k_base", False)
    function = resolve_counter(len)
    assert isinstance(function, FunctionCounter)
    assert (function.name, function.per_request) == ("len", 24)
    for wrong in (7, Letters, "o300k"):
        with pytest.raises(DefinitionError):
            resolve_counter(wrong)


async def test_a_function_that_is_awaited_is_refused() -> None:
    """A function of a text must be a plain one: it is called in the middle of a stream."""

    async def later(text: str) -> float:
        return 1

    with pytest.raises(DefinitionError, match="plain function"):
        resolve_counter(later)


def test_a_message_costs_its_parts_and_more() -> None:
    """Text, reasoning, calls, results and what stands around a message all count."""
    counter = Letters()
    call = PromptToolCall("c1", "look", {"q": "é"})
    said = PromptMessage("assistant", (TextPart("abc"), ReasoningPart("de"), call))
    assert counter.count_message(said) == 3 + len("assistant") + 3 + 2 + 4 + len('{"q":"é"}')
    answers = PromptMessage(
        "tool",
        (
            PromptToolResult("c1", "look", {"type": "text", "value": "four"}),
            PromptToolResult("c2", "look", {"type": "json", "value": [1, 2]}),
            PromptToolResult(
                "c3",
                "look",
                {
                    "type": "content",
                    "value": [
                        {"type": "text", "text": "xy"},
                        {"type": "media", "data": "https://example.com/a.png", "mediaType": "image/png"},
                    ],
                },
            ),
        ),
    )
    assert counter.count_message(answers) == 3 + 4 + 4 + len("[1,2]") + 2 + 765


def test_a_picture_in_a_result_is_a_picture_however_it_is_said() -> None:
    """What models' clients send as a file of a result costs what a file does, and not what its base64 has in letters."""
    data = base64.b64encode(png(1000, 1000) + bytes(90_000)).decode()
    for item in (
        {"type": "image", "image": data},
        {"type": "image-data", "data": data},
        {"type": "image-url", "url": f"data:image/png;base64,{data}"},
        {"type": "media", "data": f"data:image/png;base64,{data}", "mediaType": "image/png"},
        FilePart(data, "image/png"),
    ):
        result = PromptToolResult("c", "look", {"type": "content", "value": [item, TextPart("xy")]})
        assert Letters().count_part(result) == 765 + 2
    text = {"type": "file", "data": "data:text/plain;base64,aGVsbG8=", "mediaType": "text/plain"}
    assert Letters().count_part(PromptToolResult("c", "look", {"type": "content", "value": [text]})) == len("hello")


def test_a_prompt_costs_its_messages_and_tools() -> None:
    """A request has what a provider adds, its tools as JSON, and its messages."""
    counter = Letters()
    message = PromptMessage("user", (TextPart("Hi"),))
    tool = ToolSpec("look", "Looks.", {"type": "object"})
    written = '{"name":"look","description":"Looks.","parameters":{"type":"object"}}'
    assert counter.count_prompt([message, message], [tool]) == 3 + 2 * (3 + 4 + 2) + len(written)
    assert counter.count_tools([ToolSpec("web", provider_tool={"openai": {"type": "web_search"}})]) == len(
        '{"openai":{"type":"web_search"}}'
    )


def test_what_json_cannot_say_is_counted_all_the_same() -> None:
    """Arguments that hold themselves, or what JSON does not know, raise nothing."""
    loop: list[Any] = []
    loop.append(loop)
    for args in (loop, {"when": object()}, {(1, 2): 3}):
        assert Letters().count_part(PromptToolCall("c", "t", args)) > 1


def png(width: int, height: int) -> bytes:
    """Return the first bytes of a PNG image."""
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\x00\x00\x00"


def jpeg(width: int, height: int, before: int = 0) -> bytes:
    """Return the first bytes of a JPEG image whose size stands behind *before* bytes of notes."""
    notes = b"\xff\xe1" + struct.pack(">H", before + 2) + bytes(before) if before else b""
    return b"\xff\xd8" + notes + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(12)


@pytest.mark.parametrize(
    "data",
    [
        png(640, 480),
        jpeg(640, 480),
        jpeg(640, 480, before=60_000),
        b"GIF89a" + struct.pack("<HH", 640, 480),
        b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
        b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + (639 | 479 << 14).to_bytes(4, "little") + bytes(8),
        b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480),
    ],
)
def test_the_size_of_an_image_is_read(data: bytes) -> None:
    """The first bytes tell the size, as bytes, as base64 in lines, and in a ``data:`` URI."""
    text = base64.b64encode(data).decode()
    assert image_size(data) == (640, 480)
    assert image_size("\n".join(text[at : at + 76] for at in range(0, len(text), 76))) == (640, 480)
    assert image_size(f"data:image/png;base64,{text}") == (640, 480)


@pytest.mark.parametrize(
    "data", [b"", b"\x89PNG\r\n\x1a\n", png(0, 9), b"\xff\xd8\xff", jpeg(1, 1)[:9], "é", "http://x/"]
)
def test_what_is_no_image_has_no_size(data: bytes | str) -> None:
    """A cut or foreign head, an address, and an image of no size give none."""
    assert image_size(data) is None


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-4o", Size(1024, 1024), None, 765),
        ("gpt-4o", Size(2048, 4096), "high", 1105),
        ("gpt-4o", Size(4096, 8192), "low", 85),
        ("gpt-4o-mini", Size(512, 512), "high", 8500),
        ("gpt-5", Size(1024, 1024), "auto", 630),
        ("gpt-5-mini", Size(1024, 1024), None, 1659),
        ("o3", Size(1024, 1024), None, 675),
        ("claude-opus-4-5", Size(200, 200), None, 54),
        ("claude-opus-4-5", Size(1000, 1000), None, 1334),
        ("claude-opus-4-5", Size(9000, 9000), None, 1600),
        ("gemini-2.5-flash", Size(384, 384), None, 258),
        ("gemini-2.5-flash", Size(960, 540), None, 1548),
    ],
)
def test_images_cost_what_providers_publish(model: str, size: Size, detail: str | None, tokens: int) -> None:
    """Tiles, patches and areas give the numbers of the providers' own examples."""
    options = {"openai": {"imageDetail": detail}} if detail else None
    part = FilePart(png(*size), "image/png", provider_metadata=options)
    assert counter_for(model).count_part(part) == tokens


def test_rules_need_no_size() -> None:
    """An image of which only the address is known counts as one of 1,024 by 1,024 pixels."""
    part = FilePart("https://example.com/cat.png", "image/png")
    for rule, tokens in ((OPENAI_TILES, 765), (ANTHROPIC_AREA, 1399), (GOOGLE_TILES, 1032)):
        counter = Letters()
        counter.images = rule
        assert counter.count_part(part) == tokens


def test_other_files_count_by_what_they_are() -> None:
    """Text files count as their text, others a token for four bytes, and an address what the least file does."""
    counter = Letters()
    assert counter.count_part(FilePart(b"hello", "text/plain")) == 5
    assert counter.count_part(FilePart(base64.b64encode(b"hello").decode(), "text/csv")) == 5
    assert counter.count_part(FilePart(bytes(40_000), "application/pdf")) == 10_000
    assert counter.count_part(FilePart("A" * 40_000, "application/pdf")) == 7_500
    assert counter.count_part(FilePart(b"tiny", "audio/wav")) == UNKNOWN_FILE
    assert counter.count_part(FilePart("https://example.com/a.pdf", "application/pdf")) == UNKNOWN_FILE


@pytest.mark.parametrize("counter", [TiktokenCounter(), HeuristicCounter(), Letters()])
@pytest.mark.parametrize("text", ["word " * 9_000, "x" * 20_000, "你好，世界" * 900, "😀" * 3_000, ""])
def test_a_beginning_fits_its_budget(counter: TokenCounter, text: str) -> None:
    """``prefix`` gives a beginning that has at most so many tokens, and little less than that."""
    for budget in (0, 1, 17, 1_000, 1_000_000):
        found = counter.prefix(text, budget)
        assert text.startswith(found)
        assert counter.count(found) <= budget
        if len(found) < len(text):
            assert counter.count(found) >= budget - max(4, budget // 50)


def test_a_count_that_grows_when_joined_is_kept_to() -> None:
    """A function whose count of the whole is more than that of its pieces still gets a beginning that fits."""

    def rough(text: str) -> float:
        return len(text) * (1 if len(text) < 2_000 else 2)

    found = first_that_fits(rough, "x" * 9_000, 5_000)
    assert rough(found) <= 5_000
    assert len(found) > 1_000


def test_the_port_says_what_is_missing() -> None:
    """A subclass without ``count`` says so when it is asked."""
    with pytest.raises(NotImplementedError, match="count"):
        TokenCounter().count("x")


def test_models_share_a_counter() -> None:
    """The same name gives the same object, so that what was counted for a model in one step holds in the next."""
    assert counter_for("openai/gpt-5") is counter_for("openrouter/openai/gpt-5")
    assert router.counter_for("gpt-5") is not counter_for("claude-opus-4-5")
