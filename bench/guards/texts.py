"""
Guards over whole texts, measured against labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from bench.guards.encoder import ENCODER, encoded_injection
from bench.guards.items import Item, Place, places
from bench.guards.scores import Score
from procession.messages.text.spans import Span, covers
from procession.processors.detect.language import FastLanguage, same_language
from procession.processors.detect.pii import OFFLINE_TYPES
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.text_guard import TextGuard
from procession.processors.utility.unicode import UnicodeNormalizer

__all__ = [
    "measure_benign",
    "measure_inbox",
    "measure_injection",
    "measure_language",
    "measure_pii",
    "measure_secrets",
    "measure_unicode",
]

T = TypeVar("T")
SECRET = ("api-key",)
PERSONAL = tuple(kind for kind in OFFLINE_TYPES if kind not in SECRET)
LEAST_SURE = 0.5
"""Below this a language counts as unknown."""


def timed(score: Score, text: str, work: Callable[[], T]) -> T:
    """
    Return what *work* does, and charge its time to *score*: that of a second time, once patterns are compiled.
    """
    work()
    start = time.perf_counter()
    done = work()
    score.seconds += time.perf_counter() - start
    score.size += len(text.encode("utf-8", "surrogatepass"))
    score.items += 1
    return done


def _spans_of(guard: PIIDetector, score: Score, text: str) -> list[Span]:
    return [span for region in timed(score, text, lambda: guard.regions(text)) for span in region.members]


def _count_spans(score: Score, item: Item, found: list[Span], *, wanted: Callable[[str], str | None]) -> None:
    """
    Count labelled spans that were found, of which something is left, and findings where nothing is labelled.
    """
    tier = item.get("tier", "core")
    known: list[Place] = [*places(item), *places(item, "optional"), *_outer(item)]
    for label in item.get("spans", ()):
        type = wanted(label["type"])
        if type is None:
            continue
        start, end = label["start"], label["end"]
        hits = [span for span in found if span.type == type and span.start < end and start < span.end]
        score.add(tier, label["type"], "right" if hits else "missed", item["id"])
        if hits and not all(covers(found, place, place + 1) for place in range(start, end)):
            score.add(tier, label["type"], "left", item["id"])
    wrong = [span for span in found if not any(span.start < end and start < span.end for start, end in known)]
    for span in wrong:
        score.add(tier, span.type, "wrong", item["id"], span.rule)
    if not item.get("spans") and not wrong:
        score.add(tier, "nothing", "clean", item["id"])


def _outer(item: Item) -> list[Place]:
    outer = item.get("outer")
    return [(outer["start"], outer["end"])] if outer else []


def measure_pii(items: Iterable[Item]) -> Score:
    """
    Measure ``PIIDetector`` on labelled personal data.
    """
    score = Score()
    guard = PIIDetector()
    for item in items:
        _count_spans(score, item, _spans_of(guard, score, item["text"]), wanted=lambda type: type)
    return score


def measure_secrets(items: Iterable[Item]) -> Score:
    """
    Measure ``PIIDetector(detection_types=["api-key"])`` on labelled secrets.
    """
    score = Score()
    guard = PIIDetector(detection_types=SECRET)
    for item in items:
        _count_spans(score, item, _spans_of(guard, score, item["text"]), wanted=lambda type: "api-key")
    return score


def measure_injection(items: Iterable[Item], finds: Callable[[str], bool] | None = None) -> Score:
    """
    Measure ``PromptInjectionDetector``, or what *finds* attacks in its place, on attacks and on what is none.
    """
    score = Score()
    guard = PromptInjectionDetector()
    finds = finds or (lambda text: bool(guard.regions(text)))
    for item in items:
        found = timed(score, item["text"], lambda text=item["text"]: finds(text))  # type: ignore[misc]
        attack = item.get("label", item.get("injection")) == "attack"
        what = ("right" if found else "missed") if attack else ("wrong" if found else "clean")
        score.add(item.get("tier", "core"), item.get("kind", "attack" if attack else "benign"), what, item["id"])
    return score


def measure_benign(items: Iterable[Item]) -> Score:
    """
    Measure every offline guard of texts on harmless ones, where all that it finds is wrong; types are the guards.
    """
    score = Score()
    guards: dict[str, TextGuard] = {
        "pii": PIIDetector(),
        "injection": PromptInjectionDetector(),
        "regex": RegexFilter(presets=("secrets", "pii")),
    }
    encoded = encoded_injection()
    for item in items:
        text = item["text"]
        found = timed(score, text, lambda text=text: {name: each.regions(text) for name, each in guards.items()})  # type: ignore[misc]
        for name, regions in found.items():
            rules = sorted({span.rule for region in regions for span in region.members})
            what = "wrong" if regions else "clean"
            score.add(item.get("tier", "core"), name, what, item["id"], ", ".join(rules))
        if encoded is not None:  # not timed: it takes much longer than all others together
            score.add(item.get("tier", "core"), ENCODER, "wrong" if encoded(text) else "clean", item["id"])
    return score


def measure_language(items: Iterable[Item]) -> Score:
    """
    Measure the offline detector of languages, not the guard: right or wrong, where ``und`` is right to be unsure.
    """
    score = Score()
    detector = FastLanguage()
    for item in items:
        verdict = timed(score, item["text"], lambda text=item["text"]: detector.find(text))  # type: ignore[misc]
        code = max(verdict.scores, key=lambda one: verdict.scores[one], default="und")
        wanted = [item.get("iso", item.get("lang")), *item.get("accept", ())]
        right = any(same_language(code, one) for one in wanted) or ("und" in wanted and verdict.score < LEAST_SURE)
        score.add(item.get("tier", "core"), wanted[0], "right" if right else "wrong", item["id"], f"said {code}")
    return score


def measure_unicode(items: Iterable[Item]) -> Score:
    """
    Measure ``UnicodeNormalizer(profile="safe")``: the output is as expected or not.
    """
    score = Score()
    normaliser = UnicodeNormalizer(profile="safe")
    for item in items:
        out = timed(score, item["input"], lambda text=item["input"]: normaliser.normalised(text))  # type: ignore[misc]
        score.add(item.get("tier", "core"), "text", "right" if out == item["expected"] else "wrong", item["id"])
    return score


def measure_inbox(items: Iterable[Item]) -> dict[str, Score]:
    """
    Measure all guards on messages of an inbox.
    """
    messages = list(items)
    pii, secrets = Score(), Score()
    personal, secret = PIIDetector(detection_types=PERSONAL), PIIDetector(detection_types=SECRET)
    for item in messages:
        found = _spans_of(personal, pii, item["text"])
        _count_spans(pii, item, found, wanted=lambda type: None if type == "secret" else type)
        found = _spans_of(secret, secrets, item["text"])
        _count_spans(secrets, item, found, wanted=lambda type: "api-key" if type == "secret" else None)
    return {
        "pii": pii,
        "secrets": secrets,
        "injection": measure_injection(messages),
        "language": measure_language(item for item in messages if item.get("lang")),
    }
