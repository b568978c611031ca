"""All nine hooks, in the order in which a run comes by them.  Run it: python examples/10_nine_hooks.py"""

from typing import Any

from procession import Agent, tool
from procession.messages.chunks import Chunk
from procession.processors.contexts import (
    APIErrorContext,
    InputContext,
    InputStepContext,
    OutputResultContext,
    OutputStepContext,
    OutputStreamContext,
    ToolResultContext,
)
from procession.processors.llm_contexts import LLMRequestContext, LLMResponseContext
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say


def told(hook: str, what: str) -> None:
    print(f"{hook:<22}{what}")


class Passing(Processor):
    """Tells what passes, and changes nothing."""

    id = "passing"

    def process_input(self, ctx: InputContext) -> None:
        told("process_input", f"{len(ctx.view)} message, {ctx.view[-1].text!r}")

    def process_input_step(self, ctx: InputStepContext) -> None:
        told("process_input_step", f"step {ctx.step_number}, attempt {ctx.retry_count}, tools {list(ctx.tools)}")

    def process_llm_request(self, ctx: LLMRequestContext) -> None:
        told("process_llm_request", f"a prompt of {[entry.role for entry in ctx.prompt]}")

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk:
        told("process_output_stream", ctx.chunk.type)
        return ctx.chunk

    def process_llm_response(self, ctx: LLMResponseContext) -> None:
        told("process_llm_response", f"{len(ctx.chunks)} chunks")

    def process_api_error(self, ctx: APIErrorContext) -> dict[str, Any]:
        told("process_api_error", f"{ctx.error.kind}: try again")
        return {"retry": True}

    def process_output_step(self, ctx: OutputStepContext) -> None:
        told("process_output_step", f"text {ctx.text!r}, calls {[call.tool_name for call in ctx.tool_calls]}")

    def process_tool_result(self, ctx: ToolResultContext) -> None:
        told("process_tool_result", f"{ctx.tool_name}({ctx.args['city']!r}) -> {ctx.result!r}")

    def process_output_result(self, ctx: OutputResultContext) -> None:
        told("process_output_result", f"{len(ctx.result.steps)} steps, {ctx.result.text!r}")


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return "sunny"


passing = Passing()
model = FakeModel([fail("overloaded", status=503), call_tool("weather", {"city": "Bonn"}), say("It is ", "sunny.")])
agent = Agent("forecast", model=model, tools=[weather], input_processors=[passing], output_processors=[passing])

if __name__ == "__main__":
    agent.generate_sync("Do I need an umbrella in Bonn?")
