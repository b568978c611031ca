"""One question, answered by a value."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from procession.errors import ModelError
from procession.messages.usage import Usage
from procession.models.ask import ask
from procession.models.model import LanguageModel
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import fail, say


class Verdict(BaseModel):
    spam: bool
    reason: str = ""


async def verdict_of(model: LanguageModel, scope: RequestScope | None = None) -> Verdict:
    """Ask a model for a verdict."""
    return await ask(model, instructions="Is this spam?", content="Buy!", schema=Verdict, scope=scope)


async def test_answer_is_an_instance() -> None:
    """The answer is an instance of the schema, and the model was asked for it."""
    model = FakeModel('{"spam": true}')
    assert await verdict_of(model) == Verdict(spam=True)
    (request,) = model.requests
    assert [message.text for message in request.messages] == ["Is this spam?", "Buy!"]
    assert request.streaming is False
    assert request.response_format is not None
    assert request.response_format["name"] == "Verdict"
    assert "spam" in request.response_format["schema"]["properties"]


async def test_pieces_and_fences() -> None:
    """JSON in pieces, or within a fence as models like to write it, is JSON."""
    assert (await verdict_of(FakeModel([say('{"spam"', ": false}")]))).spam is False
    assert (await verdict_of(FakeModel('```json\n{"spam": true}\n```'))).spam is True


async def test_usage_is_charged_to_the_request() -> None:
    """What the question cost is added to the request, also where the answer is of no use."""
    scope = RequestScope()
    model = FakeModel([say('{"spam": true}', usage=Usage(3, 2)), say("dunno", usage=Usage(1, 1))])
    await verdict_of(model, scope)
    with pytest.raises(ModelError):
        await verdict_of(model, scope)
    assert (scope.guard_usage, scope.usage) == (Usage(4, 3), Usage())


@pytest.mark.parametrize("text", ["dunno", '{"spam": ', '{"spam": "perhaps"}', "[]", ""])
async def test_answers_of_no_use(text: str) -> None:
    """An answer that is no JSON, or not what was asked for, is a model's error that says so and keeps the text."""
    with pytest.raises(ModelError) as caught:
        await verdict_of(FakeModel([say(text, finish="length")]))
    assert (caught.value.kind, caught.value.body) == ("other", text)
    assert "length" in str(caught.value)


async def test_failure_of_the_model() -> None:
    """Where the model fails, its own error is raised."""
    with pytest.raises(ModelError, match="down"):
        await verdict_of(FakeModel(fail("down", status=503)))
    with pytest.raises(ModelError, match="broke"):
        await verdict_of(FakeModel(Reply("{", stream_error=ModelError("broke", kind="stream"))))
