"""What acts in the Studio: forms, questions, forks, chat, comparisons, the scrubber, tests, files; in a real browser."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.studio import acting, demo
from tests.studio.browser import Studio, serving

from procession import App
from procession.runtime.runtime import Runtime

pytestmark = pytest.mark.browser


@pytest.fixture
async def studio(browser: Browser) -> AsyncGenerator[Studio]:
    """Serve what can be acted on."""
    async with serving(acting.app(), browser) as shown:
        yield shown


async def ordered(studio: Studio, pieces: int = 2) -> str:
    """Run the ordering, and return the id of the run."""
    made = await studio.server.post(
        "/api/workflows/ordering/runs", {"input": {"name": demo.HOSTILE, "pieces": pieces}, "wait": True}
    )
    assert made["status"] == "success"
    return str(made["run_id"])


async def press(page: Page, name: str) -> None:
    """Press a button by keyboard."""
    await page.get_by_role("button", name=name).first.focus()
    await page.keyboard.press("Enter")


async def test_a_form_shows_what_the_server_refused_at_its_field(studio: Studio) -> None:
    """A form of the schema is filled by keyboard; what does not fit is told at the field, and what fits starts a run."""
    async with studio.look("#/workflows/ordering?tab=run") as looking:
        page = looking.page
        await page.get_by_label("Name").fill(demo.HOSTILE)
        await page.get_by_label("Pieces").fill("0")
        await press(page, "+ To")
        await press(page, "+ item of To")
        await press(page, "Start a run")
        field = page.locator(".field", has=page.get_by_label("Pieces"))
        await expect(field.get_by_role("alert")).to_contain_text("greater than or equal to 1")
        await expect(page.get_by_label("Pieces")).to_have_attribute("aria-invalid", "true")
        looking.faults.clear()  # the browser tells of the 422
        await page.get_by_label("Pieces").fill("4")
        await page.get_by_label("city").fill("Bern")
        await page.get_by_label("Pay", exact=True).select_option(label="Card")
        await page.get_by_label("number").fill("x")
        await press(page, "Start a run")
        await expect(page.get_by_role("heading", level=1)).not_to_have_text("ordering")
        run_id = await page.get_by_role("heading", level=1).inner_text()
        run = await studio.server.get(f"/api/runs/{run_id}")
        assert run["output"] == "40 euros" and run["input"]["to"] == [{"city": "Bern", "zip": None}]
        assert run["input"]["pay"] == {"kind": "card", "number": "x"}


async def test_raw_json_and_the_form_are_one_value(studio: Studio) -> None:
    """What is written as JSON stands in the form afterwards; what is no JSON cannot be sent."""
    async with studio.look("#/workflows/ordering?tab=run") as looking:
        page = looking.page
        await page.get_by_label("as JSON").first.check()
        text = page.get_by_label("Input as JSON")
        await text.fill("{")
        await expect(page.get_by_role("button", name="Start a run")).to_be_disabled()
        await text.fill('{"name": "Eva", "pieces": 7}')
        await page.get_by_label("as JSON").first.uncheck()
        await expect(page.get_by_label("Pieces")).to_have_value("7")


async def test_a_double_click_resumes_once(studio: Studio) -> None:
    """Two clicks on the answer resume the run once, and what asked is shown as text."""
    made = await studio.server.post("/api/workflows/purchase/runs", {"input": 40, "wait": True})
    async with studio.look(f"#/runs/{made['run_id']}") as looking:
        page = looking.page
        await expect(page.get_by_role("region", name="Questions")).to_contain_text(demo.HOSTILE)
        await page.get_by_label("Approved").check()
        await page.get_by_role("button", name="Answer and go on").dblclick()
        await expect(page.locator(".run-facts .status")).to_contain_text("success")
        run = await studio.server.get(f"/api/runs/{made['run_id']}")
        assert run["output"] == "ordered" and len(acting.answers) == 1


async def test_a_fork_is_a_new_run_and_the_old_one_stays(studio: Studio) -> None:
    """By keyboard: another input of a step, or another output before it, as a run of its own; the original is what it was."""
    run_id = await ordered(studio)
    before = await studio.server.get(f"/api/runs/{run_id}")
    async with studio.look(f"#/runs/{run_id}?tab=graph&node=label") as looking:
        page = looking.page
        await press(page, "Run again from here…")
        await page.get_by_label("Change").select_option("input")
        await page.get_by_label("Input as JSON").fill("77")
        await press(page, "Fork the run")
        await expect(page.get_by_role("heading", level=1)).not_to_have_text(run_id)
        fork_id = await page.get_by_role("heading", level=1).inner_text()
        await page.get_by_role("tab", name="Forks").click()
        await expect(page.locator(".fork-tree a[aria-current]")).to_have_text(fork_id)
        await expect(page.locator(".fork-tree")).to_contain_text(run_id)
        await looking.go(f"#/runs/{run_id}?tab=graph&node=label")
        await press(page, "Run again from here…")
        await page.get_by_label("Change").select_option("price")
        await page.get_by_label("Output of price as JSON").fill("55")
        await press(page, "Fork the run")
        await expect(page.locator(".run-facts .status")).to_contain_text("success")
        await expect(page.get_by_role("heading", level=1)).not_to_have_text(run_id)
        other_id = await page.get_by_role("heading", level=1).inner_text()
    assert (await studio.server.get(f"/api/runs/{other_id}"))["output"] == "55 euros"
    fork, after = await studio.server.get(f"/api/runs/{fork_id}"), await studio.server.get(f"/api/runs/{run_id}")
    assert fork["output"] == "77 euros" and fork["parent_run_id"] == run_id
    assert sorted(after["forks"]) == sorted([fork_id, other_id]) and {**after, "forks": []} == {**before, "forks": []}


async def test_the_chat_shows_what_every_hook_did(studio: Studio) -> None:
    """An answer comes chunk by chunk, and under it stand the nine hooks, with what processors changed."""
    async with studio.look("#/agents/support/chat") as looking:
        page = looking.page
        await page.keyboard.type(f"Where is 7654321? {demo.HOSTILE}")
        await page.keyboard.press("Enter")
        turn = page.get_by_role("article")
        await expect(turn).to_contain_text("Write to [EMAIL], order 1234567.")
        await expect(turn).to_contain_text(demo.HOSTILE)
        hooks = turn.get_by_role("region", name="Hooks of this turn")
        await expect(hooks.get_by_role("button")).to_have_count(9)
        await expect(hooks.get_by_role("button", name="output stream")).to_contain_text("changed")
        await press(page, "1 input")
        await expect(turn.locator(".hook-details")).to_contain_text("hide-numbers")
        await turn.get_by_role("link", name="Open the run").click()
        await expect(page.get_by_role("tab", name="Stream")).to_be_visible()
        await page.get_by_role("tab", name="Stream").click()
        await page.get_by_role("button", name="Pass this stream again").click()
        await expect(page.get_by_text("Leaves now")).to_be_visible()


async def test_a_tool_call_is_approved_in_the_chat(studio: Studio) -> None:
    """Who approves sees which tool is called with what; the answer that follows is shown, as text."""
    async with studio.look("#/agents/clerk/chat") as looking:
        page = looking.page
        await page.get_by_label("Message").fill("Pay 7 back")
        await page.keyboard.press("Enter")
        asks = page.get_by_role("region", name="Questions")
        await expect(asks).to_contain_text("tool refund")
        await expect(asks).to_contain_text(demo.HOSTILE)
        await page.get_by_label("approved").check()
        await press(page, "Answer and go on")
        await expect(page.get_by_role("article")).to_contain_text(f"Done. {demo.HOSTILE}")


async def test_the_scrubber_goes_through_a_stream_by_keyboard(studio: Studio) -> None:
    """The arrow keys move it; what had come and what had left stand side by side."""
    made = await studio.server.post("/api/agents/support/generate", {"messages": "Hello"})
    async with studio.look(f"#/runs/{made['run_id']}?tab=stream") as looking:
        page = looking.page
        slider = page.get_by_role("slider")
        await slider.focus()
        await page.keyboard.press("Home")
        await expect(page.get_by_text("Chunk 1 of")).to_be_visible()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_text("Chunk 2 of")).to_be_visible()
        await page.keyboard.press("End")
        await expect(page.locator(".two-columns pre").nth(1)).to_contain_text("Of course. Write to [EMAIL]")


async def test_a_bundle_opens_without_the_server(studio: Studio, tmp_path: Path) -> None:
    """A downloaded run is looked at with the network gone, its hostile text as text; a file that is none is refused."""
    run_id = await ordered(studio)
    bundle = await studio.server.get(f"/api/runs/{run_id}/bundle")
    file, other = tmp_path / "run.json", tmp_path / "other.json"
    file.write_text(json.dumps(bundle))
    other.write_text('{"run": 1}')
    async with studio.look("#/open") as looking:
        page = looking.page
        await page.get_by_label("File of a run").set_input_files(other)
        await expect(page.get_by_role("alert")).to_contain_text("no bundle of a run")
        await page.get_by_label("File of a run").set_input_files(file)
        await expect(page.get_by_role("heading", name=run_id)).to_be_visible()
        await page.get_by_role("tab", name="Timeline").click()
        await page.context.set_offline(True)
        await page.get_by_role("tab", name="Input and output").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text(demo.HOSTILE)
        await expect(page.get_by_role("button", name="Run again and compare")).to_have_count(0)


async def test_a_run_is_cancelled_by_keyboard(studio: Studio) -> None:
    """The button is there while the run goes on, and gone once it is over."""
    made = await studio.server.post("/api/workflows/patience/runs", {"input": None})
    async with studio.look(f"#/runs/{made['run_id']}") as looking:
        await press(looking.page, "Cancel the run")
        await expect(looking.page.locator(".run-facts .status")).to_contain_text("cancelled")
        await expect(looking.page.get_by_role("button", name="Cancel the run")).to_have_count(0)


async def test_a_run_that_lost_its_process_is_restarted_by_keyboard(browser: Browser) -> None:
    """The page says that its process is gone; restarted, the run goes on where it was and is followed to its end."""
    now = [100.0]
    store = await acting.broken_off(lambda: now[0])
    now[0] += 60
    async with serving(App(workflows=[acting.halting()], runtime=Runtime(store)), browser) as studio:
        async with studio.look("#/runs/lost") as looking:
            page = looking.page
            await expect(page.get_by_text("Its process is gone.")).to_be_visible()
            assert not await looking.serious()
            await press(page, "Restart")
            await expect(page.locator(".run-facts .status")).to_contain_text("success")
            await expect(page.get_by_role("button", name="Restart")).to_have_count(0)
        assert (await studio.server.get("/api/runs/lost"))["output"] == "kept, done"


async def test_a_run_is_run_again_and_both_are_compared(studio: Studio) -> None:
    """The new run has the same input and stands beside the old one; a run of another input differs node by node."""
    a, b = await ordered(studio), await ordered(studio, 3)
    async with studio.look(f"#/runs/{a}") as looking:
        page = looking.page
        await press(page, "Run again and compare")
        await expect(page.get_by_role("heading", name="0 of 2 nodes are different")).to_be_visible()
        await looking.go(f"#/compare/runs?a={a}&b={b}")
        await expect(page.get_by_role("heading", name="2 of 2 nodes are different")).to_be_visible()
        await expect(page.locator(".compare-nodes")).to_contain_text("± changed")
        await looking.go("#/compare/graphs?a=ordering&b=relabelled")
        await expect(page.get_by_role("status")).to_contain_text("2 of 3 differences break")
        await expect(page.locator(".compare-differences").first).to_contain_text("✗ breaking")


async def test_a_run_is_downloaded_as_a_test(studio: Studio, tmp_path: Path) -> None:
    """Both files are given to the browser; a target that is no name is refused in words."""
    run_id = await ordered(studio)
    async with studio.look(f"#/runs/{run_id}") as looking:
        page = looking.page
        await press(page, "Save as test")
        await page.get_by_label("Where your code has it").fill("shop; import os")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("no module:name")
        looking.faults.clear()  # the browser tells of the 422
        await page.get_by_label("Where your code has it").fill("shop:app")
        await page.keyboard.press("Enter")
        async with page.expect_download() as downloading:
            await page.get_by_role("button", name="Download test_run").first.click()
        file = tmp_path / "test.py"
        await (await downloading.value).save_as(file)
        assert "from shop import app as target" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_no_serious_finding_where_something_is_done(studio: Studio, theme: Any) -> None:
    """axe-core finds nothing serious on a page that acts, its dialogs included, in either theme."""
    a, b = await ordered(studio), await ordered(studio, 3)
    waits = await studio.server.post("/api/workflows/purchase/runs", {"input": 40, "wait": True})
    spoken = await studio.server.post("/api/agents/support/generate", {"messages": "Hello"})
    addresses = [
        "#/workflows/ordering?tab=run", "#/workflows/support-output-processor?tab=run", f"#/runs/{waits['run_id']}",
        f"#/runs/{spoken['run_id']}?tab=stream", f"#/compare/runs?a={a}&b={b}", "#/compare/graphs?a=ordering&b=relabelled",
        "#/open", "#/agents/support/chat",
    ]  # fmt: skip
    async with studio.look(color_scheme=theme) as looking:
        page, found = looking.page, list[str]()
        for address in addresses:
            await looking.go(address)
            await page.wait_for_load_state("networkidle")
            found += await looking.serious()
        await page.keyboard.type("Hello")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="output stream")).to_contain_text("changed")
        await page.get_by_role("button", name="output stream").click()
        found += await looking.serious()
        await looking.go(f"#/runs/{a}?tab=graph&node=label")
        await page.get_by_role("button", name="Run again from here…").click()
        found += await looking.serious()
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Save as test").click()
        await page.get_by_role("button", name="Make the test").click()
        await expect(page.get_by_role("button", name="Download test_run").first).to_be_visible()
        found += await looking.serious()
        assert found == []
