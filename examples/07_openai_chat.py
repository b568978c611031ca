"""A model of one's own that calls two tools at once, streamed.  Run it: python examples/07_openai_chat.py"""

import json
from typing import Any

import anyio
import httpx

from procession import Agent, tool
from procession.messages.chunks import TextDelta, ToolCall
from procession.models.openai_chat import OpenAIChatModel


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return {"Bergen": "rain, 9 degrees", "Oslo": "sun, 14 degrees"}[city]


def event(delta: Any, reason: str | None = None) -> str:
    """Return one event of a stream as most servers of open models write it."""
    return f"data: {json.dumps({'id': '1', 'choices': [{'index': 0, 'delta': delta, 'finish_reason': reason}]})}\n\n"


def call(index: int, city: str) -> str:
    """Return a call of the tool, whose arguments come in two pieces."""
    name = {"index": index, "id": f"call_{index}", "function": {"name": "weather", "arguments": '{"city": '}}
    rest = {"index": index, "function": {"arguments": f'"{city}"}}'}}
    return event({"tool_calls": [name]}) + event({"tool_calls": [rest]})


# What a server answered: the model thinks and asks for the tool twice, then it answers.
usage = f"data: {json.dumps({'choices': [], 'usage': {'prompt_tokens': 90, 'completion_tokens': 21}})}\n\n"
end = usage + "data: [DONE]\n\n"
recorded = iter(
    [
        event({"reasoning_content": "Both."}) + call(0, "Bergen") + call(1, "Oslo") + event({}, "tool_calls") + end,
        ": keep-alive\n\n" + event({"content": "Go to "}) + event({"content": "Oslo."}) + event({}, "stop") + end,
    ]
)


def answer(request: httpx.Request) -> httpx.Response:
    """Play the server: give the next answer."""
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=next(recorded))


# Without `transport` the server at this address is asked.  Agent("guide", model="ollama/qwen3") is the same at Ollama's
# own, "openrouter/qwen/qwen3-32b" one at OpenRouter, and "custom@http://localhost:8080/v1#qwen3" one without a name.
model = OpenAIChatModel(
    "qwen3", provider="local", base_url="http://localhost:8080/v1", transport=httpx.MockTransport(answer)
)
agent = Agent("guide", model=model, instructions="You help people to choose.", tools=[weather])


async def main() -> None:
    """Ask, and show the answer as it comes."""
    async with agent.stream("Bergen or Oslo?") as stream:
        async for chunk in stream:
            if isinstance(chunk, ToolCall):
                print("calls", chunk.tool_name, chunk.args)
            elif isinstance(chunk, TextDelta):
                print(chunk.text, end="")
        result = await stream.result()
    print("\ntokens:", result.usage.total_tokens)


if __name__ == "__main__":
    anyio.run(main)
