"""Where attachments are kept: one suite for every sink, and what each of them promises alone."""

from __future__ import annotations

import os
import stat
import sys
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.storage.s3_server import BUCKET, s3_server, session

from procession.errors import DefinitionError, StoreError
from procession.storage.attachments import AttachmentSink, is_key, key_of
from procession.storage.file_sink import FileSink
from procession.storage.s3 import S3Sink

needs_boto3 = pytest.mark.skipif(find_spec("boto3") is None, reason="needs boto3: pip install 'procession[s3]'")
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
Make = Callable[..., S3Sink]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the address of an S3 server."""
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(server: str) -> Make:
    """Return what makes a sink in the server's bucket."""

    def make(**options: Any) -> S3Sink:
        given: dict[str, Any] = {"endpoint_url": server, "session": session(), "prefix": "chat/", **options}
        return S3Sink(BUCKET, **given)

    return make


@pytest.fixture(params=["file", "s3"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> AttachmentSink:
    """Return each kind of sink."""
    if request.param == "file":
        return FileSink(tmp_path / "kept")
    make: Make = request.getfixturevalue("bucket")
    return make()


async def kept(
    sink: AttachmentSink, data: bytes = PICTURE, scope: str | None = "ada", name: str | None = "me.png"
) -> str:
    """Put *data* into *sink*."""
    return await sink.put(data, media_type="image/png", name=name, scope=scope)


async def test_what_is_put_can_be_got(sink: AttachmentSink) -> None:
    """A reference begins with the sink's prefix and stands for the very bytes; an empty file is a file."""
    reference = await kept(sink)
    assert reference.startswith(sink.prefix)
    assert await sink.get(reference, scope="ada") == PICTURE
    assert await sink.get(await kept(sink, b""), scope="ada") == b""


async def test_the_same_data_have_the_same_reference(sink: AttachmentSink) -> None:
    """Whatever the file is called, once or twice: the content decides, and another scope has a reference of its own."""
    first, again = await kept(sink), await kept(sink, name="other.png")
    assert first == again
    assert await kept(sink, scope="bob") != first
    assert await kept(sink, scope=None) != first


async def test_of_another_scope_is_not_there(sink: AttachmentSink) -> None:
    """Neither another resource nor nobody gets, addresses or deletes what is somebody's; nor does somebody nobody's."""
    owned, free = await kept(sink), await kept(sink, scope=None)
    for reference, scope in ((owned, "bob"), (owned, None), (owned, ""), (free, "ada"), (free, "")):
        assert await sink.get(reference, scope=scope) is None
        assert await sink.url(reference, scope=scope) is None
        assert not await sink.delete(reference, scope=scope)
    assert await sink.get(owned, scope="ada") == PICTURE
    assert await sink.get(free, scope=None) == PICTURE


async def test_what_is_deleted_is_gone(sink: AttachmentSink) -> None:
    """It is deleted once, and can be put again."""
    reference = await kept(sink, b"to go")
    assert await sink.delete(reference, scope="ada")
    assert not await sink.delete(reference, scope="ada")
    assert await sink.get(reference, scope="ada") is None
    assert await kept(sink, b"to go") == reference


@pytest.mark.parametrize(
    "other", ["", "https://example.org/a.png", "attachment:", "attachment:../../etc/passwd", "attachment:/etc/passwd",
              "s3://attachments/chat/../x", "s3://attachments/chat/", "s3://other/chat/x"],
)  # fmt: skip
async def test_what_is_no_reference_is_not_there(sink: AttachmentSink, other: str) -> None:
    """Nothing but what ``put`` returned leads anywhere: no path, no other bucket, no address."""
    assert await sink.get(other, scope="ada") is None
    assert not await sink.delete(other, scope="ada")
    key = key_of(PICTURE, "ada")
    assert await sink.get(f"{sink.prefix}{key}/../{key}", scope="ada") is None
    assert await sink.get(f"{sink.prefix}{key}\n", scope="ada") is None


async def test_many_at_a_time(sink: AttachmentSink) -> None:
    """The same data put by several at once are there once, whole."""
    got: list[str] = []

    async def put() -> None:
        got.append(await kept(sink, b"at once" * 1000))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(put)
    assert len(set(got)) == 1
    assert await sink.get(got[0], scope="ada") == b"at once" * 1000


def test_keys_say_nothing_of_people() -> None:
    """A key has neither a name nor a scope in it, and a scope that looks like a path stays in its folder."""
    for scope in ("ada@example.org", "../../root", "a/b", None, "\udcff"):
        key = key_of(b"x", scope)
        assert is_key(key, scope)
        assert len(key) == 32 + 1 + 64
    assert not is_key(key_of(b"x", "ada"), "bob")


async def test_files_are_private(tmp_path: Path) -> None:
    """Folders are their owner's alone, files too, whatever the umask; and nothing half written lies beside them."""
    before = os.umask(0)
    try:
        sink = FileSink(tmp_path / "deep" / "kept")
        await kept(sink)
    finally:
        os.umask(before)
    (folder,) = sink.directory.iterdir()
    (file,) = folder.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (sink.directory, folder, file)] == [0o700, 0o700, 0o600]


async def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    """What is no longer what was put is an error, and no data; a link in its place is not followed."""
    sink = FileSink(tmp_path)
    reference = await kept(sink)
    file = tmp_path / reference.removeprefix(sink.prefix)
    file.write_bytes(b"else")
    with pytest.raises(StoreError, match="no longer what was put"):
        await sink.get(reference, scope="ada")
    secret = tmp_path / "secret"
    secret.write_bytes(PICTURE)
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(StoreError, match="could not be read"):
        await sink.get(reference, scope="ada")


async def test_a_file_that_was_changed_is_mended_by_the_next_one(tmp_path: Path) -> None:
    """Who sends the same content again finds it, whatever has become of the file; what a link led to is left alone."""
    sink = FileSink(tmp_path)
    reference = await kept(sink)
    file, secret = tmp_path / reference.removeprefix(sink.prefix), tmp_path / "secret"
    secret.write_bytes(bytes(len(PICTURE)))
    for linked in (False, True):
        if linked:
            file.unlink()
            file.symlink_to(secret)
        else:
            file.write_bytes(bytes(len(PICTURE)))
        assert await kept(sink) == reference
        assert await sink.get(reference, scope="ada") == PICTURE
    assert secret.read_bytes() == bytes(len(PICTURE))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a file that never ends has to be made")
async def test_a_disk_that_does_not_answer_holds_up_nobody(tmp_path: Path) -> None:
    """Who is cancelled goes on, although the thread still waits for the file."""
    sink = FileSink(tmp_path)
    reference = await kept(sink)
    file = tmp_path / reference.removeprefix(sink.prefix)
    file.unlink()
    os.mkfifo(file)
    with anyio.move_on_after(0.05) as waiting:
        await sink.get(reference, scope="ada")
    assert waiting.cancelled_caught
    os.close(os.open(file, os.O_WRONLY))  # the thread goes home


async def test_no_checksums_are_sent_unasked(bucket: Make) -> None:
    """Servers that speak S3 and are not AWS's refuse what boto3 adds by itself: neither a call nor an address has it."""
    sink = bucket()
    sent: list[str] = []

    def note(request: Any, **more: Any) -> None:
        sent.append(str(dict(request.headers)))

    sink._made().meta.events.register("before-send.s3", note)  # pyright: ignore[reportPrivateUsage]
    reference = await kept(sink)
    await sink.get(reference, scope="ada")
    said = [*sent, str(await sink.url(reference, scope="ada"))]
    assert len(said) == 3
    assert [each for each in said if "checksum" in each.lower() or "crc32" in each.lower()] == []


async def test_a_disk_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The error says what went wrong without the path, and leaves nothing behind."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="could not be written") as caught:
        await kept(FileSink(tmp_path / "file"))
    assert str(tmp_path) not in str(caught.value)


def fetched(url: str) -> tuple[bytes, dict[str, str]]:
    """Fetch an address as a provider does."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read(), {name.lower(): value for name, value in answer.headers.items()}


async def test_a_presigned_address_can_be_fetched(bucket: Make) -> None:
    """Whoever has it gets the bytes, with their media type, as a file and no page."""
    sink = bucket()
    url = await sink.url(await kept(sink), scope="ada")
    assert url is not None and "Signature" in url and "Expires=3600" in url
    data, headers = await anyio.to_thread.run_sync(fetched, url)
    assert (data, headers["content-type"], headers["content-disposition"]) == (PICTURE, "image/png", "attachment")


async def test_a_plain_address_has_no_keys_in_it(bucket: Make) -> None:
    """With ``links="public"`` it is the object's own; with ``"none"`` there is none."""
    sink = bucket(links="public")
    reference = await kept(sink)
    url = await sink.url(reference, scope="ada")
    assert url is not None and url.endswith(reference.removeprefix(f"s3://{BUCKET}/")) and "?" not in url
    assert await bucket(links="none").url(reference, scope="ada") is None


async def test_a_server_that_refuses_is_told(bucket: Make) -> None:
    """The error has the server's code, and neither keys nor contents."""
    sink = S3Sink("no-such-bucket", endpoint_url=bucket()._endpoint, session=session())  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(StoreError, match="NoSuchBucket") as caught:
        await kept(sink)
    assert "tests" not in str(caught.value)


@needs_boto3
async def test_a_server_that_is_not_there_is_told() -> None:
    """Nobody listens on port 9 of loopback: the error comes, and is a ``StoreError``."""
    sink = S3Sink(BUCKET, endpoint_url="http://127.0.0.1:9", session=session(), attempts=1, connect_timeout=2)
    with pytest.raises(StoreError, match="could not be used"):
        await kept(sink)


@needs_boto3
@pytest.mark.parametrize(
    "options", [{"bucket": ""}, {"bucket": "a/b"}, {"links": "secret"}, {"expires": 0}, {"expires": 604_801}, {"read_timeout": 0},
                {"connect_timeout": -1}, {"attempts": 0}],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    """The error names the option."""
    named = next(iter(options))
    with pytest.raises(DefinitionError, match=named):
        S3Sink(options.pop("bucket", BUCKET), **options)


def test_the_package_for_it_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says what to install."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(DefinitionError, match="boto3") as caught:
        S3Sink(BUCKET)
    assert caught.value.hint == "pip install 'procession[s3]'"


@needs_boto3
def test_a_sink_shows_no_keys() -> None:
    """What it prints as has the place and nothing else."""
    assert repr(S3Sink(BUCKET, session=session(), links="none")) == "S3Sink('s3://attachments/', links='none')"
