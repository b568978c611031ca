"""Whatever a model or a user wrote is shown as text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect
from tests.studio import demo
from tests.studio.browser import Studio, serving

from procession.server.app import App

pytestmark = pytest.mark.browser


@pytest.fixture
async def studio(browser: Browser) -> AsyncGenerator[Studio]:
    """Serve agents and workflows whose every text is markup."""
    app = App(agents=[demo.refuser()], workflows=[demo.hostile])
    async with serving(app, browser) as shown:
        post = shown.server.post
        wait = {"input": "<svg/onload=alert(1)>", "run_id": "hostile-1", "wait": True}
        await post(f"/api/workflows/{quote(demo.hostile.id, safe='')}/runs", wait)
        await post("/api/agents/refuser/generate", {"messages": "<svg/onload=alert(1)>", "run_id": "hostile-2"})
        yield shown


PAGES = (
    "workflows", f"workflows/{quote(demo.hostile.id, safe='')}", "agents", "agents/refuser", "runs", "runs/hostile-1",
    "runs/hostile-2", "runs/hostile-1?tab=timeline", "runs/hostile-1?tab=events", "runs/hostile-1?tab=outcome",
    "runs/hostile-2?tab=outcome", "runs/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
)  # fmt: skip


async def test_it_is_shown_as_text_and_no_script_runs(studio: Studio) -> None:
    """SEC-003: ids, descriptions, messages and reasons are text on every page: no element comes of them, no script runs."""
    async with studio.look(complaints=("404",)) as looking:
        for address in PAGES:
            await looking.go(f"#/{address}")
            await looking.page.wait_for_load_state("networkidle")
            made = await looking.page.locator(
                "main img, main script, main iframe, main b[onclick], main svg[onload]"
            ).count()
            links = await looking.page.evaluate(
                "() => [...document.querySelectorAll('[href], [src], [action]')]"
                ".filter((each) => /^\\s*(javascript|data):/i.test(each.getAttribute('href') ?? each.getAttribute('src') ?? ''))"
                ".length"
            )
            assert (made, links) == (0, 0), address
        # No alert was called and nothing was refused by the CSP: both are looked at when the page is closed.


async def test_each_text_is_there(studio: Studio) -> None:
    """SEC-003: the hostile texts are shown as they are: in the graph, in the details, as the reason of a block."""
    async with studio.look("#/runs/hostile-1") as looking:
        page = looking.page
        await expect(page.locator(".gnode-label").filter(has_text='a"><img src=x onerror=alert(1)>')).to_be_visible()
        await page.locator(".gnode").filter(has_text="x-->y; click x href").click()
        await expect(page.get_by_role("complementary")).to_contain_text("</script><script>alert(2)</script>")
        await looking.go("#/runs/hostile-2?tab=outcome")
        await expect(page.get_by_role("main")).to_contain_text("<img src=x onerror=alert(1)>")


async def test_the_csp_is_in_force(studio: Studio) -> None:
    """SEC-003: a script that gets into the page all the same does not run, in line or from elsewhere, and no frame holds it."""
    page = await studio.browser.new_page()  # one of its own: what it tries is refused, and said so
    try:
        answer = await page.goto(f"{studio.server.url}/studio/")
        assert answer is not None
        policy = (await answer.all_headers())["content-security-policy"]
        await page.evaluate(
            "() => { const script = document.createElement('script'); script.textContent = 'window.ran = true';"
            "document.body.append(script); const image = document.createElement('div');"
            "image.innerHTML = '<img src=x onerror=\"window.ran = true\">'; document.body.append(image); }"
        )
        await page.wait_for_load_state("networkidle")
        assert await page.evaluate("() => window.ran") is None
    finally:
        await page.close()
    parts = [part.strip().partition(" ") for part in policy.split(";")]
    directives = {name: value for name, _, value in parts}
    assert directives["default-src"] == "'none'" and directives["script-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'" and directives["base-uri"] == "'none'"


async def test_what_cannot_be_seen_is_written_out(studio: Studio) -> None:
    """SEC-003: characters that turn or hide the text around them are shown by their numbers."""
    await studio.server.post(
        "/api/agents/refuser/generate", {"messages": "user\u202etxt.exe\u200b", "run_id": "hidden-1"}
    )
    async with studio.look("#/runs/hidden-1?tab=outcome") as looking:
        await expect(looking.page.get_by_role("main")).to_contain_text("user⟨U+202E⟩txt.exe⟨U+200B⟩")
