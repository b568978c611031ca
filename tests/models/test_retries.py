"""Transport retries: what is tried again, how long is waited, and what is never said twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx
import pytest
import stamina
import structlog
import trio
from tests.models.wire import DONE, WireAnswer, delta, serving
from trio.testing import MockClock

from procession.errors import ModelError
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.recorder import record

ASK = ModelRequest(messages=())
GOOD = WireAnswer([delta("stop", content="Here I am."), DONE])
GOOD_BODY = {"choices": [{"message": {"content": "Here I am."}, "finish_reason": "stop"}]}


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Let retries follow each other at once."""
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


def busy(status: int = 503, **headers: str) -> WireAnswer:
    """Return a refusal that passes."""
    told = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return WireAnswer([b'{"error": {"message": "not now"}}'], status, (("content-type", "application/json"), *told))


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_failure_that_passes_is_not_seen(status: int) -> None:
    """A status that passes by itself costs a second request and nothing else."""
    async with serving(busy(status), GOOD) as server:
        recording = await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK))
    assert recording.text == "Here I am."
    assert len(server.heads) == 2
    assert server.bodies[0] == server.bodies[1]


@pytest.mark.usefixtures("no_waiting")
async def test_connection_that_drops_before_the_answer() -> None:
    """A server that hangs up without a word is asked again."""
    failures = iter([httpx.RemoteProtocolError("hung up"), httpx.ConnectError("refused")])

    def answer(request: httpx.Request) -> httpx.Response:
        for failure in failures:
            raise failure
        return httpx.Response(200, json=GOOD_BODY)

    model = OpenAIChatModel("m", base_url="http://test/v1", transport=httpx.MockTransport(answer))
    assert (await record(model.stream(ASK))).text == "Here I am."


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("options", "settings", "asked"),
    [
        ({}, {}, 3),
        ({"max_retries": 1}, {}, 2),
        ({}, {"max_retries": 0}, 1),
        ({"max_retries": 0}, {"max_retries": 3}, 4),
    ],
)
async def test_number_of_retries(options: dict[str, Any], settings: dict[str, Any], asked: int) -> None:
    """A model tries again twice unless it is told otherwise, and a call's setting wins over the model's."""
    async with serving(*[busy() for _ in range(9)]) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, **options)
        recording = await record(model.stream(ASK.replace(settings=settings)), catch=ModelError)
    assert isinstance(recording.error, ModelError)
    assert (recording.error.status_code, len(server.heads)) == (503, asked)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    "refusal",
    [
        busy(400),
        busy(401),
        busy(404),
        busy(422),
        busy(503, x_should_retry="false"),
        busy(429, retry_after="3600"),
    ],
)
async def test_failure_that_does_not_pass(refusal: WireAnswer) -> None:
    """What will be refused again, or not be answered for long, is told at once."""
    async with serving(refusal, GOOD) as server:
        recording = await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK), catch=ModelError)
    assert isinstance(recording.error, ModelError)
    assert len(server.heads) == 1


@pytest.mark.usefixtures("no_waiting")
async def test_nothing_is_said_twice() -> None:
    """An answer that breaks off after its first word is an error, and not begun anew (STR-018)."""
    async with serving(WireAnswer([delta(content="Hello wor"), "close"]), GOOD) as server:
        recording = await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK), catch=ModelError)
    assert recording.text == "Hello wor"
    assert isinstance(recording.error, ModelError)
    assert (recording.error.kind, len(server.heads)) == ("stream", 1)


def seconds_of(
    answer: Callable[[httpx.Request], httpx.Response], **settings: Any
) -> tuple[float, BaseException | None]:
    """Return how many seconds of trio's clock a call takes, which jumps where all wait, and what it fails with."""
    model = OpenAIChatModel("m", base_url="http://test/v1", transport=httpx.MockTransport(answer))

    async def main() -> tuple[float, BaseException | None]:
        begun = trio.current_time()
        recording = await record(model.stream(ASK.replace(settings=settings)), catch=ModelError)
        return trio.current_time() - begun, recording.error

    return trio.run(main, clock=MockClock(autojump_threshold=0))


def busy_once(**headers: str) -> Callable[[httpx.Request], httpx.Response]:
    """Return a server that is busy for the first request."""
    answers = iter([httpx.Response(503, headers=headers), httpx.Response(200, json=GOOD_BODY)])
    return lambda request: next(answers)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5, 1.5),
        ({"retry-after": "0"}, 0, 0),
        ({"retry-after": "a date"}, 1, 40),
        ({"retry-after": "soon"}, 0.5, 1.0),
        ({"retry-after": "-5"}, 0.5, 1.0),
        ({}, 0.5, 1.0),
    ],
)
def test_server_says_how_long_to_wait(headers: dict[str, str], least: float, most: float) -> None:
    """``Retry-After`` is kept to, in seconds, milliseconds or as a date; without it the first delay is half a second and chance."""
    if headers.get("retry-after") == "a date":  # as seen from now, and not from when the tests were collected
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
        headers = {"retry-after": date}
    waited, error = seconds_of(busy_once(**headers))
    assert error is None
    assert least <= waited <= most


def test_google_says_how_long_to_wait_in_the_body() -> None:
    """Google has no ``Retry-After``: the delay among the details of its error is kept to."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    error = {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED", "details": ["odd", {}, info]}
    answers = iter([httpx.Response(429, json={"error": error}), httpx.Response(200, json=GOOD_BODY)])
    waited, failed = seconds_of(lambda request: next(answers))
    assert (waited, failed) == (7.5, None)


def test_timeout_counts_the_waiting() -> None:
    """The setting ``timeout`` ends a call that waits to be made again."""
    waited, error = seconds_of(busy_once(**{"retry-after": "30"}), timeout=5)
    assert isinstance(error, ModelError)
    assert (error.kind, waited) == ("timeout", 5)


async def test_cancelling_ends_the_waiting() -> None:
    """Whoever is cancelled while a retry is waited for stops at once, and nothing is sent any more."""
    asked = 0
    refused = anyio.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        refused.set()
        return httpx.Response(503, headers={"retry-after": "50"})

    model = OpenAIChatModel("m", base_url="http://test/v1", transport=httpx.MockTransport(answer))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(record, model.stream(ASK))
            await refused.wait()
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert asked == 1


async def test_what_is_logged_of_a_retry(no_waiting: None) -> None:
    """What is logged of a retry says the kind and the status, and quotes neither the server nor the conversation."""
    seen: list[str] = []
    hooks = stamina.instrumentation.get_on_retry_hooks()
    stamina.instrumentation.set_on_retry_hooks([lambda details: seen.append(repr(details))])
    try:
        async with serving(busy(), GOOD) as server:
            await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK))
    finally:
        stamina.instrumentation.set_on_retry_hooks(hooks)
    assert len(seen) == 1
    assert "unavailable, status 503" in seen[0]
    assert "not now" not in seen[0]


async def test_retries_print_nothing(no_waiting: None, capfd: pytest.CaptureFixture[str]) -> None:
    """Where nobody has set up logging, a retry writes nothing: standard output is the program's."""
    async with serving(busy(), GOOD) as server:
        await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK))
    assert capfd.readouterr() == ("", "")


async def test_retries_are_logged_where_somebody_listens(no_waiting: None) -> None:
    """With structlog set up, each retry is one line of stamina's."""
    with structlog.testing.capture_logs() as lines:
        async with serving(busy(), busy(), GOOD) as server:
            await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK))
    assert [line["event"] for line in lines] == ["stamina.retry_scheduled"] * 2
