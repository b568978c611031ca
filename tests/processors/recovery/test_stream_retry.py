"""``StreamErrorRetry``: which failed calls are made again, how often, and after how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorDefinitionError
from procession.processors.recovery import stream_retry
from procession.processors.recovery.stream_retry import StreamErrorRetry, StreamErrorRetryProcessor, is_bad_request
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import Tool

both_ways = pytest.mark.parametrize("way", WAYS)
DOWN = fail("overloaded", status=503, retryable=True)
WEIRD = fail("weird", plain=True)


def always(error: BaseException) -> bool:
    """Match everything."""
    return True


async def calls(errors: list[Exception], way: str = "generate", **options: Any) -> int:
    """Return how many calls are made where the first ones fail with *errors*."""
    model = FakeModel([*errors, "ok"])
    await ask(Agent("parrot", model=model, error_processors=[StreamErrorRetry(**options)]), way)
    return len(model.requests)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the list of what is waited for, in seconds; nothing is."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(stream_retry, "sleep", sleep)
    return waited


@both_ways
@pytest.mark.parametrize(("retries", "made"), [(0, 1), (1, 2), (3, 3)])
async def test_a_retryable_error_is_tried_again(way: str, retries: int, made: int) -> None:
    """An error that is marked retryable is tried again *max_retries* times, once unless told."""
    assert await calls([DOWN, DOWN], way, max_retries=retries) == made
    assert await calls([DOWN, DOWN], way) == 2


@pytest.mark.parametrize(
    ("error", "made"),
    [
        (ModelError("x", kind="stream", provider_code="rate_limit_exceeded"), 2),
        (ModelError("x", kind="stream", body={"type": "error", "code": "server_error"}), 2),
        (ModelError("x", kind="stream", body={"error": {"type": "overloaded_error"}}), 2),
        (ModelError("It failed. You can retry your request.", kind="stream"), 2),
        (ModelError("x", kind="stream", provider_code="invalid_prompt"), 1),
        (ModelError("You can retry your request", status_code=400), 1),
        (fail("context length exceeded", status=400), 1),
        (WEIRD, 1),
    ],
)
async def test_what_may_pass(error: Exception, made: int) -> None:
    """What a stream ended with is tried again where its code or words say that it may pass; other errors are not."""
    assert await calls([error]) == made


@pytest.mark.parametrize(
    ("error", "made"),
    [
        (WEIRD, 2),
        (fail("too long", status=400), 2),
        (fail("who are you", status=401), 1),
        (fail("not you", status=403), 1),
        (ModelError("x", provider_code="invalid_api_key"), 1),
        (ModelError("x", body={"error": {"type": "permission_error"}}), 1),
    ],
)
async def test_unknown_errors(error: Exception, made: int) -> None:
    """With *retry_unknown_errors* every other error is tried again, but for those about who may call."""
    assert await calls([error], retry_unknown_errors=True) == made


@both_ways
async def test_matchers(way: str) -> None:
    """A matcher is a function, plain or async, or a rule with a count of its own, and is asked before all else."""

    async def later(error: BaseException) -> bool:
        return "weird" in str(error)

    def caused(error: BaseException) -> bool:
        return isinstance(error, RuntimeError)

    def never(error: BaseException) -> bool:
        return False

    assert await calls([WEIRD], way, matchers=[later]) == 2
    assert await calls([WEIRD], way, matchers=[caused]) == 2
    assert await calls([WEIRD], way, matchers=[never]) == 1
    assert await calls([WEIRD] * 3, way, matchers=[{"match": later, "max_retries": 2}]) == 3
    assert await calls([DOWN], way, matchers=[{"match": always, "max_retries": 0}]) == 1
    assert await calls([fail("no", status=400)], way, matchers=[is_bad_request]) == 2


@both_ways
async def test_its_count_is_its_own(way: str) -> None:
    """Retries of other handlers do not count, those of an earlier step neither; the run's budget holds."""
    other = at("process_api_error", lambda ctx: {"retry": "weird" in str(ctx.error)}, id="other")
    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=lambda args, ctx: "found")
    model = FakeModel([WEIRD, DOWN, say("a") + call_tool("lookup"), DOWN, "b"])
    agent = Agent("parrot", model=model, tools=[tool], error_processors=[other, StreamErrorRetry()])
    assert (await ask(agent, way)).result.text == "ab"
    limited = FakeModel(DOWN, repeat_last=True)
    agent = Agent(
        "parrot", model=limited, max_processor_retries=1,
        error_processors=[StreamErrorRetry(max_retries=5, matchers=[{"match": always}])],
    )  # fmt: skip
    assert (await ask(agent, way)).error is DOWN
    assert len(limited.requests) == 2


