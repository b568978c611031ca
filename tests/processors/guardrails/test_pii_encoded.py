"""Personal data that is not written out: codes in new input and in what tools return."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import pytest

from procession import Agent, tool
from procession.processors.guardrails.pii import PIIDetector
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

VALUE = "write to eva@example.net soon"
CODES = {
    "base64": base64.b64encode(VALUE.encode()).decode(),
    "hex": VALUE.encode().hex(),
    "percent": quote(VALUE, safe="").replace("e", "%65"),
    "entities": "".join(f"&#{ord(one)};" for one in VALUE),
    "escapes": "".join(f"\\u{ord(one):04x}" for one in VALUE),
    "tags": "".join(chr(0xE0000 + ord(one)) for one in VALUE),
}


@pytest.mark.parametrize("code", CODES)
async def test_a_code_that_holds_personal_data_is_hidden(code: str) -> None:
    """What a message says in a code is hidden as what it says at sight, the code as a whole."""
    model = FakeModel("ok")
    agent = Agent("clerk", model=model, input_processors=[PIIDetector(redaction="placeholder")])
    await agent.generate(f"here: {CODES[code]} thanks")
    assert model.requests[0].messages[-1].text == "here: [EMAIL] thanks"
    (span,) = [span for span in PIIDetector().explain(f"here: {CODES[code]} thanks") if span.transforms == (code,)]
    assert (span.type, span.start) == ("email", 6)


async def test_what_a_tool_returns_is_read_in_codes() -> None:
    """A code in a string of a tool's result is hidden before the model is told, and blocks where that is the strategy."""

    @tool
    def fetch() -> dict[str, Any]:
        """Fetch a page."""
        return {"page": f"data {CODES['base64']}", "n": 1}

    def agent(guard: PIIDetector) -> tuple[Agent, FakeModel]:
        model = FakeModel([call_tool("fetch", {}), "done"])
        return Agent("clerk", model=model, tools=[fetch], output_processors=[guard]), model

    redacting, model = agent(PIIDetector(redaction="placeholder"))
    await redacting.generate("go")
    assert "[EMAIL]" in str(model.requests[1].messages) and CODES["base64"] not in str(model.requests[1].messages)
    blocking, _ = agent(PIIDetector(strategy="block"))
    assert (await blocking.generate("go")).status == "blocked"


@pytest.mark.parametrize(
    "text",
    [
        "a &amp; b &lt;c&gt; d &quot;e&quot;",
        base64.b64encode(b"nothing of anybody is in here, really").decode(),
        "see https://a.example/x?q=%7Bone%7D%20two%20%22three%22",
    ],
)
async def test_a_code_without_personal_data_stays(text: str) -> None:
    """Codes that hold nothing stay as they are; what can be read in a code's text is no finding of its own."""
    model = FakeModel("ok")
    types = ["email", "phone", "credit-card", "iban"]
    agent = Agent("clerk", model=model, input_processors=[PIIDetector(redaction="placeholder", detection_types=types)])
    await agent.generate(f"look: {text}")
    assert model.requests[0].messages[-1].text == f"look: {text}"


async def test_a_value_beside_codes_is_hidden_alone() -> None:
    """An address among entities that hold nothing is hidden, and they stay."""
    model = FakeModel("ok")
    agent = Agent("clerk", model=model, input_processors=[PIIDetector(redaction="placeholder")])
    await agent.generate("&lt;p&gt; mail eva@example.net &lt;/p&gt;")
    assert model.requests[0].messages[-1].text == "&lt;p&gt; mail [EMAIL] &lt;/p&gt;"
