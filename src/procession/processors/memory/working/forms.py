"""
The forms that a working memory can have: Markdown with a template, or an object with a schema.  In a store both are text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from procession.errors import InputError, ProcessorDefinitionError, SchemaError
from procession.messages.shapes import is_dict, is_form, is_items
from procession.processors.memory.working.merging import MergedValue, merge_texts, merge_values

__all__ = ["TEMPLATE", "Form", "MarkdownForm", "SchemaForm"]

TEMPLATE = """# User
- Name:
- Location:
- Occupation:
- Interests:
- Goals:
- Events:
- Facts:
- Projects:"""
"""What a working memory looks like unless somebody says otherwise."""


_NULL = {"type": "null"}


class Form(Protocol):
    """
    What can be written into a working memory, and how.
    """

    @property
    def template(self) -> str:
        """
        What the model is shown of the form.
        """
        ...

    @property
    def blank(self) -> str:
        """
        What everybody begins with while nothing is written.
        """
        ...

    @property
    def content(self) -> Mapping[str, Any]:
        """
        JSON schema of what an update is given.
        """
        ...

    @property
    def how(self) -> str:
        """
        What the model is told of what to give.
        """
        ...

    def updated(self, text: str, given: Any) -> str:
        """
        Return *text* with what an update has *given*.

        Raises ``SchemaError`` with what is wrong with it.
        """
        ...

    def whole(self, given: Any) -> str:
        """
        Return the text for a whole content that an application has *given*.

        Raises ``SchemaError`` with what is wrong with it.
        """
        ...

    def content_of(self, text: str) -> Any:
        """
        Return what *text* stands for, as an application takes it.

        Raises ``InputError`` where it is of another form.
        """
        ...

    def merged(self, base: str, earlier: str, later: str) -> tuple[str, int]:
        """
        Return what two have made of *base*, and how many fields of the earlier one the later one has overwritten.

        Raises ``InputError`` where one of them is of another form.
        """
        ...


class MarkdownForm:
    """
    Markdown, of which each update gives the whole.
    """

    content: Mapping[str, Any] = {"type": "string", "description": "The whole new content, as Markdown."}
    how = (
        "with the whole new content, in the form of the template, filled in and extended as you see fit: what you leave out "
        "is forgotten"
    )

    def __init__(self, template: str) -> None:
        self.template = template

    @property
    def blank(self) -> str:
        """
        The template.
        """
        return self.template

    def updated(self, text: str, given: Any) -> str:
        """
        Return what was given, in place of *text*.
        """
        return self.whole(given)

    def whole(self, given: Any) -> str:
        """
        Return what was given.

        Raises ``SchemaError`` where it is no text.
        """
        if not isinstance(given, str):
            raise _unfit(f"memory: should be a text, not {type(given).__name__}")
        return clean(given)

    def content_of(self, text: str) -> str:
        """
        Return *text*.
        """
        return text

    def merged(self, base: str, earlier: str, later: str) -> tuple[str, int]:
        """
        Merge line by line: nothing is overwritten.
        """
        return merge_texts(base, earlier, later), 0


class SchemaForm:
    """
    An object with the fields of a pydantic model, of which each update gives those that change.

    While it fills up, fields that the model requires may still be missing.
    """

    blank = "{}"
    how = "with the fields that change, and only those; null deletes one, and a list is given as a whole"

    def __init__(self, schema: type[Any]) -> None:
        self._model = schema
        try:
            made: Mapping[str, Any] = schema.model_json_schema()
        except Exception as error:  # pydantic has no common one for this
            raise ProcessorDefinitionError(
                f"WorkingMemory has the schema {schema.__name__}, which no JSON schema can be made of",
                hint="give its fields types that JSON has",
            ) from error
        self.content: Mapping[str, Any] = _partial(made)
        self.template = json.dumps(made, ensure_ascii=False)

    def updated(self, text: str, given: Any) -> str:
        """
        Return *text* with the fields that were given; ``None`` takes one out.

        Raises ``SchemaError`` where they do not fit.
        """
        if not is_form(given):
            raise _unfit(f"memory: should be an object, not {type(given).__name__}")
        value = _patched(self.content_of(text), given)
        self._check(value, set(given))
        return _written(value)

    def whole(self, given: Any) -> str:
        """
        Return the text for an object, or an instance of the model.

        Raises ``SchemaError`` where it does not fit.
        """
        dump = getattr(given, "model_dump", None)
        return self.updated("{}", dump(mode="json", by_alias=True, exclude_none=True) if dump is not None else given)

    def content_of(self, text: str) -> dict[str, Any]:
        """
        Return the object that *text* is.

        Raises ``InputError`` where it is none.
        """
        try:
            value: Any = json.loads(text or "{}")
        except ValueError:
            value = None
        if not is_dict(value):
            raise InputError(
                "what is stored as working memory is no object: it was written with a template, and now there is a schema",
                hint="convert it with memory.set_working_memory(...), or take the schema away",
            )
        return value

    def merged(self, base: str, earlier: str, later: str) -> tuple[str, int]:
        """
        Merge field by field.

        Raises ``InputError`` where one of the texts is no object.
        """
        made: MergedValue = merge_values(self.content_of(base), self.content_of(earlier), self.content_of(later))
        return _written(made.value), made.overwritten

    def _check(self, value: Mapping[str, Any], names: set[Any]) -> None:
        """
        Refuse what does not fit in the fields *names*; the others are as they were before.
        """
        from pydantic import ValidationError

        try:
            self._model.model_validate(value)
        except ValidationError as error:
            faults = tuple(
                f"{'.'.join(map(str, ('memory', *fault['loc'])))}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False, include_context=False)
                if fault["type"] != "missing" and (not fault["loc"] or fault["loc"][0] in names)
            )
            if faults:
                raise _unfit(*faults) from None


def clean(text: str) -> str:
    """
    Return *text* with lines that end alike, and without what not every store can keep.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _unfit(*faults: str) -> SchemaError:
    return SchemaError(f"working memory does not fit: {'; '.join(faults)}", faults=faults)


def _written(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False))


def _patched(value: Mapping[str, Any], changes: Mapping[Any, Any]) -> dict[str, Any]:
    made = dict(value)
    for name, change in changes.items():
        if change is None:
            made.pop(str(name), None)
        elif is_form(change):
            there = made.get(str(name))
            made[str(name)] = _patched(there if is_dict(there) else {}, change)
        else:
            made[str(name)] = change
    return made


def _partial(schema: Any) -> Any:
    """
    Return a JSON schema in which each field of an object may be missing, or ``null``, and there are no others.
    """
    if is_items(schema):
        return [_partial(each) for each in schema]
    if not is_dict(schema):
        return schema
    fields: Any = schema.get("properties")
    shared: Any = schema.get("$defs")
    made = {
        name: _partial(each)
        for name, each in schema.items()
        if name not in ("required", "properties", "default", "$defs", "enum", "const", "examples")
    }
    made |= {name: schema[name] for name in ("enum", "const") if name in schema}
    if is_dict(shared):
        made["$defs"] = {name: _partial(each) for name, each in shared.items()}
    if is_dict(fields):
        made["properties"] = {name: _or_null(_partial(field)) for name, field in fields.items()}
        made.setdefault("additionalProperties", False)
    if is_dict(schema.get("additionalProperties")):
        made["additionalProperties"] = _or_null(made["additionalProperties"])
    return made


def _or_null(schema: Any) -> Any:
    choices: Any = schema.get("anyOf") if is_dict(schema) else None
    if choices and _NULL in choices:
        return schema
    return {"anyOf": [schema, _NULL]}
