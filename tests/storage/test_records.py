"""How texts stand in a store: as they are, encrypted, or elsewhere; and that nothing a user writes is taken for more."""

from __future__ import annotations

import tempfile
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from procession.errors import DefinitionError, StoreError
from procession.storage.cipher import KEY_VARIABLE, Cipher, new_key
from procession.storage.file_sink import FileSink
from procession.storage.records import Records, record_name

needs_cryptography = pytest.mark.skipif(
    find_spec("cryptography") is None, reason="needs cryptography: pip install 'procession[encryption]'"
)
NAME = record_name("message", "t", "m")
HOSTILE = [
    "", "{", '{"a":1}', "procession:", "procession:text:", "procession:text:x", "procession:sealed:",
    "procession:sealed:AAAA", "procession:kept:attachment:" + "0" * 32 + "/" + "0" * 64, "PROCESSION:sealed:", "\x00", "\ud800",
    "é" * 40, "🙂" * 40, " procession:text:", "procession:text:procession:text:",
]  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=200), st.text(max_size=50).map(lambda text: "procession:" + text)
)


def files(folder: Path) -> list[Path]:
    """Return the objects that a sink has."""
    return [path for path in folder.rglob("*") if path.is_file()]


@needs_cryptography
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_any_text_comes_back(text: str) -> None:
    """Whatever is written is read again: plain, encrypted, in a sink, and both, at each limit; nothing is left when it goes."""

    async def main(folder: str) -> None:
        for key, limit in product((None, new_key()), (None, 1, 40, 1000)):
            sink = FileSink(folder) if limit is not None else None
            records = Records(key=key, sink=sink, limit=limit)
            stored = await records.write(text, scope="ada", name=NAME)
            assert await records.read(stored, scope="ada", name=NAME) == text
            await records.forget([stored], scope="ada")
            assert files(Path(folder)) == []

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, folder)


@needs_cryptography
@settings(max_examples=60, deadline=None)
@example(text="", place=0, letter="=", bit=0)
@given(text=TEXTS, place=st.integers(0, 10**6), letter=st.sampled_from("aA0=:/é\x00"), bit=st.integers(0, 7))
def test_what_was_changed_is_refused(text: str, place: int, letter: str, bit: int) -> None:
    """One byte changed, anywhere, in the row or in the object, is refused, and so is what was cut off."""

    async def main(folder: str) -> None:
        for limit in (1, 10_000):
            inner = Path(folder, str(limit))
            records = Records(key=new_key(), sink=FileSink(inner), limit=limit, refuse_plain=True)
            read = partial(records.read, scope="ada", name=NAME)
            stored = await records.write(text, scope="ada", name=NAME)
            assert await read(stored) == text
            at = place % len(stored)
            another = letter if letter != stored[at] else "z"
            for changed in (stored[:at] + another + stored[at + 1 :], stored[:at], stored + letter):
                with pytest.raises(StoreError):
                    await read(changed)
            for path in files(inner):
                whole = path.read_bytes()
                at = place % len(whole)
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
                with pytest.raises(StoreError):
                    await read(stored)

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, folder)


@needs_cryptography
@pytest.mark.parametrize("limit", [1, None])
async def test_a_record_is_read_only_where_it_was_written(tmp_path: Path, limit: int | None) -> None:
    """A row that was copied to another message, thread or resource is refused, and the error says which record it is."""
    records = Records(key=new_key(), sink=FileSink(tmp_path), limit=limit)
    stored = await records.write("My secret", scope="ada", name=NAME)
    for scope, name in (("bob", NAME), ("ada", record_name("message", "t", "n")), ("ada", record_name("title", "t"))):
        with pytest.raises(StoreError, match="record ") as caught:
            await records.read(stored, scope=scope, name=name)
        assert name in str(caught.value)
        assert "secret" not in str(caught.value)


@needs_cryptography
async def test_an_object_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    """A row that refers to an object of another record of the same resource is refused, without encryption, too."""
    for key in (None, new_key()):
        records = Records(key=key, sink=FileSink(tmp_path), limit=1)
        stored = await records.write("mine", scope="ada", name=NAME)
        with pytest.raises(StoreError):
            await records.read(stored, scope="ada", name=record_name("note", "t"))


@needs_cryptography
async def test_keys_are_changed_by_putting_a_new_one_in_front() -> None:
    """The first key writes and all read; what the old key alone has sealed is not read once that is gone."""
    old, new = new_key(), new_key()
    before = await Records(key=old).write("hello", scope="ada", name=NAME)
    both = Records(key=f"{new}, {old}")
    after = await both.write("hello", scope="ada", name=NAME)
    assert [await both.read(one, scope="ada", name=NAME) for one in (before, after)] == ["hello", "hello"]
    only_new = Records(key=new)
    assert await only_new.read(after, scope="ada", name=NAME) == "hello"
    with pytest.raises(StoreError, match=KEY_VARIABLE) as caught:
        await only_new.read(before, scope="ada", name=NAME)
    assert not any(secret in str(caught.value) for secret in ("hello", old, new))


