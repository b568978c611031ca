"""
Guards over streams: whether anything leaks, and whether what comes out is what the whole text gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.guards.items import Item
from procession.messages.chunks import TextDelta, TextEnd
from procession.messages.message_list import MessageList
from procession.processors.contexts import OutputStreamContext
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.guardrails.system_prompt import SystemPromptScrubber
from procession.processors.payloads import OutputStreamPayload
from procession.processors.utility.unicode import UnicodeNormalizer
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire

__all__ = ["StreamScore", "measure_streams"]

_STAND_IN = re.compile("\u27e6[^\u27e7]*\u27e7")
_PLACEHOLDER = r"\[[A-Z][A-Z-]*\]"


@dataclass
class StreamScore:
    """
    How many streams were fed, leaked, came out wrong, or need a guard that there is none of.
    """

    items: int = 0
    leaks: int = 0
    wrong: int = 0
    skipped: int = 0
    faults: list[str] = field(default_factory=list[str])


def measure_streams(items: Iterable[Item]) -> StreamScore:
    """
    Feed every item's chunks to its guard.
    """
    score = StreamScore()
    for item in items:
        guard = _guard(item["guard"], item.get("params") or {})
        if guard is None:
            score.skipped += 1
            score.faults.append(f"{item['id']} skipped: no guard {item['guard']!r}")
            continue
        score.items += 1
        out, blocked = _feed(guard, item["chunks"])
        leaked = [secret for secret in item.get("must_not_emit", ()) if secret in out]
        if leaked:
            score.leaks += 1
            score.faults.append(f"{item['id']} leak {item['guard']}")
        if not _as_expected(item, out, blocked):
            score.wrong += 1
            score.faults.append(f"{item['id']} wrong {item['guard']} {item.get('expected_action')}")
    return score


def _guard(name: str, params: Mapping[str, Any]) -> Any:
    match name:
        case "pii-redact-placeholder" | "pass-through":
            return PIIDetector(redaction="placeholder")
        case "secret-redact-placeholder":
            return PIIDetector(detection_types=["api-key"], redaction="placeholder")
        case "regex-redact":
            patterns = params.get("patterns") or [params["pattern"]]
            replacement = params.get("replacement", "[REDACTED]")
            rules = [
                {"name": str(number), "pattern": one, "replacement": replacement} for number, one in enumerate(patterns)
            ]
            return RegexFilter(rules=rules, strategy="redact", stream_carryover_size=1)
        case "regex-block":
            return RegexFilter(rules=[{"name": "pattern", "pattern": params["pattern"]}])
        case "keyword-block":
            flags = re.IGNORECASE if params.get("case_insensitive") else 0
            return RegexFilter(
                rules=[{"name": word, "pattern": re.escape(word), "flags": flags} for word in params["keywords"]]
            )
        case "prompt-leak-block":
            return SystemPromptScrubber(strategy="block", protect=[params["system_prompt"]])
        case "unicode-normalise":
            return UnicodeNormalizer(profile="safe")
        case _:
            return None


def _feed(guard: Any, chunks: Iterable[str]) -> tuple[str, bool]:
    """
    Return what came out, joined, and whether the guard blocked.
    """
    ctx = OutputStreamContext(OutputStreamPayload(MessageList()), RequestScope(), guard)
    out: list[str] = []
    try:
        for text in chunks:
            ctx.note(TextDelta(text))
            one = guard.process_output_stream(ctx)
            if one is not None:
                out.append(one.text)
        ctx.chunk = TextEnd()
        out += [one.text for one in guard.flush_output_stream(ctx)]
    except Tripwire:
        return "".join(out), True
    return "".join(out), False


def _as_expected(item: Item, out: str, blocked: bool) -> bool:
    action = item.get("expected_action")
    if blocked != (action == "block"):
        return False
    text: str = item["text"]
    if action == "pass":
        return out == text
    if action == "block":
        return text.startswith(out)
    full = item.get("expected_full")
    if full is None:
        return True
    params: Mapping[str, Any] = item.get("params") or {}
    own = str(params.get("replacement", "[REDACTED]"))
    pattern, at = "", 0
    for stand_in in _STAND_IN.finditer(full):
        pattern += re.escape(full[at : stand_in.start()])
        pattern += re.escape(own) if stand_in[0] == "\u27e6regex\u27e7" else _PLACEHOLDER
        at = stand_in.end()
    return re.fullmatch(pattern + re.escape(full[at:]), out, re.DOTALL) is not None
