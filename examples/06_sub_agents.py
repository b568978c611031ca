"""An agent that asks another one, and a workflow, as tools.  Run it: python examples/06_sub_agents.py"""

import anyio

from procession import Agent, StepContext, create_workflow, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool


@step
def add_tax(ctx: StepContext[float]) -> float:
    """Add a fifth."""
    return round(ctx.input * 1.2, 2)


pricing = create_workflow("pricing", float, description="Say what a net price comes to.").then(add_tax).commit()
catalogue = Agent("catalogue", model=FakeModel(["A lamp is 10 net."]), description="Knows what we sell.")
seller = Agent(
    "seller",
    model=FakeModel(
        [
            call_tool("agent-catalogue", {"prompt": "What is a lamp?"}),
            call_tool("workflow-pricing", {"input": 10}),
            "A lamp is 12 euros.",
        ]
    ),
    tools=[catalogue, pricing],
)


async def main() -> None:
    """Show what the seller was told, and what it all cost."""
    result = await seller.generate("What does a lamp cost?")
    for told in result.tool_results:
        print(told.tool_name, "-", told)
    print(result.text, "-", result.usage.total_tokens, "tokens of both agents")


if __name__ == "__main__":
    anyio.run(main)
