"""Processors: what happens to messages on their way.  Run it: python examples/04_processors.py"""

import re

import anyio

from procession import Agent, Chunk, Processor, create_workflow
from procession.messages.chunks import TextDelta
from procession.processors.contexts import InputContext, OutputStreamContext
from procession.testing.fake_model import FakeModel


class HideNumbers(Processor):
    id = "hide-numbers"
    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        for message in ctx.messages:
            message.text = re.sub(r"\b\d{6,}\b", "[order]", message.text)


class NoShouting(Processor):
    """Turn away whoever shouts."""

    id = "no-shouting"

    async def process_input(self, ctx: InputContext) -> None:
        if ctx.view[-1].text.isupper():
            ctx.abort("shouting", message="Please say that again, quietly.")


class Calm(Processor):
    """Calm the answer down, chunk by chunk."""

    id = "calm"
    mutates = True

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        chunk = ctx.part
        return chunk.replace(text=chunk.text.replace("!", ".")) if isinstance(chunk, TextDelta) else chunk


# Side by side, as a workflow; what they changed is put together again.
guards = create_workflow("guards", kind="processor").parallel([HideNumbers(), NoShouting()]).commit()

model = FakeModel("It is on its way!", repeat_last=True)
agent = Agent("support", model=model, input_processors=[guards], output_processors=[Calm()])


async def main() -> None:
    async with agent.stream("Where is order 20240117?") as stream:
        print([chunk.text async for chunk in stream if isinstance(chunk, TextDelta)])
    print("the model saw:", model.requests[-1].messages[-1].content)
    blocked = await agent.generate("WHERE IS MY ORDER")
    print(blocked.status, "-", blocked.tripwire)


if __name__ == "__main__":
    anyio.run(main)
