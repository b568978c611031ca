"""
RetryPolicy: how often a failed step is tried again, and how long it waits in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from procession.errors import DefinitionError
from procession.messages.value import Value
from procession.steps.times import wrong_time

__all__ = ["RetryPolicy", "check_retry"]


class RetryPolicy(Value):
    """
    Try a failed step up to ``max_attempts`` times in all.

    Delays are in seconds: ``initial``, then ``factor`` times the one before, at most ``max_delay``, each changed by
    up to ``jitter`` (a fraction).  Verdicts, validation errors and cancellation are never tried again.

    >>> list(RetryPolicy(4, initial=1.0).delays())
    [1.0, 2.0, 4.0]
    """

    max_attempts: int = 1
    initial: float = 0.0
    factor: float = 2.0
    max_delay: float = 30.0
    jitter: float = 0.0
    retry_on: tuple[type[Exception], ...] = (Exception,)

    def __post_init__(self) -> None:
        """
        Refuse numbers that make no sense.
        """
        times = (self.initial, self.max_delay, self.factor, self.jitter)
        tries: Any = self.max_attempts
        if isinstance(tries, bool) or not isinstance(tries, int) or tries < 1 or any(map(wrong_time, times)):
            raise DefinitionError(
                f"{self!r} cannot be kept to", hint="max_attempts is 1 or more, and the others are 0 or more"
            )
        kinds: Any = self.retry_on
        if type(self.retry_on) is not tuple or not all(
            isinstance(each, type) and issubclass(each, Exception) for each in kinds
        ):
            raise DefinitionError(f"{self!r} cannot be kept to", hint="retry_on is a tuple of kinds of Exception")

    def delays(self, seed: int | str = 0) -> Iterator[float]:
        """
        Yield the delay before each further attempt, in seconds; the same *seed* gives the same delays.
        """
        random = None
        if self.jitter:
            from random import Random  # few policies leave anything to chance

            random = Random(seed)
        delay = self.initial
        for _ in range(self.max_attempts - 1):
            spread = 1.0 + self.jitter * (2.0 * random.random() - 1.0) if random is not None else 1.0
            yield min(delay, self.max_delay) * spread
            delay *= self.factor


def check_retry(what: str, retry: object) -> None:
    """
    Raise ``DefinitionError`` where *retry* is neither ``None`` nor a policy.
    """
    if retry is not None and not isinstance(retry, RetryPolicy):
        number = retry if isinstance(retry, int) and not isinstance(retry, bool) and retry > 0 else 3
        raise DefinitionError(f"{what} has retry={retry!r}", hint=f"give a policy: retry=RetryPolicy({number})")
