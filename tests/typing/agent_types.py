"""What a structured answer is: read by type checkers, run by nobody."""

from typing import Any, assert_type

from pydantic import BaseModel

from procession import Agent, AgentResult, AgentStream, StructuredOutput
from procession.testing.fake_model import FakeModel


class City(BaseModel):
    """What is asked for."""

    name: str


agent = Agent("geographer", model=FakeModel('{"name": "Paris"}'))


async def ask() -> None:
    """Ask in each way."""
    result = await agent.generate("Hi", structured_output=City)
    assert_type(result, AgentResult[City | None])
    assert_type(result.object, City | None)
    assert_type(result.raise_for_status().object, City | None)
    assert_type((await agent.generate("Hi", structured_output=StructuredOutput(City))).object, City | None)
    assert_type((await agent.generate("Hi", structured_output=list[int])).object, list[int] | None)
    assert_type(agent.generate_sync("Hi", structured_output=City, max_steps=1).object, City | None)
    async with agent.stream("Hi", structured_output=City) as stream:
        assert_type(stream, AgentStream[City | None])
        assert_type(await stream.object, City | None)
        assert_type((await stream.result()).object, City | None)
    assert_type((await agent.resume("run", {"call": 1}, structured_output=City)).object, City | None)

    # Where nothing is said, or what a checker cannot read, it is anything.
    assert_type((await agent.generate("Hi")).object, Any)
    assert_type((await agent.generate("Hi", structured_output={"type": "object"})).object, Any)
    async with agent.stream("Hi") as plain:
        assert_type(await plain.object, Any)

    # The name of a field that there is none of is an error in the editor.
    _ = (result.object or City(name="")).nam  # type: ignore[attr-defined]
