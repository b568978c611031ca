"""A model that thinks, searches the web and names its source, replayed.  Run it: python examples/07_openai_responses.py"""

import json

import anyio

from procession import Agent
from procession.models.http import replaying
from procession.models.openai_responses import OpenAIResponsesModel
from procession.tools.provider_tool import ProviderTool

SAID = "The parcel office in Bergen opens at nine."
CITED = {
    "type": "url_citation",
    "url": "https://example.com/bergen",
    "title": "Bergen",
    "start_index": 0,
    "end_index": 41,
}

# What OpenAI sends, shortened: only the ends of the items, which have all that the many small events before them had.
ITEMS = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Opening hours change: I look them up."}],
        "encrypted_content": "gAAAAABn-only-the-server-can-read-this",
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "Bergen"}},
    {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": SAID, "annotations": [CITED]}]},
]
END = {"status": "completed", "usage": {"input_tokens": 310, "output_tokens": 58}}
EVENTS = [
    *({"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(ITEMS)),
    {"type": "response.completed", "response": END},
]
BODY = "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS).encode()

# Without the transport, and with OPENAI_API_KEY set, this asks OpenAI.
model = OpenAIResponsesModel("gpt-5-mini", api_key="none", transport=replaying(BODY))
agent = Agent(
    "guide",
    model=model,
    tools=[ProviderTool("web_search", openai={"type": "web_search"})],
    provider_options={"openai": {"reasoning": {"effort": "low", "summary": "auto"}}},
)


async def main() -> None:
    """Ask, and show what came of it."""
    result = await agent.generate("When does the parcel office open?")
    (step,) = result.steps
    print(result.text)
    print("thought:", step.reasoning)
    print("searched:", [call.args["action"]["query"] for call in step.tool_calls])
    print("sources:", [source.url for source in step.sources])
    print("tokens:", result.usage.total_tokens)


if __name__ == "__main__":
    anyio.run(main)
