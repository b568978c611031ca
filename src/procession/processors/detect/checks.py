"""
Checks: what makes a row of digits a card, an account or an identity number.

Each takes the text as it was found, separators included, and says yes or no.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Mapping, Sequence

__all__ = [
    "IBAN_LENGTHS", "aadhaar", "card_number", "cpf", "dni_or_nie", "iban", "iban_length",
    "iban_form", "ip_address", "luhn", "nino", "social_security",
    "steuer_id", "why_no_card",
]  # fmt: skip

_DIGITS = re.compile(r"[0-9]")


_DOUBLED = dict(zip("0123456789", (0, 2, 4, 6, 8, 1, 3, 5, 7, 9), strict=True))


def _digits(text: str) -> str:
    return "".join(_DIGITS.findall(text))


def luhn(text: str) -> bool:
    """
    Whether the last digit is the check digit of the others.

    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = _digits(text)
    return (sum(map(int, digits[-1::-2])) + sum([_DOUBLED[digit] for digit in digits[-2::-2]])) % 10 == 0


_ISSUERS: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    # first and last beginning, lengths
    (4, 4, (13, 16, 19)),  # Visa
    (51, 55, (16,)), (2221, 2720, (16,)),  # Mastercard
    (34, 34, (15,)), (37, 37, (15,)),  # American Express
    (6011, 6011, (16, 19)), (644, 649, (16, 19)), (65, 65, (16, 19)),  # Discover, RuPay
    (300, 305, (14,)), (3095, 3095, (14,)), (36, 36, (14,)), (38, 39, (14,)),  # Diners Club
    (3528, 3589, (16, 19)),  # JCB
    (62, 62, (16, 17, 18, 19)), (8100, 8171, (16, 17, 18, 19)),  # UnionPay
    (5018, 5018, (16, 19)), (5020, 5020, (16, 19)), (5038, 5038, (16, 19)), (5893, 5893, (16, 19)),
    (6304, 6304, (16, 19)), (6759, 6759, (16, 19)), (6761, 6763, (16, 19)),  # Maestro
    (508, 508, (16,)), (606, 608, (16,)),  # RuPay
    (2200, 2204, (16, 19)),  # Mir
    (9792, 9792, (16,)),  # Troy
)  # fmt: skip


_BEGINNING = 6
"""Digits by which an issuer is known."""


def _by_beginning() -> Mapping[str, Sequence[tuple[int, int, tuple[int, ...]]]]:
    """
    Return the issuers by the first digit, each with the first and last six digits that a number of its can begin with.
    """
    issuers: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {}
    for low, high, lengths in _ISSUERS:
        scale = 10 ** (_BEGINNING - len(str(low)))
        for first in range(int(str(low)[0]), int(str(high)[0]) + 1):
            issuers.setdefault(str(first), []).append((low * scale, (high + 1) * scale - 1, lengths))
    return issuers


_ISSUERS_OF = _by_beginning()


def card_number(text: str) -> bool:
    """
    Whether it is a payment card: an issuer's beginning, that issuer's length, and the check digit.

    One in ten rows of digits passes ``luhn`` alone, time stamps and order numbers among them.

    >>> card_number("4111-1111-1111-1111"), card_number("1767225600009")
    (True, False)
    """
    digits = _digits(text)
    beginning = int(digits[:_BEGINNING] or 0)
    for low, high, lengths in _ISSUERS_OF.get(digits[:1], ()):
        if len(digits) in lengths and low <= beginning <= high:
            return len(set(digits)) > 1 and luhn(digits)
    return False


IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20,
    "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
    "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29,
    "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24,
    "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
    "YE": 30,
}  # fmt: skip
_NOT_ALNUM = re.compile(r"[^0-9A-Za-z]")


def iban(text: str) -> bool:
    """
    Whether it is a bank account: a known country, its length, and the remainder 1 by 97.

    >>> iban("GB82 WEST 1234 5698 7654 32"), iban("GB82 WEST 1234 5698 7654 33")
    (True, False)
    """
    plain = _NOT_ALNUM.sub("", text).upper()
    if IBAN_LENGTHS.get(plain[:2]) != len(plain) or not plain.isascii():
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def why_no_card(text: str) -> str:
    """
    Return why a row of digits is no payment card: its check digit, or no issuer has such numbers.

    >>> why_no_card("1242-2341-3673-9999"), why_no_card("1767225600009")
    ('luhn', 'issuer')
    """
    digits = "".join(str(unicodedata.decimal(character, "")) for character in text)
    return "issuer" if luhn(digits) else "luhn"


