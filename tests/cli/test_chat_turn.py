"""One turn of a chat: what is said of an answer besides its text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from rich.console import Console

from procession.agents.agent import Agent
from procession.cli.chat_screen import Screen, as_json
from procession.cli.chat_turn import Turn
from procession.errors import ModelError
from procession.messages.chunks import Chunk, FileChunk, SourceChunk
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.processor import Processor
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import tool


class Watched:
    """A screen that somebody sits before, and what is on it."""

    def __init__(self, width: int = 80) -> None:
        self._file = StringIO()
        console = Console(file=self._file, width=width)
        self.screen = Screen(console, console, live=True)
        self.said: set[str] = set()

    async def turn(self, agent: Agent, message: str = "Hi", **options: Any) -> Turn:
        """Show one answer."""
        turn = Turn(self.screen, self.said)
        await turn.show(agent.stream(message, **options))
        return turn

    @property
    def lines(self) -> list[str]:
        """What is shown."""
        return self._file.getvalue().splitlines()


@tool
def weather(city: str) -> str:
    """Say what the weather is."""
    if city == "nowhere":
        raise ValueError("there is none")
    return f"rain in {city}"


async def test_what_happens_is_shown_in_its_order() -> None:
    """Reasoning, text, a tool's call, its result and the rest of the answer each begin a line."""
    first = say("Let me ", "look.", reasoning="Hm.") + call_tool("weather", {"city": "Bergen"})
    watched = Watched()
    agent = Agent("guide", model=FakeModel([first, "Rain."]), tools=[weather])
    turn = await watched.turn(agent)
    assert watched.lines == [
        "Hm.", "Let me look.", '→ weather {"city": "Bergen"}', '← weather "rain in Bergen"', "Rain.",
    ]  # fmt: skip
    assert str(turn.cost) == "20 tokens in, 10 out"


async def test_a_tool_that_fails() -> None:
    """A tool's error is told as the model is told it."""
    watched = Watched()
    model = FakeModel([call_tool("weather", {"city": "nowhere"}), "Sorry."])
    await watched.turn(Agent("guide", model=model, tools=[weather]))
    assert watched.lines[1].startswith("✗ weather")
    assert "there is none" in watched.lines[1]


async def test_a_long_result_is_cut() -> None:
    """What a tool answers gets three lines of the terminal at most."""

    @tool
    def read() -> str:
        """Read."""
        return "x" * 10_000

    watched = Watched(40)
    await watched.turn(Agent("guide", model=FakeModel([call_tool("read", {}), "Read."]), tools=[read]))
    (shown,) = [line for line in watched.lines if "xxx" in line]
    assert len(shown) < 120
    assert shown.endswith("…")


async def test_an_agent_inside_is_shown_besides() -> None:
    """What an agent inside says and calls is shown as an aside, under the name of its tool."""
    inner = Agent("finder", model=FakeModel([call_tool("weather", {"city": "Oslo"}), "Rain there."]), tools=[weather])
    watched = Watched()
    outer = Agent("guide", model=FakeModel([call_tool("agent-finder", {"prompt": "Oslo?"}), "Rain."]), tools=[inner])
    await watched.turn(outer)
    assert '→ agent-finder: weather {"city": "Oslo"}' in watched.lines
    assert watched.lines.index("Rain there.") < watched.lines.index("Rain.")


async def test_a_step_that_is_sent_back() -> None:
    """A reader is told by whom and why an answer was sent back, and then sees the one that stands."""

    class Polite(Processor):
        id = "polite"

        def process_output_step(self, ctx: Any) -> None:
            if "please" not in ctx.text:
                ctx.abort("say please", retry=True)

    watched = Watched()
    agent = Agent("bot", model=FakeModel(["Go.", "Go, please."]), output_processors=[Polite()], max_processor_retries=1)
    await watched.turn(agent)
    assert watched.lines[:3] == ["Go.", "✗ sent back by polite: say please", "Go, please."]
    assert not any("changed" in line for line in watched.lines)


async def test_an_answer_that_is_changed_at_its_end() -> None:
    """Where a processor changes the whole answer, the reader is told so and sees how it reads now."""

    class Closing(Processor):
        id = "closing"

        def process_output_result(self, ctx: Any) -> None:
            ctx.messages[-1].text = "Goodbye."

    watched = Watched()
    await watched.turn(Agent("bot", model=FakeModel("Hello."), output_processors=[Closing()]))
    assert watched.lines == ["Hello.", "a processor has changed the answer. It is now:", "Goodbye."]


