"""
What the guards are worth on labelled corpora, as figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.guards import texts
from bench.guards.encoder import ENCODER, encoded_injection
from bench.guards.items import files_in, read_items
from bench.guards.moderation import measure_moderation
from bench.guards.scores import Count, Score
from bench.guards.streams import StreamScore, measure_streams

__all__ = ["Show", "figures_of"]

Show: TypeAlias = Callable[[Path, str, "Score | StreamScore"], None]
"""Told of each file, what it was measured as, and how it went."""

_MEASURES: Mapping[str, Callable[[Any], Any]] = {
    "pii": texts.measure_pii,
    "secrets": texts.measure_secrets,
    "injection": texts.measure_injection,
    "benign": texts.measure_benign,
    "language": texts.measure_language,
    "unicode": texts.measure_unicode,
    "streams": measure_streams,
    "moderation": measure_moderation,
    "inbox": texts.measure_inbox,
}


def figures_of(path: Path, show: Show | None = None) -> dict[str, Any]:
    """
    Measure every guard on the labelled corpora in a directory, or on one file; empty where there is none.
    """
    figures: dict[str, Any] = {"speed": {}}
    for kind, file in files_in(path):
        measured = _MEASURES[kind](read_items(file))
        scores: dict[str, Score | StreamScore] = measured if kind == "inbox" else {kind: measured}
        if kind == "injection" and (encoded := encoded_injection()) is not None:
            scores[ENCODER] = texts.measure_injection(read_items(file), encoded)
        for guard, score in scores.items():
            name = guard if file.stem == guard else f"{file.stem}.{guard}" if kind == "inbox" else file.stem
            if guard == ENCODER:
                name = file.stem.replace("injection", ENCODER, 1)
            if show is not None:
                show(file, guard, score)
            figures[name] = _as_json(guard, score)
            if isinstance(score, Score) and score.size:
                figures["speed"][name] = round(score.us_per_kb, 1)
    return figures if len(figures) > 1 else {}


def _as_json(guard: str, score: Score | StreamScore) -> dict[str, Any]:
    """
    Return the figures of one guard by tier, and of all tiers together where there are several.
    """
    if isinstance(score, StreamScore):
        return {"leaks": score.leaks, "wrong": score.wrong, "items": score.items, "skipped": score.skipped}
    whole = score.together()
    if guard in ("unicode", "moderation"):
        return {"accuracy": round(whole.tiers["all"].precision, 4), "items": score.items}
    halves = [score, whole] if len(score.tiers) > 1 else [score]
    return {
        tier: _of_a_tier(guard, count, each.types[tier])
        for each in halves
        for tier, count in sorted(each.tiers.items())
    }


def _of_a_tier(guard: str, count: Count, types: Mapping[str, Count]) -> dict[str, Any]:
    if guard == "benign":
        return {each: _of_harmless_texts(one) for each, one in sorted(types.items())}
    if guard == "language":
        return {"accuracy": round(count.precision, 4), "items": count.right + count.wrong}
    if guard in ("injection", ENCODER):
        return {**count.as_json(), "false_positive_rate": round(count.false_positive_rate, 4)}
    by_type = {type: one.as_json() for type, one in sorted(types.items()) if type != "nothing"}
    return {**count.as_json(), "by_type": by_type}


def _of_harmless_texts(count: Count) -> dict[str, Any]:
    rate = round(count.false_positive_rate, 4)
    return {"items": count.wrong + count.clean, "wrong": count.wrong, "false_positive_rate": rate}
