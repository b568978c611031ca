"""
A program that begins, or goes on with, a run in which an agent and a workflow wait, for the tests that need processes.

``python waiting_program.py step|tool start|resume|die|after|restart FILE COUNTS RUN_ID`` prints one line of JSON.  With
``step`` the agent is a step of the workflow, with ``tool`` the workflow is a tool of an agent.
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

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool
from procession.workflows.workflow import Workflow, create_workflow


async def main(*arguments: str) -> Any:
    """Do what the arguments say and return what is printed."""
    shape, what, file, counts, run_id = arguments

    def count(word: str) -> None:
        with Path(counts).open("a") as out:
            out.write(word + "\n")

    @step
    def look(ctx: StepContext[str]) -> str:
        """Come first."""
        count("look")
        return ctx.input

    @tool(requires_approval=True)
    def charge() -> str:
        """Charge."""
        count("charged")
        return "charged"

    @tool(requires_approval=True)
    def ship() -> str:
        """Ship."""
        count("shipping")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return "shipped"

    @step
    def end(ctx: StepContext[str]) -> str:
        """Come last."""
        count("end")
        return ctx.input.upper()

    both = call_tool("charge", {}, id="p1") + call_tool("ship", {}, id="p2")
    clerk = Agent("clerk", model=FakeModel([both if what == "start" else "Done."]), tools=[charge, ship])
    work: Workflow[Any, Any] = create_workflow("work", str).then(look).then(clerk).then(end).commit()
    outer = call_tool("workflow-work", {"input": "Ship it."}, id="c1")
    ahead = 60 if what in ("after", "restart") else 0  # the claims of a process that died have come to their end
    answer = {"p1": {"approved": True}, "p2": {"approved": True}}
    async with SQLiteJournal(file, clock=lambda: time.time() + ahead) as journal:
        runtime = Runtime(journal)
        runtime.registry.add(work)
        if shape == "step":
            if what == "start":
                result: Any = await runtime.run(work, "Ship it.", run_id=run_id)
            elif what == "restart":
                result = await runtime.restart(run_id)
            else:
                result = await runtime.resume(run_id, answer, step="clerk")
            waits = [call["question_id"] for each in result.suspended.values() for call in each["calls"]]
            return {"status": result.status, "told": result.output, "waits": waits}
        boss = Agent("boss", model=FakeModel([outer if what == "start" else "Well."]), tools=[work], runtime=runtime)
        if what == "start":
            told = await boss.generate("Do it.", run_id=run_id)
        else:
            told = await boss.resume(run_id, {"c1": {"clerk": answer}})
        asked = [call for one in told.suspended for each in one.payload["steps"] for call in each["payload"]["calls"]]
        results: list[Any] = [getattr(each, "result", None) for each in told.tool_results]
        return {
            "status": told.status,
            "told": results[0] if results else None,
            "waits": [call["question_id"] for call in asked],
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(main, *sys.argv[1:])) + "\n")
