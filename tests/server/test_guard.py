"""Who may ask a server, and from where (SEC-004)."""

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.server.live import live

from procession.agents.agent import Agent
from procession.errors import DefinitionError
from procession.server.app import App
from procession.server.serving import check_bound
from procession.testing.fake_model import FakeModel

PAGES = ("/api/agents", "/api/info", "/healthz", "/studio/", "/openapi.json", "/v1/models", "/nowhere")
ASK = "/api/agents/parrot/generate"


def app(**options: Any) -> App:
    """Return an app with one agent that answers a few times."""
    return App(agents=[Agent("parrot", model=FakeModel(["Hello!"] * 9))], **options)


async def test_a_foreign_host_is_refused() -> None:
    """SEC-004: whoever names another host than one of this machine, such as a name bound anew to it, gets 421 anywhere."""
    async with live(app()) as server:
        for page in PAGES:
            for host in (
                "evil.example",
                "evil.example:80",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "10.0.0.1",
            ):
                answer = await server.client.get(page, headers={"Host": host})
                assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong-host"), (page, host)
        for host in ("localhost", f"LOCALHOST:{server.port}", "127.0.0.1", "[::1]:8000"):
            assert (await server.client.get("/healthz", headers={"Host": host})).status_code == 200, host


async def test_a_foreign_origin_is_refused() -> None:
    """SEC-004: a page of another origin, or of none, gets 403 for whatever it asks; one of the server's own does not."""
    async with live(app()) as server:
        own = f"http://127.0.0.1:{server.port}"
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", own + ".evil.example"):
            for method, page in (*(("GET", page) for page in PAGES), ("POST", ASK), ("OPTIONS", ASK)):
                answer = await server.client.request(method, page, headers={"Origin": origin}, json={"messages": "Hi"})
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong-origin"), (origin, page)
                assert "access-control-allow-origin" not in answer.headers
        assert (await server.client.post(ASK, headers={"Origin": own}, json={"messages": "Hi"})).status_code == 200


async def test_what_a_browser_says_of_its_page_counts() -> None:
    """SEC-004: a request that a browser marks as another site's is refused, unless a person followed a link."""
    async with live(app()) as server:
        for site in ("cross-site", "same-site"):
            headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            assert (await server.client.get("/api/agents", headers=headers)).status_code == 403
            headers["Sec-Fetch-Mode"] = "navigate"
            assert (await server.client.get("/healthz", headers=headers)).status_code == 200


async def test_a_change_needs_what_a_page_cannot_send_unasked() -> None:
    """SEC-004: what changes something says that it sends JSON, or has the header X-Procession; a form can do neither."""
    async with live(app()) as server:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = await server.client.post(ASK, content=b'{"messages":"Hi"}', headers={"Content-Type": kind})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross-site"), kind
        given = {"Content-Type": "text/plain", "X-Procession": "1"}
        assert (await server.client.post(ASK, content=b'{"messages":"Hi"}', headers=given)).status_code == 200


async def test_no_path_leads_out_of_the_bundle() -> None:
    """SEC-004: whatever stands in the path of a file, nothing outside of the Studio's pages is shown."""
    paths = (
        "/static/..%2f..%2fetc/passwd",
        "/studio/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "/studio/..%2fapp.py",
        "/studio/../app.py",
        "/studio//etc/passwd",
        "/studio/%2fetc/passwd",
        "/studio/%00",
        "/studio/..%5c..%5capp.py",
    )
    async with live(app()) as server:
        for path in paths:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            assert answer.startswith(b"HTTP/1.1 404"), path
            assert b"root:" not in answer and b"import" not in answer


async def test_there_is_no_websocket() -> None:
    """SEC-004: no page connects by a websocket, whatever its origin: there is none."""
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Origin": "https://evil.example",
    }
    async with live(app()) as server:
        for page in ("/", "/api/info", "/studio/"):
            assert (await server.client.get(page, headers=upgrade)).status_code == 403


def test_beyond_this_machine_a_token_is_needed() -> None:
    """SEC-004: the default is loopback; to listen anywhere else without a token is refused before anything listens."""
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org", ""):
        with pytest.raises(DefinitionError, match="no token"):
            check_bound(app(), host)
        check_bound(app(token="correct-horse"), host)
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.53"):
        check_bound(app(), host)


async def asked(served: Any, *, address: tuple[str, int | None] | None, **headers: str) -> httpx.Response:
    """Ask an ASGI application as if it had been reached at *address*."""

    async def reached(scope: Any, receive: Any, send: Any) -> None:
        await served({**scope, "server": address}, receive, send)

    transport = httpx.ASGITransport(reached)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get("/api/agents", headers=headers)


async def test_an_app_without_a_token_answers_this_machine_alone() -> None:
    """SEC-004: however an app came to listen to other machines, it refuses them without a token, proxies included."""
    elsewhere: list[Any] = [("10.1.2.3", 80), ("/run/app.sock", None), None]
    for address in elsewhere:
        answer = await asked(app(), address=address)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "token-needed")
        assert (await asked(app(token="correct-horse"), address=address)).status_code == 401
        assert (await asked(app(trusted=True), address=address)).status_code == 200
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        assert (await asked(app(), address=("127.0.0.1", 80), **{name: "203.0.113.9"})).status_code == 403
    assert (await asked(app(), address=("127.0.0.1", 80))).status_code == 200


