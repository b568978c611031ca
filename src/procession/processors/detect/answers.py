"""
Which answers flag a text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeAlias, cast

from procession.errors import ProcessorDefinitionError, SchemaError
from procession.processors.detect.classifier import Answers, Question

__all__ = ["FlagIf", "Flagging", "flagging"]

FlagIf: TypeAlias = Mapping[str, Any] | Callable[[Answers], bool | str | None]
"""Answers that flag a text, or a function that says whether they do, or why."""
Flagging: TypeAlias = Callable[[Answers], list[tuple[str, str]]]
"""Returns the questions whose answers flag a text, each with the reason if one was given."""


def flagging(name: str, flag_if: FlagIf, questions: Mapping[str, Question]) -> Flagging:
    """
    Return *flag_if*, an option of the class *name* that asks *questions*, as one kind of function.

    Raises ``ProcessorDefinitionError`` for what can flag nothing.

    >>> flags = flagging("Guard", {"spam": True, "mood": ["angry"], "heat": 0.8}, {})
    >>> flags({"spam": False, "mood": "angry", "heat": 0.9})
    [('mood', ''), ('heat', '')]
    """
    if callable(flag_if):
        return partial(_said, flag_if)
    if not flag_if:
        raise ProcessorDefinitionError(f"{name} has an empty flag_if", hint="name an answer that flags a text")
    for key, wanted in flag_if.items():
        _check(name, key, wanted, questions)
    return partial(_flagged, flag_if)


def _said(flag_if: Callable[[Answers], bool | str | None], answers: Answers) -> list[tuple[str, str]]:
    said = flag_if(answers)
    return [("classified", said if isinstance(said, str) else "")] if said else []


def _flagged(flag_if: Mapping[str, Any], answers: Answers) -> list[tuple[str, str]]:
    missing = [key for key in flag_if if key not in answers]
    if missing:
        raise SchemaError(f"a classifier did not answer {', '.join(map(repr, missing))}", hint="flag_if asks for it")
    return [(key, "") for key, wanted in flag_if.items() if _flags(key, answers[key], wanted)]


def _flags(key: str, answer: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool):
        if not isinstance(answer, bool):
            raise _no_answer(key, answer, "it is True or False")
        return answer is wanted
    if isinstance(wanted, (int, float)):
        if isinstance(answer, bool) or not isinstance(answer, (int, float)):
            raise _no_answer(key, answer, "it is a number")
        return not answer < wanted  # not a number is no pass
    given = (answer,) if isinstance(answer, str) else answer
    if not isinstance(given, Collection):
        raise _no_answer(key, answer, "it is one of the choices, or some")
    return not set(_choices(wanted)).isdisjoint(cast("Collection[Any]", given))


def _no_answer(key: str, answer: Any, hint: str) -> SchemaError:
    return SchemaError(f"a classifier answered {key!r} with {type(answer).__name__}", hint=hint)


def _choices(wanted: Any) -> tuple[str, ...]:
    return (wanted,) if isinstance(wanted, str) else tuple(wanted)


def _check(name: str, key: str, wanted: Any, questions: Mapping[str, Question]) -> None:
    if not questions:
        return
    question = questions.get(key)
    if question is None:
        raise ProcessorDefinitionError(
            f"{name} is to flag by {key!r}, which it does not ask", hint=f"its questions are {', '.join(questions)}"
        )
    kind = "bool" if isinstance(wanted, bool) else "score" if isinstance(wanted, (int, float)) else "choices"
    if question.type != kind or (kind == "choices" and not set(question.choices).issuperset(_choices(wanted))):
        raise ProcessorDefinitionError(
            f"{name} is to flag where {key!r} is {wanted!r}, which is no answer to it",
            hint="give True or False, choices of the question, or the least score",
        )
