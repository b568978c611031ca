"""
The fixtures of ``browser.py``, where the browser's driver is installed; `make browser` installs it, and `make test` does not.
"""

from importlib.util import find_spec

collect_ignore_glob: list[str] = []
if find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.studio import browser as fixtures

    anyio_backend, browser = fixtures.anyio_backend, fixtures.browser
