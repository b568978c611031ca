"""An agent with a tool, on a model that plays a script.  Run it: python examples/03_agent.py"""

from procession import Agent, tool
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.workflows.render.draw import draw


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"Rain in {city}, 9 degrees."


# Two replies of the model: it asks for the tool, then it answers.  With a key,
# model="openai/gpt-5-mini" asks a real one; nothing else changes.
model = FakeModel([call_tool("weather", {"city": "Bergen"}), say("Take ", "an umbrella.")])

agent = Agent("guide", model=model, instructions="You help people to dress.", tools=[weather])

if __name__ == "__main__":
    result = agent.generate_sync("What shall I wear in Bergen?")
    print(result.text)
    for step in result.steps:
        print(f"  step {step.step_number}: {[call.tool_name for call in step.tool_calls] or step.text}")
    # The loop that has just run is a workflow like any other.
    print(draw(agent.workflow))
