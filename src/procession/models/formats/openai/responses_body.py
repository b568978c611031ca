"""
A request as the body of OpenAI Responses: pure functions, no network.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from procession.models.formats.openai.chat_dialects import ChatDialect
from procession.models.formats.openai.models import refused_sampling, thinks
from procession.models.formats.openai.responses_prompt import responses_piece, with_own_ids
from procession.models.formats.openai.tools import named_schema, responses_tools
from procession.models.formats.openai.values import one_system
from procession.models.loose import as_list, as_mapping
from procession.models.model import CALL_SETTINGS, ModelRequest
from procession.models.pieces import changes_of, pieces_of

__all__ = ["responses_body"]

_DIALECT = ChatDialect(any_arguments=True)
_ENCRYPTED = "reasoning.encrypted_content"
_UNKNOWN = frozenset({
    "frequency_penalty", "logit_bias", "logprobs", "n", "presence_penalty", "seed", "stop", "stop_sequences", "top_k",
})  # fmt: skip
"""Settings for which this format has no place, and which it refuses."""
_PLACES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_INNER = {"reasoning_effort": ("reasoning", "effort"), "verbosity": ("text", "verbosity")}
"""Settings that Chat Completions have at the top, and this format further in."""


def responses_body(
    request: ModelRequest,
    *,
    model: str,
    provider: str = "openai",
    system_role: str = "system",
    item_ids: bool | None = None,
    dialect: ChatDialect = _DIALECT,
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    """
    Return the body of a streamed call, and what of *request* cannot be sent as it is, as hooks are told (``ctx.warnings``).

    The server is asked to keep nothing, and for its reasoning in a form that can go back.  ``provider_options`` of
    ``openai`` and of *provider* go last and may replace anything; in ``reasoning`` and ``text`` they replace what they
    name, and to ``include`` they add.  Items go back under their ids where the server keeps them, or where *item_ids*
    says so; encrypted reasoning does unless it is false.  Of *dialect* counts what both of OpenAI's formats have.

    Raises ``InputError`` for a file that cannot be sent.

    >>> body, warnings = responses_body(ModelRequest(messages=(), settings={"seed": 1}), model="gpt-5-mini")
    >>> body["store"], [it["setting"] for it in warnings]
    (False, ['seed'])
    """
    settings, options = request.settings or {}, _options(request, provider)
    stored = bool(options.get("store", settings.get("store")))
    with_ids = True if stored and item_ids is None else item_ids
    thinking = thinks(model) is not False
    convert = partial(
        responses_piece,
        system_role=system_role,
        item_ids=with_ids,
        any_arguments=dialect.any_arguments,
        thinks=thinking,
    )
    pieces = pieces_of(
        request.messages, convert, memo=request.memo, key=f"responses:{sorted(convert.keywords.items())}"
    )
    items = with_own_ids([item for piece in pieces for item in piece.entries])
    body: dict[str, Any] = {
        "model": model,
        "input": one_system(items, system_role) if dialect.one_system else items,
        "stream": True,
        "store": False,
    }
    if not stored and thinking:  # those that do not think refuse it
        body["include"] = [_ENCRYPTED]
    offered = responses_tools(request, provider)
    if offered.tools:
        body["tools"] = list(offered.tools)
    if offered.choice is not None:
        body["tool_choice"] = offered.choice
    if request.response_format is not None:
        named = named_schema(request.response_format)
        body["text"] = {"format": {"type": "json_object"} if named is None else {"type": "json_schema", **named}}
    warnings = _add_settings(body, settings, model, options)
    _add_options(body, options)
    return body, (*offered.warnings, *warnings, *changes_of(pieces))


def _options(request: ModelRequest, provider: str) -> dict[str, Any]:
    given = request.provider_options or {}
    options = {**as_mapping(given.get("openai")), **as_mapping(given.get(provider))}
    for name in _INNER.keys() & options.keys():
        outer, inner = _INNER[name]
        options[outer] = {inner: options.pop(name), **as_mapping(options.get(outer))}
    return options


def _add_settings(
    body: dict[str, Any], settings: Mapping[str, Any], model: str, options: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    effort = as_mapping(options.get("reasoning")).get("effort") or settings.get("reasoning_effort")
    refused = refused_sampling(model, settings, effort)
    left_out = {change["setting"] for change in refused}
    warnings = list(refused)
    for name, value in settings.items():
        if name in CALL_SETTINGS or value is None or name in left_out:
            continue
        if name in _UNKNOWN:
            details = "OpenAI Responses have no such setting: it is not sent"
            warnings.append({"type": "unsupported-setting", "setting": name, "details": details})
        elif name in _INNER:
            outer, inner = _INNER[name]
            body[outer] = {**as_mapping(body.get(outer)), inner: value}
        else:
            body[_PLACES.get(name, name)] = value
    return tuple(warnings)


def _add_options(body: dict[str, Any], options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name in ("reasoning", "text") and isinstance(value, Mapping):
            body[name] = {**as_mapping(body.get(name)), **as_mapping(value)}
        elif name == "include" and value:
            body[name] = list(dict.fromkeys([*as_list(body.get(name)), *as_list(value)]))
        else:
            body[name] = value
