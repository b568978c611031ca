"""A server of the tests' own that speaks S3: moto, on loopback, in a thread, with nothing on the disk."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["BUCKET", "s3_server", "session"]

BUCKET = "attachments"


def session() -> Any:
    """Return keys of access that the server takes."""
    import boto3

    return boto3.Session(aws_access_key_id="tests", aws_secret_access_key="tests", region_name="us-east-1")


@contextmanager
def s3_server() -> Generator[str]:
    """Run the server with one bucket; yields its address.  Without moto the test is skipped."""
    moto = pytest.importorskip("moto.server", reason="needs moto: pip install 'moto[s3,server]'")
    server: Any = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        client = session().client("s3", endpoint_url=address)
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield address
    finally:
        server.stop()
