"""
The Studio's files: the page at ``/studio`` and what it is made of.

They hold nothing of anybody, so they are given without the token: a browser that opens an address has none to send.  The
page asks for it, and sends it with whatever it reads from ``/api``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from procession.errors import RequestRefused
from procession.server.endpoint import Asked, Endpoint
from procession.server.served import Served

__all__ = ["STATIC", "routes"]

STATIC: Path = Path(__file__).parent / "static"
"""Where ``make studio`` builds it; an installed wheel carries it."""

# Not what the machine believes of these endings: some say text/plain of a script, which no browser runs.
_MEDIA: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".md": "text/plain",
}
_NOT_BUILT: Final = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><title>Studio: not built</title>"
    "<h1>The Studio is not built</h1>"
    "<p>This package was installed from its sources, which hold the Studio unbuilt.</p>"
    "<p>Run <code>make studio</code> in the repository and install it again, or install a released wheel.</p></html>"
)


def routes(app: Served) -> list[Endpoint]:
    """
    Return what serves the Studio; nothing where it is switched off.
    """
    if not app.studio:
        return []
    return [
        Endpoint(
            method="GET", path="/studio", handle=_redirect, summary="Lead to the Studio.", status=307,
            media="text/html", open=True,
        ),
        Endpoint(
            method="GET", path="/studio/{file:path}", handle=_file, summary="Give the Studio's page or a file of it.",
            media="text/html", open=True,
        ),
    ]  # fmt: skip


async def _redirect(asked: Asked) -> Any:
    return RedirectResponse("studio/")  # as seen from here: the app may be mounted under any prefix


async def _file(asked: Asked) -> Any:
    name = asked.path["file"] or "index.html"
    content = await anyio.to_thread.run_sync(_read, STATIC, name)
    if content is None:
        if name == "index.html":
            return HTMLResponse(_NOT_BUILT, 503)
        raise RequestRefused("there is nothing at this path", status=404, reason="not-found")
    # Vite puts the hash of what is in a file into its name: under one name there is never anything else.
    kept = {"cache-control": "public, max-age=31536000, immutable"} if name.startswith("assets/") else None
    return Response(content, headers=kept, media_type=_MEDIA.get(Path(name).suffix, "application/octet-stream"))


def _read(folder: Path, name: str) -> bytes | None:
    """
    Return what the file *name* of *folder* holds, or ``None`` where there is none.
    """
    try:
        file = (folder / name).resolve()
        return file.read_bytes() if file.is_relative_to(folder.resolve()) and file.is_file() else None
    except (OSError, ValueError):  # no name of a file: a NUL in it, or longer than any
        return None
