"""
Classifier: the port behind which stands whatever answers questions about a text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from procession.errors import ProcessorDefinitionError, SchemaError
from procession.messages.value import Value
from procession.processors.detect.detector import Verdict

__all__ = ["Answered", "Answers", "Answering", "Classifier", "Classify", "Question", "questions_of"]

Answers: TypeAlias = Mapping[str, Any]
"""What was answered, by question."""
Classify: TypeAlias = Callable[[str], Answers | Awaitable[Answers]]
"""A function that answers questions about a text."""
_TYPES = ("bool", "choices", "score")


@runtime_checkable
class Classifier(Protocol):
    """
    Something that answers questions about a text.
    """

    async def classify(self, text: str, *, scope: Any = None) -> Answers:
        """
        Answer about *text*; what it costs is charged to *scope*.

        Raises whatever keeps it from an answer: a guard that asks it then trips (D17).
        """
        ...


class Question(Value):
    """
    One question to a model, to be answered by ``bool``, by one of *choices*, or by a ``score`` from 0 to 1.
    """

    question: str
    type: str = "bool"
    choices: tuple[str, ...] = ()


class Answered(Verdict):
    """
    Answers as a verdict, so that they are kept as such.
    """

    answers: Answers = {}


class Answering:
    """
    A classifier as a detector: it detects nothing by itself, and says what was answered.
    """

    def __init__(self, classifier: Classifier | Classify) -> None:
        self._classify: Callable[..., Any] = (
            classifier.classify if isinstance(classifier, Classifier) else _of_text_alone(classifier)
        )

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """
        Return the answers about *text*.

        Raises ``SchemaError`` for answers that are none.
        """
        found = self._classify(text, scope=scope)
        if hasattr(found, "__await__"):
            found = await found
        if not isinstance(found, Mapping):
            raise SchemaError(
                f"a classifier answered with {type(found).__name__}", hint="it returns a mapping of answers by question"
            )
        return Answered(answers=cast("Answers", found))


def _of_text_alone(classify: Classify) -> Callable[..., Any]:
    def call(text: str, scope: Any) -> Any:
        return classify(text)

    return call


def questions_of(name: str, given: Mapping[str, Any]) -> dict[str, Question]:
    """
    Return the *given* questions of the class *name*: a text alone is one to be answered by yes or no.

    Raises ``ProcessorDefinitionError`` for what is no question.

    >>> questions_of("Guard", {"spam": "Is it spam?", "mood": {"question": "How is it?", "choices": ["good", "bad"]}})["mood"]
    Question(question='How is it?', type='choices', choices=('good', 'bad'))
    """
    made: dict[str, Question] = {}
    for key, one in given.items():
        if isinstance(one, str):
            one = {"question": one}
        if not key.isidentifier() or not isinstance(one, Mapping):
            raise ProcessorDefinitionError(
                f"{name} has a question {key!r}: {one!r}",
                hint='a question is a text, or has question and type ("bool", "choices", "score"), under a name like spam',
            )
        fields = cast("Mapping[str, Any]", one)
        unknown = set(fields) - {"question", "type", "choices"}
        choices = tuple(fields.get("choices") or ())
        kind = fields.get("type") or ("choices" if choices else "bool")
        if unknown or not fields.get("question") or kind not in _TYPES or (kind == "choices") != bool(choices):
            raise ProcessorDefinitionError(
                f"{name} has a question {key!r} that cannot be asked",
                hint='it has question, type ("bool", "choices" or "score"), and choices where they are to be chosen from',
            )
        made[key] = Question(str(fields["question"]), kind, choices)
    return made
