"""
The rules that every ``ProviderHistoryCompat`` has, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from procession.messages.draft import MessageDraft
from procession.messages.parts import ReasoningPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.shapes import is_form
from procession.processors.recovery.compat_rule import CompatRule, family_of

__all__ = ["DEFAULT_RULES"]

_illegal = re.compile(r"[^a-zA-Z0-9_-]")
_reminder = re.compile(r"(</?)system-reminder\b")
_ITEM_ID = ("itemId", "item_id")
_SIGNERS = ("anthropic", "google", "openai")
"""The formats that name themselves in what they write."""
_FORMS_OF_IDS = {"srvtoolu_": "anthropic", "mcptoolu_": "anthropic", "ws_": "openai", "fs_": "openai", "ci_": "openai"}
"""How the ids begin that a provider gives to what it runs itself."""


# -- who wrote what


def _writers(part: Any) -> set[str | None]:
    """
    Return the providers that a part's metadata names.
    """
    metadata: Mapping[str, Any] = part.provider_metadata or {}
    return {family_of(key) for key in metadata}


def _runner(call: Any) -> set[str | None]:
    """
    Return who ran a provider's tool: by the metadata of its call, else by the form of its id.
    """
    named = _writers(call)
    return named or {family for form, family in _FORMS_OF_IDS.items() if call.tool_call_id.startswith(form)}


def _is_foreign(writers: set[str | None], provider: str | None) -> bool:
    return bool(writers) and provider not in writers


def _provider(model: Any) -> str | None:
    return getattr(model, "provider", None)


# -- entries of the prompt


def _with(message: PromptMessage, kept: Iterable[PromptPart]) -> PromptMessage | None:
    """
    Return *message* with the parts *kept* alone: itself where that is all, and ``None`` where nothing is left.
    """
    content = tuple(kept)
    if len(content) == len(message.content):
        return message
    return message.replace(content=content) if content else None


def _without_foreign_runs(message: PromptMessage, model: Any) -> PromptMessage | None:
    provider = family_of(_provider(model))
    if message.role != "assistant" or provider not in _SIGNERS:
        return message  # behind another name may be anybody's format
    foreign = {
        part.tool_call_id
        for part in message.content
        if isinstance(part, PromptToolCall) and part.provider_executed and _is_foreign(_runner(part), provider)
    }
    if not foreign:
        return message
    return _with(
        message,
        (
            part
            for part in message.content
            if not (isinstance(part, (PromptToolCall, PromptToolResult)) and part.tool_call_id in foreign)
        ),
    )


def _without_reasoning(
    of: str, unwanted: Callable[[ReasoningPart], bool]
) -> Callable[[PromptMessage, Any], PromptMessage | None]:
    def rule(message: PromptMessage, model: Any) -> PromptMessage | None:
        if message.role != "assistant" or family_of(_provider(model)) != of:
            return message
        return _with(
            message, (part for part in message.content if not (isinstance(part, ReasoningPart) and unwanted(part)))
        )

    return rule


def _any(part: ReasoningPart) -> bool:
    return True


def _is_unsigned(part: Any) -> bool:
    return not (part.signature or part.redacted or _noted(part, "signature") or _noted(part, "redactedData"))


def _noted(part: Any, name: str) -> Any:
    """
    Return what Anthropic's notes on a part say under *name*: where the documents put what is the part's own here.
    """
    metadata: Mapping[str, Any] = part.provider_metadata or {}
    notes = metadata.get("anthropic")
    return notes.get(name) if is_form(notes) else None


def _is_unsigned_for_anthropic(part: ReasoningPart) -> bool:
    return _is_unsigned(part) and "anthropic" not in _writers(part)  # its client knows where it put the signature


def _is_signed_by_another(part: Any) -> bool:
    return not _is_unsigned(part) and _is_foreign(_writers(part), "anthropic")


def _with_other_tags(message: PromptMessage, model: Any) -> PromptMessage:
    provider = _provider(model)
    if not isinstance(provider, str) or not provider.lower().startswith("azure"):
        return message
    content = tuple(
        part.replace(text=_reminder.sub(r"\1memory-context", part.text))
        if isinstance(part, TextPart) and "system-reminder" in part.text
        else part
        for part in message.content
    )
    return message if content == message.content else message.replace(content=content)


# -- drafts of the run's messages


def _take_out(messages: Sequence[MessageDraft], unwanted: Callable[[Any], bool]) -> bool:
    """
    Take the parts out that are *unwanted*, and tell whether there were any.
    """
    changed = False
    for message in messages:
        if message.role == "assistant" and any(map(unwanted, message.original.parts)):
            message.parts = [part for part in message.parts if not unwanted(part)]
            changed = True
    return changed


def _is_reasoning(part: Any) -> bool:
    return bool(part.type == "reasoning")


def _take_out_runs_of_others(messages: Sequence[MessageDraft]) -> bool:
    """
    Take out what tools of other providers than Anthropic did: only Anthropic refuses it in these words.
    """
    return _take_out(
        messages,
        lambda part: part.type == "tool-invocation" and part.provider_executed and "anthropic" not in _runner(part),
    )


def _rename_calls(messages: Sequence[MessageDraft]) -> bool:
    """
    Give calls whose id Anthropic refuses another one, that no other call has.
    """
    calls = [
        (message, at, part.tool_call_id)
        for message in messages
        for at, part in enumerate(message.original.parts)
        if isinstance(part, ToolCallPart)
    ]
    taken = {id for _, _, id in calls}
    names: dict[str, str] = {}
    for message, at, id in calls:
        if id and not _illegal.search(id):
            continue
        if id not in names:
            wanted = own = _illegal.sub("_", id) or "call"
            number = 1
            while own in taken:
                number += 1
                own = f"{wanted}-{number}"
            taken.add(own)
            names[id] = own
        message.parts[at].tool_call_id = names[id]
    return bool(names)


def _take_out_reasoning(messages: Sequence[MessageDraft]) -> bool:
    return _take_out(messages, _is_reasoning)


def _take_out_empty(messages: Sequence[MessageDraft]) -> bool:
    return _take_out(
        messages,
        lambda part: _is_reasoning(part) and not (part.redacted or _noted(part, "redactedData") or part.text.strip()),
    )


def _take_out_unsigned(messages: Sequence[MessageDraft]) -> bool:
    return _take_out(messages, lambda part: _is_reasoning(part) and _is_unsigned(part))


def _take_out_signed(messages: Sequence[MessageDraft]) -> bool:
    """
    Take out what others signed; where nobody else is known to have, all that was signed.
    """
    return _take_out(messages, lambda part: _is_reasoning(part) and _is_signed_by_another(part)) or _take_out(
        messages, lambda part: _is_reasoning(part) and not _is_unsigned(part)
    )


def _forget_items(messages: Sequence[MessageDraft]) -> bool:
    """
    Forget under which ids OpenAI keeps what was said: it refuses one whose neighbour is missing.  Reasoning is nothing
    without its id, and is taken out.
    """
    changed = _take_out(messages, lambda part: _is_reasoning(part) and _item_of(part) is not None)
    for message in messages:
        if all(_item_of(part) is None for part in message.original.parts):
            continue
        for at, part in enumerate(message.parts):
            if _item_of(part) is not None:
                metadata: Mapping[str, Any] = part.provider_metadata
                message.parts[at].provider_metadata = {
                    key: _without_item(given) if family_of(key) == "openai" else given
                    for key, given in metadata.items()
                }
                changed = True
    return changed


def _item_of(part: Any) -> Any:
    metadata: Mapping[str, Any] = getattr(part, "provider_metadata", None) or {}
    for key, given in metadata.items():
        if family_of(key) == "openai" and is_form(given):
            for name in _ITEM_ID:
                if name in given:
                    return given[name]
    return None


def _without_item(given: Any) -> Any:
    if not is_form(given):
        return given
    kept = {name: value for name, value in given.items() if name not in _ITEM_ID}
    return kept


DEFAULT_RULES: tuple[CompatRule, ...] = (
    CompatRule(
        name="strip-foreign-provider-executed-tools",
        error_patterns=(
            r"server_tool_use\.id\b.{0,400}should match pattern",
            r"_tool_result`? blocks?.{0,400}must have a corresponding `?(?:server|mcp)_tool_use",
            r"(?:srvtoolu|mcptoolu)_\w{1,200}\b.{0,400}without a corresponding",
        ),
        fix=_take_out_runs_of_others,
        apply_to_message=_without_foreign_runs,
    ),
    CompatRule(
        name="anthropic-tool-id-format",
        error_patterns=(
            r"tool_use(?:\.|_)id\b.{0,400}should match pattern",
            r"tool_?use_?id\b.{0,400}satisfy regular expression pattern",
        ),
        fix=_rename_calls,
    ),
    CompatRule(
        name="cerebras-strip-reasoning-content",
        error_patterns=(
            r"\breasoning(?:_content)?\b'?.{0,400}(?:is unsupported|not supported|not permitted|unexpected field)",
        ),
        fix=_take_out_reasoning,
        apply_to_message=_without_reasoning("cerebras", _any),
    ),
    CompatRule(
        name="anthropic-strip-empty-signed-reasoning-content",
        error_patterns=(r"each thinking block must contain thinking", r"thinking\.thinking: (?:field required|string)"),
        fix=_take_out_empty,
    ),
    CompatRule(
        name="anthropic-strip-foreign-reasoning-content",
        error_patterns=(r"thinking\.signature: field required", r"thinking.{0,400}missing.{0,400}signature"),
        fix=_take_out_unsigned,
        apply_to_message=_without_reasoning("anthropic", _is_unsigned_for_anthropic),
    ),
    CompatRule(
        name="anthropic-strip-foreign-signed-reasoning",
        error_patterns=(r"invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`? block",),
        fix=_take_out_signed,
        apply_to_message=_without_reasoning("anthropic", _is_signed_by_another),
    ),
    CompatRule(name="azure-system-reminder-transform", apply_to_message=_with_other_tags),
    CompatRule(
        name="openai-orphan-item-id",
        error_patterns=(r"was provided without its required\b.{0,400}\bitem", r"item with id '?\w+'? not found"),
        fix=_forget_items,
    ),
)
"""The rules of the reference, by its names."""
