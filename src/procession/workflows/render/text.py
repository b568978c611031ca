"""
What drawings share about text: cutting, widths on a terminal, and characters that must not reach a diagram.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

__all__ = ["cell_width", "clean", "cut", "duration", "hook_names", "json_text"]

# The hooks in order of firing, by the short names that drawings have room for.
_HOOKS = {
    "process_input": "in",
    "process_input_step": "step-in",
    "process_llm_request": "request",
    "process_output_stream": "stream",
    "process_api_error": "error",
    "process_llm_response": "response",
    "process_output_step": "step-out",
    "process_tool_result": "tool",
    "process_output_result": "out",
}

# Characters that turn the text around them: what is drawn must read in the order in which it is written.
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# Those that JSON would leave as they are, and half characters, which no file can hold.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff" + "".join(sorted(_BIDI)) + "]")

# What joins letters and emoji: they are drawn as others without it.
_JOINERS = frozenset("\u200c\u200d")


def clean(text: str) -> str:
    """
    Return *text* on one line, with control and direction characters written out, so that a terminal cannot obey them,
    and invisible ones, so that two names that differ look different.

    >>> clean("a\\n  b\\x1b[31m")
    'a b\\\\x1b[31m'
    """
    flat = " ".join(text.split())
    if flat.isascii() and flat.isprintable():
        return flat
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in _JOINERS and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        else char
        for char in flat
    )


def json_text(content: Any) -> str:
    """
    Return *content* as JSON for people to read, ending with a line break, with what a terminal would obey written out.

    >>> json_text({"id": "\u202ea"})
    '{\\n  "id": "\\\\u202ea"\\n}\\n'
    """
    text = json.dumps(content, ensure_ascii=False, indent=2)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def cell_width(text: str) -> int:
    """
    Return how many columns of a terminal *text* takes: wide characters take two, combining ones none.
    """
    if text.isascii():
        return len(text)
    width = 0
    for char in text:
        if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
            continue
        width += 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
    return width


def cut(text: str, width: int, *, dots: str = "…") -> str:
    """
    Return *text* cut to *width* columns, with *dots* where something is missing.

    >>> cut("moderation", 6)
    'moder…'
    """
    if cell_width(text) <= width:
        return text
    room = width - cell_width(dots)
    if room <= 0:
        return dots[:width]
    kept, used = 0, 0
    for char in text:
        used += cell_width(char)
        if used > room:
            break
        kept += 1
    return text[:kept] + dots


def duration(seconds: float, *, plain: bool = False) -> str:
    """
    Return a time with three figures at most and the unit that suits it.

    >>> duration(0.1123), duration(0.0000415), duration(75.2)
    ('112ms', '41.5µs', '75.2s')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us" if plain else "µs")):
        value = seconds * factor
        if value >= 0.9995 or unit in ("us", "µs"):
            break
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    shown = f"{value:.{digits}f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + unit


def hook_names(hooks: Iterable[str]) -> str:
    """
    Return the short names of *hooks* in order of firing.

    >>> hook_names({"process_output_result", "process_input"})
    'in,out'
    """
    given = set(hooks)
    if given >= set(_HOOKS):
        return "all hooks"
    known = [short for name, short in _HOOKS.items() if name in given]
    return ",".join([*known, *sorted(given - set(_HOOKS))])
