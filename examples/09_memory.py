"""
An agent that remembers: what is said in one process is known in the next, and by nobody else.

    python examples/09_memory.py
"""

import sys
import tempfile
from pathlib import Path

import anyio

from procession import Agent, Memory
from procession.testing.fake_model import FakeModel


def model() -> FakeModel:
    """
    Stand in for ``"openai/gpt-5-mini"``, which needs a key: it says how many messages it was sent.
    """
    return FakeModel(lambda request: f"I was sent {len(request.messages)} messages.", repeat_last=True)


async def talk(file: str, who: str, *questions: str) -> None:
    """
    Say *questions* in the thread of *who*, kept in a SQLite file.  ``postgresql://...`` in its place is all it takes.
    """
    async with Memory(file, last_messages={"max_messages": 20, "max_tokens": 4000}) as memory:
        agent = Agent("friend", model=model(), memory=memory)
        for question in questions:
            answer = await agent.generate(question, thread={"id": f"chat-of-{who}", "title": "Parcels"}, resource=who)
            print(f"{who}: {question}\n  {answer.text}{'' if answer.unsaved is None else ' (not saved yet)'}")


async def main(folder: str) -> None:
    """
    Talk as Ada, as Ada once more in another process, and as Eve, who knows Ada's thread and gets nothing of it.
    """
    file = str(Path(folder) / "chats.db")
    await talk(file, "ada", "Where is my parcel?", "And when will it be here?")
    again = [sys.executable, __file__, file, "ada", "What did I ask first?"]
    await anyio.run_process(again, stdout=None, check=True)
    async with Memory(file) as memory:
        print([message.text for message in await memory.recall("chat-of-ada", "ada", last=2)])
        print("eve finds", await memory.recall("chat-of-ada", "eve"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        file, who, *questions = sys.argv[1:]
        anyio.run(talk, file, who, *questions)
    else:
        with tempfile.TemporaryDirectory() as made:
            anyio.run(main, made)
