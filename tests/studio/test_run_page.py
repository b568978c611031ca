"""The page of a run, in a real browser: its graph, its panels, its timeline, its events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from tests.studio import demo
from tests.studio.browser import Studio, serving

from procession.server.app import App

pytestmark = pytest.mark.browser


@pytest.fixture
async def studio(browser: Browser) -> AsyncGenerator[Studio]:
    """Serve the demo, after a run of each kind."""
    app = App(agents=[demo.support()], workflows=[demo.orders, demo.race])
    async with serving(app, browser) as shown:
        post = shown.server.post
        await post("/api/workflows/orders/runs", {"input": {"customer": "Ann"}, "run_id": "orders-1", "wait": True})
        await post("/api/workflows/race/runs", {"input": 1, "run_id": "race-1", "wait": True})
        await post("/api/agents/support/generate", {"messages": "Where is order 20240117?", "run_id": "support-1"})
        await post("/api/agents/support/generate", {"messages": "WHERE IS MY ORDER", "run_id": "support-2"})
        yield shown


async def test_the_graph_says_what_became_of_each_node(studio: Studio) -> None:
    """Nodes have sign and word of their status, the arm that was not taken is grey, and each condition has its answer."""
    async with studio.look("#/runs/orders-1") as looking:
        page = looking.page
        await expect(page.locator('[data-key="look_up"]')).to_contain_text("✓ success")
        await expect(page.locator('[data-key="look_up"]')).to_contain_text("2 attempts")
        await expect(page.locator('[data-key="dear"]')).to_contain_text("– skipped")
        await expect(page.locator('[data-key="check_item@foreach"]')).to_contain_text("12 of 12")
        await expect(page.locator('[data-key="double"]')).to_contain_text("×3")
        labels = await page.locator(".gedge.is-off").all_text_contents()
        assert any("len(value) > 5 → false" in label for label in labels)
        taken = await page.locator(".gedge.is-taken").all_text_contents()
        assert any("len(value) <= 5 → true" in label for label in taken)


async def test_a_redaction_is_seen_as_a_difference(studio: Studio) -> None:
    """The panel of a processor shows what it made of the message: what went struck through, what came underlined."""
    async with studio.look("#/runs/support-1?node=process_input/guards/processor:hide-numbers") as looking:
        panel = looking.page.get_by_role("complementary")
        # The number is masked before it leaves the server; what the processor wrote in its place is not.
        await expect(panel.locator("ins")).to_contain_text("[order]")
        await expect(panel.locator("del")).not_to_be_empty()
        await expect(panel).to_contain_text("± changed")


async def test_what_a_processor_did_to_the_stream(studio: Studio) -> None:
    """The panel of a processor of the stream shows the text before and after, and each chunk that it changed."""
    path = "step[0]/process_output_stream/processor:calm"
    async with studio.look(f"#/runs/support-1?node={path}") as looking:
        panel = looking.page.get_by_role("complementary")
        await expect(panel.locator("del").first).to_contain_text("!")
        await expect(panel.locator("ins").first).to_contain_text(".")


async def test_tokens_and_costs_are_laid_over_the_graph(studio: Studio) -> None:
    """The overlay says what each node used; a price that nobody knows is said to be unknown, and is not nothing."""
    async with studio.look("#/runs/support-1") as looking:
        model = looking.page.locator('[data-key="step/model-call"]')
        await looking.page.get_by_label("Show").select_option("tokens")
        await expect(model).to_contain_text("15 tokens")
        await looking.page.get_by_label("Show").select_option("cost")
        await expect(model).to_contain_text("price not known")


async def test_a_block_says_why(studio: Studio) -> None:
    """The node that blocked has sign and word, and its panel has the reason and who blocked."""
    async with studio.look("#/runs/support-2?node=process_input/guards/processor:no-shouting") as looking:
        panel = looking.page.get_by_role("complementary")
        await expect(panel).to_contain_text("Blocked, because")
        await expect(panel).to_contain_text("shouting")
        await expect(looking.page.get_by_role("main")).to_contain_text("■ blocked")


async def test_items_and_rounds(studio: Studio) -> None:
    """A foreach has a square for each item, which leads to the item; a loop has a panel for each round."""
    async with studio.look("#/runs/orders-1") as looking:
        page = looking.page
        await page.get_by_role("button", name="Fit").click()
        await page.locator('[data-key="check_item@foreach"]').click()
        await page.get_by_role("button", name="item 3: success").click()
        panel = page.get_by_role("complementary", name="Details of check_item[3]")
        await expect(panel).to_contain_text("price 40")
        await page.locator('[data-key="double"]').click()
        rounds = page.get_by_role("complementary").get_by_label("Round")
        await expect(rounds.locator("option")).to_have_count(3)


async def test_a_merge_says_by_which_policy(studio: Studio) -> None:
    """The panel of a join names the policy, the branches and the conflicts."""
    async with studio.look("#/runs/support-1?node=process_input/guards/side-by-side") as looking:
        panel = looking.page.get_by_role("complementary")
        await expect(panel).to_contain_text("Policy: strictest")
        await expect(panel).to_contain_text("processor:hide-numbers")
        await expect(panel).to_contain_text("No conflict.")
        await expect(panel.locator(".change")).to_have_count(2)
        await expect(panel.locator(".change").first.locator("ins")).to_contain_text("[order]")


async def test_a_merge_that_cannot_be_says_what_each_branch_changed(browser: Browser) -> None:
    """Of two rewrites of one text the panel shows both, with the branches that are in conflict."""
    async with serving(App(workflows=[demo.clash]), browser) as studio:
        asked = {"hook": "process_input", "messages": "It is a secret", "wait": True}
        run = await studio.server.post("/api/workflows/clash/runs", asked)
        async with studio.look(f"#/runs/{run['run_id']}?node=both") as looking:
            panel = looking.page.get_by_role("complementary")
            await expect(panel).to_contain_text("These could not be put together: processor:left, processor:right")
            await expect(panel.locator(".change ins")).to_have_text(["added: [left]", "added: [right]"])
            assert await looking.serious_in_both_themes() == []


async def test_the_timeline_shows_an_early_end(studio: Studio) -> None:
    """A branch that was cancelled is hatched, and says so; what held the run up is marked as the critical path."""
    async with studio.look("#/runs/race-1?tab=timeline") as looking:
        page = looking.page
        await expect(page.get_by_role("option", name="slow")).to_contain_text("cancelled")
        await expect(page.locator(".rows .bar.is-cancelled")).to_have_count(1)
        await expect(page.get_by_role("option", name="breaks")).to_contain_text("on the critical path")
        fill = await page.locator(".rows .bar.is-cancelled").evaluate("(bar) => getComputedStyle(bar).backgroundImage")
        assert "repeating-linear-gradient" in fill


async def test_events_are_found_and_read(studio: Studio) -> None:
    """The log is filtered by type and by any word; the keyboard walks through it and opens an event."""
    async with studio.look("#/runs/orders-1?tab=events") as looking:
        page = looking.page
        await page.get_by_label("Type").select_option("branch.decided")
        await expect(page.get_by_role("status").filter(has_text="of 74")).to_have_text("4 of 74")
        await page.get_by_label("Type").select_option("")
        await page.get_by_label("Words in it").fill("price list did not answer")
        await expect(page.get_by_role("status").filter(has_text="of 74")).to_have_text("1 of 74")
        await page.get_by_role("listbox", name="Events").focus()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("complementary")).to_contain_text("TimeoutError")


async def test_the_run_is_downloaded(studio: Studio, tmp_path: Path) -> None:
    """The bundle is a JSON file with the run, its graph and its events."""
    async with studio.look("#/runs/orders-1") as looking, looking.page.expect_download() as waiting:
        await looking.page.get_by_role("button", name="Download").click()
        await (await waiting.value).save_as(tmp_path / "run.json")
    bundle = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert bundle["run"]["run_id"] == "orders-1" and len(bundle["events"]) == 74
    assert bundle["graph"]["workflow_id"] == "orders"


async def test_no_serious_finding(studio: Studio) -> None:
    """axe-core finds nothing serious in a run's tabs and panels, in either theme."""
    async with studio.look("#/runs/support-1") as looking:
        for address in (
            "runs/support-1",
            "runs/orders-1?node=route",
            "runs/race-1?tab=timeline",
            "runs/orders-1?tab=events",
        ):
            await looking.go(f"#/{address}")
            await looking.page.get_by_role("tabpanel").wait_for()
            assert await looking.serious_in_both_themes() == []


async def test_by_keyboard_from_the_list_to_a_node_and_back(studio: Studio) -> None:
    """Tab, arrows, Enter and Escape are enough: list, run, tabs, node, panel; the focus comes back to the node."""
    async with studio.look("#/runs") as looking:
        page = looking.page
        await page.get_by_role("link", name="orders-1").focus()
        await page.keyboard.press("Enter")
        await page.get_by_role("tab", name="Graph").focus()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_role("tab", name="Timeline")).to_be_focused()
        await expect(page.get_by_role("listbox", name="Timeline")).to_be_visible()
        await page.keyboard.press("ArrowLeft")
        await page.locator('[data-key="@start"]').focus()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        panel = page.get_by_role("complementary", name="Details of fetch")
        await expect(panel).to_be_visible()
        await panel.get_by_role("button", name="Close the details").focus()
        await page.keyboard.press("Escape")
        await expect(page.locator('[data-key="fetch"]')).to_be_focused()
