"""Personal data by form: what is found, what only looks like it, and how long that takes."""

from __future__ import annotations

import pytest
from tests.processors.detect.cpu import cpu_limit

from procession.errors import ProcessorDefinitionError
from procession.messages.text.scan import find_spans
from procession.processors.detect.phones import phone_rules
from procession.processors.detect.pii import OFFLINE_TYPES, pii_rules

RULES = pii_rules()


def found(text: str, least: float = 0.5) -> list[tuple[str, str]]:
    """Return type and text of what counts in *text*."""
    spans = [span for span in find_spans(RULES, text, fold=True) if span.score >= least]
    return list(dict.fromkeys((span.type, text[span.start : span.end]) for span in spans))


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("Mail first.last@sub.domain.example.org!", "email", "first.last@sub.domain.example.org"),
        ("<maria@example.com>", "email", "maria@example.com"),
        ("发邮件到lin.yue@example.org告诉我", "email", "lin.yue@example.org"),
        ("jose\u0301@example.net", "email", "jose\u0301@example.net"),
        ("info(at)firma.example", "email", "info(at)firma.example"),
        ("почта@пример.рф", "email", "почта@пример.рф"),
        ("WhatsApp +49 (0)171 3920047", "phone", "+49 (0)171 3920047"),
        ("Tel.: 089/12345678", "phone", "089/12345678"),
        ("ring me on 07700 900123", "phone", "07700 900123"),
        ("+1-202-555-0143", "phone", "+1-202-555-0143"),
        ("call 2025550143 please", "phone", "2025550143"),
        ("тел. 8 (495) 123-45-67", "phone", "8 (495) 123-45-67"),
        ("電話 03-1234-5678", "phone", "03-1234-5678"),
        ("card 5555-5555-5555-4444 exp 12/27", "credit-card", "5555-5555-5555-4444"),
        ("378282246310005", "credit-card", "378282246310005"),
        ("5555 5555\n> 5555 4444", "credit-card", "5555 5555\n> 5555 4444"),
        ("４２４２－４２４２－４２４２－４２４２", "credit-card", "４２４２－４２４２－４２４２－４２４２"),
        ("SSN: 219-09-9998", "ssn", "219-09-9998"),
        ("my social is 219 09 9998", "ssn", "219 09 9998"),
        ("an DE89 3704 0044 0532 0130 00 zurück", "iban", "DE89 3704 0044 0532 0130 00"),
        ("nl02-abna-0123-4567-89", "iban", "nl02-abna-0123-4567-89"),
        ("client connected from 172.16.254.1", "ip-address", "172.16.254.1"),
        ("host 10.0.0.5 is down", "ip-address", "10.0.0.5"),
        ("[2001:db8:0:a::c2]:8443", "ip-address", "2001:db8:0:a::c2"),
        ("see http://example.com/path?x=(1)#y.", "url", "http://example.com/path?x=(1)#y"),
        ("DOB 1990-05-12", "date-of-birth", "1990-05-12"),
        ("geb. am 12.05.1990", "date-of-birth", "12.05.1990"),
        ("née le 5 mai 1990", "date-of-birth", "5 mai 1990"),
        ("Birthday: March 3, 1988", "date-of-birth", "March 3, 1988"),
        ("生年月日:1990年5月12日", "date-of-birth", "1990年5月12日"),
        ("تاريخ الميلاد ١٤/٠٩/١٩٨٥", "date-of-birth", "١٤/٠٩/١٩٨٥"),
        ("ab123456c is my number", "uk-nino", "ab123456c"),
        ("NIE X-1234567-L", "es-dni", "X-1234567-L"),
        ("CPF: 529.982.247-25", "br-cpf", "529.982.247-25"),
        ("Steuer-ID 86095742719", "de-steuer-id", "86095742719"),
        ("Aadhaar: 9999 4105 7058", "in-aadhaar", "9999 4105 7058"),
        ("to 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "crypto-wallet", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"),
        ("{550e8400-e29b-41d4-a716-446655440000}", "uuid", "550e8400-e29b-41d4-a716-446655440000"),
    ],
)
def test_personal_data_is_found(text: str, type: str, value: str) -> None:
    """Each kind is found with its exact span in the original, however it is spelled."""
    assert (type, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "ts=1767225600009 order 90000123456718 build 1767225600017",
        "Order 1234-5678-9012-3456",
        "version 1.2.3.4 of the app",
        "released 12.05.2023",
        "EAN 4006381333931",
        "ISBN 978-3-16-148410-0",
        "tracking 00340434161094021501",
        "time 12:34:56 or 1:2:3",
        "chapter 3.2.1.4",
        "std::vector<int>",
        "price 1,234,567.89",
        "part 555-0199-22",
        "node-gyp@10.1.0",
        "icon@2x.png",
        "255.255.255.0",
        "meeting 09-10-11",
        "000-41-7720 and 666-00-0012",
        "GB00 KILN 6016 1331 9268 20",
        "IMEI 490154203237518",
        "MAC 00:00:5E:00:53:1F",
        "sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "0xc2f80f9701b53eba5c59acde641553b7511475d0b7b5320c0069f8dc525e4c82",
        "width: 100px; height: 200px",
        "https is secure",
        "born free",
        "I was born in Leeds. The warranty began on 12 May 2020.",
        "lote 2024 0117 0933",
        "VAT DE123456789",
        "git clone git@git.example.com:kiln/firmware.git",
        "the 4th of July 2020",
    ],
)
def test_look_alikes_are_left_alone(text: str) -> None:
    """What has the form without the checksum, the range or the words around is no finding."""
    assert found(text) == []


