"""Where a request goes, and what goes with it: redirects, proxies, cookies, certificates."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.models.raw_server import STREAM, RawServer, raw_server
from tests.models.wire import DONE, delta

from procession.errors import InputError, ModelError
from procession.models.http import close_connections
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
KEY = "sk-test-0123456789abcdef"
HELLO = STREAM + b"\r\n" + delta("stop", content="Hello") + DONE
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out of the environment what would send requests elsewhere."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def asked(base_url: str, **options: Any) -> Recording[Any]:
    """Return what comes of asking the model at an address, over connections of its own."""
    await close_connections()
    try:
        model = OpenAIChatModel("m", base_url=base_url, api_key=KEY, provider="local", max_retries=0, **options)
        return await record(model.stream(ASK), catch=(ModelError, InputError))
    finally:
        await close_connections()


async def ask_proxied(monkeypatch: pytest.MonkeyPatch, base_url: str, proxy: RawServer) -> Recording[Any]:
    """Return what comes of asking the model at an address through a proxy."""
    monkeypatch.setenv("HTTP_PROXY", proxy.origin)
    return await asked(base_url)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    """A redirect is an error that names its target; neither the key nor the question is sent there."""
    async with raw_server(HELLO) as elsewhere:
        told = f"HTTP/1.1 {status} Moved\r\nlocation: {elsewhere.base_url}/x?key={KEY}\r\ncontent-length: 0\r\n\r\n"
        async with raw_server(told.encode()) as server:
            error = (await asked(server.base_url)).error
        assert elsewhere.heads == []
    assert isinstance(error, ModelError)
    assert (error.kind, error.retryable, error.status_code) == ("rejected", False, status)
    assert f"{elsewhere.base_url}/x?key=[redacted]" in str(error)
    assert KEY not in f"{error!r} {error.headers} {error.body}"


async def test_redirect_to_nowhere() -> None:
    """A redirect without a target is the same error."""
    async with raw_server(b"HTTP/1.1 302 Found\r\n\r\n") as server:
        error = (await asked(server.base_url)).error
    assert isinstance(error, ModelError)
    assert "redirects are not followed" in str(error)


async def test_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """``HTTP_PROXY`` is asked in place of the server."""
    async with raw_server(HELLO) as proxy:
        recording = await ask_proxied(monkeypatch, "http://model.test/v1", proxy)
    assert recording.text == "Hello"
    assert proxy.heads[0].startswith("POST http://model.test/v1/chat/completions HTTP/1.1")


async def test_no_proxy_for_a_server_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that ``NO_PROXY`` names is asked itself."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    async with raw_server(HELLO) as proxy, raw_server(HELLO) as server:
        recording = await ask_proxied(monkeypatch, server.base_url, proxy)
    assert recording.text == "Hello"
    assert proxy.heads == []


async def test_key_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy on the way to an encrypted server is told where to, and not the key; that it refuses is an error."""
    async with raw_server(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.origin)
        error = (await asked("https://model.test/v1")).error
    assert isinstance(error, ModelError)
    assert (error.kind, proxy.heads[0].split("\r\n")[0]) == ("unavailable", "CONNECT model.test:443 HTTP/1.1")
    assert KEY not in "".join(proxy.heads)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTP_PROXY", "carrier-pigeon://coop"),
        ("HTTP_PROXY", "http://[::1"),
        ("ALL_PROXY", "socks5://127.0.0.1:1080"),
        ("SSL_CERT_FILE", __file__),
    ],
)
async def test_surroundings_that_cannot_be_used(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that is none, or a certificate file without certificates, is refused with the names to look at."""
    monkeypatch.setenv(variable, value)
    error = (await asked("https://127.0.0.1:1/v1")).error
    assert isinstance(error, InputError)
    assert variable in str(error)
    assert "http2" not in str(error)


async def test_certificates_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another event loop, or connections that were closed, do not read again whom to trust."""
    made: list[object] = []
    create = httpx.create_ssl_context

    def noting() -> object:
        made.append(1)
        return create()

    monkeypatch.setattr(httpx, "create_ssl_context", noting)
    async with raw_server(HELLO) as server:
        for _ in range(3):
            assert (await asked(server.base_url)).text == "Hello"
    assert len(made) <= 1


async def test_cookies_are_not_kept() -> None:
    """A cookie that a server sets is not sent with the next call, which may be another user's."""
    answer = HELLO.replace(b"\r\n", b"\r\nset-cookie: session=secret; Path=/\r\n", 1)
    async with raw_server(answer) as server:
        for key in ("one", "two"):
            model = OpenAIChatModel("m", base_url=server.base_url, api_key=key, provider="local", max_retries=0)
            await record(model.stream(ASK))
    assert "cookie" not in "".join(server.heads).lower()
    assert [head.partition("Bearer ")[2][:3] for head in server.heads] == ["one", "two"]


async def test_compression_that_is_asked_for() -> None:
    """Only gzip is asked for, whatever else is installed."""
    async with raw_server(HELLO) as server:
        await asked(server.base_url)
    assert "accept-encoding: gzip\r\n" in server.heads[0].lower() + "\r\n"


async def test_certificate_that_nobody_vouches_for() -> None:
    """A server that does not speak TLS, though asked to, is no server."""
    async with raw_server(HELLO) as server:
        error = (await asked(server.base_url.replace("http:", "https:"))).error
    assert isinstance(error, ModelError)
    assert (error.kind, error.retryable) == ("unavailable", True)
    assert isinstance(error.__cause__, httpx.ConnectError)
