"""`procession serve`: begun as people begin it, asked over its socket, and ended by signals."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from procession.cli.serve import ServeJob, app_of, run_server
from procession.errors import InputError, TargetError
from procession.server.guard import is_loopback

PARROT = """
from procession import Agent, App
from procession.testing.fake_model import FakeModel

agent = Agent("parrot", model=FakeModel(["Hello!"]))
app = App(agents=[agent])


def made() -> App:
    return App(agents=[Agent("made", model=FakeModel(["Hello!"]))])
"""
ENDLESS = """
import anyio

from procession import Agent
from procession.messages.chunks import TextDelta, TextStart


class Endless:
    id = "endless"

    async def stream(self, request):
        yield TextStart()
        yield TextDelta("One")
        await anyio.sleep_forever()


agent = Agent("endless", model=Endless())
"""
CHAIN = """
from procession.workflows.workflow import create_workflow

workflow = create_workflow("double", int).map(lambda n: 2 * n, id="twice").commit()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with an app, an agent and a function that makes an app."""
    path = tmp_path / "shop_app.py"
    path.write_text(PARROT)
    return path


@contextmanager
def serving(*arguments: str, cwd: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run the command while the block runs; yields the process and where it says that it serves."""
    command = [sys.executable, "-m", "procession", "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process, address(process)
        finally:
            process.kill()


def address(process: subprocess.Popen[str]) -> str:
    """Read what the server says until it has said where it serves."""
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        found = re.search(r"at (http://\S+)", line)
        if found:
            return found[1]
    raise AssertionError("".join(said))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_says_where_it_is_and_ends_by_a_signal(file: Path, number: signal.Signals, status: int) -> None:
    """DX: the command says its addresses at the start, listens to this machine alone, and ends cleanly when told to."""
    with serving(str(file), cwd=file.parent) as (process, url):
        assert is_loopback(httpx.URL(url).host)
        assert [each["id"] for each in httpx.get(f"{url}/api/agents").json()] == ["parrot"]
        process.send_signal(number)
        assert process.stdout is not None
        output = process.stdout.read()
        assert process.wait(20) == status
    assert "/studio/" in output and "/openapi.json" in output and "Traceback" not in output


def test_it_says_where_it_is_as_json(file: Path) -> None:
    """With --json standard output has one line of JSON with the addresses, whatever the target prints."""
    file.write_text(PARROT + "\nprint('loaded')\n")
    command = [sys.executable, "-m", "procession", "serve", str(file), "--port", "0", "--json", "--read-only"]
    with subprocess.Popen(
        command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            assert httpx.get(f"{said['url']}/healthz").status_code == 200 and said["studio"] == f"{said['url']}/studio/"
            process.send_signal(signal.SIGTERM)
            assert process.stdout.read() == "" and process.wait(20) == 0
        finally:
            process.kill()
    assert (said["agents"], said["workflows"]) == (["parrot"], [])
    assert (said["token_needed"], said["read_only"], said["redacted"]) == (False, True, True)


def test_a_second_signal_waits_for_nobody(tmp_path: Path) -> None:
    """DX: whoever interrupts a server twice need not wait for its calls; it still ends without a traceback."""
    (tmp_path / "endless_agent.py").write_text(ENDLESS)
    with serving("endless_agent.py", cwd=tmp_path) as (process, url), httpx.Client(base_url=url) as client:
        with client.stream("POST", "/api/agents/endless/stream", json={"messages": "Hi"}) as stream:
            lines = stream.iter_lines()  # kept: the connection ends with it
            assert any("One" in line for line in lines)  # by then the call goes on
            process.send_signal(signal.SIGINT)
            while httpx.get(f"{url}/readyz").status_code == 200:
                pass
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            output = process.stdout.read()
            assert process.wait(20) == 130
    assert "Traceback" not in output and "rror" not in output


def test_it_begins_anew_when_a_source_changes(file: Path) -> None:
    """DX: with --reload the server is begun anew once a file changes, on the same address, also after a mistake in it."""
    with serving(str(file), "--reload", cwd=file.parent) as (process, url):
        file.write_text("this is no Python")
        file.write_text(PARROT.replace('"parrot"', '"a-quite-different-parrot"'))
        assert address(process) == url
        assert [each["id"] for each in httpx.get(f"{url}/api/agents").json()] == ["a-quite-different-parrot"]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 0


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command, which ends by itself."""
    command = [sys.executable, "-m", "procession", "serve", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=40)


def test_it_is_not_open_to_others_without_a_token(file: Path) -> None:
    """SEC-004: beyond loopback the command refuses to begin without a token, and says what to do."""
    refused = run(str(file), "--host", "0.0.0.0", "--port", "0", cwd=file.parent)
    assert refused.returncode == 2 and "token" in refused.stderr and "--token-env" in refused.stderr


def test_all_of_a_machine_is_asked_by_the_name_that_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-004: with a token and --host 0.0.0.0 the address at the start is one that is answered; other names are not."""
    monkeypatch.setenv("SHOP_TOKEN", "correct-horse")
    with serving(str(file), "--host", "0.0.0.0", "--token-env", "SHOP_TOKEN", cwd=file.parent) as (_, url):
        there, said = httpx.URL(url), {"Authorization": "Bearer correct-horse"}
        here = f"http://127.0.0.1:{there.port}/api/agents"
        assert httpx.get(here, headers={"Host": there.netloc.decode(), **said}).status_code == 200
        assert httpx.get(here, headers={"Host": there.netloc.decode()}).status_code == 401
        assert httpx.get(here, headers={"Host": "evil.example", **said}).status_code == 421


def test_what_is_served(file: Path, tmp_path: Path) -> None:
    """An app, an agent, a workflow, or what a function makes is served; anything else is refused with a hint."""
    assert list(app_of(ServeJob(target=str(file))).agents) == ["parrot"]
    assert list(app_of(ServeJob(target=f"{file}:agent")).agents) == ["parrot"]
    assert list(app_of(ServeJob(target=f"{file}:made")).agents) == ["made"]
    chain = tmp_path / "double_chain.py"
    chain.write_text(CHAIN)
    assert list(app_of(ServeJob(target=str(chain))).workflows) == ["double"]
    with pytest.raises(TargetError, match="no workflow"):
        app_of(ServeJob(target=f"{file}:FakeModel"))
    with pytest.raises(TargetError, match="there is no 'ap' in it") as missing:
        app_of(ServeJob(target=f"{file}:ap"))
    assert missing.value.hint == "did you mean 'app'?"


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("no.such.host.invalid", "there is no address called"),
        ("a..b", "no address called 'a..b'"),
        ("192.0.2.1", "cannot listen at 192.0.2.1"),
    ],
)
def test_an_address_that_is_none_of_this_machine(file: Path, host: str, said: str) -> None:
    """Where the host is the mistake, the hint speaks of the host and not of the port."""
    with pytest.raises(TargetError, match=said) as refused:
        run_server(ServeJob(target=str(file), host=host, port=0))
    assert str(refused.value.hint).startswith("--host takes")


def test_a_mistake_in_a_reloaded_file_is_a_sentence(tmp_path: Path) -> None:
    """DX: the process that --reload begins says in a sentence what cannot be loaded, with its line and no traceback."""
    (tmp_path / "half_written.py").write_text("app = (")
    fields = {"target": "half_written.py", "reload": True}
    program = f"from procession.cli.serve import _child; _child({fields!r})"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=40)
    assert done.returncode == 2
    assert "half_written.py:1: '(' was never closed" in done.stderr and "Traceback" not in done.stderr


def test_what_the_command_line_says_of_an_app(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The options hold for an app that is made already; a token that is not in the environment is no token at all."""
    job = ServeJob(target=f"{file}:made", read_only=True, studio=False, show_values=True, token_env="SHOP_TOKEN")
    with pytest.raises(InputError, match="SHOP_TOKEN"):
        app_of(job)
    monkeypatch.setenv("SHOP_TOKEN", "correct-horse")
    app = app_of(job)
    assert app.guard.read_only and app.guard.needs_token and not app.studio
    assert app.redact is None and app.runs.redact is None
