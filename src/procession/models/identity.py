"""
identity_of(): what tells a model from all others, for those who keep answers of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.messages.shapes import is_form

__all__ = ["identity_of"]


def identity_of(model: Any) -> Mapping[str, Any]:
    """
    Return what *model* says of itself in ``identity``, plain data without any key, or else its id.

    A model of your own whose answers depend on more than its id says so in a property of that name.

    >>> from procession.testing.fake_model import FakeModel
    >>> identity_of(FakeModel("Hi.", id="local/m"))
    {'id': 'local/m'}
    """
    told = getattr(model, "identity", None)
    return told if is_form(told) else {"id": str(getattr(model, "id", model))}
