"""An answer that is a value, and the same made by a second model.  Run it: python examples/05_structured_output.py"""

import anyio
from pydantic import BaseModel

from procession import Agent, StructuredOutput
from procession.testing.fake_model import FakeModel
from procession.testing.script import say


class Trip(BaseModel):
    """What the answer is to be."""

    city: str
    days: int
    packing: list[str]


# The model answers in JSON, piece by piece.  A real one, model="openai/gpt-5-mini", is told the schema.
pieces = ('{"city": "Bergen", ', '"days": 3, "pack', 'ing": ["umbrella", ', '"boots"]}')
planner = Agent("planner", model=FakeModel(say(*pieces)), structured_output=Trip)

# Here the agent answers in prose, and a second model makes the value of what stands of it.
teller = Agent("teller", model=FakeModel("Three days in Bergen. Take an umbrella and boots."))
by_another = StructuredOutput(
    Trip,
    model=FakeModel("".join(pieces), id="structurer"),
    error_strategy="fallback",
    fallback_value=Trip(city="unknown", days=0, packing=[]),
)


async def main() -> None:
    """Show the value as it comes, and the one that a second model made."""
    async with planner.stream("Plan a trip.") as stream:
        async for so_far in stream.object_stream:
            print(so_far)
        trip: Trip = await stream.object
    print(f"{trip.days} days in {trip.city}")

    result = await teller.generate("Plan a trip.", structured_output=by_another)
    print(result.text)
    print(result.object, "(a fallback)" if result.used_fallback else "")


if __name__ == "__main__":
    anyio.run(main)
