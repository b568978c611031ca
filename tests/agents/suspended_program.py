"""
A program that begins or resumes a run on a file, for the tests that need a process of their own.

``python suspended_program.py start|resume|race FILE COUNTS [RUN_ID]`` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from procession.agents.agent import Agent
from procession.errors import RunAlreadyClaimed
from procession.runtime.runtime import Runtime
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import tool


async def main(*arguments: str) -> Any:
    """Do what the arguments say and return what is printed."""
    what, file, counts, run_id = (*arguments, "")[:4]

    def count(word: str) -> None:
        with Path(counts).open("a") as out:
            out.write(word + "\n")

    @tool
    def look(x: int) -> str:
        """Look."""
        count("look")
        return f"seen {x}"

    @tool
    async def charge(amount: int, ctx: ToolContext) -> str:
        """Charge."""
        count("asked" if not ctx.resumed else "resumed")
        answer = ctx.suspend({"charge": amount}, resume_schema=bool)
        await anyio.sleep(0.05 if what == "race" else 0)
        count("charged")
        return f"charged {amount}: {answer}"

    both = call_tool("look", {"x": 1}, id="c1") + call_tool("charge", {"amount": 5}, id="c2")
    script = [say("Let me see. ") + both] if what == "start" else ["Charged."]
    async with SQLiteJournal(file) as journal:
        model = FakeModel(script)
        agent = Agent("till", model=model, tools=[look, charge], runtime=Runtime(journal))
        if what == "start":
            begun = await agent.generate("Charge me.")
            return {"run_id": begun.run_id, "status": begun.status}
        if what == "race":
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await anyio.to_thread.run_sync(sys.stdin.readline)
        try:
            result = await agent.resume(run_id, {"c2": True})
        except RunAlreadyClaimed:
            return {"lost": True}
        told: list[str] = [part.output["value"] for part in model.requests[0].messages[-1].content]  # type: ignore[union-attr]
        return {"status": result.status, "text": result.text, "told": told, "steps": len(result.steps)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(main, *sys.argv[1:])) + "\n")
