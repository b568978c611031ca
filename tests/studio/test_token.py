"""The token: asked for once, kept until the tab is closed, sent in a header only."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Request, expect
from tests.studio import demo
from tests.studio.browser import serving

from procession.server.app import App

pytestmark = pytest.mark.browser


async def test_the_token_is_typed_once_and_sent_in_a_header(browser: Browser) -> None:
    """Without the token nothing is shown; with it all is, also after a reload; no address and no storage that stays has it."""
    app = App(workflows=[demo.race], token="correct-horse")
    async with serving(app, browser) as studio, studio.look(complaints=("401",)) as looking:
        page = looking.page
        asked: list[Request] = []
        page.on("request", lambda request: asked.append(request))  # it marks what it is given
        dialog = page.get_by_role("dialog", name="This server wants a token")
        await expect(dialog).to_be_visible()
        assert await looking.serious() == []
        await dialog.get_by_label("Token", exact=True).fill("wrong")
        await page.keyboard.press("Enter")
        await expect(dialog).to_contain_text("did not accept")
        await dialog.get_by_label("Token", exact=True).fill("correct-horse")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name="race")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("link", name="race")).to_be_visible()
        assert not [each.url for each in asked if "correct-horse" in each.url]
        assert "correct-horse" not in await page.evaluate("() => JSON.stringify(localStorage) + document.cookie")


async def test_what_may_not_be_done_is_said(browser: Browser) -> None:
    """A server that is read-only says so on each page."""
    app = App(workflows=[demo.race], read_only=True)
    async with serving(app, browser) as studio, studio.look() as looking:
        await expect(looking.page.get_by_text("Read-only: nothing can be started or changed here.")).to_be_visible()
