"""A tool call that a person must agree to, also after a restart.  Run it: python examples/05_approval.py"""

import tempfile
from pathlib import Path

import anyio

from procession import Agent, Runtime, tool
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say


@tool(requires_approval=lambda args, ctx: args["amount"] > 10)
def refund(order: str, amount: int) -> str:
    """Pay money back."""
    return f"{amount} euros for order {order} are on their way."


def support(journal: SQLiteJournal, answer: Reply) -> Agent:
    """Make the agent as each process makes it: same id, same tools, same file."""
    return Agent("support", model=FakeModel([answer]), tools=[refund], runtime=Runtime(journal))


async def main() -> None:
    """Ask in one process, answer in another one: here both are blocks of one program."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"

        async with SQLiteJournal(file) as journal:
            agent = support(journal, call_tool("refund", {"order": "A1", "amount": 20}))
            asked = await agent.generate("My parcel never came. I want my 20 euros back.")
            print(asked.status, "for", [(call.tool_name, call.args) for call in asked.suspended])

        async with SQLiteJournal(file) as journal:
            agent = support(journal, say("Your 20 euros are on their way."))
            (call,) = await agent.suspended(asked.run_id)
            result = await agent.approve(asked.run_id, call.tool_call_id)
            print(result.status, "-", result.text)


if __name__ == "__main__":
    anyio.run(main)
