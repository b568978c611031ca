"""
Truth: what a condition has answered.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

__all__ = ["truth"]


async def truth(answer: Any) -> bool:
    """
    Return what a condition has answered with, awaited where it is to be.

    Raises ``TypeError`` for anything that is no bool: the ``None`` of a forgotten ``return`` is no answer, nor is NaN.
    """
    if isinstance(answer, Awaitable):
        answer = await cast("Awaitable[Any]", answer)
    if answer is True or answer is False:
        return answer
    raise TypeError(f"a condition answers True or False, not {type(answer).__name__}: return bool(...) of it")