async def test_hosts_and_origins_that_are_named_may_ask() -> None:
    """A host and an origin that the app names may ask, by a browser as well: the preflight says so."""
    named = app(hosts=["studio.example"], origins=["https://ops.example"])
    page = {"Host": "studio.example", "Origin": "https://ops.example", "Sec-Fetch-Site": "cross-site"}
    async with live(named) as server:
        before = await server.client.options(ASK, headers={**page, "Access-Control-Request-Method": "POST"})
        assert before.status_code == 204 and "X-Procession" in before.headers["access-control-allow-headers"]
        answer = await server.client.post(ASK, headers=page, json={"messages": "Hi"})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://ops.example"
        assert (await server.client.get("/healthz", headers={"Host": "other.example"})).status_code == 421


async def test_a_request_that_names_no_host_is_refused() -> None:
    """SEC-004: no host at all is none of the server's, also where it listens to an address that is no name."""
    for served in (app(), app(hosts=["::1", ""])):
        served.configure(hosts=["::1"])
        assert "" not in served.guard.hosts and "::1" in served.guard.hosts
        async with live(served) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 421")
            writer.close()


def test_values_are_not_shown_where_others_guard() -> None:
    """SEC-004: an app that leaves the guard to others shows no values as they are; with a token it may."""
    with pytest.raises(DefinitionError, match="redact=None"):
        app(trusted=True, redact=None)
    assert app(trusted=True, redact=None, token="correct-horse").redact is None


async def test_every_answer_says_what_a_page_may_do() -> None:
    """SEC-004: whatever is answered, no script but the server's own files may run in it, and nobody may frame it."""
    async with live(app()) as server:
        for page in PAGES:
            headers = (await server.client.get(page)).headers
            policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
            assert policy["script-src"] == "'self'" and policy["default-src"] == "'none'"
            assert policy["frame-ancestors"] == "'none'" and headers["x-content-type-options"] == "nosniff"


async def test_read_only_refuses_every_change() -> None:
    """A read-only server shows what there is, and refuses whatever changes something."""
    async with live(app(read_only=True)) as server:
        assert (await server.get("/api/info"))["read_only"] is True
        described = (await server.get("/openapi.json"))["paths"]
        changes = [(path, method) for path, one in described.items() for method in one if method != "get"]
        assert (ASK.replace("parrot", "{agent_id}"), "post") in changes
        for path, method in changes:
            answer = await server.client.request(method, path.replace("{agent_id}", "parrot"), json={"messages": "Hi"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read-only"), path


async def test_an_app_is_mounted_under_a_prefix() -> None:
    """Mounted in another application an app answers under its prefix, guarded as ever, while its block is entered."""
    mounted = app()
    outer = Starlette(routes=[Mount("/ai", app=mounted)], lifespan=lambda _: mounted.running())
    async with live(outer) as server:
        assert [each["id"] for each in await server.get("/ai/api/agents")] == ["parrot"]
        assert (await server.post("/ai" + ASK, {"messages": "Hi"}))["text"] == "Hello!"
        assert (await server.client.get("/ai/studio")).headers["location"] == "studio/"
        assert (await server.client.get("/ai/nowhere")).json()["error"]["code"] == "not-found"
        assert (await server.client.get("/ai/api/agents", headers={"Host": "evil.example"})).status_code == 421


def test_values_are_not_shown_of_a_trusted_app_by_the_command_line_either() -> None:
    """What shows values as they are needs a token where others guard, also when said after the app was made."""
    served = App(agents=[Agent("echo", model=FakeModel(["Hello."]))], trusted=True)
    with pytest.raises(DefinitionError, match="shows values as they are"):
        served.configure(show_values=True)
    assert served.redact is not None
    assert served.runs.redact is not None
    served.configure(show_values=True, token="a-token-of-its-own-0123456789abcdef")
    assert served.redact is None


async def test_a_host_that_is_no_name_is_refused() -> None:
    """SEC-004: what another reader of the header could take for another host names none of ours; an origin neither."""
    async with live(app()) as server:
        for host in (
            "x@localhost",
            "localhost/evil.example",
            "localhost?evil.example",
            "[::1].evil.example",
            "local\thost",
            "127.0.0.1:80:80",
            "localhost:80@evil.example",
            "[::1",
        ):
            assert (await server.client.get("/api/info", headers={"Host": host})).status_code == 421, host
        for host in ("localhost.", "localhost.:8000", "[::1]"):
            assert (await server.client.get("/api/info", headers={"Host": host})).status_code == 200, host
        for origin in ("http://[", "http://[evil.example]", "//127.0.0.1", ""):
            answer = await server.client.get("/api/info", headers={"Origin": origin})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong-origin"), origin
