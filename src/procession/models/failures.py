"""
What went wrong between us and a provider, as a ``ModelError``: which kind it is, whether to try again, and nothing
in it that must stay secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from procession.errors import ModelError, ModelErrorKind
from procession.models.loose import as_list, as_mapping

__all__ = ["failure_of", "is_retryable", "is_secret_name", "kind_of", "scrub"]

_KEYS = re.compile(
    r"(?i)\b(?:sk|pk|rk|gsk|xai|hf|or)[-_][a-z0-9_\-*.]{6,}"  # keys by their prefix, also half masked ones
    r"|\bAIza[\w-]{10,}"
    r"|\bbearer\s+[\w\-.~+/=]{6,}"
    r"|(?<=key=)[\w-]{6,}"
    r"|(?:(?<=signature=)|(?<=security-token=)|(?<=[?&]sig=))[\w%.~+/=-]{6,}"  # addresses that open a file for who has them
)
_SECRET_NAMES = re.compile(
    r"(?i)^(?:.*[-_])?(?:authorization|api[-_]?key|cookie|secret|password|(?:access|auth|security)[-_]?token)$"
)
_TRANSIENT = re.compile(r"(?i)rate.?limit|overload|unavailable|timeout|capacity|server.?error|internal")
"""What providers call errors that pass, where they give no status."""
_LONGEST_BODY = 4_000
_DEEPEST = 20
"""How deep an error's body is shown: who nests a thousand lists has nothing to say."""


def kind_of(status: int | None) -> ModelErrorKind:
    """
    Return what an HTTP status says of a failure.

    >>> kind_of(400), kind_of(429), kind_of(503), kind_of(None)
    ('rejected', 'rate_limited', 'unavailable', 'other')
    """
    if status is None:
        return "other"
    if status == 429:
        return "rate_limited"
    if status in (408, 504):
        return "timeout"
    if status >= 500:
        return "unavailable"
    return "rejected" if status >= 300 else "other"


def is_retryable(status: int | None) -> bool:
    """
    Return whether the same request may succeed later.
    """
    return status is not None and (status in (408, 409, 425, 429) or status >= 500)


def is_secret_name(name: str) -> bool:
    """
    Return whether a field or a header of this name has something in it that nobody may see.

    >>> is_secret_name("x-api-key"), is_secret_name("keywords")
    (True, False)
    """
    return _SECRET_NAMES.match(name) is not None


def scrub(value: Any, *, secrets: tuple[str, ...] = (), depth: int = _DEEPEST) -> Any:
    """
    Return *value* (text, or what JSON can say) without keys: those in *secrets* and those that look like one.

    What lies deeper than *depth* lists and mappings is left out.

    >>> scrub({"error": "Incorrect API key provided: sk-live-1234567890"})
    {'error': 'Incorrect API key provided: [redacted]'}
    """
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[redacted]") if secret else value
        return _KEYS.sub("[redacted]", value)
    if isinstance(value, (Mapping, list, tuple)) and depth <= 0:
        return "[...]"
    if isinstance(value, Mapping):
        return {
            key: "[redacted]" if is_secret_name(str(key)) and entry else scrub(entry, secrets=secrets, depth=depth - 1)
            for key, entry in as_mapping(value).items()
        }
    if isinstance(value, (list, tuple)):
        return [scrub(entry, secrets=secrets, depth=depth - 1) for entry in as_list(value)]
    return value


def failure_of(
    body: Any,
    *,
    model: str,
    status: int | None = None,
    kind: ModelErrorKind | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: tuple[str, ...] = (),
) -> ModelError:
    """
    Return the ``ModelError`` for a provider's error *body*: parsed JSON, or the text that came instead.

    The provider's own message is shown, cut and scrubbed of keys.
    """
    body = scrub(body, secrets=secrets)
    if isinstance(body, str):
        body = body[:_LONGEST_BODY]  # not before: a key that is cut is no longer known
    if isinstance(body, list):  # Google's, where no events were asked for
        entries = [as_mapping(entry) for entry in as_list(body)]
        body = next((entry for entry in entries if entry.get("error")), repr(as_list(body)))
    told = as_mapping(body).get("error") or body
    message, code = _told(told)
    if status is None and isinstance(code, int) and 100 <= code <= 599:
        status = code
    if isinstance(code, int) and isinstance(as_mapping(told).get("status"), str):
        code = as_mapping(told)["status"]  # Google's word for it
    headers = headers or {}
    place = f"{model} answered {status}" if status is not None else f"{model} failed"
    return ModelError(
        f"{place}: {message}" if message else place,
        kind=kind or kind_of(status),
        status_code=status,
        retryable=is_retryable(status) or (status is None and _TRANSIENT.search(str(code)) is not None),
        provider_code=str(code) if code is not None else None,
        request_id=headers.get("x-request-id") or headers.get("request-id"),
        body=as_mapping(body) or str(body or ""),
        headers=scrub(headers) or None,
        hint=_hint(status, headers),
    )


def _told(told: Any) -> tuple[str, Any]:
    if not isinstance(told, Mapping):
        return str(told or "").strip()[:500], None
    fields = as_mapping(told)
    message = fields.get("message") or fields.get("detail") or ""
    code = fields.get("code")
    if isinstance(code, str) and len(code) == 3 and code.isdecimal():
        code = int(code)
    return str(message)[:500], code if code is not None else fields.get("type")


def _hint(status: int | None, headers: Mapping[str, str]) -> str | None:
    if status in (401, 403):
        return "check the key and what it is allowed to use"
    if status == 404:
        return "check the model's name and the base URL, which usually ends in /v1, Gemini's in /v1beta"
    if status is not None and 300 <= status < 400:
        place = scrub(headers.get("location", ""))[:200] or "another address"
        return f"redirects are not followed: the server names {place}; is it the base URL?"
    if status is not None and 200 < status < 300:
        return "an answer has status 200: check the base URL"
    return None
