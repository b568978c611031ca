"""``bench/guards/data``: the labelled corpora keep their own format."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Item: TypeAlias = dict[str, Any]
DATA = Path(__file__).resolve().parents[2] / "bench/guards/data"
FILES = sorted(DATA.glob("*/*.jsonl"))
TRAINING = [file for file in FILES if file.parent.name == "training"]
STRUCTURED = {"email", "phone", "credit-card", "ssn", "iban"}
NATIONAL = {"uk-nino", "es-dni", "br-cpf", "de-steuer-id", "in-aadhaar"}
PERSONAL = STRUCTURED | NATIONAL | {"ip-address", "date-of-birth", "url", "uuid", "crypto-wallet"}
FIELDS = {
    "pii": {"id", "text", "lang", "spans", "note", "tier"},
    "secrets": {"id", "text", "label", "spans", "note", "tier"},
    "benign": {"id", "text", "lang", "kind", "tier"},
    "injection": {"id", "text", "lang", "label", "kind", "where", "tier"},
    "other": {"id", "text", "lang", "label", "kind", "where", "tier"},
}
KEY_PREFIXES = re.compile(
    r"\b(?:sk_live_|rk_live_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[bp]-|AKIA|AIza|eyJ|hf_|npm_)\w"
)


def items_in(file: Path) -> list[Item]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def kind_of(file: Path) -> str:
    return file.stem.split("-")[0]


def of_kind(kind: str) -> Iterator[Item]:
    for file in FILES:
        if kind_of(file) == kind:
            yield from items_in(file)


def sentences_of(half: str) -> dict[str, str]:
    """Every text of a half, and every sentence or line of four words or more, with the item that has it."""
    found: dict[str, str] = {}
    for file in FILES:
        if file.parent.name == half and kind_of(file) in ("pii", "secrets", "benign", "injection", "other"):
            for item in items_in(file):
                parts = [part for part in re.split(r"[.?!]\s|[\n。？！।؟]", item["text"]) if len(part.split()) > 3]
                for part in (item["text"], *parts):
                    found[" ".join(part.casefold().split())] = item["id"]
    return found


def plain(value: str) -> str:
    """ASCII letters and digits of a value, whatever it was written with."""
    digits = "".join(str(unicodedata.digit(char)) if char.isdigit() else char for char in value)
    return re.sub(r"[^0-9A-Z]", "", unicodedata.normalize("NFKC", digits).upper())


def is_card(value: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(value))]
    return 12 < len(value) < 20 and sum(one - 9 * (one > 9) for one in doubled) % 10 == 0


def is_iban(value: str) -> bool:
    return 14 < len(value) < 35 and int("".join(str(int(char, 36)) for char in value[4:] + value[:4])) % 97 == 1


def is_ssn(value: str) -> bool:
    return bool(re.fullmatch(r"(?!000|666|9)\d{3}(?!00)\d\d(?!0000)\d{4}", value))


def is_nino(value: str) -> bool:
    return bool(re.fullmatch(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", value))


def is_dni(value: str) -> bool:
    number = value[:-1].translate(str.maketrans("XYZ", "012"))
    return len(value) == 9 and number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == value[-1]


def is_cpf(value: str) -> bool:
    checks = [sum(int(d) * w for d, w in zip(value, range(n + 1, 1, -1), strict=False)) * 10 % 11 % 10 for n in (9, 10)]
    return len(value) == 11 and "".join(map(str, checks)) == value[9:]


def is_steuer_id(value: str) -> bool:
    product = 10
    for digit in value[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    often = sorted(Counter(value[:10]).values())
    return len(value) == 11 and often[-1] in (2, 3) and often[-2] == 1 and (11 - product) % 10 == int(value[-1])


def is_aadhaar(value: str) -> bool:
    """Verhoeff's check, in the dihedral group of the pentagon."""
    check = 0
    for place, digit in enumerate(reversed(value)):
        number = int(digit)
        for _ in range(place % 8):
            number = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[number]
        turned = check + number if check < 5 else check - number
        check = turned % 5 + 5 * ((check < 5) != (number < 5))
    return len(value) == 12 and value[0] not in "01" and check == 0


CHECKS: dict[str, Callable[[str], bool]] = {
    "credit-card": is_card,
    "iban": is_iban,
    "ssn": is_ssn,
    "uk-nino": is_nino,
    "es-dni": is_dni,
    "br-cpf": is_cpf,
    "de-steuer-id": is_steuer_id,
    "in-aadhaar": is_aadhaar,
}


def is_base58_address(value: str) -> bool:
    number = 0
    for char in value:
        number = number * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(char)
    body, check = number.to_bytes(25, "big")[:-4], number.to_bytes(25, "big")[-4:]
    return hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4] == check


def test_every_line_has_the_form_of_its_file() -> None:
    """Each item has the fields of its kind, a known tier and a text without marks; ids are unique over all files."""
    seen: Counter[str] = Counter()
    for file in FILES:
        for item in items_in(file):
            seen[item["id"]] += 1
            if kind_of(file) in FIELDS:
                assert set(item) - {"optional", "outer"} == FIELDS[kind_of(file)], item["id"]
                assert item["tier"] in ("core", "hard") and item["text"].strip(), item["id"]
                assert not set("⟦⟧⟪⟫") & set(item["text"]), item["id"]
    assert [each for each, times in seen.items() if times > 1] == []


