"""
Six signs of attacks on a model, in one language: what a language's patterns are put together to.

The patterns look at text in lower case with single blanks.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule

__all__ = ["signs_of"]


def signs_of(
    code: str,
    *,
    override: str,
    disclose: str,
    role: str,
    addressed: str,
    secrecy: str,
    send: str,
    mine: str | None = None,
) -> tuple[Rule, ...]:
    """
    Make the six rules of one language.  What comes after *mine* is a correction of the writer's own words.
    """
    unless = rf"(?:{mine})\Z" if mine is not None else None
    return (
        Rule(f"override-{code}", override, type="injection", score=0.75, unless=unless, near=24),
        Rule(f"reveal-{code}", disclose, type="data-exfiltration", score=0.6),
        Rule(f"role-{code}", role, type="role-manipulation", score=0.45),
        Rule(f"addressed-{code}", addressed, type="injection", score=0.5),
        Rule(f"secrecy-{code}", secrecy, type="injection", score=0.45),
        Rule(f"send-{code}", send, type="data-exfiltration", score=0.4),
    )
