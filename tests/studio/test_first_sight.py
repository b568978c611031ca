"""What a person sees of a page without touching it: what matters is in sight, and says what it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.studio import demo
from tests.studio.browser import Studio, serving

from procession import StepContext, create_workflow, step
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.storage.memory_journal import InMemoryJournal

pytestmark = pytest.mark.browser

_BEFORE = 20


@step
def one_on(ctx: StepContext[int]) -> int:
    return ctx.input + 1


def _long() -> Any:
    """Return a workflow that waits for an answer at the end of a long chain."""
    made: Any = create_workflow("long", int)
    for number in range(_BEFORE):
        made = made.then(one_on.renamed(f"step-{number}"))
    return made.then(demo.approve).then(demo.order).commit()


@pytest.fixture
async def studio(browser: Browser) -> AsyncGenerator[Studio]:
    """Serve runs that wait, blocked and ended well."""
    app = App(agents=[demo.support()], workflows=[_long(), demo.purchase], runtime=Runtime(InMemoryJournal()))
    async with serving(app, browser) as shown:
        post = shown.server.post
        await post("/api/workflows/long/runs", {"input": 1, "run_id": "long-1", "wait": True})
        await post("/api/workflows/purchase/runs", {"input": 1000, "run_id": "purchase-1", "wait": True})
        await post("/api/agents/support/generate", {"messages": "Where is order 20240117?", "run_id": "support-1"})
        await post("/api/agents/support/generate", {"messages": "WHERE IS MY ORDER", "run_id": "support-2"})
        yield shown


async def test_a_long_graph_begins_at_what_the_run_waits_for(studio: Studio) -> None:
    """Nobody has to look for the step that waits, however many ran before it."""
    async with studio.look("#/runs/long-1") as looking:
        await expect(looking.page.locator('[data-key="approve"]')).to_be_in_viewport()
        await expect(looking.page.locator('[data-key="start"]')).not_to_be_in_viewport()


async def test_a_blocked_run_shows_who_blocked_it(studio: Studio) -> None:
    """The workflow in which somebody blocked is open, and who it was is in sight."""
    async with studio.look("#/runs/support-2") as looking:
        blocked = looking.page.locator('[data-key="process_input/guards/processor:no-shouting"]')
        await expect(blocked).to_be_in_viewport()
        await expect(blocked).to_contain_text("■ blocked")


async def test_a_question_says_what_it_is_about_and_what_no_tick_means(studio: Studio) -> None:
    """An answer of yes or no says which of them it is, before and after it is ticked."""
    async with studio.look("#/runs/purchase-1") as looking:
        panel = looking.page.get_by_role("region", name="Questions of this run")
        await expect(panel).to_contain_text("It asks about")
        answer = panel.get_by_label("Answer", exact=True)
        await expect(panel.locator(".field")).to_have_text("Answerno")
        await answer.check()
        await expect(panel.locator(".field")).to_have_text("Answeryes")


async def test_the_window_itself_is_not_scrolled(studio: Studio) -> None:
    """The navigation stays where it is: only the page inside of the window is longer than it."""
    async with studio.look("#/compare/runs?a=support-1&b=support-2") as looking:
        await looking.page.get_by_role("heading", name="As a whole").wait_for()
        over = await looking.page.evaluate("() => document.documentElement.scrollHeight - window.innerHeight")
        assert over <= 0
