"""
R11: the token counter (D39).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.scenario import Json, is_list, is_object

__all__ = ["rounded", "token_counter"]

DIGITS = 9


def token_counter(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Change no number: the run is given the reference's estimate as ``counter`` (``counter.py``).  Only the last digits
    of sums of decimal fractions are rounded, on both sides.
    """
    for key in ("timeline", "runs", "text_and_system_tokens"):
        if key in expected:
            expected[key] = rounded(expected[key])


def rounded(value: Json) -> Json:
    """
    Return *value* with its decimal fractions rounded to nine digits.
    """
    if isinstance(value, float):
        return round(value, DIGITS)
    if is_object(value):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if is_list(value) else value
