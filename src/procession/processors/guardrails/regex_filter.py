"""
RegexFilter: patterns of your own, and a few presets, without a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.text.alike import AlikeLane
from procession.messages.text.patterns import Rule, compile_pattern
from procession.messages.text.scan import BUDGET, Lane
from procession.messages.text.spans import Region, Span
from procession.processors.detect.presets import PRESETS
from procession.processors.guard_scope import Scope
from procession.processors.hold_back import Piece
from procession.processors.listed import Allow, Deny
from procession.processors.log import log_once
from procession.processors.options import some_of
from procession.processors.text_guard import Mode, Phase, TextGuard
from procession.processors.violation import OnViolation

__all__ = ["RegexFilter", "RegexFilterProcessor"]

_BACK_REFERENCE = re.compile(r"\$(\$|&|[0-9]{1,2}|<\w+>)")


class RegexFilter(TextGuard):
    """
    Looks for patterns in new input, in answers while they stream, and in results of tools.

    Each rule is a ``Rule``, or a mapping with ``name``, ``pattern`` and ``replacement`` (``[REDACTED]`` if it has none)
    and perhaps ``flags``; *presets* adds the rules of ``pii`` (email, phone, ssn, credit-card), ``secrets`` (api-key,
    bearer-token, aws-key) or ``urls``.  In a replacement ``$&`` and ``$1`` stand for the match and its groups; where
    matches overlap they are taken literally.  *allow* lists texts that are never reported, *deny* texts that always are.

    Patterns look at the text as it is written, code point by code point, or with *fold* at what it looks like to people:
    invisible characters are passed over, full-width letters are letters, and letters of other alphabets are also the
    Latin ones that they look like.

    Under ``redact`` the last *stream_carryover_size* characters of a streamed block are held back, and more where a
    rule needs more; with 1 it is what the rules need.  A pattern whose matches can be of any length holds a block back
    until a character comes that it cannot step over; one that can step over everything, such as ``(?s)a.*b``, from
    where it could begin until the block ends, and is warned about.  Bound it: ``a.{0,80}b``.  With the ``guard`` extra
    a search that takes longer than half a second is stopped, and the guard trips with ``guard_timeout``; without it
    patterns that may take exponential time are refused.  Only a ``Rule`` that bounds all its repeats is searched
    without that limit.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> codes = RegexFilter(rules=[{"name": "code", "pattern": "ABC-[0-9]+", "replacement": "<code>"}])
    >>> codes.guard("the code is ABC-123")
    'the code is <code>'
    """

    id = "regex-filter"
    description = "patterns in text"
    strategies = ("block", "redact", "warn", "filter")
    strategy = "block"

    def __init__(
        self,
        *,
        rules: Iterable[Mapping[str, Any] | Rule] = (),
        presets: Sequence[Literal["pii", "secrets", "urls"]] = (),
        strategy: Literal["block", "redact", "warn", "filter"] = "block",
        phase: Phase = "all",
        include_redacted_values: bool = False,
        stream_carryover_size: int = 128,
        fold: bool = False,
        allow: Allow = (),
        deny: Deny = (),
        id: str | None = None,
        mode: Mode = "enforce",
        on_error: Literal["stop", "skip"] | None = None,
        on_violation: OnViolation | None = None,
        scan_tool_args: bool = False,
        scope: Scope | None = None,
        last_message_only: bool = False,
    ) -> None:
        super().__init__(
            id=id, strategy=strategy, mode=mode, phase=phase, on_error=on_error, on_violation=on_violation,
            scan_tool_args=scan_tool_args, scope=scope, last_message_only=last_message_only,
            allow=allow, deny=deny,
        )  # fmt: skip
        if stream_carryover_size < 1:
            raise ProcessorDefinitionError(
                f"RegexFilter has stream_carryover_size={stream_carryover_size}",
                hint="it is at least 1; what the rules need is held back in any case",
            )
        if strategy == "redact":
            self.carryover = stream_carryover_size
        self.folds = fold
        self.include_redacted_values = include_redacted_values
        named = some_of("RegexFilter", "presets", presets, tuple(PRESETS))
        given = (self._rule(rule) for rule in rules)
        self.rules = (*self.denied, *given, *(rule for name in named for rule in PRESETS[name]))
        if not self.rules:
            raise ProcessorDefinitionError(
                "RegexFilter has neither rules nor presets, and denies nothing",
                hint='give rules=[{"name": ..., "pattern": ...}] or presets=["pii", "secrets", "urls"]',
            )

    def _rule(self, given: Mapping[str, Any] | Rule) -> Rule:
        rule = given if isinstance(given, Rule) else self._compiled(given)
        if rule.reach.risky:
            log_once(
                self.id,
                f"pattern {rule.name!r} may take exponential time: a search is stopped after {BUDGET:g} s, and the guard "
                "then cannot check; bound the inner repeat",
            )
        if not rule.bounded and self.phase != "input" and not self.passes:
            log_once(
                self.id,
                f"pattern {rule.name!r} can match text of any kind and length: streamed blocks are held to their end; "
                "bound its repeats, as in .{0,80}",
            )
        return rule

    def _compiled(self, given: Mapping[str, Any]) -> Rule:
        unknown = set(given) - {"name", "pattern", "replacement", "flags"}
        if "pattern" not in given or unknown:
            wrong = f"has {', '.join(sorted(map(repr, unknown)))}" if unknown else "has no pattern"
            raise ProcessorDefinitionError(
                f"a rule of RegexFilter {wrong}", hint="a rule has name, pattern, and if need be replacement and flags"
            )
        pattern = given["pattern"]
        name = str(given.get("name") or getattr(pattern, "pattern", pattern))
        try:
            return compile_pattern(
                name, pattern, flags=given.get("flags", 0), replacement=given.get("replacement", "[REDACTED]")
            )
        except ValueError as error:
            raise ProcessorDefinitionError(f"RegexFilter: {error}") from None

    def search(self, *, explain: bool = False) -> Lane:
        """
        Return a fresh search for the rules, with *fold* also where letters only look like those of a pattern.
        """
        return AlikeLane(self.rules, explain=explain) if self.folds else super().search(explain=explain)

    def replacement(self, region: Region, text: str) -> str:
        """
        Return the owner's replacement, with its references to groups filled in where nothing overlaps.
        """
        wanted = super().replacement(region, text)
        if len(region.members) > 1 or "$" not in wanted:
            return wanted
        rule = next((rule for rule in self.rules if rule.name == region.owner.rule), None)
        match = rule.pattern.search(text) if rule is not None else None
        return wanted if match is None else _BACK_REFERENCE.sub(_filler(match, text), wanted)

    def reason(self, spans: Sequence[Span]) -> str:
        """
        Name the rules that found something.
        """
        rules = ", ".join(dict.fromkeys(span.rule for span in spans))
        done = {"block": "blocked", "redact": "redacted", "filter": "dropped", "warn": "found"}[self.strategy]
        return f"Regex filter: {done} content matching patterns: {rules}"

    def metadata(self, spans: Sequence[Span]) -> object:
        """
        Say which rule matched where; never what.
        """
        return {
            "processorId": self.id,
            "matches": [
                {"rule": span.rule, "match": "[REDACTED_MATCH]", "index": span.start}
                for span in sorted(spans, key=lambda span: span.start)
            ],
            "strategy": self.strategy,
        }

    def detail(self, pieces: Sequence[Piece], where: Mapping[str, Any]) -> object:
        """
        Say what was replaced where, and by what.
        """
        found = [(piece, piece.region) for piece in pieces if piece.region is not None]
        if self.strategy != "redact":
            spans = [span for _, region in found for span in region.members]
            matches = [{"rule": span.rule, "match": "[REDACTED_MATCH]", "index": span.start} for span in spans]
            return {"strategy": self.strategy, **where, "matches": matches}
        redactions: list[dict[str, Any]] = []
        for piece, region in found:
            one: dict[str, Any] = {
                "rule": region.owner.rule,
                "index": region.start,
                "length": region.end - region.start,
                "replacement": self.replacement(region, piece.found()),
            }
            if len(region.rules) > 1:
                one["overlappingRules"] = list(region.rules)
            if self.include_redacted_values:
                one["value"] = piece.text
            redactions.append(one)
        return {"strategy": self.strategy, **where, "redactions": redactions}


RegexFilterProcessor = RegexFilter
"""The documents' name."""


def _filler(match: Any, text: str) -> Callable[[re.Match[str]], str]:
    def fill(reference: re.Match[str]) -> str:
        name = reference[1]
        if name == "$":
            return "$"
        if name == "&":
            return text
        try:
            return match[int(name)] or "" if name.isdigit() else match[name[1:-1]] or ""
        except (IndexError, KeyError):
            return reference[0]

    return fill
