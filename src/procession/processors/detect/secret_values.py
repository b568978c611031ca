"""
Values of secrets: what can be one, and what stands where one will be.
"""

from __future__ import annotations

import base64
import re

__all__ = [
    "is_placeholder", "is_reference", "mixed_word", "password_in_address", "real_key", "real_word", "said_password",
    "seed_phrase", "user_and_password", "value_of_key", "value_of_password",
]  # fmt: skip

_PLACEHOLDER = re.compile(
    r"x{4,}|X{4,}|\*{3,}|\.{3,}|0{8,}|•|<|>|\$\{|\{\{|%\(|\[|your|example|placeholder|redacted|removed|change[-_]?me"
    r"|insert|dummy|sample|secret[-_]?here|goes[-_]?here|todo|process\.env|environ|getenv|secrets\.|vault:|\bnull\b"
    r"|\bnone\b|undefined"
    r"|12345678|abcdefgh",
    re.IGNORECASE,
)


def is_placeholder(text: str) -> bool:
    """
    Whether something stands where a secret will be, rather than the secret.

    >>> is_placeholder("sk_live_xxxxxxxxxxxxxxxx"), is_placeholder("${SMTP_PASSWORD}"), is_placeholder("Tq8zNd0pXw31")
    (True, True, False)
    """
    return _PLACEHOLDER.search(text) is not None or len(set(text)) < 5


def real_key(text: str) -> bool:
    """
    Whether a vendor's prefix is followed by something random.
    """
    return not is_placeholder(text) and any(character.isdigit() for character in text)


def real_word(text: str) -> bool:
    """
    Whether a vendor's prefix is followed by something of many different characters.
    """
    return not is_placeholder(text) and len(set(text)) >= 12


_REFERENCE = re.compile(r"[/$@&]|![A-Za-z]+\Z|%\w+%\Z|#\{|\(\(|[\w.]{1,40}\(|\[")
_HASHED = re.compile(
    r"\$(?:2[abxy]?|5|6|1|y|apr1|argon2\w*|scrypt|pbkdf2\S*)\$|\{(?:SSHA|SHA|CRYPT)\w*\}|\$ANSIBLE_VAULT|ENC\["
)


def is_reference(text: str) -> bool:
    """
    Whether something says where a secret is kept.

    >>> is_reference("$DB_PASSWORD"), is_reference("!vault"), is_reference("hunter2!")
    (True, True, False)
    """
    return _REFERENCE.match(text) is not None or "(" in text


def value_of_password(text: str) -> bool:
    """
    Whether what follows the word password can be one: it mixes kinds of characters, and is no call or reference.
    """
    if is_placeholder(text) or is_reference(text) or _HASHED.match(text):
        return False
    kinds = (
        any(character.islower() for character in text),
        any(character.isupper() for character in text),
        any(character.isdigit() for character in text),
        re.search(r"[^\w\s]", text) is not None,
    )
    return sum(kinds) >= 2 and re.search(r"[0-9]|[^\w\s.-]", text) is not None


def value_of_key(text: str) -> bool:
    """
    Whether what follows the word key or token can be one: long enough, with digits, and no name of something.
    """
    if not value_of_password(text) or len(text) < 12:
        return False
    return any(character.isdigit() for character in text) and len(set(text)) >= 8


def said_password(text: str) -> bool:
    """
    Whether a word that follows the word password can be one, though nothing but a blank stands between them.

    >>> said_password("tin-whistle-4460-moss"), said_password("2-factor"), said_password("policy.")
    (True, False, False)
    """
    return (
        value_of_password(text) and len(text) >= 8 and re.search("[0-9]", text) is not None and not _NAMES.match(text)
    )


_NAMES = re.compile(
    # and what a mask has left of a number: XXX-XXX-0132
    r"(?:[0-9]+-\w+|x{2,}[.-]x{2,}[.-]|sha-?\d+|pbkdf2|aes-?\d+|md5|base64|oauth2|rfc ?\d+|\w+@\w+)",
    re.IGNORECASE,
)


def mixed_word(text: str) -> bool:
    """
    Whether letters and digits change at least twice in one word, as they do in no word that is spoken.

    >>> mixed_word("nine7uHerons491wade"), mixed_word("iPhone15Pro"), mixed_word("2026-05-11")
    (True, False, False)
    """
    changes = re.findall(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])", text)
    return len(changes) >= 3 and len(text) >= 10 and value_of_password(text)


def user_and_password(text: str) -> bool:
    """
    Whether Base64 says a name, a colon and something, as in headers and in settings of registries.

    >>> user_and_password("cHJlc3M6TGlubytDdXQrNjY="), user_and_password("aGVsbG8gd29ybGQ=")
    (True, False)
    """
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode("ascii")
    except ValueError:
        return False
    user, colon, password = plain.partition(":")
    return bool(user and colon) and len(password) >= 3 and plain.isprintable()


_NEVER_A_SEED = frozenset("the and are for was were our his her has had but not from into".split())


def seed_phrase(text: str) -> bool:
    """
    Whether it is as many short words as a wallet is restored with, and none of those that sentences are made of.
    """
    words = re.findall(r"[a-z]+", text)
    return len(words) in (12, 15, 18, 21, 24) and len(set(words)) >= 10 and not _NEVER_A_SEED.intersection(words)


_NO_PASSWORDS = frozenset("password pass pw passwd secret token pwd".split())


def password_in_address(text: str) -> bool:
    """
    Whether the password in an address is one, and neither a placeholder, a reference nor its own name.

    >>> password_in_address("vR7kq2Lw9TzB"), password_in_address("$REDIS_PASSWORD"), password_in_address("PASSWORD")
    (True, False, False)
    """
    return not is_placeholder(text) and not is_reference(text) and text.lower() not in _NO_PASSWORDS
