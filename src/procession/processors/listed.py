"""
Lists that a guard is given: what it never reports, and what it always does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeAlias, cast

from procession.errors import ProcessorDefinitionError
from procession.messages.text.patterns import Rule
from procession.processors.options import listed

__all__ = ["Allow", "Deny", "allowed", "denied"]

Allow: TypeAlias = Collection[str]
"""Texts that are never reported; upper and lower case are the same."""
Deny: TypeAlias = Mapping[str, str] | Collection[str]
"""Texts that are always reported, where they stand as words; each alone, or with the type that it is."""


def allowed(name: str, allow: Allow) -> frozenset[str]:
    """
    Return the texts that the class *name* never reports.

    Raises ``ProcessorDefinitionError`` for one text, whose letters are none.
    """
    if isinstance(allow, str):
        raise ProcessorDefinitionError(f"{name} has allow={allow!r}", hint="give a list of texts")
    return frozenset(text.casefold() for text in listed(name, "allow", allow))


def denied(name: str, deny: Deny, *, reached: bool = True) -> tuple[Rule, ...]:
    """
    Return rules for the texts that the class *name* always reports.

    Raises ``ProcessorDefinitionError`` for one text, whose letters are none, and where its rules are not *reached*: it
    has a ``find`` of its own.

    >>> [rule.type for rule in denied("Guard", {"Osprey": "codename", "4711": "badge"})]
    ['codename', 'badge']
    """
    if isinstance(deny, str):
        raise ProcessorDefinitionError(
            f"{name} has deny={deny!r}", hint="give a list of texts, or texts with their types"
        )
    if deny and not reached:
        raise ProcessorDefinitionError(f"{name} has a find of its own, which looks for nothing that deny= lists")
    types: dict[str, str] = dict.fromkeys(listed(name, "deny", deny), "denied")
    if isinstance(deny, Mapping):
        types.update(cast("Mapping[str, str]", deny))
    return tuple(
        Rule(f"deny:{type}", rf"(?i)(?<!\w){re.escape(text)}(?!\w)", type=type) for text, type in types.items() if text
    )