@pytest.mark.parametrize("kind", ["pii", "secrets"])
def test_spans_lie_in_their_text(kind: str) -> None:
    """Spans are within the text, in order, apart from one another, and neither begin nor end with a blank."""
    for item in of_kind(kind):
        end = 0
        for span in item["spans"]:
            value = item["text"][span["start"] : span["end"]]
            assert end <= span["start"] < span["end"] <= len(item["text"]), item["id"]
            assert value == value.strip() != "", item["id"]
            end = span["end"]
        for around in (*item.get("optional", ()), *([item["outer"]] if "outer" in item else ())):
            assert 0 <= around["start"] < around["end"] <= len(item["text"]), item["id"]


def test_types_and_labels_are_known() -> None:
    """Personal data has types of the format; a secret has a span within its outer one, and what is clean has none."""
    for item in of_kind("pii"):
        types = {span["type"] for span in (*item["spans"], *item.get("optional", ()))}
        assert types <= PERSONAL, item["id"]
    for item in of_kind("secrets"):
        assert item["label"] == ("secret" if item["spans"] else "clean"), item["id"]
        outer = item.get("outer")
        if outer is not None:
            assert all(outer["start"] <= span["start"] < span["end"] <= outer["end"] for span in item["spans"])


def test_labelled_numbers_have_right_check_digits() -> None:
    """Cards, accounts and ids that are labelled are ones that a check digit holds for; wallets in base 58 as well."""
    for item in of_kind("pii"):
        for span in item["spans"]:
            value = item["text"][span["start"] : span["end"]]
            check = CHECKS.get(span["type"])
            assert check is None or check(plain(value)), f"{item['id']}: {span['type']}"
            bare = "".join(char for char in value if unicodedata.category(char) != "Cf")
            if span["type"] == "crypto-wallet" and not bare.startswith(("0x", "bc1")):
                assert is_base58_address(bare), item["id"]


@pytest.mark.parametrize(
    ("type", "right", "wrong"),
    [
        ("credit-card", "4111111111111111", "4111111111111112"),
        ("iban", "GB82WEST12345698765432", "GB82WEST12345698765433"),
        ("ssn", "412685093", "666123456"),
        ("uk-nino", "AB123456C", "BG123456C"),
        ("es-dni", "12345678Z", "12345678A"),
        ("br-cpf", "39053344705", "39053344706"),
        ("de-steuer-id", "36574261809", "36574261808"),
        ("in-aadhaar", "234123412346", "234123412347"),
    ],
)
def test_the_checks_know_right_from_wrong(type: str, right: str, wrong: str) -> None:
    """Each check takes a published sample and turns down its neighbour."""
    assert CHECKS[type](right)
    assert not CHECKS[type](wrong)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_what_cannot_be_seen_is_escaped(file: Path) -> None:
    """Invisible and directional characters are written as escapes, and well-known key prefixes carry one."""
    raw = file.read_text(encoding="utf-8")
    hidden = {char for char in raw if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")}
    assert {f"{ord(char):04x}" for char in hidden} == set()
    if kind_of(file) == "secrets":
        assert KEY_PREFIXES.findall(raw) == []


def test_no_sentence_stands_in_both_halves() -> None:
    """What rules are written with does not show them what they are measured with."""
    seen, unseen = sentences_of("seen"), sentences_of("unseen")
    assert {seen[one]: unseen[one] for one in seen.keys() & unseen.keys()} == {}


@pytest.mark.parametrize("half", ["seen", "unseen"])
def test_what_is_trained_with_repeats_nothing_that_is_measured_with(half: str) -> None:
    """No text, sentence or line of the training texts stands in either half, and no training text stands there twice."""
    training, measured = sentences_of("training"), sentences_of(half)
    assert sorted(training[one] for one in training.keys() & measured.keys()) == []
    texts = Counter(item["text"] for file in TRAINING for item in items_in(file))
    assert [text for text, times in texts.items() if times > 1] == []


def test_training_texts_are_of_known_labels_and_sources() -> None:
    """Each training text is an attack or benign and says how it came; both labels are there in every file."""
    for file in TRAINING:
        items = items_in(file)
        assert {item["label"] for item in items} == {"attack", "benign"}, file.name
        assert {item["where"] for item in items} <= {"user", "tool_result", "document"}, file.name


@pytest.mark.parametrize("half", ["seen", "unseen"])
def test_each_half_is_large_and_mixed_enough(half: str) -> None:
    """Each half has enough of every type, at least six languages, and negatives, core and hard ones."""
    items = items_in(DATA / half / "pii.jsonl")
    count = Counter(span["type"] for item in items for span in item["spans"])
    assert {type for type in PERSONAL if count[type] < (18 if type in STRUCTURED else 8)} == set()
    assert len(items) >= 260 and len({item["lang"] for item in items}) >= 6
    for tier in ("core", "hard"):
        assert sum(not item["spans"] and item["tier"] == tier for item in items) >= 25
    assert len(items_in(DATA / half / "secrets.jsonl")) >= 90
    benign = items_in(DATA / half / "benign.jsonl")
    assert len(benign) >= 200 and len({item["lang"] for item in benign}) >= 10


def test_the_corpora_are_as_large_as_promised() -> None:
    """Both halves together have at least 1,500 items."""
    assert sum(len(items_in(file)) for file in FILES) >= 1500
