"""
Mapped: what a declarative map makes of a run.
"""

from __future__ import annotations

from typing import Any

from procession.errors import RunError
from procession.messages.shapes import is_dict
from procession.runtime.executor import is_awaitable
from procession.runtime.isolate import isolated
from procession.runtime.state import RunState
from procession.workflows.paths import MISSING, at
from procession.workflows.plan import Map
from procession.workflows.sources import (
    REQUIRED,
    Constant,
    FromContext,
    FromInitData,
    FromState,
    FromStep,
    FromValue,
    Source,
)
from procession.workflows.template import Template, filling

__all__ = ["made_of_fields"]


async def made_of_fields(node: Map, value: Any, run: RunState, prefix: str) -> dict[str, Any]:
    """
    Return the fields of *node*, made one after the other, each a copy of what it was read from.

    Raises ``RunError`` where something is missing that has no default, naming the map, the field and what was read.
    """
    assert node.fields is not None
    made: dict[str, Any] = {}
    for name, source in node.fields.sources:
        if isinstance(source, Source):
            made[name] = isolated(_read(source, _Reading(node, name, value, run, prefix)))
        else:
            output = source(value)
            made[name] = await output if is_awaitable(output) else output
    return made


class _Reading:
    """
    What one field is read from.
    """

    def __init__(self, node: Map, name: str, value: Any, run: RunState, prefix: str) -> None:
        self.node = node
        self.name = name
        self.value = value
        self.run = run
        self.prefix = prefix

    def output(self, step_id: str) -> Any:
        """
        Return the output of a step of this workflow, or ``MISSING``.
        """
        if step_id in self.node.local:  # of a branch right before the map: what it gave is in the value
            return self.value.get(step_id, MISSING) if is_dict(self.value) else MISSING
        found = self.run.records.get(self.prefix + step_id)
        return found.output if found is not None and found.status == "success" else MISSING

    def missing(self, what: str, hint: str) -> RunError:
        """
        Return the error of what is not there.
        """
        return RunError(
            f"map {self.node.id!r} reads {what} for {self.name!r}, which is not there",
            path=self.prefix + self.node.key,
            hint=hint,
        )


def _read(source: Source, reading: _Reading) -> Any:
    match source:
        case Constant(value=value):
            return value
        case Template(parts=parts):
            return "".join([part if isinstance(part, str) else filling(_read(part, reading)) for part in parts])
        case FromStep(steps=steps):
            outputs = (reading.output(step) for step in steps)
            return _at(source, next((each for each in outputs if each is not MISSING), MISSING), reading)
        case FromInitData():
            return _at(source, reading.run.init_data, reading)
        case FromState():
            return _at(source, reading.run.shared.values, reading)
        case FromContext():
            return _at(source, reading.run.request_context, reading)
        case FromValue():
            return _at(source, reading.value, reading)
        case _:
            raise TypeError(f"{source!r} is no source")


def _at(source: FromStep | FromInitData | FromState | FromContext | FromValue, whole: Any, reading: _Reading) -> Any:
    found = at(whole, source.path) if whole is not MISSING else MISSING
    if found is not MISSING:
        return found
    if source.default is not REQUIRED:
        return source.default
    of = f"step {' or '.join(map(repr, source.steps))}" if isinstance(source, FromStep) else source.kind
    if whole is MISSING:
        raise reading.missing(f"the output of {of}", "it may not have run: name several steps, or give a default=")
    raise reading.missing(f"{'.'.join(source.path)!r} of {of}", "give a default=, or check the path")
