"""``procession chat`` through a pipe: each line is a message, standard output has the answers, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import anyio.lowlevel
import pytest
from tests.cli.conftest import Command
from tests.models.wire import DONE, WireAnswer, delta, event, serving

BOT = '''
"""An agent as a user writes one: tools, one of which wants a yes, a guard, and a model that does as it is told."""
from procession import Agent, Processor, tool
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say


class Words(Processor):
    """Blocks on a word, warns of one, and hides another."""

    id = "words"
    mutates = True

    def process_input(self, ctx):
        text = ctx.messages[-1].text
        if "forbidden" in text:
            ctx.abort("a forbidden word", message="Let us talk of something else.")
        if "doubtful" in text:
            ctx.report("a doubtful word", None, "warned")
        ctx.messages[-1].text = text.replace("secret", "[hidden]")


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def color(ctx) -> str:
    """Ask for a color."""
    return "chose " + ctx.suspend("Which color?", resume_schema={"type": "string", "enum": ["red", "blue"]})


def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return "The tool says: " + str(last.content[0].output["value"])
    match last.text.split():
        case ["pay"]:
            return say("Well, ") + call_tool("pay", {"amount": 20})
        case ["choose"]:
            return call_tool("color", {})
        case ["fail"]:
            return fail("over\\x1b[31mloaded", status=503)
        case ["evil"]:
            return say("\\x1b]0;own", "ed\\x07red \\x1b", "[31m[bold]plain[/bold]")
        case _:
            return say(" / ".join(message.text for message in request.messages if message.role == "user"))


def agent(model=None):
    return Agent("bot", model=model or FakeModel(answer, repeat_last=True), tools=[pay, color], input_processors=[Words()])


ready = agent()
'''


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Run the server on one event loop: what is tested is in a process of its own."""
    return "asyncio"


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    """Write the agent to a file and return its path."""
    path = tmp_path / "bot.py"
    path.write_text(BOT)
    return path


def said(done: CompletedProcess[bytes]) -> list[str]:
    """Return the lines of the answers."""
    return done.stdout.decode().splitlines()


def notes(done: CompletedProcess[bytes]) -> str:
    """Return what was said about them."""
    return done.stderr.decode()


def test_each_line_is_a_message(procession: Command, bot: Path) -> None:
    """Answers come in order, know what was said before, and cost something; empty lines are passed over."""
    done = procession("chat", bot, input="one\n\ntwo €\n/usage\n/reset\nthree".encode())
    assert done.returncode == 0
    assert said(done) == ["one", "one / two €", "three"]
    assert notes(done).splitlines() == [
        "10 tokens in, 5 out",
        "10 tokens in, 5 out; 30 tokens so far",
        "2 turns: 20 tokens in, 10 out",
        "a new conversation",
        "10 tokens in, 5 out; 45 tokens so far",
    ]


def test_what_guards_found_is_told(procession: Command, bot: Path) -> None:
    """A verdict names its guard and reason and shows what the user is told; what was blocked or hidden is not said again."""
    done = procession("chat", f"{bot}:ready", input=b"forbidden\ndoubtful\na secret\nlast\n")
    assert done.returncode == 3
    assert said(done) == [
        "Let us talk of something else.",
        "doubtful",
        "doubtful / a [hidden]",
        "doubtful / a [hidden] / last",
    ]
    assert "✗ blocked by words: a forbidden word\n" in notes(done)
    assert "! words: warned in process_input: a doubtful word\n" in notes(done)


def test_a_call_that_needs_a_yes(procession: Command, bot: Path) -> None:
    """Only a line that says yes has a call run; anything else declines it, and is the next message unless it is a no."""
    done = procession("chat", bot, input=b"pay\ny\npay\nno\npay\nhello\n/reset\npay\n")
    assert done.returncode == 0
    assert said(done)[0] == "Well, The tool says: paid 20"
    assert [line.startswith("Well, The tool says: paid") for line in said(done)] == [True, False, False, False, False]
    assert said(done)[3] == "pay / pay / pay / hello"
    assert notes(done).count('? pay wants to run with {"amount": 20}') == 4
    assert notes(done).count("← pay") == 1
    assert notes(done).count("✗ pay was not run") == 3


