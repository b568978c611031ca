"""The repository itself: what stands where, and that its signposts are true."""

import ast
import inspect
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import procession

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "procession"
DOCS = ROOT / "docs"

DOORS = ("processors", "runtime", "steps", "workflows")
CODE = ("src", "tests", "bench", "examples")
LONGEST_FILE = 400

# The roots of the built-ins; what else stands under processors/ is a port, not a built-in.
NOT_BUILT_INS = {"detect"}

# Put together here, so that this file does not contain what it looks for.
FORBIDDEN = {
    "a path outside the repository": re.compile(r"\.\./" + "shared"),
    "a path of one machine": re.compile(r"(?<![\w.)}/-])/" + "work/"),
    "the host of a package registry": re.compile(
        "pypi" + r"\.(?:org|io)|" + "python" + "hosted|registry" + r"\.(?:npmjs|yarnpkg)|npmjs" + r"\.com"
    ),
}

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)


def python_files() -> Iterator[Path]:
    """Yield every Python file that people read."""
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if "data" not in file.relative_to(ROOT).parts:
                yield file


def pages() -> list[Path]:
    """Return every page of documentation."""
    return sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def rooms() -> list[str]:
    """Return the sub-packages of the package."""
    return sorted(init.parent.name for init in PACKAGE.glob("*/__init__.py"))


def relative(path: Path) -> str:
    """Return a path as it is written in the repository."""
    return path.relative_to(ROOT).as_posix()


def tracked_files() -> list[Path]:
    """Return the files that git knows or would take; without git, all that are not hidden."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        files = [file for top in (*CODE, "docs") for file in (ROOT / top).rglob("*")]
        files += ROOT.glob("*.*")
    else:
        files = [ROOT / name.decode() for name in names.split(b"\0") if name]
    return [file for file in files if file.is_file() and not file.is_symlink() and "__pycache__" not in file.parts]


@pytest.mark.parametrize("door", DOORS)
def test_door_leads_into_the_package(door: str) -> None:
    """Each door at the top is a relative link that opens onto the room of its name."""
    path, target = ROOT / door, f"src/procession/{door}"
    if path.is_file():  # git writes a link as a file with its target where links are unknown
        assert path.read_text() == target
    else:
        assert path.is_symlink()
        assert path.readlink().as_posix() == target
    assert (ROOT / target / "__init__.py").is_file()


def test_files_are_short() -> None:
    """No Python file is longer than 400 lines: one that is holds two decisions."""
    lengths = {relative(file): len(file.read_text("utf-8").splitlines()) for file in python_files()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_every_test_states_its_promise() -> None:
    """Each test says in its docstring what it promises."""
    silent = [
        f"{relative(file)}:{node.lineno} {node.name}"
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def links(text: str) -> list[str]:
    """Return where the links of a page lead to; code is no link."""
    return LINK.findall(re.sub(r"`[^`\n]*`", "code", FENCE.sub("", text)))


def anchors(page: Path) -> set[str]:
    """Return the fragments that a page's headings can be linked by."""
    seen: dict[str, int] = {}
    result: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text("utf-8"))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


@pytest.mark.parametrize("page", pages(), ids=relative)
def test_links_open(page: Path) -> None:
    """Every relative link in the documentation leads to a file, and its fragment to a heading."""
    broken: list[str] = []
    for link in links(page.read_text("utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, fragment = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        inside = target.is_relative_to(ROOT) and target.exists()
        line = re.fullmatch(r"L\d+(-L\d+)?", fragment) is not None
        is_page = target.suffix == ".md"
        if not inside or (is_page and fragment and not line and fragment not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("room", rooms())
def test_room_has_a_page(room: str) -> None:
    """Every room of the package has a page of its name under docs/."""
    assert (DOCS / f"{room}.md").is_file()


def linked_from(page: Path) -> set[Path]:
    """Return the files that a page links."""
    names = (unquote(link).partition("#")[0] for link in links(page.read_text("utf-8")))
    return {(page.parent / name).resolve() for name in names if name}


def test_three_steps_lead_from_the_readme_to_any_module() -> None:
    """Each module of the package is linked by a page that README links, or that is linked by one that README links."""
    near = {file for file in linked_from(ROOT / "README.md") if file.suffix == ".md" and file.exists()}
    found = near | {file for page in near for file in linked_from(page) if file.suffix == ".md" and file.exists()}
    linked = {file for page in found for file in linked_from(page)}
    modules = {file for file in PACKAGE.rglob("*.py") if file.name != "__init__.py"}
    assert sorted(relative(file) for file in modules - linked) == []


def mapped() -> list[tuple[str, Path]]:
    """Read docs/map.md: each line that names things in code style and links to one file."""
    entries: list[tuple[str, Path]] = []
    for line in (DOCS / "map.md").read_text("utf-8").splitlines():
        files = [link for link in links(line) if link.partition("#")[0].endswith(".py")]
        if not files:
            continue
        assert len(files) == 1, f"docs/map.md: one file to a line: {line}"
        prose = LINK.sub("", line)
        target = (DOCS / files[0].partition("#")[0]).resolve()
        entries += [(name, target) for name in re.findall(r"`([A-Za-z_]\w*)`", prose)]
    return entries


def defined_in(file: Path) -> set[str]:
    """Return what a file itself defines at its top level."""
    names: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return names


def test_map_is_true() -> None:
    """Whatever docs/map.md names is defined in the file that it links."""
    wrong = [f"{name}: {relative(file)}" for name, file in mapped() if name not in defined_in(file)]
    assert wrong == []


def test_map_names_every_public_class() -> None:
    """docs/map.md leads from each public class to the file that defines it."""
    entries = set(mapped())
    missing: list[str] = []
    for name in procession.__all__:
        value = getattr(procession, name)
        if not inspect.isclass(value):
            continue
        file = Path(inspect.getsourcefile(value) or "").resolve()
        if file.is_relative_to(PACKAGE) and (value.__name__, file) not in entries:
            missing.append(f"{value.__name__}: {relative(file)}")
    assert missing == []


def test_built_ins_are_kept_apart() -> None:
    """Every folder of built-in processors is in the contract that keeps them independent."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = [each for each in contracts if each["id"] == "builtin-independent"]
    folders = {init.parent.name for init in PACKAGE.glob("processors/*/__init__.py")}
    assert {name.rpartition(".")[2] for name in contract["modules"]} == folders - NOT_BUILT_INS


def test_nothing_points_outside() -> None:
    """No file names a place outside the repository, a machine's path or a registry's host."""
    found: list[str] = []
    for file in tracked_files():
        text = file.read_text("utf-8", errors="replace")
        found += [f"{relative(file)}: {what}" for what, pattern in FORBIDDEN.items() if pattern.search(text)]
    assert found == []