async def test_a_guard_of_the_stream() -> None:
    """What a guard hides in a stream is never shown, and that it did is told once."""
    watched = Watched()
    guard = PIIDetector(redaction="placeholder")
    await watched.turn(Agent("bot", model=FakeModel(say("Ask eva@", "example.net.")), output_processors=[guard]))
    assert watched.lines[0] == "Ask [EMAIL]."
    assert watched.lines[1].startswith("! pii-detector: modified in process_output_stream: ")
    assert not any("eva" in line for line in watched.lines)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply("cut", finish="length"), "! the answer was cut off: it reached its longest length"),
        (Reply("no", finish="content-filter"), "! the provider's filter ended the answer"),
        (Reply("x", warnings=[{"type": "other", "message": "no such voice"}]), "! other: no such voice"),
        (
            Reply("x", warnings=[{"type": "unsupported-setting", "setting": "seed", "details": "unknown"}]),
            "! seed: unknown",
        ),
    ],
)
async def test_remarks(reply: Reply, told: str) -> None:
    """An odd end is told, and so is each thing that a provider did not do."""
    watched = Watched()
    await watched.turn(Agent("bot", model=FakeModel(reply)))
    assert watched.lines[-1] == told


async def test_a_warning_is_shown_once() -> None:
    """What a provider says with every call is said once in a chat."""
    watched = Watched()
    reply = Reply("x", warnings=[{"type": "other", "message": "no such voice"}])
    agent = Agent("bot", model=FakeModel(reply, repeat_last=True))
    await watched.turn(agent)
    await watched.turn(agent)
    assert watched.lines == ["x", "! other: no such voice", "x"]


async def test_a_failure_is_raised_and_has_cost() -> None:
    """A model's failure is the caller's to tell; what was said before it, and what it cost, is known."""
    watched = Watched()
    turn = Turn(watched.screen, set())
    model = FakeModel([say("Half. ") + call_tool("weather", {"city": "x"}), fail("overloaded")])
    with pytest.raises(ModelError):
        await turn.show(Agent("bot", model=model, tools=[weather]).stream("Hi"))
    assert watched.lines[0] == "Half."
    assert turn.cost.total == 15


async def test_an_answer_that_is_stopped() -> None:
    """A stopped answer ends its line and says that it was."""
    watched, signal = Watched(), AbortSignal()

    def stop(chunk: Any) -> None:
        if getattr(chunk, "text", "") == "two":
            signal.abort()

    model = FakeModel(say("one ", "two", " three"))
    await watched.turn(Agent("bot", model=model), abort_signal=signal, on_chunk=stop)
    assert watched.lines == ["one two", "✗ stopped"]


async def test_what_a_model_names_besides() -> None:
    """Sources and files are named."""

    class Naming:
        id = "naming"

        async def stream(self, request: Any) -> AsyncGenerator[Chunk, None]:
            yield SourceChunk("s-1", url="https://example.org/a", title="A page")
            yield FileChunk("aGk=", "image/png")
            async for chunk in FakeModel("Seen.").stream(request):
                yield chunk

    watched = Watched()
    await watched.turn(Agent("bot", model=Naming()))
    assert watched.lines == ["← source: A page https://example.org/a", "← a file: image/png", "Seen."]


async def test_without_unicode() -> None:
    """Where a terminal knows ASCII alone, marks are ASCII and other letters question marks."""
    raw = BytesIO()
    console = Console(file=TextIOWrapper(raw, "ascii"), width=60)
    turn = Turn(Screen(console, console, live=True), set())
    model = FakeModel([call_tool("weather", {"city": "Ålesund"}), "Ça va."])
    await turn.show(Agent("bot", model=model, tools=[weather]).stream("Hi"))
    shown = raw.getvalue().decode("ascii").splitlines()
    assert shown == ['-> weather {"city": "?lesund"}', '<- weather "rain in ?lesund"', "?a va."]


def test_values_that_json_cannot_say() -> None:
    """Whatever a tool gives can be shown."""
    loop: list[Any] = []
    loop.append(loop)
    assert as_json(loop) == "<list>"
    assert as_json({1: b"x"}) == '{"1": "b\'x\'"}'
    assert as_json({(1, 2): 3}) == "<dict>"
