"""
What went wrong in Postgres, as errors of ours that quote nothing private.
"""

from __future__ import annotations

import re

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from procession.errors import InputError, ProcessionError, StoreError

__all__ = ["failure_of", "is_worth_again", "state_of", "unkept_letter"]

_AGAIN = frozenset(("40001", "40P01"))
"""Two that wait for each other: Postgres ends one of them, which has written nothing."""

# What says itself what to do; of all others it is the class of the error and its number.
_TOLD = {
    "42501": "the user may not do that",
    "42P01": "a table is missing",
    "53100": "its disk is full",
    "54000": "an id is too long",
    "57014": "it took too long",
    "55P03": "it took too long",
    "25P03": "it took too long",
    "25006": "it can be read only",
    "57P01": "it is shutting down",
    "57P02": "it is shutting down",
}

_refused = re.compile("FATAL: +(.+)")
"""Why the server lets nobody in, which comes without a number: it may name the user and the database, nothing else."""


def state_of(error: BaseException) -> str | None:
    """
    Return the five letters in which Postgres says what is wrong, if that is who said it.
    """
    found = getattr(getattr(error, "orig", error), "sqlstate", None)
    return found if isinstance(found, str) else None


def is_worth_again(error: BaseException) -> bool:
    """
    Whether the same may go well if it is done once more.
    """
    return state_of(error) in _AGAIN


def failure_of(error: Exception, place: str) -> ProcessionError:
    """
    Return the error of ours that tells of *error*, at a database called *place*.

    Neither statements nor what was in them, nor addresses with their passwords, are in it.
    """
    if isinstance(error, ProcessionError):
        return error
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    state = state_of(error)
    if isinstance(cause, UnicodeEncodeError) or (type(cause).__name__ == "DataError" and state is None):
        return unkept_letter()
    if isinstance(error, NoConnection):
        told = "all its connections were in use for too long"
    elif state is not None:
        told = _TOLD.get(state) or f"{type(cause).__name__}, {state}"
    elif isinstance(error, (OperationalError, InterfaceError, OSError)):
        refused = _refused.search(str(cause))
        told = refused.group(1) if refused is not None else "it does not answer, or the connection broke"
    elif type(cause).__name__ == "ProgrammingError":  # without a number: nobody has asked the server yet
        told = "its url has an option that the driver does not know"
    else:
        told = type(cause).__name__
    return StoreError(f"Postgres at {place} cannot be used: {told}")


def unkept_letter() -> InputError:
    """
    Return the error that tells of a letter that Postgres cannot keep.
    """
    return InputError(
        "an id or a name has a letter that Postgres cannot keep: U+0000, or half of a pair",
        hint="take it out",
    )
