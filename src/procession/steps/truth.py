"""
Truth: what a condition has answered.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

__all__ = ["truth"]


async def truth(answer: object) -> bool:
    """
    Return what a condition has answered with, awaited where it is to be.

    Raises ``TypeError`` for anything that is no bool: the ``None`` of a forgotten ``return`` is no answer, nor is NaN.
    """
    if hasattr(type(answer), "__await__"):
        answer = await cast("Awaitable[object]", answer)
    if answer is True or answer is False:
        return answer
    raise TypeError(f"a condition answers True or False, not {type(answer).__name__}: return bool(...) of it")
