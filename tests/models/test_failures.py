"""Errors of providers, and what must not be in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import ModelError
from procession.models.failures import failure_of, scrub
from procession.models.formats.stream_failures import StreamFailures

KEYS = [
    "sk-proj-abcdef1234567890",
    "sk-ant-api03-abcdef",
    "sk-or-v1-0123456789abcdef",
    "gsk_0123456789abcdef",
    "AIzaSyA1234567890abcdefghij",
    "Bearer abcdef.ghijkl",
    "sk-abc***********xyz",
]


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_scrubbed(key: str) -> None:
    """What looks like a key is taken out wherever it stands, and the words around it stay."""
    assert scrub(f"bad key: {key} given") == "bad key: [redacted] given"
    assert scrub({"a": [{"b": key}]}) == {"a": [{"b": "[redacted]"}]}


@pytest.mark.parametrize(
    "name", ["Authorization", "api-key", "x-api-key", "apiKey", "Set-Cookie", "access_token", "x-auth-token"]
)
def test_fields_with_secret_names_are_scrubbed(name: str) -> None:
    """A field whose name says that it is secret shows nothing, whatever is in it."""
    assert scrub({name: "hunter2", "other": "x"}) == {name: "[redacted]", "other": "x"}


@pytest.mark.parametrize("room", range(0, 12, 3))
def test_a_key_at_the_end_of_what_is_shown(room: int) -> None:
    """A text is cut once it is without keys, so that no half of one is left."""
    error = failure_of("x" * (4_000 - room) + "swordfish!", model="test/m", secrets=("swordfish",))
    assert "swo" not in str(error.body)


def test_known_secrets_are_scrubbed() -> None:
    """A key of any form is taken out where it is known."""
    assert scrub("the key is swordfish!", secrets=("swordfish", "")) == "the key is [redacted]!"


@pytest.mark.parametrize("name", ["X-Amz-Signature", "X-Amz-Security-Token", "Signature", "X-Goog-Signature", "sig"])
def test_a_signed_address_opens_nothing(name: str) -> None:
    """What a provider could not fetch it names: who reads the error cannot fetch it either."""
    said = f"cannot fetch https://files.example/a.png?Expires=3600&{name}=0aF%2Bzz9/8+= (404)"
    assert scrub(said) == f"cannot fetch https://files.example/a.png?Expires=3600&{name}=[redacted] (404)"


def test_harmless_text_stays() -> None:
    """Ordinary words and numbers are left as they are."""
    text = "task-force, risk-taking and max_tokens=4096 in model gpt-5-mini-2026"
    assert scrub(text) == text


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("rate_limit_exceeded", True),
        ("overloaded_error", True),
        ("server_error", True),
        ("invalid_request_error", False),
        ("context_length_exceeded", False),
        (None, False),
    ],
)
def test_errors_without_a_status(code: str | None, retryable: bool) -> None:
    """Where there is no status, the provider's own name of the error says whether it may pass."""
    error = failure_of({"error": {"message": "so", "type": code}}, model="m", kind="stream")
    assert (error.provider_code, error.retryable) == (code, retryable)


def test_google_s_errors() -> None:
    """Google's errors have a word for what they are beside the status, and may come in a list."""
    told = {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}
    for body in (told, [told], [{}, told]):
        error = failure_of(body, model="m", status=429)
        assert (error.provider_code, error.kind, error.body) == ("RESOURCE_EXHAUSTED", "rate_limited", told)
        assert "Slow down." in str(error)
    assert failure_of(told, model="m", kind="stream").status_code == 429
    assert "['no', 3]" in str(failure_of(["no", 3], model="m", status=500))


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_body_makes_an_error(body: Any) -> None:
    """Whatever a provider sends as its error becomes a ``ModelError`` that can be printed."""
    error = failure_of(body, model="test/m", status=500)
    assert isinstance(error, ModelError)
    assert "test/m" in str(error)


def test_long_messages_are_cut() -> None:
    """A message of any length stays readable."""
    assert len(str(failure_of("x" * 1_000_000, model="m", status=500))) < 1_000


def test_an_event_that_is_cut_shows_no_part_of_a_key() -> None:
    """Of an event that is no JSON the beginning is quoted, without a key that the cut goes through."""
    secret = "k-0123456789"
    error = StreamFailures("local/m", secrets=(secret,)).no_object("x" * 195 + secret)
    assert "no JSON object: xxx" in str(error)
    assert secret[:3] not in str(error)
