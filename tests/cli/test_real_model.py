"""``procession run`` with a model behind a server that speaks OpenAI's protocol, on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

FACTORY = """
from procession.agents.agent import Agent
from procession.testing.fake_model import FakeModel


def pipeline(model=None):
    return Agent("support", model=model or FakeModel("scripted", repeat_last=True))
"""


class Server(BaseHTTPRequestHandler):
    """Answers every prompt with its last message, turned round."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = asked["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        if text == "fail":
            self.send_error(400)
            return
        self.send_response(200)
        base = {"id": "r-1", "model": asked["model"], "created": 0}
        if asked.get("stream"):
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for delta, reason in (({"role": "assistant", "content": text[::-1]}, None), ({}, "stop")):
                choice = {"index": 0, "delta": delta, "finish_reason": reason}
                chunk = {**base, "object": "chat.completion.chunk", "choices": [choice]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
        else:
            message = {"role": "assistant", "content": text[::-1]}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            body = json.dumps({**base, "object": "chat.completion", "choices": choices}).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """Serve on a free port of this machine and return the base URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/v1"
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize("model", [(), ("--model", "qwen3"), ("--model", "openai/gpt-5-mini")])
def test_a_server_answers(procession: Command, tmp_path: Path, server: str, model: tuple[str, ...]) -> None:
    """With --base-url, and with any name of a model, replies come from that server; without, from the script."""
    (tmp_path / "factory.py").write_text(FACTORY)
    arguments = ["run", "factory.py", "--input", "-", "--output", "-", "-q"]
    done = procession(*arguments, "--base-url", server, *model, input=b'"abc"\n"xyz"\n')
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["output"] for line in done.stdout.splitlines()] == ["cba", "zyx"]
    assert json.loads(procession(*arguments, input=b'"abc"\n').stdout)["output"] == "scripted"


def test_a_model_that_fails(procession: Command, tmp_path: Path, server: str) -> None:
    """A message that the model does not answer has failed, is named, and does not stop the others."""
    (tmp_path / "factory.py").write_text(FACTORY)
    done = procession(
        "run", "factory.py", "--input", "-", "--output", "-", "--base-url", server, input=b'"fail"\n"abc"\n'
    )
    assert done.returncode == 1
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["failed", "pass"]
    assert b"line 1: failed" in done.stderr
    assert b"Traceback" not in done.stderr
