"""The pictures of the documentation, made again by the commands that stand beside them."""

import re
import shlex
from pathlib import Path

import pytest

from procession.cli.main import main

ROOT = Path(__file__).parents[3]
COMMANDS = re.findall(r"`procession (graph [^`]*-o docs/pictures/[^`]*)`", (ROOT / "docs" / "graphs.md").read_text())


def test_every_picture_has_its_command() -> None:
    """Each file among the pictures is made by a command on the page, and shown there; those of the Studio, of each page."""
    page = (ROOT / "docs" / "graphs.md").read_text()
    pictures = [each for each in (ROOT / "docs" / "pictures").iterdir() if each.is_file()]
    assert len(pictures) >= 2
    for picture in pictures:
        assert f"-o docs/pictures/{picture.name}`" in page
        assert f"(pictures/{picture.name})" in page
    studio = [each.name for each in (ROOT / "docs" / "pictures" / "studio").iterdir()]
    assert {name.removesuffix("-light.png") for name in studio if name.endswith("-light.png")} == {
        name.removesuffix("-dark.png") for name in studio if name.endswith("-dark.png")
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_pictures_are_what_the_command_makes(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture on the page is, byte for byte, what its command makes today."""
    monkeypatch.chdir(ROOT)
    *arguments, picture = shlex.split(command)
    made = tmp_path / "made.svg"
    monkeypatch.setattr("sys.argv", ["procession", *arguments, str(made)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert made.read_bytes() == (ROOT / picture).read_bytes()
