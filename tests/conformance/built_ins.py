"""
Built-in processors by the reference's class names.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.conformance.costs import FREE, ScriptedCosts
from tests.conformance.counter import estimate_tokens
from tests.conformance.processors import recorder_of_violations
from tests.conformance.scenario import Json, Unknown, is_list, is_object, named
from tests.conformance.trace import Recorder

__all__ = ["build_builtin"]

PLACES: Mapping[str, tuple[str, str]] = {
    "UnicodeNormalizer": ("utility.unicode", "UnicodeNormalizer"),
    "RegexFilterProcessor": ("guardrails.regex_filter", "RegexFilter"),
    "PIIDetector": ("guardrails.pii", "PIIDetector"),
    "PromptInjectionDetector": ("guardrails.prompt_injection", "PromptInjectionDetector"),
    "LanguageDetector": ("guardrails.language", "LanguageDetector"),
    "ModerationProcessor": ("guardrails.moderation", "ModerationProcessor"),
    "SystemPromptScrubber": ("guardrails.system_prompt", "SystemPromptScrubber"),
    "TokenCostControl": ("guardrails.cost_guard", "CostGuard"),
    "CostGuardProcessor": ("guardrails.cost_guard", "CostGuard"),
    "TokenLimiterProcessor": ("utility.token_limiter", "TokenLimiter"),
    "ToolCallFilter": ("utility.tool_filter", "ToolCallFilter"),
    "ToolSearchProcessor": ("utility.tool_search", "ToolSearch"),
    "BatchPartsProcessor": ("utility.batch_parts", "BatchParts"),
    "MessageHistory": ("memory.message_history", "MessageHistory"),
    "PrefillErrorHandler": ("recovery.prefill", "PrefillErrorHandler"),
    "StreamErrorRetryProcessor": ("recovery.stream_retry", "StreamErrorRetry"),
    "ProviderHistoryCompat": ("recovery.history_compat", "ProviderHistoryCompat"),
    "ResponseCache": ("cache.response_cache", "ResponseCache"),
}
"""The traces' class names: where under ``procession.processors`` the class is, and its name there."""

COST_GUARDS = frozenset({"TokenCostControl", "CostGuardProcessor"})

FIRST_OPTION: Mapping[str, str] = {"TokenLimiterProcessor": "limit"}
"""The option that a bare value stands for."""

CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
ARGUMENT = re.compile(r"\s*(\w+)=(<[^>]*>|\w+\(\)|\[.*\]|[^,]+)\s*(?:,|$)", re.DOTALL)
MATCHER = re.compile(r'\{match: message contains "([^"]*)"(?:, max_retries: (\d+))?\}')


def find_class(name: str) -> Any:
    """
    Return our class of a built-in.  Raises ``Unknown`` where there is none.
    """
    places = [("procession.processors", name)]
    if name in PLACES:
        module, ours = PLACES[name]
        places.insert(0, (f"procession.processors.{module}", ours))
    for module, ours in places:
        try:
            found = getattr(importlib.import_module(module), ours, None)
        except ModuleNotFoundError:
            continue
        if found is not None:
            return found
    raise Unknown("class", name)


def build_builtin(
    described: Json, models: Mapping[str, Any], tools: Mapping[str, Any], store: Any, recorder: Recorder
) -> Any:
    """
    Return the built-in that a setup describes by class and options, or by a text.
    """
    watched: Json = None
    if isinstance(described, str):
        name, given = _read(described, store)
    elif is_object(described) and "class" in described:
        spec: dict[str, Json] = described
        name, watched = str(spec["class"]), spec.get("on_violation")
        find_class(name)
        options: Json = spec.get("options", {})
        raw = options if is_object(options) else {FIRST_OPTION.get(name, "value"): options}
        given = {key: _option(key, value, models, tools) for key, value in raw.items()}
        if name in COST_GUARDS:
            given["prices"] = FREE
        if "observed_costs" in spec:
            given["store"] = ScriptedCosts(spec["observed_costs"])
    else:
        raise Unknown("built-in", described)
    made_by = find_class(name)
    if name == "TokenLimiterProcessor":
        given.setdefault("counter", estimate_tokens)
    try:
        processor = made_by(**given)
    except TypeError as error:
        raise Unknown(f"option of {name}", error) from error
    if watched:
        processor.on_violation = recorder_of_violations(processor.id, recorder, throws=watched == "throw")
    return processor


def _option(key: str, value: Json, models: Mapping[str, Any], tools: Mapping[str, Any]) -> Any:
    if key == "model":
        return named("model", models, value)
    if key == "tools":
        return {name: named("tool", tools, name) for name in value}
    if key == "rules":
        return [_rule(rule) for rule in value]
    if is_list(value):
        listed: list[Json] = value
        return tuple(listed)
    return value


def _rule(rule: Mapping[str, Any]) -> Any:
    module = importlib.import_module("procession.processors.guardrails.regex_filter")
    make: Callable[..., Any] = getattr(module, "RegexRule", dict)
    return make(**{key: value for key, value in rule.items() if key != "flags"})


def _read(text: str, store: Any) -> tuple[str, dict[str, Any]]:
    """
    Read ``Class(option=value, ...)``.
    """
    call = CALL.fullmatch(text.strip())
    if call is None:
        raise Unknown("built-in", text)
    name, arguments = call.groups()
    find_class(name)  # an unknown class is to be named before its options are
    options: dict[str, Any] = {}
    at = 0
    while at < len(arguments):
        found = ARGUMENT.match(arguments, at)
        if found is None:
            raise Unknown("options of a built-in", text)
        options[found[1]] = _value(found[2].strip(), text, store)
        at = found.end()
    return name, options


def _value(text: str, whole: str, store: Any) -> Any:
    if text == "<the memory storage>":
        return store
    if text == "None":
        return None
    if text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    if re.fullmatch(r'"[^"]*"', text):
        return text[1:-1]
    if text == "InMemoryServerCache()":
        try:
            return importlib.import_module("procession.storage.memory").InMemoryCacheStore()
        except (ModuleNotFoundError, AttributeError) as error:
            raise Unknown("class", "InMemoryServerCache") from error
    if text.startswith("[") and MATCHER.search(text):
        return [_matcher(*found) for found in MATCHER.findall(text)]
    raise Unknown("option of a built-in", f"{text} in {whole}")


def _matcher(wanted: str, retries: str) -> dict[str, Any]:
    def matches(error: BaseException) -> bool:
        return wanted in str(error)

    found: dict[str, Any] = {"match": matches}
    return found | {"max_retries": int(retries)} if retries else found