def test_checksums_decide() -> None:
    """One wrong digit and it is none."""
    for right, wrong in (
        ("4242 4242 4242 4242", "4242 4242 4242 4241"),
        ("GB33 BUKB 2020 1555 5555 55", "GB33 BUKB 2020 1555 5555 56"),
        ("12345678Z", "12345678A"),
        ("390.533.447-05", "390.533.447-06"),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ):
        assert len(found(right)) == 1
        assert found(wrong) == []


def test_cards_of_many_families() -> None:
    """Two-series Mastercard, 19 digits, five and six together, and no-break spaces between."""
    text = "2221000123456781 / 6200 0012 3456 7890 128 / 3700-001234-56784 / 4242\u00a00000\u00a01111\u00a02224"
    assert [type for type, _ in found(text)] == ["credit-card"] * 4


@pytest.mark.parametrize(
    "text",
    [
        "a" * 60_000 + "@",
        "1.1.1." * 16_000,
        "123-45-" * 14_000,
        "a@" * 50_000,
        "x" * 100_000,
        "1" * 100_000,
        "1 " * 50_000,
        "DE12" * 25_000,
        "::" * 50_000,
        "+1" * 50_000,
        "a.b." * 25_000 + "@",
        "-----BEGIN " * 9_000,
        "eyJ" * 33_000,
        "password=" * 11_000,
        "http://" * 14_000,
        "(1" * 50_000,
        "https://a:b" * 9_000,
        "1990-01-" * 12_000,
        "a\u0301" * 50_000,
        "A" * 100_000,
        "0x" + "a" * 99_998,
        "\u200b" * 100_000,
        "bc1" * 33_000,
        "//:@" * 25_000,
        "--a-b-token " * 8_000,
        "a at b dot c " * 8_000,
        "a_at_" * 20_000,
        "seed words are " * 7_000,
        "session_" * 12_000,
        "user:a:b" * 12_000,
        "order 123-45-6789 " * 5_000,
        "born 1.1.19 " * 8_000,
        "１２３" * 33_000,
        "1 \u200b" * 33_000,
        "".join(f"0{number % 90 + 10} {number % 9000 + 1000} {number * 7 % 9000 + 1000}, " for number in range(7_000)),
        "".join(f"tel {number * 7919 + 100_000_000} " for number in range(7_000)),
        "".join(f"+{number * 104_729 + 10_000_000_000} " for number in range(7_000)),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_adversarial_text_is_read_in_time(text: str) -> None:
    """Long texts meant to make patterns slow take ten seconds of computing at most; it is one or two."""
    with cpu_limit(10):
        find_spans(RULES, text, fold=True)


def test_types_can_be_chosen() -> None:
    """Rules come by type; a type that no rule finds is named."""
    assert {rule.type for rule in pii_rules(["email", "iban"])} == {"email", "iban"}
    assert {rule.type for rule in pii_rules()} == set(OFFLINE_TYPES)
    with pytest.raises(ProcessorDefinitionError, match="'name'"):
        pii_rules(["name"])


def test_national_numbers_depend_on_the_regions() -> None:
    """A number without a country code is one only where it is dialled like that."""
    pytest.importorskip("phonenumbers")
    assert [span.type for span in find_spans(phone_rules(["DE"]), "030 23125 417")] == ["phone"]
    assert find_spans(phone_rules(["US"]), "030 23125 417") == []


def test_without_the_library_numbers_are_told_by_their_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guard extra telephone numbers are found by shape and length alone."""
    monkeypatch.setattr("procession.processors.detect.phones._library", lambda: None)
    assert [span.rule for span in find_spans(phone_rules(["FR"]), "+44 20 7946 0958")] == ["phone-international"]