@needs_cryptography
async def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is encrypted and has no key is refused by name of the variable; with it in the environment it is read."""
    key = new_key()
    stored = await Records(key=key).write("hello", scope="ada", name=NAME)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(StoreError, match=KEY_VARIABLE):
        await Records.from_environment().read(stored, scope="ada", name=NAME)
    monkeypatch.setenv(KEY_VARIABLE, key)
    assert await Records.from_environment().read(stored, scope="ada", name=NAME) == "hello"


@needs_cryptography
@pytest.mark.parametrize(
    "value", ["", " ", ",", "short", "é" * 44, "A" * 43 + "!", new_key() + ",", new_key() + "x", "-"]
)
def test_a_key_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """It is refused where it is given, by the name of the variable and how one is made, and is not quoted."""
    monkeypatch.setenv(KEY_VARIABLE, value)
    with pytest.raises(DefinitionError, match=KEY_VARIABLE) as caught:
        Records.from_environment()
    assert len(value) < 5 or value not in str(caught.value)
    assert "new_key" in str(caught.value)


@needs_cryptography
async def test_what_is_older_than_the_key_is_read_unless_refused() -> None:
    """Rows from before stay readable; with refuse_plain they are not."""
    key = new_key()
    for text in ('{"old":1}', "old", "procession:sealed:old"):
        old = await Records().write(text, scope="ada", name=NAME)
        assert await Records(key=key).read(old, scope="ada", name=NAME) == text
        with pytest.raises(StoreError, match="not encrypted.*refuse_plain"):
            await Records(key=key, refuse_plain=True).read(old, scope="ada", name=NAME)


async def test_long_records_stand_in_the_sink(tmp_path: Path) -> None:
    """Above the limit, in bytes, the row has a reference; the object goes with forget, and another's of the same text stays."""
    records = Records(sink=FileSink(tmp_path), limit=100)
    assert await records.write("é" * 50, scope="ada", name=NAME) == "é" * 50
    first = await records.write("é" * 51, scope="ada", name=NAME)
    again = await records.write("é" * 51, scope="ada", name=NAME)
    assert len(first) < 200
    assert first != again
    assert len(files(tmp_path)) == 2
    await records.forget([first], scope="ada")
    assert len(files(tmp_path)) == 1
    assert await records.read(again, scope="ada", name=NAME) == "é" * 51
    with pytest.raises(StoreError, match="not in its sink any more, at attachment:"):
        await records.read(first, scope="ada", name=NAME)


async def test_a_sink_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Reading and forgetting without the sink say where the object is; an object that is something else is refused."""
    sink = FileSink(tmp_path)
    records = Records(sink=sink, limit=1)
    stored = await records.write("long", scope="ada", name=NAME)
    with pytest.raises(StoreError, match="sink that is not given, at attachment:"):
        await Records().read(stored, scope="ada", name=NAME)
    with pytest.raises(StoreError, match="1 large records are still in their sink \\(attachment:"):
        await Records().forget([stored], scope="ada")
    other = await sink.put(b"a picture", media_type="image/png", name=None, scope="ada")
    with pytest.raises(StoreError, match="something else, at attachment:"):
        await records.read("procession:kept:" + other, scope="ada", name=NAME)


class Broken(FileSink):
    """A sink that cannot delete one of its objects."""

    stuck = ""

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """Fail for that one."""
        if reference in self.stuck:
            raise OSError("the disk is gone")
        return await super().delete(reference, scope=scope)


async def test_what_cannot_be_deleted_keeps_nothing_else(tmp_path: Path) -> None:
    """All that can be deleted is, and the error tells what is left."""
    sink = Broken(tmp_path)
    records = Records(sink=sink, limit=1)
    stored = [await records.write(text, scope="ada", name=NAME) for text in ("one", "two", "three")]
    sink.stuck = stored[0]
    with pytest.raises(StoreError, match="1 large records.*OSError"):
        await records.forget(stored, scope="ada")
    assert len(files(tmp_path)) == 1


@needs_cryptography
async def test_what_leaves_is_encrypted(tmp_path: Path) -> None:
    """With a key neither the row nor the object has the text in it."""
    records = Records(key=new_key(), sink=FileSink(tmp_path), limit=10)
    stored = await records.write("My secret, which is long", scope="ada", name=NAME)
    assert "secret" not in stored
    assert [b"secret" in path.read_bytes() for path in files(tmp_path)] == [False]


@pytest.mark.parametrize("options", [{"limit": 5}, {"limit": 0, "sink": FileSink("x")}, {"refuse_plain": True}])
def test_what_cannot_work_is_refused(options: dict[str, Any]) -> None:
    """A limit without a sink, one that is none, and a refusal of plain records without a key are refused at once."""
    with pytest.raises(DefinitionError, match="Records has"):
        Records(**options)


@needs_cryptography
async def test_plain_says_when_nothing_need_be_asked() -> None:
    """Only where there is neither key nor sink do texts in braces stand as they are."""
    assert Records().is_plain
    assert not Records(key=new_key()).is_plain
    assert not Records(sink=FileSink("x")).is_plain
    assert await Records().write('{"a":1}', scope="ada", name=NAME) == '{"a":1}'


@needs_cryptography
def test_a_cipher_tells_nothing_of_its_keys() -> None:
    """Neither the key nor the text is in what is printed of it, and equal texts do not look equal."""
    key = new_key()
    cipher = Cipher([key])
    assert key not in repr(cipher) + repr(Records(key=key))
    assert cipher.seal(b"same", b"") != cipher.seal(b"same", b"")
    assert len({new_key() for _ in range(100)}) == 100