def test_a_tool_that_asks(procession: Command, bot: Path) -> None:
    """A tool's question is answered by the next line, asked again where that does not fit, and declined at the end."""
    done = procession("chat", bot, input=b"choose\ngreen\nblue\nchoose\n")
    assert said(done)[0] == "The tool says: chose blue"
    assert notes(done).count("? color asks: Which color?") == 2
    assert "does not fit" in notes(done)
    assert "✗ color was not run" in notes(done)


def test_an_error_is_a_sentence(procession: Command, bot: Path) -> None:
    """A model that fails is told without a traceback; the chat goes on, and says so at its end."""
    done = procession("chat", bot, input=b"fail\nforbidden\nhello\n")
    assert done.returncode == 1
    assert said(done)[-1].endswith("hello")
    assert "✗ over\\x1b[31mloaded\n" in notes(done)
    assert "Traceback" not in notes(done)


def test_nobody_gives_orders_to_the_terminal(procession: Command, bot: Path) -> None:
    """Control sequences of a model are taken out, also where they come in pieces; markup is shown as it is."""
    done = procession("chat", bot, input=b"evil\n")
    assert said(done) == ["]0;ownedred [31m[bold]plain[/bold]"]
    assert b"\x1b" not in done.stdout + done.stderr


def test_what_is_logged_is_no_answer(procession: Command, bot: Path) -> None:
    """What the library logs goes to standard error."""
    with bot.open("a") as file:
        file.write("\nready.callbacks['on_finish'] = lambda result: 1 / 0\n")
    done = procession("chat", f"{bot}:ready", input=b"hello\n")
    assert said(done) == ["hello"]
    assert "ZeroDivisionError" in notes(done)


def test_commands(procession: Command, bot: Path) -> None:
    """/help lists the commands, another one is refused, a path or two slashes are a message, and /exit leaves at once."""
    done = procession("chat", bot, input=b"/help\n/hlep\n/etc/hosts\n//reset\n/exit\nnever\n")
    assert done.returncode == 0
    assert said(done) == ["/etc/hosts", "/etc/hosts / /reset"]
    assert "/usage  what the chat has cost so far" in notes(done)
    assert "there is no command /hlep" in notes(done)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "nobody to talk to is named"),
        (["bot.py:pay"], "no agent"),
        (["bot.py:nobody"], "there is no 'nobody' in it"),
        (["none.py"], "there is no file none.py"),
        (["bot.py", "--system", "Be brief."], "has instructions of its own"),
        (["--model", "nope/x"], "no provider is called 'nope'"),
    ],
)
def test_what_cannot_begin(procession: Command, bot: Path, arguments: list[str], told: str) -> None:
    """Nobody to talk to, and a name that leads nowhere, are told in a sentence before anything is read."""
    done = procession("chat", *arguments, input=b"hello\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert told in notes(done)
    assert "Traceback" not in notes(done)


async def talk(cwd: Path, *arguments: str, input: str, environ: Mapping[str, str]) -> CompletedProcess[bytes]:
    """Run the command line beside a server of this event loop."""
    program = "from procession.cli.main import main; main()"
    command = [sys.executable, "-W", "error", "-c", program, "chat", *arguments]
    return await anyio.run_process(command, input=input.encode(), cwd=cwd, env=environ, check=False)


@pytest.fixture
def environ() -> Mapping[str, str]:
    """Return the environment of a user without keys."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}


def answer(*texts: str) -> WireAnswer:
    """Return an answer over the wire that has these pieces."""
    usage = event({"choices": [], "usage": {"prompt_tokens": 1_200, "completion_tokens": 3}})
    return WireAnswer([*(delta(content=text) for text in texts), delta("stop"), usage, DONE])


async def test_a_plain_model_over_the_wire(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """A model is talked to at the server that --base-url names: instructions first, then the whole conversation."""
    async with serving(answer("Good ", "day."), answer("Again?")) as server:
        where = ["--model", "openai/m", "--base-url", server.base_url, "--system", "Be brief."]
        done = await talk(tmp_path, *where, input="Hello\nHello again\n", environ=environ)
    assert (done.returncode, said(done)) == (0, ["Good day.", "Again?"])
    assert notes(done) == "1,200 tokens in, 3 out\n1,200 tokens in, 3 out; 2,406 tokens so far\n"
    assert [(message["role"], message["content"]) for message in server.bodies[1]["messages"]] == [
        ("system", "Be brief."),
        ("user", "Hello"),
        ("assistant", "Good day."),
        ("user", "Hello again"),
    ]


async def test_a_call_that_is_made_again(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """Who waits for a server that is busy is told why, in words and not in those of a library."""
    told = (("content-type", "application/json"), ("retry-after-ms", "1"))
    busy = WireAnswer([b'{"error": {"message": "not now"}}'], 503, told)
    async with serving(busy, answer("Here I am.")) as server:
        done = await talk(tmp_path, "--model", "m", "--base-url", server.base_url, input="Hello\n", environ=environ)
    assert said(done) == ["Here I am."]
    assert "no answer yet (unavailable, status 503): asked again in 0.0 s\n" in notes(done)
    assert "stamina" not in notes(done)
    assert "_Failed" not in notes(done)


async def test_the_environment_names_the_server(tmp_path: Path, bot: Path, environ: Mapping[str, str]) -> None:
    """OPENAI_BASE_URL is heeded, a model takes the place of the agent's own, and a server's refusal is a sentence."""
    refusal = WireAnswer([b'{"error": {"message": "no such model"}}'], 404, (("content-type", "application/json"),))
    async with serving(answer("Hi."), answer("Ho."), refusal) as server:
        at = {**environ, "OPENAI_BASE_URL": server.base_url}
        for target in ("bot.py", "bot.py:ready"):  # a function that takes a model, and an agent that has one
            done = await talk(tmp_path, target, "--model", "openai/m", input="a secret\n", environ=at)
            assert (done.returncode, said(done)) == (0, [{"bot.py": "Hi."}.get(target, "Ho.")])
        done = await talk(tmp_path, "--model", "openai/m", input="Hello\n", environ=at)
    assert [body["messages"][-1]["content"] for body in server.bodies] == ["a [hidden]", "a [hidden]", "Hello"]
    assert (done.returncode, done.stdout) == (1, b"")
    assert "no such model" in notes(done)
    assert "hint: check the model's name" in notes(done)
    assert "Traceback" not in notes(done)


async def test_an_interrupted_pipe(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """Where nobody sits before it, Ctrl-C ends the program as ever, and closes the connection of the answer."""
    program = "from procession.cli.main import main; main()"
    async with serving(WireAnswer([delta(content="Once "), anyio.Event()])) as server:
        command = [sys.executable, "-c", program, "chat", "--model", "m", "--base-url", server.base_url]
        async with await anyio.open_process(command, cwd=tmp_path, env=environ) as process:
            assert process.stdin is not None
            await process.stdin.send(b"Tell me a tale.\n")
            while not server.bodies:
                await anyio.lowlevel.checkpoint()
            process.send_signal(signal.SIGINT)
            await server.gone.wait()
            assert await process.wait() == 130


async def test_a_missing_key_is_told_before_anything_is_read(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """Without a key, and without another server, the chat does not begin."""
    done = await talk(tmp_path, "--model", "openai/m", input="Hello\n", environ=environ)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in notes(done)


def test_a_chat_for_programs(procession: Command, tmp_path: Path) -> None:
    """--json answers each line with a line of JSON, also where an answer failed or was blocked."""
    (tmp_path / "bot.py").write_text(
        "from procession import Agent, Processor\nfrom procession.testing.fake_model import FakeModel\n"
        "class Stop(Processor):\n    id = 'stop'\n"
        "    def process_input(self, ctx):\n"
        "        if 'stop' in ctx.view[-1].text:\n            ctx.abort('told to stop')\n"
        "def agent():\n    return Agent('bot', model=FakeModel(['Hello.']), input_processors=[Stop()])\n"
    )
    done = procession("chat", "bot.py", "--json", input=b"hi\nstop\nmore\n")
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 1
    assert first.keys() == {"status", "text", "run_id", "tripwire", "violations", "tokens", "error"}
    assert (first["status"], first["text"], first["tokens"]) == ("completed", "Hello.", 15)
    assert (second["status"], second["tripwire"]["reason"]) == ("blocked", "told to stop")
    assert (third["status"], third["error"]["type"]) == ("failed", "ModelError")
