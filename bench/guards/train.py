"""
``python -m bench.guards.train``: learn from the seen half how much each idea says of an attack on a model.

A logistic regression over ideas and pairs of ideas, with weights kept small, of which the small ones are dropped.  A
text counts by its worst stretch.  It writes ``injection_weights.json``; run it after a change of the ideas.  It reads
nothing of the unseen half.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.guards.items import read_items
from procession.messages.text.decode import views
from procession.processors.detect.injection import HIDDEN, InjectionRules
from procession.processors.detect.injection_ideas import features_of, ideas, likelihood
from procession.processors.detect.injection_offline import flags_of

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_SEEN = _ROOT / "bench/guards/data/seen"
_SOURCES = (
    _SEEN / "injection.jsonl",
    _SEEN / "benign.jsonl",
    *sorted((_ROOT / "bench/guards/data/training").glob("*.jsonl")),
    _ROOT / "examples/data/inbox.jsonl",
)
_WEIGHTS = _ROOT / "src/procession/processors/detect/injection_weights.json"
_STEPS = 400
_RATE = 0.3
_SMALL = 0.05
_LONG = 3000
"""Characters of a long text that are one example."""
_THRESHOLD = 0.7
"""The guard's, to which the scores are moved: as many harmless texts are above it as are put up with."""
_ROUNDS = 3
"""How often the worst stretch of each text is chosen again."""


def _texts() -> Iterator[tuple[str, bool]]:
    for source in _SOURCES:
        if source.exists():
            for item in read_items(source):
                yield item["text"], item.get("label", item.get("injection", "benign")) == "attack"
    for text in _own_pages():
        yield text, False


def _own_pages() -> Iterator[str]:
    """
    Yield pieces of what this project says at length, the licence included: it attacks nobody.
    """
    pages = [_ROOT / "LICENSE", *sorted(_ROOT.glob("docs/*.md")), *sorted(_ROOT.glob("docs/decisions/*.md"))]
    for page in pages:
        if page.name != "guards.md":  # which shows attacks
            text = page.read_text("utf-8")
            yield from (text[start : start + _LONG] for start in range(0, len(text), _LONG))


def stretches(text: str) -> list[int]:
    """
    Return what each stretch of each view of *text* speaks of.
    """
    seen = list(views(text))
    flags = flags_of(_RULES.judge(text, seen))
    return [
        bits
        for view in seen
        for _, _, bits in features_of(
            view.text, flags=[*flags, "hidden-text"] if HIDDEN.intersection(view.made) else flags
        )
    ]


_RULES = InjectionRules()


class Learner:
    """
    Weights of the features that occur often enough.
    """

    def __init__(self, examples: Sequence[tuple[list[int], bool]], *, decay: float, least: int) -> None:
        count: dict[int, int] = {}
        for bags, _ in examples:
            whole = 0
            for bits in bags:
                whole |= bits
            for bit in _on(whole):
                count[bit] = count.get(bit, 0) + 1
        self.columns = {bit: column for column, bit in enumerate(sorted(b for b, n in count.items() if n >= least))}
        self.weights = np.zeros(len(self.columns))
        self.bias = 0.0
        rows = [np.array([self.row(bits) for bits in set(bags)]) for bags, _ in examples]
        y = np.array([float(attack) for _, attack in examples])
        # both labels count the same
        share = np.where(y > 0, 0.5 / max(1.0, y.sum()), 0.5 / max(1.0, (1 - y).sum())) * len(y)
        for _ in range(_ROUNDS):
            x = np.array([bag[int(np.argmax(bag @ self.weights))] for bag in rows])
            self._fit(x, y, share, decay)

    def row(self, bits: int) -> Any:
        """
        Return one stretch as a row of zeros and ones.
        """
        row = np.zeros(len(self.columns))
        for bit in _on(bits):
            column = self.columns.get(bit)
            if column is not None:
                row[column] = 1.0
        return row

    def _fit(self, x: Any, y: Any, share: Any, decay: float) -> None:
        w, b = self.weights, self.bias
        mw, vw, mb, vb = np.zeros_like(w), np.zeros_like(w), 0.0, 0.0
        for step in range(1, _STEPS + 1):
            p = 1 / (1 + np.exp(-(x @ w + b)))
            error = (p - y) * share / len(y)
            gw, gb = x.T @ error + decay * w, float(error.sum())
            mw, mb = 0.9 * mw + 0.1 * gw, 0.9 * mb + 0.1 * gb
            vw, vb = 0.99 * vw + 0.01 * gw**2, 0.99 * vb + 0.01 * gb**2
            scale = _RATE * 0.1 * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
            w = w - scale * mw / (np.sqrt(vw) + 1e-8)
            b = b - scale * mb / (np.sqrt(vb) + 1e-8)
        self.weights, self.bias = w, float(b)

    def score(self, bags: Sequence[int]) -> float:
        """
        Return how likely a text is an attack.
        """
        best = max(float(self.row(bits) @ self.weights) for bits in set(bags))
        return likelihood(best + self.bias, len(bags))