def iban_form(text: str) -> int:
    """
    Return how much of *text* has the length of a bank account of its country, whatever its check digits, or 0.
    """
    return iban_length(text, checked=False)


def iban_length(text: str, *, checked: bool = True) -> int:
    """
    Return how much of *text* is a bank account with which it begins, separators included, or 0.

    >>> iban_length("DE75 5121 0800 1245 1261 99 zur"), iban_length("DE75 5121 0800 1245 1261 98")
    (27, 0)
    """
    left = IBAN_LENGTHS.get(_NOT_ALNUM.sub("", text[:3])[:2].upper(), 0)
    if not left:
        return 0
    for index, character in enumerate(text):
        if character.isalnum():
            left -= 1
            if not left:
                whole = not text[index + 1 : index + 2].isalnum()
                return index + 1 if whole and (not checked or iban(text[: index + 1])) else 0
    return 0


def social_security(text: str) -> bool:
    """
    Whether a US social security number can have been issued: no group of zeros, no area 666 or from 900 on.

    >>> social_security("536-22-8145"), social_security("000-41-7720")
    (True, False)
    """
    digits = _digits(text)
    if len(digits) != 9:
        return False
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


_NINO_NEVER = ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")


def nino(text: str) -> bool:
    """
    Whether a UK National Insurance number has letters that are given out.

    >>> nino("AB 12 34 56 C"), nino("QQ 12 34 56 C")
    (True, False)
    """
    plain = _NOT_ALNUM.sub("", text).upper()
    first, second = plain[:1], plain[1:2]
    return first not in "DFIQUV" and second not in "DFIOQUV" and plain[:2] not in _NINO_NEVER


_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def dni_or_nie(text: str) -> bool:
    """
    Whether the letter of a Spanish DNI or NIE is the one that its number has.

    >>> dni_or_nie("12345678Z"), dni_or_nie("X1234567L"), dni_or_nie("12345678A")
    (True, True, False)
    """
    plain = _NOT_ALNUM.sub("", text).upper()
    number = plain[:-1].replace("X", "0", 1).replace("Y", "1", 1).replace("Z", "2", 1)
    return len(plain) == 9 and number.isdigit() and _DNI_LETTERS[int(number) % 23] == plain[-1]


def cpf(text: str) -> bool:
    """
    Whether both check digits of a Brazilian CPF are right.

    >>> cpf("111.444.777-35"), cpf("111.444.777-36")
    (True, False)
    """
    digits = [int(digit) for digit in _digits(text)]
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    for size in (9, 10):
        total = sum(digit * (size + 1 - index) for index, digit in enumerate(digits[:size]))
        if total * 10 % 11 % 10 != digits[size]:
            return False
    return True


def steuer_id(text: str) -> bool:
    """
    Whether it can be a German tax number: one digit two or three times among the first ten, and the check digit.

    >>> steuer_id("86 095 742 719"), steuer_id("86 095 742 718")
    (True, False)
    """
    digits = [int(digit) for digit in _digits(text)]
    if len(digits) != 11 or digits[0] == 0:
        return False
    counts = sorted((digits[:10].count(digit) for digit in set(digits[:10])), reverse=True)
    if counts[0] not in (2, 3) or (len(counts) > 1 and counts[1] > 1):
        return False
    product = 10
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[10]


_ROTATIONS = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_PERMUTATIONS = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip


def aadhaar(text: str) -> bool:
    """
    Whether it can be an Indian Aadhaar number: not beginning with 0 or 1, and Verhoeff's check digit.

    >>> aadhaar("9999 4105 7058"), aadhaar("9999 4105 7059")
    (True, False)
    """
    digits = _digits(text)
    if len(digits) != 12 or digits[0] in "01":
        return False
    check = 0
    for index, digit in enumerate(reversed(digits)):
        check = int(_ROTATIONS[check][int(_PERMUTATIONS[index % 8][int(digit)])])
    return check == 0


def ip_address(text: str) -> bool:
    """
    Whether it is an address of the internet protocol, version 4 or 6, without a prefix length.

    >>> ip_address("192.0.2.1"), ip_address("2001:db8::1"), ip_address("1.2.3.256")
    (True, True, False)
    """
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
