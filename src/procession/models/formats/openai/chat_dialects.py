"""
How servers that imitate Chat Completions differ in what they take.
"""

from __future__ import annotations

import re
from typing import Literal

from procession.messages.value import Value

__all__ = ["ChatDialect", "StructuredOutput", "dialect_of"]

StructuredOutput = Literal["json_schema", "json_object"]
"""How a server is asked for JSON: with the schema, or without it where it knows none."""


class ChatDialect(Value):
    """
    What a server takes otherwise than most do.
    """

    max_tokens_key: str = "max_tokens"
    structured_output: StructuredOutput = "json_schema"
    reasoning_key: str | None = None
    """Where what the model thought goes back, if the server wants it back as text."""
    short_ids: bool = False
    """Whether ids of tool calls have nine letters and digits."""
    user_after_tool: bool = True
    """Whether a user's message may follow what a tool answered: the place for the pictures in it."""
    any_arguments: bool = False
    """Whether the arguments of a call may come back as the model wrote them, though they are no JSON object."""
    one_system: bool = False
    """Whether there may be one system message alone: the templates of many open models refuse a second one."""
    cache_marks: bool = False
    """Whether a part may be marked as the end of what is cached, in Anthropic's way."""


_OPENAI = ChatDialect(max_tokens_key="max_completion_tokens", any_arguments=True)
_THINKING = ChatDialect(reasoning_key="reasoning_content")
_BY_HOST: tuple[tuple[re.Pattern[str], ChatDialect], ...] = (
    (re.compile(r"api\.openai\.com|.*\.(?:openai|cognitiveservices|services\.ai)\.azure\.com"), _OPENAI),
    (re.compile(r"(?:.*\.)?openrouter\.ai"), ChatDialect(cache_marks=True)),
    (re.compile(r"(?:.*\.)?mistral\.ai"), ChatDialect(short_ids=True, user_after_tool=False)),
    (re.compile(r"(?:.*\.)?deepseek\.com"), _THINKING.replace(structured_output="json_object")),
    (re.compile(r"(?:.*\.)?moonshot\.(?:ai|cn)"), _THINKING),
)
_BY_PROVIDER = {
    "azure": "x.openai.azure.com",
    "openrouter": "openrouter.ai",
    "mistral": "mistral.ai",
    "deepseek": "deepseek.com",
    "moonshot": "moonshot.ai",
    "moonshotai": "moonshot.ai",
}


def dialect_of(provider: str, base_url: str, model: str) -> ChatDialect:
    """
    Return what the server at *base_url*, which its user calls *provider*, is known to take.

    >>> dialect_of("openai", "https://api.openai.com/v1", "gpt-5-mini").max_tokens_key
    'max_completion_tokens'
    >>> dialect_of("local", "http://localhost:8080/v1", "qwen3").one_system
    True
    """
    host = re.split(r"[/:?]", base_url.partition("://")[2], maxsplit=1)[0].lower()
    for name in (host, _BY_PROVIDER.get(provider.lower(), "")):
        for pattern, dialect in _BY_HOST:
            if name and pattern.fullmatch(name):
                return dialect
    return ChatDialect(one_system=True, cache_marks="claude" in model.lower())
