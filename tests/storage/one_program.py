"""
A program that talks, and names no store: which one it is, the environment says.  For test_one_program.py.

``python -m tests.storage.one_program WHO TEXT...`` prints, as JSON, what the model was sent for the last text, what was written
down, and the titles of the resource's threads.
"""

from __future__ import annotations

import json
import sys

import anyio

from procession.agents.agent import Agent
from procession.processors.memory.memory import Memory
from procession.testing.fake_model import FakeModel
from procession.testing.hash_embedder import HashEmbedder
from procession.testing.script import call_tool


async def main(who: str, said: list[str]) -> None:
    """Say each text in a thread of *who*, and look at what is kept."""
    recall = {"scope": "resource", "top_k": 1, "message_range": 0, "threshold": 0.3}
    titles = {"model": FakeModel("A talk", repeat_last=True)}
    async with Memory(
        last_messages=2, semantic_recall=recall, embedder=HashEmbedder(), working_memory=True, generate_title=titles
    ) as memory:
        note = call_tool("updateWorkingMemory", {"memory": f"# Facts\n- last said: {said[-1]}"})
        model = FakeModel([*[f"You said {text}." for text in said[:-1]], note, "Noted."])
        agent = Agent("friend", model=model, memory=memory)
        for text in said:
            result = await agent.generate(text, thread=f"of {who}", resource=who)
            assert result.unsaved is None
        sent = [message.text for message in model.requests[-1].messages if message.role == "user"]
        kept = [message.text for message in await memory.recall(f"of {who}", who, last=100)]
        found = [hit.message.text for hit in await memory.search("tulips", resource=who, top_k=1)]
        told = {
            "sent": sent, "kept": kept, "found": found, "noted": await memory.working_memory(resource=who),
            "titles": [thread.title for thread in (await memory.threads(who)).threads],
            "others": [message.text for message in await memory.recall(f"of {who}", "eve")],
        }  # fmt: skip
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2:])
