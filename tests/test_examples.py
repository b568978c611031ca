"""What the documentation shows is true: every example and every block runs, without a key."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.run_markdown import blocks

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

# Examples that are given something to do: what stands after `procession`.
COMMANDS = {
    "moderation.py": "run examples/moderation.py --input examples/data/inbox.jsonl",
}

# Examples that need an extra which not every run of the tests has installed: the package that it brings.
NEEDS = {"10_mcp.py": "mcp"}

OK, BLOCKED = 0, 3  # 3: something was blocked, as it should be

pytestmark = pytest.mark.timeout(300)


def relative(path: Path) -> str:
    """Return a path as it is written in the repository."""
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """Make a place that looks like the checkout, so that what runs there leaves no trace in it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(command: list[str] | str, workplace: Path, *allowed: int) -> str:
    """Run a command with no key in sight and return what it prints; a text is for the shell."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    environment["PYTHONWARNINGS"] = "error"
    environment["PYTHONUTF8"] = "1"
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=workplace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )
    shown = command if isinstance(command, str) else shlex.join(command)
    assert done.returncode in allowed, f"{shown}\nended with {done.returncode}:\n{done.stdout[-8000:]}"
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=relative)
def test_example_runs(example: Path, workplace: Path) -> None:
    """Every example runs as it is, from the top of the repository."""
    if example.name in NEEDS:
        pytest.importorskip(NEEDS[example.name])
    run([sys.executable, relative(example)], workplace, OK)


@pytest.mark.parametrize("name", COMMANDS)
def test_example_does_its_work(name: str, workplace: Path) -> None:
    """An example that is made for the command line does its work there."""
    assert (ROOT / "examples" / name).is_file()
    assert run(f"procession {COMMANDS[name]}", workplace, OK, BLOCKED)


def pages_with_python() -> list[Path]:
    """Return the pages that have a Python block that runs."""
    return [
        page
        for page in PAGES
        if any("no-run" not in marks for _, marks, _ in blocks(page.read_text("utf-8"), "python"))
    ]


@pytest.mark.parametrize("page", pages_with_python(), ids=relative)
def test_python_blocks_run(page: Path, workplace: Path) -> None:
    """The Python blocks of a page run, in order, in one namespace."""
    run([sys.executable, str(ROOT / "tests" / "run_markdown.py"), str(page)], workplace, OK)


def shown_commands() -> list[object]:
    """Return each page's commands in the console blocks that are marked ``run``."""
    found: list[object] = []
    for page in PAGES:
        for number, marks, body in blocks(page.read_text("utf-8"), "console"):
            if "run" in marks:
                joined = re.sub(r"\\\n(?:> )?", "", body)
                commands = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
                found.append(pytest.param(commands, id=f"{relative(page)}:{number}"))
    return found


@pytest.mark.parametrize("commands", shown_commands())
def test_console_blocks_run(commands: list[str], workplace: Path) -> None:
    """The commands of a console block that is marked ``run`` succeed, one after the other."""
    assert commands
    for command in commands:
        run(command, workplace, OK, BLOCKED)


def shown_outputs() -> list[object]:
    """Return each command and what a page says that it prints, of the console blocks that are marked ``shown``."""
    found: list[object] = []
    for page in PAGES:
        for number, marks, body in blocks(page.read_text("utf-8"), "console"):
            if "shown" in marks:
                for part in re.split(r"(?m)^\$ ", body)[1:]:
                    command, _, printed = part.partition("\n")
                    found.append(pytest.param(command, printed, id=f"{relative(page)}:{number}"))
    return found


@pytest.mark.parametrize(("command", "printed"), shown_outputs())
def test_what_a_page_shows_is_what_is_printed(command: str, printed: str, workplace: Path) -> None:
    """The output below a command of a console block that is marked ``shown`` is that of the command."""
    assert printed.strip()
    assert run(command, workplace, OK).rstrip() == printed.rstrip()
