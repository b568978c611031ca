"""
Kept state: what steps have set for each other to see, as the journal has it.

A contribution is ``[key, value]``, or ``[key]`` where a key was taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.errors import UntypedValue
from procession.messages.shapes import is_dict
from procession.runtime.shared_state import UNSET, Contribution, SharedState
from procession.steps.codec import codec_of

__all__ = ["encode_state", "restore_state"]


def encode_state(shared: SharedState, contributions: Sequence[Contribution], path: str) -> list[list[Any]]:
    """
    Return *contributions* as JSON knows them, by the types of their keys.

    Raises ``UntypedValue`` where one could not be read again as what it is.
    """
    made: list[list[Any]] = []
    for key, value in contributions:
        if value is UNSET:
            made.append([key])
        else:
            codec = codec_of(shared.type.types.get(key))
            where = f"state {key!r}, set by step {path!r}," if path else f"state {key!r}, given at the start,"
            try:
                made.append([key, codec.encode(value, where=where, path=path or None)])
            except UntypedValue as error:
                hint = "set plain data, or say its type: create_workflow(..., state=...)"
                raise UntypedValue(error.message, path=path or None, hint=hint) from None
    return made


def restore_state(shared: SharedState, kept_input: Any, written: Mapping[str, Sequence[Any]]) -> None:
    """
    Let *shared* be what it was: what is kept with the input of the run, and what each path has *written*.
    """
    first: Any = kept_input.get("state") if is_dict(kept_input) else None
    if first:
        shared.begin(dict(_decoded(shared, first, "")))
    for path, contributions in written.items():
        shared.restore(path, _decoded(shared, contributions, path))


def _decoded(shared: SharedState, kept: Sequence[Any], path: str) -> list[Contribution]:
    made: list[Contribution] = []
    for key, *value in kept:
        codec = codec_of(shared.type.types.get(key))
        where = f"kept state {key!r}"
        made.append((key, codec.decode(value[0], where=where, path=path or None) if value else UNSET))
    return made
