"""
A program that begins or resumes a run on a file, for the tests that need a process of their own.

``python suspended_program.py start|resume|race|start-two|start-sign|die|after FILE COUNTS [RUN_ID]`` prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from procession.agents.agent import Agent
from procession.errors import AlreadyAnswered, RunAlreadyClaimed
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

    @tool(requires_approval=True)
    def ship() -> str:
        """Ship."""
        count("shipping")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return "shipped"

    @tool
    def sign(ctx: ToolContext) -> str:
        """Sign."""
        ctx.suspend("Sign?")
        ctx.suspend("Sign away the house as well?")
        count("signed")
        return "signed"

    both = call_tool("look", {"x": 1}, id="c1") + call_tool("charge", {"amount": 5}, id="c2")
    two = call_tool("charge", {"amount": 5}, id="c2") + call_tool("ship", {}, id="c3")
    script: list[Any] = {
        "start": [say("Let me see. ") + both],
        "start-two": [two],
        "start-sign": [call_tool("sign", id="c2")],
    }.get(what, ["Charged."])
    ahead = 60 if what == "after" else 0  # the claim of a process that died has come to its end
    async with SQLiteJournal(file, clock=lambda: time.time() + ahead) as journal:
        model = FakeModel(script)
        agent = Agent("till", model=model, tools=[look, charge, ship, sign], runtime=Runtime(journal))
        if what.startswith("start"):
            begun = await agent.generate("Charge me.")
            return {"run_id": begun.run_id, "status": begun.status}
        if what == "race":
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await anyio.to_thread.run_sync(sys.stdin.readline)
        try:
            more = {"c3": {"approved": True}} if what in ("die", "after") else {}
            result = await agent.resume(run_id, {"c2": True, **more})
        except (AlreadyAnswered, RunAlreadyClaimed):
            return {"lost": True}
        if result.suspended:
            return {"status": result.status, "waits": [call.question_id for call in result.suspended]}
        told: list[str] = [part.output["value"] for part in model.requests[0].messages[-1].content]  # type: ignore[union-attr]
        return {"status": result.status, "text": result.text, "told": told, "steps": len(result.steps)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(main, *sys.argv[1:])) + "\n")
