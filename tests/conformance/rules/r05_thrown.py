"""
R5: thrown or streamed (D17).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.rules.reading import runs_of
from tests.conformance.scenario import Json

__all__ = ["thrown"]


def thrown(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Expect of a ``stream()`` that the reference fails before there is a stream: ``error``, after ``start`` or not, and
    then the recorded error from the result.  ``generate()`` raises, as recorded.
    """
    for run in runs_of(setup, expected):
        if run.streams and "thrown" in run.record:
            error = run.record.pop("thrown")
            failed: Json = {"type": "error", "error": error}
            run.record["chunks"] = {"$either": [[failed], [{"type": "start"}, failed]]}
            run.record["get_full_output_error"] = error
