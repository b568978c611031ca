"""
StateType: what the shared state of a run may hold, key by key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints, is_typeddict

from procession.errors import DefinitionError, SchemaError
from procession.steps.schema import schema_of

__all__ = ["ANYTHING", "StateType", "state_type_of"]


class StateType:
    """
    The types of keys, what they are at first, and whether there may be others.
    """

    __slots__ = ("defaults", "is_open", "types")

    def __init__(
        self, types: Mapping[str, Any], defaults: Mapping[str, Callable[[], Any]], *, is_open: bool = True
    ) -> None:
        self.types = types
        self.defaults = defaults
        self.is_open = is_open

    def check(self, key: str, value: Any, path: str | None = None) -> Any:
        """
        Return *value* as the type of *key* asks for it.

        Raises ``SchemaError`` where it does not fit, or where there is no such key.
        """
        if key not in self.types:
            self.check_key(key, path)
            return value
        schema = schema_of(self.types[key])
        return value if schema is None else schema.validate(value, where=f"state {key!r}", path=path)

    def check_key(self, key: str, path: str | None = None) -> None:
        """
        Raise ``SchemaError`` where there can be no such key.
        """
        if key not in self.types and not self.is_open:
            raise SchemaError(
                f"the state has no {key!r}", path=path, hint=f"it has {', '.join(self.types) or 'no keys'}"
            )

    def first(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """
        Return the state of a run that begins with *given*.

        Raises ``SchemaError`` where that does not fit.
        """
        made = {key: default() for key, default in self.defaults.items() if given is None or key not in given}
        for key, value in (given or {}).items():
            made[key] = self.check(key, value)
        return made

    def over(self, inner: StateType) -> StateType:
        """
        Return what the state may hold where a workflow of this type contains one of the type *inner*.

        Its keys are added; where both have one, this one's type counts.
        """
        return StateType({**inner.types, **self.types}, {**inner.defaults, **self.defaults}, is_open=self.is_open)


ANYTHING = StateType({}, {})
"""A state of which nothing is said."""


def state_type_of(given: Any, workflow_id: str) -> StateType:
    """
    Return what a ``TypedDict`` or a pydantic model says of the state; ``ANYTHING`` for ``None``.

    Keys may be missing until they are set; defaults of a model are there from the first.  A model that allows extra
    fields leaves the state open for other keys.

    Raises ``DefinitionError`` for anything else.

    >>> from typing import TypedDict
    >>> class Seen(TypedDict):
    ...     count: int
    >>> state_type_of(Seen, "w").check("count", "3")
    3
    """
    if given is None or isinstance(given, StateType):
        return given or ANYTHING
    if is_typeddict(given):
        return StateType(get_type_hints(given), {}, is_open=False)
    fields = getattr(given, "model_fields", None) if isinstance(given, type) else None
    if fields is None:
        raise DefinitionError(
            f"workflow {workflow_id!r} has state_type={given!r}", hint="give a TypedDict or a pydantic model"
        )
    config: Mapping[str, Any] = getattr(given, "model_config", {})
    types: dict[str, Any] = {}
    defaults: dict[str, Callable[[], Any]] = {}
    for name, field in fields.items():
        kind = field.annotation
        for each in field.metadata:
            kind = Annotated[kind, each]
        types[name] = kind
        if not field.is_required():
            defaults[name] = _default(field)
    return StateType(types, defaults, is_open=config.get("extra") == "allow")


def _default(field: Any) -> Callable[[], Any]:
    return lambda: field.get_default(call_default_factory=True)
