"""
Checks of addresses of crypto-currencies: Base58Check, Bech32, and the mixed case of Ethereum.
"""

from __future__ import annotations

import hashlib

__all__ = ["bech32", "bitcoin_address", "ethereum_address"]

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VERSIONS = frozenset({0x00, 0x05, 0x1E, 0x16, 0x30, 0x32, 0x41})
"""Bitcoin, Dogecoin, Litecoin, Tron."""


def bitcoin_address(text: str) -> bool:
    """
    Whether it is Base58Check of a known coin.

    >>> bitcoin_address("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"), bitcoin_address("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3")
    (True, False)
    """
    number = 0
    for character in text:
        place = _BASE58.find(character)
        if place < 0:
            return False
        number = number * 58 + place
    if number >> 200:
        return False
    raw = number.to_bytes(25, "big")
    return raw[0] in _VERSIONS and hashlib.sha256(hashlib.sha256(raw[:21]).digest()).digest()[:4] == raw[21:]


_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def bech32(text: str) -> bool:
    """
    Whether the checksum of a Bech32 or Bech32m address is right.

    >>> bech32("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"), bech32("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5")
    (True, False)
    """
    if text not in (text.lower(), text.upper()):
        return False
    head, _, data = text.lower().rpartition("1")
    values = [ord(character) >> 5 for character in head] + [0] + [ord(character) & 31 for character in head]
    for character in data:
        place = _BECH32.find(character)
        if place < 0:
            return False
        values.append(place)
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATORS):
            if top >> bit & 1:
                check ^= generator
    return check in (1, 0x2BC830A3)


def ethereum_address(text: str) -> bool:
    """
    Whether it is an Ethereum address: 20 bytes in one case, or in the mixed case that is their checksum.

    >>> ethereum_address("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
    True
    >>> ethereum_address("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
    False
    """
    digits = text[2:]
    if len(digits) != 40 or digits == "0" * 40:
        return False
    if digits in (digits.lower(), digits.upper()):
        return True
    digest = _keccak(digits.lower().encode()).hex()
    return all(
        character.isdigit() or character.isupper() == (int(nibble, 16) > 7)
        for character, nibble in zip(digits, digest, strict=False)
    )


_MASK = (1 << 64) - 1


def _round_constants() -> list[int]:
    constants: list[int] = []
    state = 1
    for _ in range(24):
        value = 0
        for bit in range(7):
            if state & 1:
                value |= 1 << ((1 << bit) - 1)
            state = state << 1 ^ (0x171 if state >> 7 else 0)
        constants.append(value)
    return constants


def _keccak(data: bytes) -> bytes:
    """
    Return the first 20 bytes of Keccak-256 as Ethereum uses it, which pads differently from SHA3-256.
    """
    block = bytearray(data) + bytearray(136 - len(data))
    block[len(data)] ^= 0x01
    block[135] ^= 0x80
    lanes = [int.from_bytes(block[at : at + 8], "little") for at in range(0, 136, 8)] + [0] * 8
    for constant in _round_constants():
        parity = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        for x in range(5):
            mixed = parity[x - 1] ^ _rotated(parity[(x + 1) % 5], 1)
            for y in range(0, 25, 5):
                lanes[x + y] ^= mixed
        x, y, current = 1, 0, lanes[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            place = x + 5 * y
            current, lanes[place] = lanes[place], _rotated(current, (step + 1) * (step + 2) // 2 % 64)
        for y in range(0, 25, 5):
            row = lanes[y : y + 5]
            for x in range(5):
                lanes[x + y] = row[x] ^ (~row[(x + 1) % 5] & _MASK & row[(x + 2) % 5])
        lanes[0] ^= constant
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:3])[:20]


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK
