"""``procession chat`` as somebody sees it who sits before it: in a terminal of its own."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.cli.terminal import Terminal, terminal
from tests.cli.test_chat import BOT, answer
from tests.models.wire import WireAnswer, delta, serving

CTRL_C, CTRL_D = "\x03", "\x04"
STYLES = re.compile(r"\x1b\[[0-9;]*m")


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


async def until(chat: Terminal, text: str, *, pressing: str = "") -> str:
    """Wait until a text is shown, while the server of this event loop works."""
    return await anyio.to_thread.run_sync(lambda: chat.until(text, pressing=pressing))


async def test_ctrl_c_stops_the_answer_and_not_the_chat(tmp_path: Path) -> None:
    """An answer is shown while it comes; Ctrl-C closes its connection, and the chat goes on with what was said."""
    endless = WireAnswer([delta(content="Once upon "), delta(content="a time "), anyio.Event()])
    async with serving(endless, answer("The end.")) as server:
        arguments = ["chat", "--model", "m", "--base-url", server.base_url]
        with terminal(arguments, cwd=tmp_path) as chat:
            await until(chat, "> ")
            chat.type("Tell me a tale.\n")
            await until(chat, "Once upon a")
            assert not server.gone.is_set()
            await until(chat, "stopped", pressing=CTRL_C)
            await server.gone.wait()
            await until(chat, "> ")
            chat.type("Go on.\n")
            await until(chat, "The end.")
            await until(chat, "> ")
            chat.type(CTRL_D)
            assert await anyio.to_thread.run_sync(chat.ended) == 0
    assert "Traceback" not in chat.text
    assert [message["content"] for message in server.bodies[1]["messages"]] == [
        "Tell me a tale.",
        "Once upon a time ",
        "Go on.",
    ]


async def test_a_call_can_be_stopped_before_anything_is_said(tmp_path: Path) -> None:
    """Ctrl-C works as well while a server is silent."""
    async with serving(WireAnswer([anyio.Event()]), answer("Yes.")) as server:
        with terminal(["chat", "--model", "m", "--base-url", server.base_url], cwd=tmp_path) as chat:
            await until(chat, "> ")
            chat.type("Are you there?\n")
            while not server.bodies:
                await anyio.lowlevel.checkpoint()
            await until(chat, "stopped", pressing=CTRL_C)
            await server.gone.wait()
            await until(chat, "> ")
            chat.type("And now?\n")
            await until(chat, "Yes.")
    assert "Traceback" not in chat.text


def test_ctrl_c_at_the_prompt_leaves(bot: Path, tmp_path: Path) -> None:
    """Where nothing is being answered, Ctrl-C leaves, with its usual status and no traceback."""
    with terminal(["chat", bot], cwd=tmp_path) as chat:
        chat.until("> ")
        chat.until("interrupted", pressing=CTRL_C)
        assert chat.ended() == 130
    assert "Traceback" not in chat.text


def test_a_call_is_agreed_to(bot: Path, tmp_path: Path) -> None:
    """A call is shown, a person asked until it is yes or no, and the answer goes on; Ctrl-C at the question is a no."""
    with terminal(["chat", bot], cwd=tmp_path) as chat:
        chat.until("> ")
        chat.type("pay\n")
        shown = chat.until("[y/n] ")
        assert 'pay {"amount": 20}' in shown
        assert 'wants to run with {"amount": 20}' in shown
        chat.type("perhaps\n")
        chat.until("[y/n] ")
        chat.type("Y\n")
        chat.until("The tool says: paid 20")
        assert "tokens in" in chat.until("> ")
        chat.type("pay\n")
        chat.until("[y/n] ")
        chat.until("was not run", pressing=CTRL_C)
        chat.until("> ")
        chat.type("/exit\n")
        assert chat.ended() == 0
    assert chat.text.rstrip().endswith("2 turns: 40 tokens in, 20 out\x1b[0m")


def test_what_is_shown_is_coloured_and_harmless(bot: Path, tmp_path: Path) -> None:
    """A verdict stands out, what is said besides is dim, and a model's control sequences never reach the terminal."""
    with terminal(["chat", bot], cwd=tmp_path) as chat:
        chat.until("> ")
        chat.type("evil\n")
        shown = chat.until("tokens in")
        assert "]0;ownedred [31m[bold]plain[/bold]" in shown
        assert "\x1b]" not in shown
        assert "\x07" not in shown
        assert "\x1b[31m" not in shown
        assert "\x1b[2m10 tokens in" in shown
        chat.until("> ")
        chat.type("forbidden\n")
        shown = chat.until("> ")
        assert "\x1b[31m✗ blocked by words: a forbidden word" in shown
        assert "Let us talk of something else." in shown
        chat.type("fail\n")
        assert "over\\x1b[31mloaded" in chat.until("> ")


@pytest.mark.parametrize("columns", [24, 200])
def test_lines_fit_the_terminal(bot: Path, tmp_path: Path, columns: int) -> None:
    """In a narrow terminal lines end between words, in a wide one they are as long as they are."""
    with terminal(["chat", bot], cwd=tmp_path, columns=columns) as chat:
        chat.until("> ")
        chat.type("these are quite a few words for one line\n")
        shown = chat.until("tokens in")
    text = STYLES.sub("", re.split(r"\x1b\[2K", shown)[-1])
    lines = text.replace("\r", "").splitlines()[:-1]
    assert " ".join(lines) == "these are quite a few words for one line"
    assert max(map(len, lines)) <= columns
    assert (len(lines) > 1) == (columns < 40)


def test_a_terminal_that_can_do_nothing(bot: Path, tmp_path: Path) -> None:
    """On a dumb terminal, and where nobody wants colours, there is plain text alone."""
    with terminal(["chat", bot], cwd=tmp_path, environ={"TERM": "dumb", "NO_COLOR": "1"}) as chat:
        chat.until("> ")
        chat.type("hello\n")
        chat.until("10 tokens in, 5 out")
        chat.until("> ")
        chat.type("forbidden\n")
        chat.until("blocked by words")
    assert "\x1b" not in chat.text


def test_a_pasted_message_is_one(bot: Path, tmp_path: Path) -> None:
    """Lines that are pasted at once are one message, where the keyboard's library can tell that they are."""
    pytest.importorskip("readline")
    with terminal(["chat", bot], cwd=tmp_path) as chat:
        chat.until("> ")
        chat.type("\x1b[200~first line\nsecond line\x1b[201~\n")
        chat.until("first line\r\nsecond line\r\n\x1b[2m10 tokens in")


def test_where_what_is_said_is_kept_is_told(bot: Path, tmp_path: Path) -> None:
    """A chat with an agent that has a memory leaves a file behind, and says so at the start; any other leaves none."""
    with_memory = tmp_path / "with_memory.py"
    with_memory.write_text(
        "from procession import Agent, Memory\n"
        "from procession.testing.fake_model import FakeModel\n"
        'agent = Agent("friend", model=FakeModel("Hello."), memory=Memory("kept.db"))\n'
    )
    with terminal(["chat", with_memory], cwd=tmp_path) as chat:
        chat.until("> ")
    assert "what is said is kept: SQLiteStore at kept.db, resource 'chat'" in STYLES.sub("", chat.text)
    with terminal(["chat", bot], cwd=tmp_path) as chat:
        chat.until("> ")
    assert "kept" not in chat.text
