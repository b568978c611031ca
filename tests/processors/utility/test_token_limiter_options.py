"""How ``TokenLimiter`` is made: what is refused, what is named, and what it needs to count."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import pytest
from tests.models.tokens.kit import machine, missing

from procession.errors import ProcessorDefinitionError
from procession.processors.utility.token_limiter import TokenLimiter, TokenLimiterProcessor


def test_it_counts_offline_and_at_once() -> None:
    """TOK-008: with the network shut, a process that does nothing else counts by estimate without a tokenizer, and with
    the real one where it is installed; neither computes for a second."""
    code = """
        import socket, sys, time
        def refused(*args, **options):
            raise AssertionError("a connection was attempted")
        socket.socket.connect = socket.getaddrinfo = refused
        from procession.processors.utility.token_limiter import TokenLimiter
        started = time.process_time()
        assert TokenLimiter(100, counter="estimate").count("hello") == 2
        assert "tiktoken" not in sys.modules
        assert time.process_time() - started < 1
        started = time.process_time()
        assert TokenLimiter(limit=100).count("hello") == 1
        assert time.process_time() - started < 1
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=30)


def test_a_missing_extra_is_named() -> None:
    """TOK-008: without the extra a model's tokens are estimated, and a tokenizer asked for by name is refused with the
    command that installs it."""
    with machine(missing("tiktoken")):
        assert TokenLimiter(100).count("hello") == 2
        assert TokenLimiter(100).counter_of("gpt-5").estimated
        with pytest.raises(ProcessorDefinitionError, match=r"pip install 'procession\[tokens\]'"):
            TokenLimiter(100, counter="o200k_base")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"limit": 0}, "limit=0"),
        ({"limit": True}, "limit=True"),
        ({"limit": "9"}, "limit='9'"),
        ({"limit": 9, "strategy": "drop"}, "strategy"),
        ({"limit": 9, "count_mode": "all"}, "count_mode"),
        ({"limit": 9, "trim_mode": "oldest"}, "trim_mode"),
        ({"limit": 9, "user_text": "cut"}, "user_text"),
        ({"limit": 9, "on_error": "pass"}, "on_error"),
        ({"limit": 9, "counter": "gpt2"}, "gpt2"),
        ({"limit": 9, "counter": 7}, "count"),
        ({"limit": 9, "counter": len, "token_counter": len}, "token_counter"),
        ({"limit": 9, "at_max_remove_tokens": 3}, "memory-only"),
        ({"limit": 9, "trim_mode": "memory-only", "at_max_remove_tokens": 10}, "at_max_remove_tokens"),
        ({"limit": 9, "trim_mode": "memory-only", "at_max_remove_tokens": -1}, "at_max_remove_tokens"),
        ({"limit": 9, "on_memory_trim": print}, "memory-only"),
        ({"limit": 9, "trim_mode": "memory-only", "on_memory_trim": 7}, "on_memory_trim"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], named: str) -> None:
    """A wrong option is an error when the limiter is made, and says which."""
    with pytest.raises(ProcessorDefinitionError, match=named):
        TokenLimiter(**options)


def test_the_documents_name_is_the_same_class() -> None:
    """``TokenLimiterProcessor(100)`` is how the documents write it, and ``token_counter`` their word for ``counter``."""
    assert TokenLimiterProcessor is TokenLimiter
    assert TokenLimiter(100, token_counter=len).count("abc") == 3
