"""
TitleSettings: how threads are given titles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from procession.errors import InputError, ProcessorDefinitionError
from procession.messages.shapes import is_form
from procession.messages.value import Value
from procession.models.router import resolve_model
from procession.processors.options import whole_number

__all__ = ["TitleSettings", "title_override", "title_settings"]

_CALLBACK = "on_title_generated"
_NAMES = ("model", "instructions", "min_messages", "max_length", "emit_event", _CALLBACK)


class TitleSettings(Value, kw_only=True):
    """
    How threads are given titles: ``Memory(generate_title=TitleSettings(max_length=40))``.
    """

    model: Any = None
    """Who is asked: a model, or the name of one; ``None`` is the model of the run."""
    instructions: str | None = None
    """What it is told, in place of our own words."""
    min_messages: int = 1
    """How many messages a thread must have."""
    max_length: int = 80
    """How many characters a title has at most."""
    emit_event: bool = False
    """Whether the reader of a stream is told of it, before the stream ends."""
    on_title_generated: Callable[[Any], Any] | None = None
    """Told the ``Thread`` that was given a title; plain or async."""


def title_settings(given: Any, base: TitleSettings | None = None, *, name: str = "Memory") -> TitleSettings | None:
    """
    Return what an option ``generate_title`` of the class *name* says, or ``None`` where there are to be no titles; a
    mapping says what is different from *base*.

    Raises ``ProcessorDefinitionError`` for anything that it cannot be.

    >>> title_settings({"max_length": 40}).max_length
    40
    """
    if given is None or given is False:
        return None
    if given is True:
        return base if base is not None else TitleSettings()
    if is_form(given):
        unknown = sorted(str(each) for each in given if each not in _NAMES)
        if unknown:
            raise ProcessorDefinitionError(
                f"{name} has generate_title with {unknown[0]!r}", hint=f"its settings are {', '.join(_NAMES)}"
            )
        given = (base if base is not None else TitleSettings()).replace(**given)
    if not isinstance(given, TitleSettings):
        raise ProcessorDefinitionError(
            f"{name} has generate_title={given!r}", hint="give True, False, a mapping, or TitleSettings"
        )
    return _checked(given, name)


def title_override(name: str, given: Any) -> Any:
    """
    Return what a call says of the option ``generate_title``: whether there are to be titles, or a mapping of what is
    different.  It can be written down, should the run be suspended.

    Raises ``InputError`` for anything that it cannot be.
    """
    if isinstance(given, bool):
        return given
    if not is_form(given):
        raise InputError(f"memory option {name} is {given!r}", hint="give True, False or a mapping")
    for setting, kinds in (("model", str), (_CALLBACK, type(None))):
        if not isinstance(given.get(setting), (kinds, type(None))):
            raise InputError(
                f"memory option {name} has a {setting} that cannot be written down",
                hint="give the name of a model" if setting == "model" else f"give {_CALLBACK}= with the call",
            )
    try:
        title_settings(given)
    except ProcessorDefinitionError as error:
        raise InputError(error.message, hint=error.hint) from error
    return given


def _checked(settings: TitleSettings, name: str) -> TitleSettings:
    instructions: Any = settings.instructions
    emit_event: Any = settings.emit_event
    callback: Any = settings.on_title_generated
    if instructions is not None and not (isinstance(instructions, str) and instructions.strip()):
        raise ProcessorDefinitionError(f"{name} has instructions={instructions!r} for titles", hint="give a text")
    whole_number(name, "min_messages", settings.min_messages)
    whole_number(name, "max_length", settings.max_length, least=10)
    if not isinstance(emit_event, bool):
        raise ProcessorDefinitionError(f"{name} has emit_event={emit_event!r}", hint="give True or False")
    if callback is not None and not callable(callback):
        raise ProcessorDefinitionError(
            f"{name} has on_title_generated={callback!r}", hint="give a function of a Thread"
        )
    model: Any = settings.model
    if model is None:
        return settings
    if not isinstance(model, str) and not callable(getattr(model, "stream", None)):
        raise ProcessorDefinitionError(f"{name} has model={model!r} for titles", hint="give a model, or its name")
    return settings.replace(model=resolve_model(model))
