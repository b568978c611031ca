"""The server runs on asyncio, as uvicorn does."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Run the tests of servers on asyncio alone."""
    return "asyncio"