def _on(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def names_of(learner: Learner) -> dict[str, float]:
    """
    Return the weights by name, without the small ones.
    """
    names = ideas()
    out: dict[str, float] = {}
    for bit, column in learner.columns.items():
        weight = round(float(learner.weights[column]), 3)
        if abs(weight) >= _SMALL:
            if bit < len(names):
                out[names[bit]] = weight
            else:
                first, second = divmod(bit - len(names), len(names))
                out[f"{names[first]}+{names[second]}"] = weight
    return out


def cross_validated(examples: Sequence[tuple[list[int], bool]], folds: int, **settings: Any) -> list[float]:
    """
    Return the score of each example by weights that were learned without it.
    """
    order = list(range(len(examples)))
    random.Random(7).shuffle(order)
    scores = [0.0] * len(examples)
    for fold in range(folds):
        left_out = set(order[fold::folds])
        learner = Learner([examples[i] for i in order if i not in left_out], **settings)
        for i in left_out:
            scores[i] = learner.score(examples[i][0])
    return scores


def _count(file: Path) -> int:
    return sum(1 for _ in read_items(file))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Learn, say how well it would have done on what it had not seen, and write the weights.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.guards.train", description=__doc__)
    parser.add_argument("--decay", type=float, default=0.001)
    parser.add_argument("--least", type=int, default=4)
    parser.add_argument("--wrong", type=float, default=0.04, help="the share of harmless look-alikes that may be found")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    texts = list(_texts())
    examples = [(stretches(text), attack) for text, attack in texts]
    scores = cross_validated(examples, 5, decay=options.decay, least=options.least)
    of_seen = _count(_SOURCES[0])  # the first are those of the seen half: what others are measured on
    harmless = sorted(score for score, (_, attack) in zip(scores[:of_seen], texts, strict=False) if not attack)
    least = harmless[-1 - int(options.wrong * len(harmless))]
    shift = _logit(_THRESHOLD) - _logit(least) - 1e-3
    for name, these in (("seen half", slice(0, of_seen)), ("all texts", slice(None))):
        found = [score > least for score, (_, attack) in zip(scores[these], texts[these], strict=True) if attack]
        wrong = [score > least for score, (_, attack) in zip(scores[these], texts[these], strict=True) if not attack]
        print(f"{name}: recall {sum(found) / len(found):.3f}, false positives {sum(wrong) / len(wrong):.3f}")
    if not options.dry:
        pages = sum(1 for _ in _own_pages())
        whole_mails = examples[-_count(_SOURCES[-1]) - pages : -pages]
        learner = Learner([*examples, *whole_mails * 2], decay=options.decay, least=options.least)
        weights = names_of(learner)
        learned = {"bias": round(learner.bias + shift, 3), "weights": dict(sorted(weights.items()))}
        _WEIGHTS.write_text(json.dumps(learned, indent=0) + "\n", encoding="utf-8")
        print(f"{len(weights)} weights from {len(examples)} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
