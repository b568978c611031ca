"""
ObservationSettings: when a thread is observed, by whom, and how much of it stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

from procession.errors import DefinitionError
from procession.messages.value import Value
from procession.models.model import LanguageModel
from procession.models.router import resolve_model
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.router import resolve_counter

__all__ = ["ObservationSettings", "Observational", "observation_settings"]


class ObservationSettings(Value, kw_only=True):
    """
    When a thread is observed, by whom, and how much of it stays as it is.

    >>> settings = ObservationSettings(observe_at=10_000)
    >>> settings.kept, settings.buffered, settings.most
    (2000.0, 2000.0, 12000.0)
    """

    observe_at: float = 30_000
    """Tokens of messages that are shown as they are; from there on, observations stand in for the older ones."""
    keep: float = 0.2
    """The share of *observe_at* that is left as it is then: the newest messages."""
    buffer_every: float = 0.2
    """The share of *observe_at* after which so much is observed ahead of time; 1 for not before it is needed."""
    reflect_at: float = 40_000
    """Tokens of observations from which on they are rewritten, shorter."""
    hard_limit: float = 1.2
    """How many times *observe_at*, and *reflect_at*, a model is sent at most."""
    scope: Literal["thread", "resource"] = "thread"
    """Whose observations are shown: the thread's, or those of the resource's other threads as well."""
    threads: int = 10
    """With scope ``resource``: of how many threads, those that were used last."""
    model: LanguageModel | str | None = None
    """Who observes, and reflects; ``None`` for the model that answers."""
    reflector: LanguageModel | str | None = None
    """Who reflects, if it is another one."""
    temperature: float | None = 0.3
    """At which it is observed; ``None`` for the model's own."""
    reflector_temperature: float | None = 0.0
    instructions: str = ""
    """What both are told besides, such as what matters to the application."""
    counter: TokenCounter | Callable[[str], float] | str | None = None
    """What counts tokens; ``None`` for the counter of the model that answers."""
    timeout: float = 120.0
    """Seconds that an observation or a reflection may take."""
    wait: float = 20.0
    """Seconds that an answer waits for an observation, where there is more than *hard_limit* allows."""
    provider_options: Mapping[str, Any] | None = None

    @property
    def kept(self) -> float:
        """
        How many tokens of the newest messages are left as they are.
        """
        return self.observe_at * self.keep

    @property
    def buffered(self) -> float:
        """
        How many tokens of messages are observed at once, at least.
        """
        return self.observe_at * min(self.buffer_every, 1 - self.keep)

    @property
    def most(self) -> float:
        """
        How many tokens of messages a model is sent at most.
        """
        return self.observe_at * self.hard_limit

    @property
    def most_observed(self) -> float:
        """
        How many tokens of observations a model is sent at most.
        """
        return self.reflect_at * self.hard_limit


Observational: TypeAlias = "bool | ObservationSettings | Mapping[str, Any]"
"""Off, on, or on with other settings than usual."""

_TOKENS = ("observe_at", "reflect_at")
_SHARES = ("keep", "buffer_every")
_SECONDS = ("timeout", "wait")
_TEMPERATURES = ("temperature", "reflector_temperature")


def observation_settings(given: Any) -> ObservationSettings:
    """
    Return what *given* says, ``None`` for what is usual, with models and the counter resolved.

    Raises ``DefinitionError`` for what is none of its forms, naming the option.
    """
    if given is None:
        return _checked(ObservationSettings())
    if isinstance(given, Mapping):
        found = cast("Mapping[str, Any]", given)
        unknown = sorted(str(name) for name in found if name not in ObservationSettings.__fields__)
        if unknown:
            raise DefinitionError(
                f"observational has {unknown[0]!r}",
                hint=f"there are {', '.join(sorted(ObservationSettings.__fields__))}",
            )
        given = ObservationSettings(**found)
    if not isinstance(given, ObservationSettings):
        raise DefinitionError(
            f"observational is {given!r}", hint="give True, False, a mapping of settings, or ObservationSettings"
        )
    return _checked(given)


def _checked(settings: ObservationSettings) -> ObservationSettings:
    for name in _TOKENS:
        _must(settings, name, lambda value: 100 <= value < float("inf"), "a number of tokens, at least 100")
    for name in _SHARES:
        _must(settings, name, lambda value: 0 < value <= 1, "a share, above 0 and at most 1")
    if settings.keep > 0.9:
        raise DefinitionError(f"observational has keep={settings.keep!r}", hint="leave something to be observed: 0.9")
    _must(settings, "hard_limit", lambda value: 1 <= value < float("inf"), "a number from 1 on")
    _must(settings, "threads", lambda value: isinstance(value, int) and 1 <= value <= 100, "a count from 1 to 100")
    for name in _SECONDS:
        _must(settings, name, lambda value: 0 < value < float("inf"), "a number of seconds above 0")
    for name in _TEMPERATURES:
        if getattr(settings, name) is not None:
            _must(settings, name, lambda value: 0 <= value < float("inf"), "a number from 0 on, or None")
    if settings.scope not in ("thread", "resource"):
        raise DefinitionError(f"observational has scope={settings.scope!r}", hint="it is 'thread' or 'resource'")
    if not isinstance(settings.instructions, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError(f"observational has instructions={settings.instructions!r}", hint="give a text")
    return settings.replace(
        model=_model("model", settings.model),
        reflector=_model("reflector", settings.reflector),
        counter=_counter(settings.counter),
    )


def _must(settings: ObservationSettings, name: str, holds: Callable[[Any], bool], hint: str) -> None:
    value = getattr(settings, name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not holds(value):
        raise DefinitionError(f"observational has {name}={value!r}", hint=f"it is {hint}")


def _model(name: str, given: Any) -> LanguageModel | None:
    if given is None:
        return None
    made = resolve_model(given)
    if not callable(getattr(made, "stream", None)):
        raise DefinitionError(
            f"observational has {name}={given!r}", hint="give a model, its name, or None for the agent's"
        )
    return made


def _counter(given: Any) -> TokenCounter | None:
    try:
        return resolve_counter(given)
    except DefinitionError as error:
        raise DefinitionError(f"observational: {error.message}", hint=error.hint) from error
