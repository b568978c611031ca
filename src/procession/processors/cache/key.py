"""
The key of a cached answer: all that the answer depends on, and nothing else.

It is the same in every process: no message has its id or its time in it, and no mapping its order.  Who may see an answer
stands in front, apart from what was said: no text can say it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime
from enum import Enum
from hashlib import sha256
from typing import Any, TypeAlias, cast

from procession.errors import MessageError
from procession.messages.prompt import PromptMessage
from procession.messages.prompt_reading import read_prompt
from procession.messages.shapes import is_form, is_sequence
from procession.messages.value import Value
from procession.models.identity import identity_of
from procession.models.model import CALL_SETTINGS, ToolSpec

__all__ = [
    "ANONYMOUS",
    "BY_RESOURCE",
    "CacheKeyParts",
    "CacheScope",
    "Scope",
    "build_response_cache_key",
    "scope_prefix",
    "told_of",
]

_FAMILY = "procession:answer:1"
"""What every key begins with; the number is that of how keys are made."""
_NOTES = "provider_metadata"
_OWN_NOTES = frozenset({"mastra", "procession"})
"""What stands beside a part for a library alone: no provider is sent it."""


class CacheScope(Enum):
    """
    Whose an answer is, where nobody is named.
    """

    BY_RESOURCE = "by-resource"
    """The request's resource, else nobody's."""
    ANONYMOUS = "anonymous"
    """That of requests without any resource: none that has one reads or writes it (D35)."""


BY_RESOURCE = CacheScope.BY_RESOURCE
ANONYMOUS = CacheScope.ANONYMOUS

Scope: TypeAlias = str | CacheScope | None
"""Whose answers they are: a resource's, those of requests without one, or everybody's (``None``)."""


class CacheKeyParts(Value, kw_only=True):
    """
    What a key is made of, for a function that makes another one.
    """

    agent_id: str
    step_number: int
    scope: Scope
    model: Mapping[str, Any]
    """What tells the model that will be asked from others."""
    prompt: Sequence[PromptMessage]
    tools: Sequence[ToolSpec]
    """The tools that are offered to it."""
    tool_choice: Any
    model_settings: Mapping[str, Any] | None
    provider_options: Mapping[str, Any] | None
    response_format: Mapping[str, Any] | None

    @property
    def last_user_text(self) -> str:
        """
        The text of the last thing that a user said.
        """
        return next((one.text for one in reversed(self.prompt) if one.role == "user"), "")


def scope_prefix(scope: Scope) -> str:
    """
    Return what the keys of a scope begin with: ``store.clear(scope_prefix("user-1"))`` forgets what one user was told.

    >>> scope_prefix(None), scope_prefix(ANONYMOUS)
    ('procession:answer:1:shared:', 'procession:answer:1:anonymous:')
    >>> scope_prefix("user-1").startswith("procession:answer:1:of-")
    True
    """
    if scope is None:
        return f"{_FAMILY}:shared:"
    if isinstance(scope, CacheScope):
        return f"{_FAMILY}:anonymous:"
    return f"{_FAMILY}:of-{sha256(scope.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}:"


def build_response_cache_key(
    *,
    agent_id: str,
    model: Any,
    prompt: Sequence[PromptMessage | Mapping[str, Any]] = (),
    scope: Scope = ANONYMOUS,
    step_number: int = 0,
    tools: Iterable[Any] = (),
    tool_choice: Any = "auto",
    model_settings: Mapping[str, Any] | None = None,
    provider_options: Mapping[str, Any] | None = None,
    response_format: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> str:
    """
    Return the key of what *model*, a model or what :func:`identity_of` says of one, answers to *prompt*.

    *prompt* may be in the documents' form, *tools* are tools or what models are told of them.  *key* stands in place of
    the prompt and all that follows it; scope, agent, step and model are in every key.  Bytes count
    by what is in them and their media type, what stands behind a URL by that URL.  Ids of tool calls count by their order
    alone; settings of the call itself, ``timeout`` and ``max_retries``, do not.

    Raises ``MessageError`` for what is no prompt, and, naming the type, for a value that has no words of its own, such as an object.

    >>> from procession.messages.parts import TextPart
    >>> def key(text, scope=ANONYMOUS):
    ...     prompt = [PromptMessage("user", (TextPart(text),))]
    ...     return build_response_cache_key(agent_id="parrot", model={"id": "local/m"}, prompt=prompt, scope=scope)
    >>> key("Hi") == key("Hi"), key("Hi") == key("Ho"), key("Hi") == key("Hi", scope="user-1")
    (True, False, False)
    """
    identity = model if is_form(model) else identity_of(model)
    write = _Words()
    said: list[Any] = ["agent", agent_id, "step", step_number, "model", write.words(identity)]
    if key is not None:
        said += ["key", key]
    else:
        settings = {name: value for name, value in (model_settings or {}).items() if name not in CALL_SETTINGS}
        entries = prompt if all(isinstance(entry, PromptMessage) for entry in prompt) else read_prompt(prompt)
        said += [
            "prompt", [write.words(entry) for entry in entries],
            "tools", [write.words(tool) for tool in sorted(map(told_of, tools), key=_name)],
            "choice", write.words(tool_choice),
            "settings", write.words(settings),
            "options", write.words(provider_options or {}),
            "format", write.words(response_format),
        ]  # fmt: skip
    return scope_prefix(scope) + sha256(_text(said).encode("ascii")).hexdigest()


def told_of(tool: Any) -> ToolSpec:
    """
    Return what a model is told of a tool.
    """
    if isinstance(tool, ToolSpec):
        return tool
    return ToolSpec(tool.name, tool.description, tool.parameters, None, tool.provider_tool)


def _name(tool: ToolSpec) -> str:
    return tool.name


def _text(words: Any) -> str:
    return json.dumps(words, separators=(",", ":"), allow_nan=False)


class _Words:
    """
    Writes values so that different ones are written differently, whatever order mappings have.
    """

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}
        """The ids of tool calls, by when they first came: models make them up."""

    def words(self, value: Any) -> Any:
        """
        Return *value* as plain data: what is no text, number, truth or nothing as a list that begins with its kind.
        """
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, float):
            whole = math.isfinite(value) and value.is_integer()
            return int(value) if whole else value if math.isfinite(value) else ["float", repr(value)]
        if isinstance(value, Value):
            return self._value(value)
        if is_form(value):
            return ["map", *self._sorted([self.words(name), self.words(one)] for name, one in value.items())]
        if isinstance(value, (bytes, bytearray)):
            return ["bytes", len(value), sha256(value).hexdigest()]
        if is_sequence(value):
            return ["list", *(self.words(one) for one in value)]
        if isinstance(value, Set):
            return ["set", *self._sorted(self.words(one) for one in cast("Collection[Any]", value))]
        if isinstance(value, datetime):
            return ["time", value.isoformat()]
        raise MessageError(f"a value of type {type(value).__name__} cannot be part of a key", hint="use plain data")

    def _value(self, value: Value) -> Any:
        cls = type(value)
        fields: list[Any] = []
        for name in cls.__fields__:
            one = getattr(value, name)
            if name in cls.__field_defaults__ and one == cls.__field_defaults__[name]:
                continue
            if name == "tool_call_id":
                one = self._calls.setdefault(one, len(self._calls))
            elif name == _NOTES and is_form(one):
                one = {key: note for key, note in one.items() if key not in _OWN_NOTES}
                if not one:
                    continue
            fields.append([name, self.words(one)])
        return ["value", cls.__name__, *fields]

    def _sorted(self, words: Iterable[Any]) -> list[Any]:
        return sorted(words, key=_text)
