"""An agent with the tools of an MCP server, guarded and pinned.  Run it: python examples/10_mcp.py

The server is a process, data/crm_server.py, written with the official SDK as any other server would be.
"""

import sys
from pathlib import Path

import anyio

from procession import Agent
from procession.errors import DefinitionError
from procession.processors.guardrails.pii import PIIDetector
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.mcp.mcp_tools import MCPTools

SERVER = Path(__file__).parent / "data" / "crm_server.py"


async def main() -> None:
    command = [sys.executable, str(SERVER)]
    async with MCPTools.stdio(command, prefix="crm_") as tools:
        print("tools:", {tool.name: tool.requires_approval for tool in tools})
        pins = tools.pins
        model = FakeModel(
            [call_tool("crm_find_customer", {"number": 7}, id="c1"), "It is Eva.",
             call_tool("crm_delete_customer", {"number": 7}, id="c2"), "She is gone."]
        )  # fmt: skip
        guard = PIIDetector(strategy="redact", redaction_method="placeholder")
        agent = Agent("support", model=model, tools=[*tools], output_processors=[guard])

        found = await agent.generate("Who is customer 7?")
        print("the model was told:", found.steps[0].tool_results)
        asked = await agent.generate("Delete her.")
        print("waits for a person:", asked.suspended[0].tool_name)
        done = await agent.resume(asked.run_id, {"c2": {"approved": True}})
        print(done.text)

    pins["find_customer"] = "sha256:what it was last week"
    try:
        async with MCPTools.stdio(command, pinned=pins):
            pass
    except DefinitionError as error:
        print("refused:", error.message)


if __name__ == "__main__":
    anyio.run(main)
