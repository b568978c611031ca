"""The Studio's frame and lists, in a real browser."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import Browser, expect
from tests.studio import demo
from tests.studio.browser import Studio, serving

from procession.server.app import App

pytestmark = pytest.mark.browser


@pytest.fixture
async def studio(browser: Browser) -> AsyncGenerator[Studio]:
    """Serve the demo."""
    app = App(agents=[demo.support(), demo.parrot()], workflows=[demo.orders, demo.race])
    async with serving(app, browser) as shown:
        yield shown


async def test_an_agent_with_processors_appears_by_itself(studio: Studio) -> None:
    """Processor lists of an agent are listed without any code for it, labelled by list and hook."""
    async with studio.look("#/workflows") as looking:
        row = looking.page.get_by_role("listitem").filter(has_text="support-input-processor")
        await expect(row).to_contain_text("input processors")
        await expect(looking.page.get_by_role("link", name="orders")).to_be_visible()


async def test_no_serious_finding(studio: Studio) -> None:
    """axe-core finds nothing serious on any page, in either theme."""
    async with studio.look() as looking:
        for address in (
            "workflows",
            "workflows/orders",
            "workflows/orders?tab=stats",
            "agents",
            "agents/support",
            "runs",
            "nowhere",
        ):
            await looking.go(f"#/{address}")
            await looking.page.wait_for_load_state("networkidle")
            assert await looking.serious_in_both_themes() == []


async def test_first_paint_within_a_second(studio: Studio) -> None:
    """The first contentful paint comes in less than a second."""
    async with studio.look("#/workflows") as looking:
        painted = await looking.page.evaluate(
            "() => performance.getEntriesByName('first-contentful-paint').map((each) => each.startTime)"
        )
    assert painted and painted[0] < 1_000


async def test_all_of_it_by_keyboard(studio: Studio) -> None:
    """From the address alone, with Tab and Enter: to a workflow, into its graph, to a node's details, and back."""
    async with studio.look("#/workflows") as looking:
        page = looking.page
        await page.keyboard.press("Tab")
        await expect(page.get_by_text("Skip to the page")).to_be_focused()
        await page.get_by_role("link", name="orders").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="orders")).to_be_visible()
        await page.locator('[data-key="@start"]').focus()
        await page.keyboard.press("ArrowDown")
        await expect(page.locator('[data-key="fetch"]')).to_be_focused()
        await page.keyboard.press("Enter")
        details = page.get_by_role("complementary", name="Details of fetch")
        await expect(details).to_be_visible()
        await page.locator('[data-key="fetch"]').focus()
        for _ in range(2):
            await page.keyboard.press("ArrowDown")
        await expect(page.locator('[data-key="costs"]')).to_be_focused()
        await page.keyboard.press(" ")
        await expect(page.locator('[data-key="costs/tax"]')).to_be_visible()
        await page.keyboard.press("0")
        await page.keyboard.press("+")


async def test_the_theme_is_kept(studio: Studio) -> None:
    """The theme that was chosen is that of the next visit."""
    async with studio.look("#/workflows", color_scheme="light") as looking:
        page = looking.page
        for _ in range(2):
            await page.get_by_role("button", name="Theme").click()
        await page.reload()
        await expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
        assert await page.evaluate("() => document.documentElement.dataset.theme") == "dark"
