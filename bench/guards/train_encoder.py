"""
``python -m bench.guards.train_encoder``: learn from the seen half how much a text's vector says of an attack on a model.

A logistic regression over the vectors of the offline sentence encoder, with weights kept small; a text counts by its
worst window.  What it says is added to what the ideas say, whose weights are learned first, by ``bench.guards.train``.
It writes ``injection_encoder.json``, and needs the extra ``embeddings``.  It reads nothing of the unseen half.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np

from bench.guards.items import Item, read_items
from bench.guards.train import Learner, stretches
from procession.messages.text.decode import views
from procession.models.offline_embedder import SentenceEncoder
from procession.processors.detect.injection import InjectionRules
from procession.processors.detect.injection_encoder import Window, windows_of
from procession.processors.detect.injection_ideas import features_of, likelihood, score_of

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_DATA = _ROOT / "bench/guards/data"
_SOURCES = (
    _DATA / "seen/injection.jsonl",
    _DATA / "seen/benign.jsonl",
    *sorted((_DATA / "training").glob("*.jsonl")),
    _ROOT / "examples/data/inbox.jsonl",
)
_WEIGHTS = _ROOT / "src/procession/processors/detect/injection_encoder.json"
_RULES = InjectionRules()
_FOLDS = 5
_STEPS = 400
_RATE = 0.03
_SCALE = 6.0
"""Vectors have length 1, so each of their numbers is small; larger ones are learned of as fast as the bias."""
_ROUNDS = 3
"""How often the worst window of each text is chosen again."""
_THRESHOLD = 0.7
"""The guard's, to which the scores are moved: as many harmless texts are above it as are put up with."""


class Example:
    """
    A text with a label: its windows, the ideas in each, and in the whole.
    """

    def __init__(self, item: Item) -> None:
        text = item["text"]
        seen = list(views(text))
        self.attack = item.get("label", item.get("injection", "benign")) == "attack"
        self.windows = list(windows_of(seen, _RULES.judge(text, seen)))
        self.ideas = stretches(text)
        self.ideas_in = [_ideas_in(window) for window in self.windows]
        self.vectors: Any = None
        """A row for each window."""


def _ideas_in(window: Window) -> list[int]:
    return [bits for _, _, bits in features_of(window.text, flags=window.flags)]


class VectorLearner:
    """
    How much each number of a vector says.
    """

    def __init__(self, examples: Sequence[Example], *, decay: float) -> None:
        y = np.array([float(each.attack) for each in examples])
        # both labels count the same
        share = np.where(y > 0, 0.5 / max(1.0, y.sum()), 0.5 / max(1.0, (1 - y).sum()))
        self.weights = np.zeros(examples[0].vectors.shape[1])
        self.bias = 0.0
        for _ in range(_ROUNDS):
            x = np.array([each.vectors[int(np.argmax(each.vectors @ self.weights))] for each in examples])
            self._fit(x * _SCALE, y, share, decay)

    def _fit(self, x: Any, y: Any, share: Any, decay: float) -> None:
        w, b = self.weights / _SCALE, self.bias
        mw, vw, mb, vb = np.zeros_like(w), np.zeros_like(w), 0.0, 0.0
        for step in range(1, _STEPS + 1):
            error = (1 / (1 + np.exp(-(x @ w + b))) - y) * share
            gw, gb = x.T @ error + decay * w, float(error.sum())
            mw, mb = 0.9 * mw + 0.1 * gw, 0.9 * mb + 0.1 * gb
            vw, vb = 0.99 * vw + 0.01 * gw**2, 0.99 * vb + 0.01 * gb**2
            scale = _RATE * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
            w = w - scale * mw / (np.sqrt(vw) + 1e-8)
            b = b - scale * mb / (np.sqrt(vb) + 1e-8)
        self.weights, self.bias = w * _SCALE, float(b)


