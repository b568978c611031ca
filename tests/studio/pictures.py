"""
The pictures of the docs, taken anew: ``python -m tests.studio.pictures``, after ``make studio``; with names, those alone.

Each is taken of the real page, in light and in dark, and is to be looked at before it is kept.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from playwright.async_api import Page, async_playwright
from tests.server.live import Live, live
from tests.studio import acting, demo

from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.storage.memory_journal import InMemoryJournal

PICTURES = Path(__file__).parents[2] / "docs" / "pictures" / "studio"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


async def nothing(page: Page) -> None:
    """Take the page as it comes."""


async def talk(page: Page) -> None:
    """Ask, and open what the stream's processors did."""
    await page.get_by_label("Message").fill("Where is order 7654321?")
    await page.keyboard.press("Enter")
    button = page.get_by_role("button", name="output stream")
    await button.filter(has_text="changed").click()


async def ask_for_money(page: Page) -> None:
    """Ask for what needs an approval."""
    await page.get_by_label("Message").fill("Pay order 7 back")
    await page.keyboard.press("Enter")
    await page.get_by_role("region", name="Questions").wait_for()


async def scrub(page: Page) -> None:
    """Go some chunks on."""
    await page.get_by_role("slider").focus()
    for _ in range(4):
        await page.keyboard.press("ArrowRight")


async def make_test(page: Page) -> None:
    """Open the test of a run."""
    await page.get_by_role("button", name="Save as test").click()
    await page.get_by_label("Where your code has it").fill("shop:app")
    await page.get_by_role("button", name="Make the test").click()
    await page.get_by_role("button", name="Download test_run").first.wait_for()


async def fork(page: Page) -> None:
    """Open the form of a fork."""
    await page.get_by_role("button", name="Run again from here…").click()
    await page.get_by_label("Change").select_option("input")


def opening(bundle: Path) -> Callable[[Page], Awaitable[None]]:
    """Open a bundle."""

    async def choose(page: Page) -> None:
        await page.get_by_label("File of a run").set_input_files(bundle)

    return choose


async def prepared(server: Live, folder: Path) -> Mapping[str, tuple[str, Callable[[Page], Awaitable[None]]]]:
    """Make the runs that are shown, and return the address of each picture and what is done there."""
    post, get = server.post, server.get
    await post("/api/workflows/orders/runs", {"input": {"customer": "Ann"}, "run_id": "orders-1", "wait": True})
    await post("/api/workflows/race/runs", {"input": 1, "run_id": "race-1", "wait": True})
    await post("/api/agents/support/generate", {"messages": "Where is order 20240117?", "run_id": "support-1"})
    await post("/api/agents/support/generate", {"messages": "WHERE IS MY ORDER", "run_id": "support-2"})
    for run_id, pieces in (("ordering-1", 2), ("ordering-2", 3)):
        order = {"name": "Eva", "pieces": pieces}
        await post("/api/workflows/ordering/runs", {"input": order, "run_id": run_id, "wait": True})
    await post("/api/runs/ordering-1/fork", {"step": "label", "input": 77})
    await post("/api/workflows/buying/runs", {"input": 40, "run_id": "buying-1", "wait": True})
    bundle = folder / "orders-1.json"
    bundle.write_text(json.dumps(await get("/api/runs/orders-1/bundle")))
    guard = "process_input/guards/processor:hide-numbers"
    return {
        "workflows": ("#/workflows", nothing),
        "workflow": ("#/workflows/support", nothing),
        "workflow-times": ("#/workflows/orders?tab=stats", nothing),
        "agents": ("#/agents", nothing),
        "agent": ("#/agents/support", nothing),
        "chat": ("#/agents/support/chat", talk),
        "chat-approval": ("#/agents/clerk/chat", ask_for_money),
        "form": ("#/workflows/ordering?tab=run", nothing),
        "hook-form": ("#/workflows/support-output-processor?tab=run", nothing),
        "runs": ("#/runs", nothing),
        "run-graph": ("#/runs/orders-1", nothing),
        "run-difference": (f"#/runs/support-1?node={guard}", nothing),
        "run-timeline": ("#/runs/race-1?tab=timeline", nothing),
        "run-events": ("#/runs/orders-1?tab=events", nothing),
        "run-outcome": ("#/runs/support-2?tab=outcome", nothing),
        "suspended": ("#/runs/buying-1", nothing),
        "fork": ("#/runs/ordering-1?tab=graph&node=label", fork),
        "forks": ("#/runs/ordering-1?tab=forks", nothing),
        "scrubber": ("#/runs/support-1?tab=stream", scrub),
        "compare-runs": ("#/compare/runs?a=ordering-1&b=ordering-2", nothing),
        "compare-graphs": ("#/compare/graphs?a=ordering&b=relabelled", nothing),
        "save-test": ("#/runs/ordering-1", make_test),
        "open": ("#/open", opening(bundle)),
    }


def app() -> App:
    """All that is shown, in one app."""
    acted = acting.app()
    workflows = [demo.orders, demo.race, demo.buying, acted.workflows["ordering"], acted.workflows["relabelled"]]
    agents: list[Any] = [acted.agents["support"], acting.paying(), demo.parrot()]
    return App(agents=agents, workflows=workflows, runtime=Runtime(InMemoryJournal()))


async def take(names: list[str]) -> None:
    """Take the pictures of these *names*, or all of them."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with live(app()) as server, async_playwright() as playwright:
            wanted = await prepared(server, Path(folder))
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
            for theme in ("light", "dark"):
                for name in names or wanted:
                    address, act = wanted[name]
                    context = await browser.new_context(
                        viewport={"width": 1360, "height": 860},
                        reduced_motion="reduce",
                        color_scheme="dark" if theme == "dark" else "light",
                        locale="en-GB",
                    )
                    page = await context.new_page()
                    await page.goto(f"{server.url}/studio/{address}")
                    await page.locator("main h1").first.wait_for()
                    await page.wait_for_load_state("networkidle")
                    await act(page)
                    await page.wait_for_timeout(600)  # a person looks at a page that has come to rest
                    await page.screenshot(path=PICTURES / f"{name}-{theme}.png")
                    await context.close()
                    sys.stderr.write(f"{name} {theme}\n")
            await browser.close()


if __name__ == "__main__":
    anyio.run(take, sys.argv[1:])
