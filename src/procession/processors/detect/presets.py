"""
Presets: the rules that ``RegexFilter`` knows by name.

They look at the text as it is written.  ``PIIDetector`` and ``SECRETS`` find more, and are fooled less.
"""

from __future__ import annotations

from collections.abc import Mapping

from procession.messages.text.patterns import Rule
from procession.processors.detect.checks import card_number, social_security

__all__ = ["PRESETS"]


PRESETS: Mapping[str, tuple[Rule, ...]] = {
    "pii": (
        Rule(
            "email",
            r"(?<![\w.+-])[A-Za-z0-9_%+][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9-]{0,62}"
            r"(?:\.[A-Za-z0-9-]{1,63}){0,3}\.[A-Za-z]{2,24}(?![A-Za-z0-9_])",
            replacement="[EMAIL]",
        ),
        Rule(
            "phone",
            r"(?<![\w.+-])(?:\+[0-9]{1,3}[ .-]?)?(?:\([0-9]{2,4}\)[ .-]?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}(?![\w-])"
            r"|(?<![\w.+-])\+[0-9]{1,3}(?:[ .-]?[0-9]{2,4}){2,5}(?![\w-])",
            replacement="[PHONE]",
        ),
        Rule(
            "ssn",
            r"(?<![\w-])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![\w-])",
            check=social_security,
            replacement="[SSN]",
        ),
        Rule(
            "credit-card",
            r"(?<![\w-])(?:[0-9]{4}[ \u00a0-]?[0-9]{4}[ \u00a0-]?[0-9]{4}[ \u00a0-]?[0-9]{1,4}(?:[ \u00a0-]?[0-9]{3})?"
            r"|[0-9]{4}[ \u00a0-]?[0-9]{6}[ \u00a0-]?[0-9]{4,5})(?![\w])",
            check=card_number,
            replacement="[CREDIT_CARD]",
        ),
    ),
    "secrets": (
        Rule(
            "api-key",
            r"(?i)(?<![A-Za-z0-9])(?:api[_-]?key|apikey|secret[_-]?key|access[_-]?token)[ \t]{0,4}[:=][ \t]{0,4}"
            r"[\"']?[A-Za-z0-9_-]{16}",
            tail=r"[A-Za-z0-9_-]{1,64}",
            replacement="[API_KEY]",
        ),
        Rule("api-key", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20}", tail=r"[A-Za-z0-9_-]{1,64}", replacement="[API_KEY]"),
        Rule(
            "bearer-token",
            r"(?i)(?<![A-Za-z0-9])bearer[ \t]{1,4}[A-Za-z0-9._~+/-]{16}",
            tail=r"[A-Za-z0-9._~+/=-]{1,64}",
            replacement="[BEARER_TOKEN]",
        ),
        Rule("aws-key", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])", replacement="[AWS_KEY]"),
    ),
    "urls": (
        Rule(
            "url",
            r"(?i)(?<![A-Za-z0-9])https?://[^\s<>\"'`]{3}",
            tail=r"[^\s<>\"'`]{1,64}",
            trim=".,;:!?)]}",
            replacement="[URL]",
        ),
    ),
}
"""The rules of each preset."""
