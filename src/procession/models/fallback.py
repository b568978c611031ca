"""
FallbackModel: several models as one, of which the next is asked where one fails.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, cast, get_args

from procession.errors import DefinitionError, ModelError, ModelErrorKind, ProcessionError
from procession.messages.chunks import Chunk, Finish, ReasoningStart, ResponseMetadata, TextStart
from procession.messages.shapes import is_sequence
from procession.messages.usage import NO_USAGE, Usage
from procession.models.identity import identity_of
from procession.models.model import LanguageModel, ModelRequest
from procession.models.router import resolve_model

__all__ = ["FallbackModel", "tell_earlier"]

_SAYS_NOTHING = (ResponseMetadata, TextStart, ReasoningStart)
"""Chunks that are held until something is said: the next model would send its own."""
_KINDS: tuple[ModelErrorKind, ...] = get_args(ModelErrorKind)


class FallbackModel:
    """
    A model that asks the first of *models*, and the next one where one fails before it has said anything.

    *models* are models or names of some, which are resolved here: one that leads nowhere, or whose key is missing, is
    an ``InputError`` at once and not on the day when it is needed.

    *on* says after which failures the next one is asked: kinds of ``ModelError``, or a function of the error.  Without
    it, that is every failure of a model, also a request that it refuses (``rejected``).  Nobody else is asked where the
    caller cancels, where the request is faulty on our side, such as a file that cannot be sent, and once something was
    said: its reader cannot take it back.  ``ResponseMetadata.warnings`` of the answer name those who failed, and
    ``model_id`` and ``asked`` who answered.

    Raises ``DefinitionError`` for an empty list, for what is no model and for what is no kind of error.

    >>> from procession.testing.fake_model import FakeModel
    >>> from procession.testing.recorder import record
    >>> from procession.testing.script import fail
    >>> import anyio
    >>> model = FallbackModel([FakeModel(fail("down", status=503), id="a"), FakeModel("Hello.", id="b")])
    >>> anyio.run(record, model.stream(ModelRequest(messages=()))).text
    'Hello.'
    """

    def __init__(
        self,
        models: Sequence[LanguageModel | str],
        *,
        on: Collection[ModelErrorKind] | Callable[[ModelError], bool] | None = None,
        id: str | None = None,
    ) -> None:
        """
        *id* is the name under which errors and explanations know the model, ``fallback(a, b)`` where it is not given.
        """
        self.models = tuple(resolve_model(model) for model in _checked(models))
        """The models, in the order in which they are asked."""
        self.id = id or f"fallback({', '.join(model.id for model in self.models)})"
        providers = {getattr(model, "provider", None) for model in self.models}
        self.provider = next(iter(providers)) if len(providers) == 1 else None
        """The provider of all of them, where there is one."""
        self._on = _condition(on)

    @property
    def identity(self) -> Mapping[str, Any]:
        """
        What tells it from other models: who is asked, in which order.
        """
        return {"id": self.id, "models": [identity_of(model) for model in self.models]}

    def __repr__(self) -> str:
        return f"FallbackModel({[model.id for model in self.models]!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """
        Ask the models, one after the other, until one says something.

        Raises the ``ModelError`` of the one that was asked last; its ``earlier`` has those of the others.
        """
        failures: list[ModelError] = []
        spent = NO_USAGE
        asked: list[tuple[str, Usage]] = []
        for number, model in enumerate(self.models, 1):
            stream: AsyncIterator[Chunk] | None = None
            held: list[Chunk] = []
            try:
                try:
                    stream = model.stream(request)
                    await _listen(model, stream, held)
                except Exception as error:
                    failure = _failure(model, error)
                    spent += _spent(held)
                    asked.append((model.id, _spent(held)))
                    if number == len(self.models) or not self._on(failure):
                        raise failure from failure.__cause__
                    failures.append(failure)
                    continue
                notes = [_note(*one, model) for one in zip(self.models, failures, strict=False)]
                for chunk in _opening(model, held, notes, asked):
                    yield _with_usage(chunk, spent)
                async for chunk in stream:
                    yield chunk if spent is NO_USAGE else _with_usage(chunk, spent)
                return
            except ModelError as error:
                tell_earlier(error, failures)
                raise
            finally:
                await _close(stream)


def tell_earlier(error: ModelError, failures: Iterable[ModelError]) -> None:
    """
    Note on *error* the *failures* before it, and those before them, each once.
    """
    every = dict.fromkeys(one for failure in (*failures, error) for one in (*failure.earlier, failure))
    error.earlier = tuple(one for one in every if one is not error)


async def _listen(model: LanguageModel, stream: AsyncIterator[Chunk], held: list[Chunk]) -> None:
    """
    Read into *held* until something is said.

    Raises ``ModelError`` where nothing is: agents take such an answer for a failure, too.
    """
    async for chunk in stream:
        held.append(chunk)
        if isinstance(chunk, Finish) and chunk.reason in ("error", "other"):
            raise ModelError(f"{model.id} ended with the reason {chunk.reason!r} and no answer", kind="stream")
        if not isinstance(chunk, _SAYS_NOTHING):
            return
    raise ModelError(f"{model.id} ended without an answer", kind="stream")


def _failure(model: LanguageModel, error: Exception) -> ModelError:
    """
    Return a model's failure.

    Raises *error* itself where it is ours to mend: another model would be asked in vain, and the fault be hidden.
    """
    if isinstance(error, ModelError):
        if isinstance(error.__cause__, ProcessionError) and not isinstance(error.__cause__, ModelError):
            raise error
        return error
    if isinstance(error, ProcessionError):
        raise error
    failure = ModelError(f"{model.id} failed: {str(error) or type(error).__name__}")
    failure.__cause__ = error
    return failure


def _note(failed: LanguageModel, failure: ModelError, model: LanguageModel) -> Mapping[str, str]:
    status = f", status {failure.status_code}" if failure.status_code is not None else ""
    return {"type": "other", "message": f"{failed.id} failed ({failure.kind}{status}): {model.id} answers instead"}


def _opening(
    model: LanguageModel, held: Sequence[Chunk], notes: Sequence[Any], asked: Sequence[tuple[str, Usage]]
) -> Iterable[Chunk]:
    """
    Return what was held back, and at its head who answers and who failed before.
    """
    first = held[0]
    said = first if isinstance(first, ResponseMetadata) else ResponseMetadata()
    metadata = said.replace(
        model_id=said.model_id or model.id,
        warnings=(*notes, *said.warnings),
        asked=(*asked, *(said.asked or ((model.id, NO_USAGE),))),
    )
    return (metadata, *(held[1:] if said is first else held))


def _spent(held: Sequence[Chunk]) -> Usage:
    last = held[-1] if held else None
    return last.usage if isinstance(last, Finish) else NO_USAGE


def _with_usage(chunk: Chunk, spent: Usage) -> Chunk:
    return chunk.replace(usage=spent + chunk.usage) if isinstance(chunk, Finish) else chunk


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        with suppress(Exception):  # what it said, or why it failed, stands
            await close()


def _checked(models: Any) -> Sequence[Any]:
    if not is_sequence(models) or not models:
        raise DefinitionError(
            f"the models of a fallback are {'an empty list' if is_sequence(models) else type(models).__name__}",
            hint='give a list of models or names, such as ["openai/gpt-5-mini", "ollama/qwen3"]',
        )
    for model in models:
        if not isinstance(model, str) and not (callable(getattr(model, "stream", None)) and hasattr(model, "id")):
            raise DefinitionError(
                f"a fallback was given {type(model).__name__} as a model", hint="give a model, or the name of one"
            )
    return models


def _condition(on: Any) -> Callable[[ModelError], bool]:
    if on is None:
        return _any
    if callable(on):
        return cast("Callable[[ModelError], bool]", on)
    if not is_sequence(on) and not isinstance(on, Set):
        raise _no_condition(type(on).__name__)
    kinds = frozenset(cast("Collection[object]", on))
    for kind in kinds:
        if kind not in _KINDS:
            raise _no_condition(repr(kind))

    def is_one(error: ModelError) -> bool:
        return error.kind in kinds

    return is_one


def _any(error: ModelError) -> bool:
    return True


def _no_condition(given: str) -> DefinitionError:
    return DefinitionError(
        f"on says after which errors the next model is asked, and was given {given}",
        hint=f"give a list of some of {', '.join(_KINDS)}, or a function of the error",
    )
