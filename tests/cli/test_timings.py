"""Medians and percentiles in bounded memory."""

from procession.cli import timings
from procession.cli.timings import Timings


def test_figures() -> None:
    """The median and the 95th percentile are values that were measured; the total counts all."""
    kept = Timings()
    for value in (5.0, 1.0, 3.0, 2.0, 4.0):
        kept.add({"a": value})
    kept.add({"b": 7.0})
    first, second = kept.all()
    assert (first.step, first.count, first.median, first.p95, first.total) == ("a", 5, 3.0, 5.0, 15.0)
    assert (second.median, second.p95) == (7.0, 7.0)


def test_memory_is_bounded() -> None:
    """Of very many times a fair sample is kept, and all are counted."""
    kept = Timings()
    for number in range(2 * timings.KEPT):
        kept.add({"a": float(number)})
    figures = kept.of("a")
    assert figures.count == 2 * timings.KEPT
    assert abs(figures.median - timings.KEPT) < timings.KEPT / 20
