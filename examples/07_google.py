"""An agent on Gemini, whose signatures go back as they came.  Run it: python examples/07_google.py"""

import json
from typing import Any

import httpx

from procession import Agent, tool
from procession.models.google import GoogleModel


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"Rain in {city}, 9 degrees."


def event(*parts: Any, **more: Any) -> str:
    """Return one event of a stream as Google's server writes it."""
    said = {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}
    return f"data: {json.dumps(said)}\r\n\r\n"


# What Gemini answered, recorded: it thinks and asks for the tool, then it answers.
call = {"functionCall": {"name": "weather", "args": {"city": "Bergen"}}, "thoughtSignature": "c2lnbmVk"}
recorded = iter(
    [
        event({"text": "What is the weather there?", "thought": True}) + event(call, finishReason="STOP"),
        event({"text": "Take an "}) + event({"text": "umbrella."}, finishReason="STOP"),
    ]
)
sent: list[Any] = []


def answer(request: httpx.Request) -> httpx.Response:
    """Play the server: note what was sent, and give the next answer."""
    sent.append(json.loads(request.content))
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=next(recorded))


# Without `transport` the real one is asked, with the key in GOOGLE_API_KEY; nothing else changes.
model = GoogleModel("gemini-3-pro-preview", api_key="not-needed-here", transport=httpx.MockTransport(answer))
thinking = {"google": {"thinkingConfig": {"includeThoughts": True}}}
agent = Agent("guide", model=model, instructions="You help people to dress.", tools=[weather])

if __name__ == "__main__":
    result = agent.generate_sync("What shall I wear in Bergen?", provider_options=thinking)
    print(result.text)
    print("thought:", result.steps[0].reasoning)
    print("sent back:", json.dumps(sent[1]["contents"][1:], indent=1))