async def test_the_longer_wait_counts(waits: list[float]) -> None:
    """It waits *delay_ms*, or as long as the server asks within *max_retry_after_ms*, whichever is longer."""

    def limited(**headers: str) -> list[Exception]:
        return [ModelError("slow", status_code=429, retryable=True, headers=headers)]

    await calls([DOWN])
    assert waits == []
    await calls([DOWN], delay_ms=250)
    await calls(limited(**{"Retry-After": "2"}), delay_ms=250)
    await calls(limited(**{"retry-after": "0.1"}), delay_ms=250)
    await calls(limited(**{"retry-after": "3600"}))
    await calls(limited(**{"retry-after-ms": "1500", "retry-after": "9"}), max_retry_after_ms=2000)
    await calls(limited(**{"retry-after": "3600"}), max_retry_after_ms=0, delay_ms=10)
    await calls(limited(**{"retry-after": "soon"}), delay_ms=20)
    await calls(limited(**{"retry-after": "Thu, 01 Jan 2026 00:00:00 +99999999999999"}), delay_ms=20)
    assert waits == [0.25, 2.0, 0.25, 30.0, 1.5, 0.01, 0.02, 0.02]


async def test_the_server_may_give_a_date(waits: list[float]) -> None:
    """``Retry-After`` as a date is understood; one that is over is no wait."""
    for minutes in (10, -10):
        when = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
        await calls([ModelError("slow", retryable=True, headers={"Retry-After": when})], max_retry_after_ms=60_000)
    assert waits == [60.0]


async def test_waits_may_be_computed(waits: list[float]) -> None:
    """*delay_ms* may be a function, plain or async, of the error and of the retries so far; a rule has its own."""

    async def growing(error: ModelError, retries: int) -> float:
        return 100.0 * (1 << retries)

    def seven(error: ModelError, retries: int) -> float:
        return 7

    await calls([DOWN, DOWN, DOWN], max_retries=3, delay_ms=growing)
    await calls([DOWN], delay_ms=5, matchers=[{"match": always, "delay_ms": seven}])
    assert waits == [0.1, 0.2, 0.4, 0.007]


async def test_a_rule_tells_of_its_retries() -> None:
    """``on_retry`` is told of the error and the number of the retry before it is made."""
    told: list[tuple[str, int]] = []

    async def tell(error: ModelError, number: int) -> None:
        told.append((error.message, number))

    rule: Any = {"match": always, "max_retries": 2, "on_retry": tell}
    assert await calls([DOWN, WEIRD, DOWN], matchers=[rule]) == 3
    assert told == [("overloaded", 1), ("weird", 2)]


async def test_a_wait_can_be_aborted() -> None:
    """Leaving the stream ends the wait at once, and with it the run."""
    model = FakeModel([DOWN, "ok"])
    waiting = anyio.Event()

    def forever(error: ModelError, retries: int) -> float:
        waiting.set()
        return 3_600_000

    agent = Agent("parrot", model=model, error_processors=[StreamErrorRetry(delay_ms=forever)])
    async with agent.stream("Hi"):
        await waiting.wait()
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"max_retries": -1},
        {"max_retries": True},
        {"max_retries": 1.5},
        {"delay_ms": -1},
        {"delay_ms": "1s"},
        {"max_retry_after_ms": float("nan")},
        {"matchers": ["socket"]},
        {"matchers": [{"max_retries": 2}]},
        {"matchers": [{"match": is_bad_request, "retries": 2}]},
        {"matchers": [{"match": is_bad_request, "max_retries": -2}]},
        {"matchers": [{"match": is_bad_request, "delay_ms": None}]},
        {"matchers": [{"match": is_bad_request, "on_retry": 3}]},
        {"delay_ms": float("inf")},
        {"matchers": is_bad_request},
    ],
)
def test_options_that_mean_nothing(options: Any) -> None:
    """Options of another shape are refused when the processor is made."""
    with pytest.raises(ProcessorDefinitionError):
        StreamErrorRetry(**options)


def test_the_documents_name() -> None:
    """The processor is also known under the documents' name."""
    assert StreamErrorRetryProcessor is StreamErrorRetry
