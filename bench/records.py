"""
Records that are encrypted, beside what cryptography takes alone for the same bytes: written and read, of a message's length
and of a megabyte.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bench.harness import Case
from procession.storage.cipher import new_key
from procession.storage.records import Records, record_name

if TYPE_CHECKING:
    from bench.harness import Bench

__all__ = ["benches"]

NAME = record_name("message", "thread", "message")


async def _write(records: Records, text: str, times: int) -> None:
    for _ in range(times):
        await records.write(text, scope="ada", name=NAME)


def _case(variant: str, size: int, times: int) -> list[Bench]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    text = "y" * size
    records = Records(key=new_key())
    stored: list[str] = []
    cipher, place = AESGCM(os.urandom(32)), b"place"
    nonce = os.urandom(12)
    sealed = b64encode(cipher.encrypt(nonce, text.encode(), place)).decode()

    async def seal() -> None:
        for _ in range(times):
            b64encode(cipher.encrypt(os.urandom(12), text.encode(), place)).decode()

    async def unseal() -> None:
        for _ in range(times):
            cipher.decrypt(nonce, b64decode(sealed), place).decode()

    async def read() -> None:
        if not stored:
            stored.append(await records.write(text, scope="ada", name=NAME))
        for _ in range(times):
            await records.read(stored[0], scope="ada", name=NAME)

    write = partial(_write, records, text, times)
    return [
        Case(bench="records", variant=f"write_{variant}", n=times, ours=write, floor=seal, against="cryptography"),
        Case(bench="records", variant=f"read_{variant}", n=times, ours=read, floor=unseal, against="cryptography"),
    ]


def benches() -> list[Bench]:
    """
    Return the benchmarks of this file; none where cryptography is not installed.
    """
    if find_spec("cryptography") is None:
        return []
    return [*_case("500", 500, 100), *_case("1m", 1_000_000, 1)]