def _with_vectors(examples: Sequence[Example]) -> None:
    texts = [window.text for each in examples for window in each.windows]
    made = iter(anyio.run(partial(SentenceEncoder().embed, texts)).vectors)
    for each in examples:
        each.vectors = np.array([next(made) for _ in each.windows])


def cross_validated(examples: Sequence[Example], *, decay: float, ideas: dict[str, Any]) -> list[float]:
    """
    Return the logit of each example by ideas and vectors of which both were learned without it.
    """
    order = list(range(len(examples)))
    random.Random(7).shuffle(order)
    logits = [0.0] * len(examples)
    for fold in range(_FOLDS):
        left_out = set(order[fold::_FOLDS])
        rest = [examples[i] for i in order if i not in left_out]
        by_ideas = Learner([(each.ideas, each.attack) for each in rest], **ideas)
        by_vector = VectorLearner(rest, decay=decay)
        for i in left_out:
            said = [_weight(by_ideas, stretches) for stretches in examples[i].ideas_in]
            worst = float(np.max(said + examples[i].vectors @ by_vector.weights)) + by_vector.bias
            logits[i] = _logit(likelihood(worst, sum(map(len, examples[i].ideas_in))))
    return logits


def _moved(examples: Sequence[Example], learner: Learner) -> float:
    """
    Return by how much the ideas' weights that are used were moved towards the guard's threshold.
    """
    firsts = [(each.windows[0], each.ideas_in[0]) for each in examples]
    used = [score_of(window.text, flags=window.flags).weight for window, _ in firsts]
    return float(np.median(np.array(used) - [_weight(learner, bits) for _, bits in firsts]))


def _weight(learner: Learner, stretches: Sequence[int]) -> float:
    """
    Return how much the worst of some stretches speaks for an attack.
    """
    return max(float(learner.row(bits) @ learner.weights) for bits in set(stretches)) + learner.bias


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _told(name: str, logits: Iterable[float], examples: Sequence[Example], least: float) -> None:
    found = [(logit > least, each.attack) for logit, each in zip(logits, examples, strict=True)]
    right = [hit for hit, attack in found if attack]
    wrong = [hit for hit, attack in found if not attack]
    print(f"{name}: recall {sum(right) / len(right):.3f}, false positives {sum(wrong) / len(wrong):.3f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Learn, say how well it would have done on what it had not seen, and write the weights.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.guards.train_encoder", description=__doc__)
    parser.add_argument("--decay", type=float, default=0.005)
    parser.add_argument("--ideas-decay", type=float, default=0.001, help="that of bench.guards.train")
    parser.add_argument("--ideas-least", type=int, default=4, help="that of bench.guards.train")
    parser.add_argument(
        "--wrong", type=float, default=0.045, help="the share of harmless look-alikes that may be found"
    )
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    files = [[Example(item) for item in read_items(source)] for source in _SOURCES]
    examples = [each for file in files for each in file if each.windows]  # the others say nothing
    _with_vectors(examples)
    ideas = {"decay": options.ideas_decay, "least": options.ideas_least}
    logits = cross_validated(examples, decay=options.decay, ideas=ideas)
    of_seen = sum(
        bool(each.windows) for each in files[0]
    )  # the first are those of the seen half: what others are measured on
    harmless = sorted(
        logit for logit, each in zip(logits[:of_seen], examples[:of_seen], strict=True) if not each.attack
    )
    least = harmless[-1 - int(options.wrong * len(harmless))]
    _told("seen half", logits[:of_seen], examples[:of_seen], least)
    _told("all texts", logits, examples, least)
    if not options.dry:
        learner = VectorLearner(examples, decay=options.decay)
        moved = _moved(examples, Learner([(each.ideas, each.attack) for each in examples], **ideas))
        bias = round(learner.bias + _logit(_THRESHOLD) - least - moved - 1e-3, 3)
        weights = [round(float(weight), 2) for weight in learner.weights]
        _WEIGHTS.write_text(json.dumps({"bias": bias, "weights": weights}) + "\n", encoding="utf-8")
        print(f"{len(weights)} weights from {len(examples)} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
