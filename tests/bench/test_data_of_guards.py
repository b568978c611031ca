"""``bench/guards/data``: the corpora of injection, language, characters, streams and moderation keep their format."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Item: TypeAlias = dict[str, Any]
DATA = Path(__file__).resolve().parents[2] / "bench/guards/data"
HALVES = ("seen", "unseen")
FIELDS = {
    "injection": {"id", "text", "lang", "label", "kind", "where", "tier"},
    "language": {"id", "text", "iso", "kind", "tier"},
    "unicode": {"id", "input", "expected", "note"},
    "moderation": {"id", "text", "lang", "labels", "note"},
    "streams": {"id", "text", "guard", "cut", "chunks", "must_not_emit", "expected_action"},
}
MAY_HAVE = {"accept", "expected_full", "params", "note", "chunks_b64", "chunks_utf16"}
GUARDS = {
    "pii-redact-placeholder",
    "secret-redact-placeholder",
    "regex-redact",
    "regex-block",
    "keyword-block",
    "prompt-leak-block",
    "unicode-normalise",
    "pass-through",
}
ENCODED = "encoded-"
LANGUAGES = set("en de fr es it pt ru zh ja ko ar hi tr pl nl".split())
LABELS = {"hate", "harassment", "violence", "self-harm", "sexual", "none"}
KEY_PREFIXES = re.compile(r"(?:sk_live_|ghp_|glpat-|xox[bp]-|AKIA|AIza|eyJ|hf_|npm_|SG\.|-----BEGIN)\w")

MARKS = {0x061C, 0x200B, 0x200C, 0x200E, 0x200F, 0x2060, 0xFEFF}
REMOVED = MARKS | {*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080)}
EMOJI = {*range(0x1F1E6, 0x1F200), *range(0x1F300, 0x1FB00), *range(0x2600, 0x27C0)}


def items_of(half: str, kind: str) -> list[Item]:
    return [json.loads(line) for line in (DATA / half / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()]


def profiled(text: str) -> str:
    """The profile of the format, in its four steps."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(char for char in text if char in "\t\n" or unicodedata.category(char) != "Cc")
    chars = [char for char in text if ord(char) not in REMOVED]
    around = zip(["", *chars], chars, [*chars[1:], ""], strict=False)
    kept = [one for before, one, after in around if one != "\u200d" or (is_emoji(before) and is_emoji(after))]
    return re.sub("  +", " ", "".join(kept))


def is_emoji(char: str) -> bool:
    return bool(char) and ord(char) in EMOJI


@pytest.mark.parametrize("kind", sorted(FIELDS))
@pytest.mark.parametrize("half", HALVES)
def test_each_item_has_the_fields_of_its_file(half: str, kind: str) -> None:
    """Nothing is missing and nothing is there that the format doesn't know."""
    for item in items_of(half, kind):
        assert FIELDS[kind] <= set(item) <= FIELDS[kind] | MAY_HAVE, item["id"]
        assert item.get("tier", "core") in ("core", "hard"), item["id"]


@pytest.mark.parametrize("half", HALVES)
def test_injections_are_many_and_mixed(half: str) -> None:
    """Both labels, the languages, the encodings and the ways in are there in numbers."""
    items = items_of(half, "injection")
    attacks = [item for item in items if item["label"] == "attack"]
    assert {item["label"] for item in items} == {"attack", "benign"}
    assert {item["where"] for item in items} == {"user", "tool_result", "document"}
    assert len(items) >= 320 and len(attacks) >= 170 and len(items) - len(attacks) >= 150
    assert all(item["text"].strip() for item in items)
    for some in (attacks, [item for item in items if item["label"] == "benign"]):
        count = Counter(item["lang"] for item in some)
        assert min(count[lang] for lang in LANGUAGES) >= 3
        assert Counter(item["tier"] for item in some).keys() == {"core", "hard"}
    assert sum(item["where"] != "user" for item in attacks) >= 60
    encoded = [item["kind"] for item in attacks if item["kind"].startswith(ENCODED)]
    assert len(encoded) >= 35 and len(set(encoded)) >= 5


@pytest.mark.parametrize("half", HALVES)
def test_languages_are_many(half: str) -> None:
    """Each half has 60 items in 20 languages or more, mixed ones, and such as are in none."""
    items = items_of(half, "language")
    assert len(items) >= 60 and len({item["iso"] for item in items}) > 20
    assert {"und"} < {item["iso"] for item in items} and "mixed" in {item["kind"] for item in items}
    for item in items:
        assert re.fullmatch("und|[a-z]{2}", item["iso"]) and item["iso"] not in item.get("accept", ()), item["id"]


@pytest.mark.parametrize("half", HALVES)
def test_what_is_expected_of_characters_is_the_profile(half: str) -> None:
    """The expected text is what the four steps of the format give, which don't change it again."""
    items = items_of(half, "unicode")
    assert len(items) >= 30
    for item in items:
        assert item["expected"] == profiled(item["input"]) == profiled(item["expected"]), item["id"]


@pytest.mark.parametrize("half", HALVES)
def test_streams_are_their_text_in_pieces(half: str) -> None:
    """All three ways of cutting give the text; what must not come out stands in it, and not in what is expected."""
    items = items_of(half, "streams")
    assert len(items) >= 40 and {item["guard"] for item in items} == GUARDS
    for item in items:
        assert "".join(item["chunks"]) == item["text"], item["id"]
        if "chunks_b64" in item:
            pieces = b"".join(base64.b64decode(piece) for piece in item["chunks_b64"])
            assert pieces.decode("utf-8") == item["text"], item["id"]
        if "chunks_utf16" in item:
            units = b"".join(unit.to_bytes(2, "big") for piece in item["chunks_utf16"] for unit in piece)
            assert units.decode("utf-16-be") == item["text"], item["id"]
        assert all(one in item["text"] for one in item["must_not_emit"]), item["id"]
        assert not any(one in item.get("expected_full", "") for one in item["must_not_emit"]), item["id"]


@pytest.mark.parametrize("half", HALVES)
def test_streams_expect_what_their_action_says(half: str) -> None:
    """Redaction leaves all the rest of the text, rewriting is the profile, and what passes has nothing to hide."""
    for item in items_of(half, "streams"):
        full = item.get("expected_full")
        match item["expected_action"]:
            case "redact" if full is not None:
                rest = ".+?".join(re.escape(part) for part in re.split("\u27e6[^\u27e7]*\u27e7", full))
                assert re.fullmatch(rest, item["text"], re.DOTALL) and "\u27e6" in full, item["id"]
            case "rewrite":
                assert full == profiled(item["text"]) != item["text"], item["id"]
            case "block":
                assert item["must_not_emit"] and full is None, item["id"]
            case "pass":
                assert not item["must_not_emit"] and full is None, item["id"]
            case action:
                assert action == "redact" and item["must_not_emit"] and item["note"], item["id"]


@pytest.mark.parametrize("half", HALVES)
def test_moderation_has_every_label(half: str) -> None:
    """Each half has 40 items, of every label and of none, which stands alone."""
    items = items_of(half, "moderation")
    assert len(items) >= 40 and {label for item in items for label in item["labels"]} == LABELS
    assert all("none" not in item["labels"] or item["labels"] == ["none"] for item in items)


@pytest.mark.parametrize("half", HALVES)
def test_keys_in_streams_are_not_taken_for_keys(half: str) -> None:
    """A well-known prefix is broken by an escape, so that scanners of repositories stay quiet."""
    raw = (DATA / half / "streams.jsonl").read_text(encoding="utf-8")
    assert KEY_PREFIXES.findall(raw) == []
