"""The Studio's files: what is served at /studio, and to whom."""

from pathlib import Path

import pytest
from tests.server.live import live

from procession.agents.agent import Agent
from procession.server import studio
from procession.server.app import App
from procession.testing.fake_model import FakeModel


def app(token: str | None = None, *, shown: bool = True) -> App:
    """Return an app with one agent."""
    return App(agents=[Agent("parrot", model=FakeModel("Hello!"))], token=token, studio=shown)


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend that the Studio is built into a folder of the test's, with a file beside that nobody may see."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Studio</title>", encoding="utf-8")
    (folder / "assets" / "index-1a2b.js").write_text("export {};", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "way-out.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setattr(studio, "STATIC", folder)
    return folder


async def test_the_page_and_what_it_is_made_of() -> None:
    """The page is asked for anew each time; what has its content's hash in its name is kept by the browser."""
    async with live(app()) as server:
        page = await server.client.get("/studio", follow_redirects=True)
        script = await server.client.get("/studio/assets/index-1a2b.js")
    assert page.url.path == "/studio/" and page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-store"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe-inline" not in page.headers["content-security-policy"].partition("style-src")[0]
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in script.headers["cache-control"]


async def test_the_page_needs_no_token_for_it_holds_nothing() -> None:
    """A browser that opens an address can send no token: the page asks for it, and for the data with it."""
    async with live(app(token="correct-horse")) as server:
        assert (await server.client.get("/studio/")).status_code == 200
        assert (await server.client.get("/api/agents")).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/studio/../app.py", "/studio/%2e%2e/secret.txt", "/studio/..%2fsecret.txt", "/studio/assets/%2e%2e/%2e%2e/secret.txt",
        "/studio//etc/passwd", "/studio/assets", "/studio/nothing.js", "/studio/a%00b", "/studio/way-out.txt",
        "/studio/assets%5c..%5c..%5csecret.txt",
    ],
)  # fmt: skip
async def test_nothing_else_can_be_read_through_it(path: str) -> None:
    """No path leads out of the folder, by dots, by a link, or by another way of writing; each is told as not there."""
    async with live(app()) as server:
        answer = await server.client.get(path)
    assert answer.status_code == 404 and "secret" not in answer.text


async def test_not_built_says_how() -> None:
    """From sources that nobody has built the page says what to do; it does not pretend that all is well."""
    (studio.STATIC / "index.html").unlink()
    async with live(app()) as server:
        page = await server.client.get("/studio/")
    assert page.status_code == 503 and "make studio" in page.text


async def test_without_the_studio_there_is_no_page() -> None:
    """``App(studio=False)`` serves none of it."""
    async with live(app(shown=False)) as server:
        assert (await server.client.get("/studio/")).status_code == 404
        assert (await server.client.get("/studio")).status_code == 404
