"""
WorkingMemorySettings: what an agent's working memory is like.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from procession.errors import ProcessorDefinitionError
from procession.messages.shapes import is_form
from procession.messages.value import Value
from procession.processors.options import one_of, whole_number

__all__ = ["WorkingMemoryScope", "WorkingMemorySettings", "working_memory_settings"]

WorkingMemoryScope: TypeAlias = Literal["resource", "thread"]
"""Whether all threads of a resource share a working memory, or each has its own."""


class WorkingMemorySettings(Value, kw_only=True):
    """
    What an agent's working memory is like: ``Memory(working_memory=WorkingMemorySettings(scope="thread"))``.
    """

    template: str | None = None
    """Markdown that shows what is to be remembered; by default one of a user."""
    schema: Any = None
    """A pydantic model of what is to be remembered, in place of a template."""
    scope: WorkingMemoryScope = "resource"
    read_only: bool = False
    """Whether the model is shown it and cannot change it."""
    max_characters: int = 16_000
    """How long it may be."""


def working_memory_settings(given: Any, name: str = "Memory") -> WorkingMemorySettings | None:
    """
    Return what an option ``working_memory`` of the class *name* says, or ``None`` where there is to be none.

    Raises ``ProcessorDefinitionError`` for anything that it cannot be.

    >>> working_memory_settings({"scope": "thread"}).scope
    'thread'
    """
    if given is None or given is False:
        return None
    if given is True:
        return WorkingMemorySettings()
    if is_form(given):
        fields = given
        unknown = sorted(str(each) for each in fields if each not in WorkingMemorySettings.__fields__)
        if unknown:
            raise ProcessorDefinitionError(
                f"{name} has working_memory with {unknown[0]!r}",
                hint=f"its settings are {', '.join(WorkingMemorySettings.__fields__)}",
            )
        given = WorkingMemorySettings(**fields)
    if not isinstance(given, WorkingMemorySettings):
        raise ProcessorDefinitionError(
            f"{name} has working_memory={given!r}", hint="give True, False, a mapping, or WorkingMemorySettings"
        )
    return _checked(given)


def _checked(settings: WorkingMemorySettings) -> WorkingMemorySettings:
    """
    Return *settings* if a working memory can be like that; raises ``ProcessorDefinitionError`` if not.
    """
    name = "WorkingMemory"
    template: Any = settings.template
    schema: Any = settings.schema
    read_only: Any = settings.read_only
    if template is not None and not (isinstance(template, str) and template.strip()):
        raise ProcessorDefinitionError(f"{name} has template={template!r}", hint="give Markdown, as a text")
    if schema is not None:
        if template is not None:
            raise ProcessorDefinitionError(f"{name} has a template and a schema", hint="give one of them")
        if not (isinstance(schema, type) and hasattr(schema, "model_json_schema")):
            raise ProcessorDefinitionError(f"{name} has schema={schema!r}", hint="give a pydantic model, the class")
        if getattr(schema, "__pydantic_root_model__", False):
            raise ProcessorDefinitionError(
                f"{name} has the schema {schema.__name__}, which is no object", hint="give a model with fields"
            )
    one_of(name, "scope", settings.scope, ("resource", "thread"))
    if not isinstance(read_only, bool):
        raise ProcessorDefinitionError(f"{name} has read_only={read_only!r}", hint="give True or False")
    whole_number(name, "max_characters", settings.max_characters)
    return settings
