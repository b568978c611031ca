"""
Transport retries: a call that failed before anything was said is made again, where the failure may pass by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar

from procession.errors import ModelError
from procession.models.loose import as_list, as_mapping, as_text

__all__ = ["LONGEST_RETRY_AFTER", "retry_after", "with_retries"]

T = TypeVar("T")

FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
JITTER = 0.5
"""
Seconds before the first retry, at most before later ones, and of chance on top.  OpenAI's and Anthropic's own clients
wait as long.
"""
LONGEST_RETRY_AFTER = 60.0
"""Seconds.  Where a server asks for more, the caller is told at once, instead of being kept waiting."""


async def with_retries(call: Callable[[], Awaitable[T]], *, max_retries: int) -> T:
    """
    Return what *call* does, which is made again up to *max_retries* times while it raises a ``ModelError`` that may pass.

    The server's ``Retry-After`` says how long to wait, else the delays double from half a second to eight, with chance.
    """
    if max_retries <= 0:
        return await call()
    import stamina

    try:
        async for attempt in stamina.retry_context(
            _delay,
            attempts=max_retries + 1,
            timeout=None,
            wait_initial=FIRST_DELAY,
            wait_max=LONGEST_DELAY,
            wait_jitter=JITTER,
        ):
            with attempt:
                try:
                    return await call()
                except ModelError as error:
                    _print_nothing()
                    raise _Failed(error) from None
    except _Failed as failed:
        raise failed.error from failed.error.__cause__
    raise AssertionError("stamina ends with a result or an error")


def retry_after(error: ModelError) -> float | None:
    """
    Return the seconds after which the server wants to be asked again, if it says so.

    >>> retry_after(ModelError("busy", headers={"retry-after": "3"}))
    3.0
    """
    headers = error.headers or {}
    seconds = _number(headers.get("retry-after-ms"))
    if seconds is not None:
        return seconds / 1_000
    told = headers.get("retry-after", "")
    seconds = _number(told)
    if seconds is None and told:
        try:
            seconds = max(0.0, parsedate_to_datetime(told).timestamp() - time())
        except (ValueError, OverflowError):
            return None
    return _delay_in_body(error) if seconds is None else seconds


def _delay_in_body(error: ModelError) -> float | None:
    """
    Return what Google says instead of ``Retry-After``: the ``retryDelay`` among the details of an error, ``"34.5s"``.
    """
    for detail in as_list(as_mapping(as_mapping(error.body).get("error")).get("details")):
        seconds = _number(as_text(as_mapping(detail).get("retryDelay")).removesuffix("s"))
        if seconds is not None:
            return seconds
    return None


class _Failed(Exception):
    """
    A failed attempt.  What stamina logs of it quotes neither the server nor the conversation.
    """

    def __init__(self, error: ModelError) -> None:
        super().__init__(f"{error.kind}, status {error.status_code}" if error.status_code else error.kind)
        self.error = error

    def __repr__(self) -> str:
        return str(self)


class _Quiet:
    """
    stamina's hook that logs with structlog, for our retries only where somebody has set structlog up.
    """

    def __init__(self, hook: Callable[[Any], Any]) -> None:
        self.hook = hook

    def __call__(self, details: Any) -> Any:
        import structlog

        if structlog.is_configured() or not isinstance(details.caused_by, _Failed):
            return self.hook(details)
        return None


def _print_nothing() -> None:
    """
    Keep retries out of standard output, which is where structlog writes until it is told otherwise.
    """
    from stamina.instrumentation import get_on_retry_hooks, set_on_retry_hooks

    hooks = get_on_retry_hooks()
    if any(getattr(hook, "__module__", "").endswith("_structlog") for hook in hooks):
        set_on_retry_hooks(
            [_Quiet(hook) if getattr(hook, "__module__", "").endswith("_structlog") else hook for hook in hooks]
        )


def _delay(failure: Exception) -> bool | float:
    """
    Return the seconds to wait after *failure*, whether to try again where the server does not say how long to wait.
    """
    if not isinstance(failure, _Failed):
        return False
    error = failure.error
    told = (error.headers or {}).get("x-should-retry")
    if told == "false" or not (error.retryable or told == "true"):
        return False
    seconds = retry_after(error)
    return True if seconds is None else seconds <= LONGEST_RETRY_AFTER and seconds


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 1e9 else None
