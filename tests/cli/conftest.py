"""Targets that the tests of the command line run, and a way to run it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# A pipeline as a user writes one: a text in, a verdict out; some texts block, fail or take their time.
PIPELINE = '''
"""A pipeline."""
import anyio
from procession.processors.contexts import InputContext
from procession.processors.payloads import InputPayload
from procession.processors.processor import Processor
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.steps.step import StepContext, step
from procession.workflows.workflow import create_workflow


class Words(Processor):
    """Blocks on a word and hides another."""

    id = "words"
    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        text = ctx.view[-1].text
        if "secret" in text:
            at = text.index("secret")
            detail = {"spans": [{"start": at, "end": at + 6, "type": "secret", "value": "secret"}]}
            ctx.report("found a secret", detail, "modified")
            ctx.messages[-1].text = text.replace("secret", "[secret]")
        if "forbidden" in text:
            ctx.abort("a forbidden word")


@step
def receive(ctx: StepContext[str]) -> InputPayload:
    return InputPayload(MessageList([Message.user(ctx.input)]))


@step
async def answer(ctx: StepContext[InputPayload]) -> dict[str, str]:
    text = ctx.input.messages[-1].text
    if "broken" in text:
        raise ValueError("it broke")
    if "slow" in text:
        await anyio.sleep(0.05)
    return {"verdict": "redact" if "[secret]" in text else "pass", "text": text, "language": "en"}


guards = {"words": "secrets"}
pipeline = create_workflow("pipeline", str).then(receive).then(Words()).then(answer).commit()
'''

Command = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """Write the pipeline to a file and return its path."""
    path = tmp_path / "pipeline.py"
    path.write_text(PIPELINE)
    return path


@pytest.fixture
def procession(tmp_path: Path) -> Command:
    """Return a function that runs the command line in a process of its own."""

    def run(*arguments: object, input: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        program = "from procession.cli.main import main; main()"
        command = [sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
        return subprocess.run(command, input=input, capture_output=True, cwd=tmp_path, timeout=50, check=False)

    return run


# A workflow that is run once: what is asked of it decides how that ends.
FLOW = '''
"""A flow."""
from procession import StepContext, create_workflow, step
from procession.messages.tripwire import TripwireInfo
from procession.steps.signals import Tripwire


@step
def shout(ctx: StepContext[str]) -> str:
    """Say it loud."""
    return ctx.input.upper()


@step(resume_type=bool)
async def decide(ctx: StepContext[str]) -> str:
    """Ask, fail or stop."""
    if "ASK" in ctx.input:
        return f"{ctx.input}: {await ctx.suspend({'question': 'Shall it go on?'}, label='go')}"
    if "BROKEN" in ctx.input:
        raise ValueError("it broke")
    if "FORBIDDEN" in ctx.input:
        raise Tripwire(TripwireInfo(reason="a forbidden word", processor_id="words"))
    return ctx.input


flow = create_workflow("flow", str).then(shout).then(decide).commit()
'''


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    """Write the workflow to a file and return its path."""
    path = tmp_path / "flow.py"
    path.write_text(FLOW)
    return path
