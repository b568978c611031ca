"""
The headers of a request: what may stand in one, and what of it must not be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from procession.errors import InputError, ModelError
from procession.models.failures import is_secret_name

__all__ = ["check_headers", "own_headers", "secrets_in"]

_is_value = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?").fullmatch


def own_headers(headers: Mapping[str, Any] | None, model: str) -> dict[str, str]:
    """
    Return the headers that somebody gave a client.

    Raises ``InputError`` for one that is no text, as where a variable of the environment is not set.

    >>> own_headers({"x-title": "Chess"}, "local/m")
    {'x-title': 'Chess'}
    """
    for name, value in (headers or {}).items():
        if not isinstance(value, str):
            raise InputError(
                f"{model}: the header {name!r} is {type(value).__name__}",
                hint="give a text; of os.environ.get(...), is the variable set?",
            )
    return dict(headers or {})


def check_headers(headers: Mapping[str, str], model: str) -> None:
    """
    Look at *headers* before they are sent: the libraries below quote a value that they refuse, which may be a key.

    Raises ``ModelError`` of kind ``rejected`` that names the header, and not its value.

    >>> check_headers({"x-api-key": "one\\ntwo"}, "local/m")
    Traceback (most recent call last):
        ...
    procession.errors.ModelError: local/m: the header 'x-api-key' cannot be sent (hint: ...)
    """
    for name, value in headers.items():
        if _is_value(value) is None:
            raise ModelError(
                f"{model}: the header {name!r} cannot be sent",
                kind="rejected",
                hint="check the key: there are line breaks in it, blanks around it, or characters that are no ASCII",
            )


def secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return the values of those *headers* whose name says that they are secret, also without a word like ``Bearer``.

    >>> secrets_in({"api-key": "swordfish", "x-title": "Chess"})
    ('swordfish',)
    """
    values = [value for name, value in headers.items() if is_secret_name(name)]
    return tuple(dict.fromkeys(secret for value in values for secret in (value, value.rpartition(" ")[2]) if secret))
