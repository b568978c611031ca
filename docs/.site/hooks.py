"""What makes a site of the pages as they stand in the repository: hooks of MkDocs, for ``make site``.

The pages are written for readers of the repository, and link files beside `docs/` by their relative paths.  In the site

- README, CHANGELOG and CONTRIBUTING are pages as well, and README is the first one;
- a link to a file of the repository opens a copy of its text, in `source/`;
- a link to a folder, for which a site has no page, becomes the text that it had;
- the marks of the tests on an opening line of code (``python no-run``) are left out.

A link to what does not exist stays as it is, so that MkDocs reports it: with `--strict` that fails the build.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]

# Pages of the repository that stand beside docs/, and where they are in the site.
BESIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}

FENCED = re.compile(r"^ *(?P<fence>```+|~~~+)[^\n]*\n.*?^ *(?P=fence) *$", re.DOTALL | re.MULTILINE)
MARKS = re.compile(r"^( *(?:```+|~~~+)\w+) [^\n]*", re.MULTILINE)
LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^)\s]+)\)")

Nav = str | dict[str, "Nav"] | list["Nav"]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder where the navigation names the folder."""
    config.nav = expanded(config.nav or [], Path(config.docs_dir))
    return config


def expanded(nav: Nav, docs: Path) -> Nav:
    """Return a navigation in which each path that ends with a slash is the list of the folder's pages."""
    if isinstance(nav, dict):
        return {title: expanded(value, docs) for title, value in nav.items()}
    if isinstance(nav, list):
        return [expanded(value, docs) for value in nav]
    if not nav.endswith("/"):
        return nav
    pages = sorted(page.name for page in (docs / nav).glob("*.md"))
    return [nav + name for name in sorted(pages, key=lambda name: name != "README.md")]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages beside docs/, and the text of each file that a page links."""
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, "site.css", content=(ROOT / "docs/.site/site.css").read_text("utf-8")))
    linked: set[str] = set()
    for each in list(files.documentation_pages()):
        for match in LINK.finditer(prose(each.content_string)):
            path = in_repository(each.src_uri, match["target"].partition("#")[0])
            if path is not None and (ROOT / path).is_file() and site_path(path) == source_path(path):
                linked.add(path)
    for path in sorted(linked):
        content = (ROOT / path).read_bytes()
        files.append(File.generated(config, source_path(path), content=content, inclusion=InclusionLevel.INCLUDED))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of a page into those of the site."""
    return MARKS.sub(
        r"\1", outside_code(markdown, lambda text: LINK.sub(lambda m: in_site(page.file.src_uri, m), text))
    )


def in_site(page: str, link: re.Match[str]) -> str:
    """Return a link of a page as it is in the site."""
    target, _, fragment = link["target"].partition("#")
    path = in_repository(page, target)
    if path is None or not (ROOT / path).exists():
        return link[0]
    if (ROOT / path).is_dir():
        return link["text"][1:-1]
    there = site_path(path)
    keeps = fragment and there != source_path(path)
    relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
    return f"{link['text']}({relative}{'#' + fragment if keeps else ''})"


def in_repository(page: str, target: str) -> str | None:
    """Return the path in the repository that a page of the site links, or None for another kind of link."""
    if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    origin = {site: name for name, site in BESIDE.items()}.get(page, f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    return None if path.startswith("..") else path


def site_path(path: str) -> str:
    """Return where a file of the repository is in the site."""
    if path in BESIDE:
        return BESIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else source_path(path)


def source_path(path: str) -> str:
    """Return where the text of a file is in the site, under a name that browsers show and do not run."""
    return f"source/{path}.txt"


def prose(text: str) -> str:
    """Return a page without its code."""
    return FENCED.sub("", text)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change what stands between the blocks of code."""
    parts: list[str] = []
    end = 0
    for block in FENCED.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])
