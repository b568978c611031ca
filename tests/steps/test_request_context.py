"""The values of a request."""

from __future__ import annotations

import pytest

from procession.steps.request_context import Key, RequestContext

TENANT = Key[str]("tenant")


def test_names_and_typed_keys_lead_to_the_same_values() -> None:
    """A value may be put and read by its name or by a typed key."""
    context = RequestContext({"tenant": "acme"})
    assert context.value(TENANT) == context["tenant"] == "acme"
    context.put(TENANT, "other")
    assert dict(context) == {"tenant": "other"}
    del context["tenant"]
    assert len(context) == 0
    assert context.value(TENANT, "nobody") == "nobody"
    with pytest.raises(KeyError, match="tenant"):
        context.value(TENANT)


def test_values_are_not_shown() -> None:
    """Where a context is printed its names appear, and no value."""
    assert repr(RequestContext({"token": "secret"})) == "RequestContext(token)"
    assert repr(TENANT) == "Key('tenant')"


def test_a_context_is_a_copy_of_what_it_was_made_of() -> None:
    """Changing a context leaves the mapping alone that it was made of."""
    values = {"a": 1}
    RequestContext(values)["b"] = 2
    assert values == {"a": 1}
