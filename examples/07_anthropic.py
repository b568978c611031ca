"""A model of Anthropic's that thinks aloud, and the cache.  Run it: python examples/07_anthropic.py"""

import os
from pathlib import Path

import anyio

from procession import Agent
from procession.messages.chunks import ReasoningDelta, TextDelta
from procession.models.anthropic import AnthropicModel
from procession.models.http import replaying

# With a key the question goes to Anthropic.  Without one a recorded answer plays, and nothing is sent.
if os.environ.get("ANTHROPIC_API_KEY"):
    model = AnthropicModel("claude-sonnet-5-5")
else:
    print("(ANTHROPIC_API_KEY is not set: this is a recorded answer)")
    recorded = Path(__file__).parent / "data" / "anthropic_answer.txt"
    model = AnthropicModel("claude-sonnet-5-5", api_key="none", transport=replaying(recorded.read_bytes()))

agent = Agent(
    "guide",
    model=model,
    instructions="You help people to dress.",
    provider_options={
        "anthropic": {
            # Thoughts are shown, and go back to Anthropic with their signatures in the next step.
            "thinking": {"type": "adaptive", "display": "summarized"},
            # Tools and instructions are the same in every call: from the second on they are read from the cache.
            "cache_control": {"type": "ephemeral"},
        }
    },
)


async def main() -> None:
    """Show the thoughts, the answer and what it cost."""
    async with agent.stream("What shall I wear in Bergen?") as stream:
        async for chunk in stream.full_stream:
            if isinstance(chunk, ReasoningDelta) and chunk.text:
                print(f"[{chunk.text}]")
            elif isinstance(chunk, TextDelta):
                print(chunk.text, end="", flush=True)
        result = await stream.result()
    usage = result.usage
    print(f"\n{usage.input_tokens} tokens in, {usage.cached_input_tokens} of them from the cache")
    print(f"{usage.output_tokens} tokens out, {usage.reasoning_tokens} of them thoughts")


if __name__ == "__main__":
    anyio.run(main)
