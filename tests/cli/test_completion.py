"""Completion in a shell: commands, options, targets and runs, offered by a real bash."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from procession.cli.complete import targets

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash: apt-get install bash")

ASK = """
set -e
eval "$(_PROCESSION_COMPLETE=source_bash procession)"
complete -p procession > /dev/null
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_procession_completion procession
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, *words: str, **environ: str) -> list[str]:
    """Return what bash offers where the last of *words* is being typed, in *folder*."""
    program = folder / "bin" / "procession"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nfrom procession.cli.main import main\nmain()\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", "procession", *words],
        env={**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", **environ},
        cwd=folder, capture_output=True, timeout=50, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return [line.strip() for line in done.stdout.decode().splitlines() if line.strip()]


@bash
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """Commands, those of a group, and options are offered."""
    assert completed(tmp_path, "r") == ["run", "runs"]
    assert completed(tmp_path, "runs", "re") == ["resume"]
    assert "--json-input" in completed(tmp_path, "run", "--js")


@bash
def test_bash_completes_targets_without_running_them(tmp_path: Path) -> None:
    """Files and folders are offered for a target; none of them is imported."""
    (tmp_path / "flow.py").write_text("open('imported', 'w')\npipeline = 1\n")
    (tmp_path / "flows").mkdir()
    (tmp_path / "notes.txt").write_text("")
    assert completed(tmp_path, "graph", "fl") == ["flow.py", "flows/"]
    assert not (tmp_path / "imported").exists()


@bash
def test_bash_completes_runs(procession: Command, flow: Path) -> None:
    """The newest runs of the store are offered, and no store is made by looking."""
    folder = flow.parent
    assert completed(folder, "runs", "show", "", PROCESSION_STORE="runs.db") == []
    assert not (folder / "runs.db").exists()
    for name in ("one", "other", "two"):
        procession("run", flow, "--text", "a", "--store", "runs.db", "--run-id", name, "-q")
    assert completed(folder, "runs", "show", "o", PROCESSION_STORE="runs.db") == ["other", "one"]
    assert completed(folder, "runs", "show", "--store", "runs.db", "t") == ["two"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(procession: Command, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """Each shell gets the script that asks for what it completes."""
    monkeypatch.setenv("_PROCESSION_COMPLETE", f"source_{shell}")
    done = procession()
    assert done.returncode == 0 and f"complete_{shell}".encode() in done.stdout


def test_names_behind_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the colon stand the names that a file gives to something; of a broken file there are none."""
    monkeypatch.chdir(tmp_path)
    Path("flow.py").write_text("import os\n_own = 1\norders = 2\nagent: int = 3\ndef order(): ...\nclass O: ...\n")
    Path("broken.py").write_text("def (")
    assert targets("flow.py:") == ["flow.py:orders", "flow.py:agent", "flow.py:order"]
    assert targets("flow.py:ord") == ["flow.py:orders", "flow.py:order"]
    assert targets("broken.py:") == targets("none.py:") == targets("none/") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], b"Did you mean 'run'"),
        (["runs", "resum"], b"Did you mean 'resume'"),
        (["run", "flow.py", "--tex", "a"], b"--text"),
        (["graph", "flw.py"], b"did you mean flow.py"),
        (["graph", "flow.py:flo"], b"did you mean 'flow'"),
        (["graph", "flow.py", "--format", "pgn"], b"'pgn' is not one of"),
    ],
)
def test_what_was_meant(procession: Command, flow: Path, arguments: list[str], said: bytes) -> None:
    """Where something is misspelt, what was meant is named; status 2."""
    done = procession(*arguments)
    assert done.returncode == 2 and said in done.stderr and b"Traceback" not in done.stderr, done.stderr
