"""
ProviderHistoryCompat: a history written under one provider is sent to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from procession.errors import ProcessorDefinitionError
from procession.messages.prompt import PromptMessage
from procession.messages.shapes import is_sequence
from procession.processors.contexts import APIErrorContext, LLMRequestContext
from procession.processors.processor import Processor
from procession.processors.recovery.compat_rule import CompatRule, words_of
from procession.processors.recovery.compat_rules import DEFAULT_RULES

__all__ = ["ProviderHistoryCompat"]

_Made: TypeAlias = dict[int, tuple[PromptMessage, PromptMessage | None]]
"""Entries of the prompt with what the rules made of them, by the entry's ``id()``."""


class ProviderHistoryCompat(Processor):
    """
    Takes out of the prompt what the model's provider would refuse because another one wrote it, and where a provider
    refuses the history all the same, mends the run's messages and has the call made again.

    The clients of this library leave out by themselves what is foreign to their provider; this is for everything that
    they cannot know: models with clients of your own, servers behind another name, histories of other libraries.

    It may stand in the input or the error list.  Prompt rules change what is sent, never what is kept.  A mended message
    of the present turn is kept as it was mended; those of earlier turns stay as they were stored.  It tries once per
    step, where the run's budget allows it and something was changed, whatever other processors tried before.

    *additional_rules* come after its own; one with the name of an own rule takes that one's place.

    Raises ``ProcessorDefinitionError`` for what is no rule, and for two additional ones with one name.

    >>> ProviderHistoryCompat().rules[0].name
    'strip-foreign-provider-executed-tools'
    """

    id = "provider-history-compat"
    description = "Makes a history that another provider wrote fit for the model's."
    mutates = True

    def __init__(self, *, additional_rules: Sequence[CompatRule] = (), id: str | None = None) -> None:
        super().__init__(id=id)
        added: dict[str, CompatRule] = {}
        if not is_sequence(additional_rules):
            raise ProcessorDefinitionError(
                f"ProviderHistoryCompat: additional_rules is {type(additional_rules).__name__}",
                hint="give a list of them",
            )
        for rule in additional_rules:
            if not isinstance(rule, CompatRule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ProcessorDefinitionError(
                    f"ProviderHistoryCompat: {type(rule).__name__} is no rule of a history",
                    hint="give CompatRule(name=..., ...)",
                )
            if rule.name in added:
                raise ProcessorDefinitionError(f"two rules are called {rule.name!r}", hint="give one another name")
            added[rule.name] = rule
        own = [added.pop(rule.name, rule) for rule in DEFAULT_RULES]
        self.rules: tuple[CompatRule, ...] = (*own, *added.values())
        """The rules, in the order in which they are applied."""
        self._for_messages = [rule.apply_to_message for rule in self.rules if rule.apply_to_message is not None]
        self._for_prompts = [rule.apply_to_prompt for rule in self.rules if rule.apply_to_prompt is not None]

    def process_llm_request(self, ctx: LLMRequestContext) -> Mapping[str, Any] | None:
        """
        Send what the rules leave of the prompt.
        """
        prompt = ctx.prompt
        made: Sequence[PromptMessage] = self._changed(prompt, ctx.model, ctx.state)
        for apply in self._for_prompts:
            given = apply(list(made), ctx.model)
            made = given if given is not None else made
        same = len(made) == len(prompt) and all(new is old for new, old in zip(made, prompt, strict=True))
        return None if same else {"prompt": made}

    def _changed(self, prompt: Sequence[PromptMessage], model: Any, state: dict[str, Any]) -> list[PromptMessage]:
        """
        Apply the rules for single messages; what they made of a message in an earlier step is the same object again,
        as clients that convert a prompt once look for it.
        """
        known: _Made = {}
        if state.get("model") is model:
            known = state.get("made", known)
        kept: _Made = {}
        for message in prompt:  # is kept too: as long as it lives, no other one gets its number
            kept[id(message)] = known.get(id(message)) or (message, self._applied(message, model))
        state["model"], state["made"] = model, kept
        return [made for message in prompt if (made := kept[id(message)][1]) is not None]

    def _applied(self, message: PromptMessage, model: Any) -> PromptMessage | None:
        made: PromptMessage | None = message
        for apply in self._for_messages:
            if made is None:
                break
            made = apply(made, model)
        return made

    def process_api_error(self, ctx: APIErrorContext) -> Mapping[str, Any] | None:
        """
        Mend the messages by the first rule that knows the error and finds something to change, and ask for a retry.
        """
        if not ctx.can_retry or ctx.state.get("tried") == ctx.step_number:
            return None
        words = words_of(ctx.error)
        for rule in self.rules:
            if rule.fix is not None and rule.matches(words) and rule.fix(ctx.messages):
                ctx.state["tried"] = ctx.step_number
                return {"retry": True}
        return None
