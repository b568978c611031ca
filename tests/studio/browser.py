"""A real Chromium at the real Studio: built by `make studio`, served by uvicorn on loopback."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from playwright.async_api import Browser, Page, Request, async_playwright
from tests.server.live import Live, live

from procession.server import studio as studio_files

if TYPE_CHECKING:
    from procession.server.app import App

__all__ = ["AXE", "Looking", "Studio", "anyio_backend", "browser", "serving"]

AXE = Path(__file__).parents[2] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
# What a page is not to do, seen from inside of it.
_WATCH = """
window.seen = {dialogs: 0, refused: [], long: []};
window.alert = window.confirm = window.prompt = () => { window.seen.dialogs += 1; };
document.addEventListener("securitypolicyviolation", (event) => window.seen.refused.push(event.violatedDirective));
new PerformanceObserver((list) => { for (const task of list.getEntries()) window.seen.long.push(task.duration); })
    .observe({type: "longtask", buffered: true});
"""


class Looking:
    """A page of the Studio, and what it should never do, which is looked at when it is closed."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.faults: list[str] = []
        """Errors of the page and of its console, and requests to other hosts."""
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda told: self.faults.append(f"console: {told.text}") if told.type == "error" else None)
        page.on("request", self._asked)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.base, "blob:", "data:")):
            self.faults.append(f"request: {request.url}")

    async def go(self, address: str) -> None:
        """Open a page by its hash."""
        await self.page.goto(f"{self.base}/studio/{address}")
        await self.page.locator("main h1, main .empty, main .problem").first.wait_for()

    async def serious(self) -> list[str]:
        """Return what axe-core finds that is serious or critical."""
        if not await self.page.evaluate("() => 'axe' in window"):
            await self.page.evaluate(
                AXE.read_text(encoding="utf-8")
            )  # not as a script of the page: its CSP allows none
        found = await self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    async def serious_in_both_themes(self) -> list[str]:
        """Return what is serious in the light or in the dark."""
        found: list[str] = []
        for theme in ("light", "dark"):
            await self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            found += [f"{theme}: {one}" for one in await self.serious()]
        return found

    async def seen(self) -> dict[str, Any]:
        """Return what the page has noted of itself: dialogs, refusals of the CSP, long tasks in milliseconds."""
        noted: dict[str, Any] = await self.page.evaluate("() => window.seen")
        return noted


class Studio:
    """A browser at a server."""

    def __init__(self, server: Live, browser: Browser) -> None:
        self.server = server
        self.browser = browser

    @asynccontextmanager
    async def look(
        self, address: str = "#/workflows", *, complaints: tuple[str, ...] = (), **options: Any
    ) -> AsyncGenerator[Looking]:
        """
        Open a page in a context of its own; at its end it must have done nothing that it should not.

        *complaints* are parts of what the console may say all the same.
        """
        given: dict[str, Any] = {"viewport": {"width": 1360, "height": 860}, "reduced_motion": "reduce", **options}
        context = await self.browser.new_context(**given)
        try:
            await context.add_init_script(_WATCH)
            page = await context.new_page()
            page.set_default_timeout(15_000)
            looking = Looking(page, self.server.url)
            await looking.go(address)
            yield looking
            noted = await looking.seen()
            faults = [each for each in looking.faults if not any(part in each for part in complaints)]
            assert not faults and not noted["dialogs"] and not noted["refused"], (faults, noted)
        finally:
            await context.close()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Run the tests on asyncio alone, as uvicorn and Playwright do."""
    return "asyncio"


@pytest.fixture(scope="module")
async def browser() -> AsyncGenerator[Browser]:
    """One Chromium for the tests of a module."""
    if not (studio_files.STATIC / "index.html").is_file():
        pytest.skip("the Studio is not built: make studio")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    async with async_playwright() as playwright:
        if found is None and not await anyio.Path(playwright.chromium.executable_path).exists():
            pytest.skip("there is no Chromium: apt-get install chromium, or: python -m playwright install chromium")
        started = await playwright.chromium.launch(executable_path=found, args=_ARGS)
        try:
            yield started
        finally:
            await started.close()


@asynccontextmanager
async def serving(app: App | Any, browser: Browser) -> AsyncGenerator[Studio]:
    """Serve *app* while a block runs, and look at it with *browser*."""
    async with live(app) as server:
        yield Studio(server, browser)
