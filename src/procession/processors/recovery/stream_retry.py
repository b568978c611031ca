"""
StreamErrorRetry: makes a failed model call again where the failure may pass.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeAlias, TypedDict, cast

from anyio import sleep

from procession.errors import ModelError, ProcessorDefinitionError
from procession.messages.shapes import is_form, is_sequence
from procession.processors.contexts import APIErrorContext
from procession.processors.processor import Processor

__all__ = ["ErrorMatcher", "RetryRule", "StreamErrorRetry", "StreamErrorRetryProcessor", "is_bad_request"]

ErrorMatcher: TypeAlias = Callable[[BaseException], bool | Awaitable[bool]]
Delay: TypeAlias = "float | Callable[[ModelError, int], float | Awaitable[float]]"
"""Milliseconds, or a function of the error and of how often it was tried again already."""

_TRANSIENT_CODE = re.compile(
    r"rate_limit|server_error|internal_error|timeout|temporarily_unavailable|service_unavailable|overloaded",
    re.IGNORECASE,
)
_SAYS_RETRY = re.compile(r"you can retry your request", re.IGNORECASE)
_NOT_ALLOWED = re.compile(r"api_?key|authentication|authorization|unauthori[sz]ed|permission|forbidden", re.IGNORECASE)
_CHAIN = 10
"""How many causes are looked at."""


class _Match(TypedDict):
    match: ErrorMatcher


class RetryRule(_Match, total=False):
    """
    Which errors are tried again, and how: what it does not say is the processor's.
    """

    max_retries: int
    delay_ms: Delay
    on_retry: Callable[[ModelError, int], Any]
    """Told of the error and of the number of the retry, from 1, before it is made."""


class _Policy(NamedTuple):
    match: ErrorMatcher
    max_retries: int
    delay_ms: Delay
    on_retry: Callable[[ModelError, int], Any] | None = None


class StreamErrorRetry(Processor):
    """
    Has a failed model call made again, up to *max_retries* times per step, where the failure may pass by itself.

    *matchers* are asked first: functions of an error, or rules that say besides how often and after how long.  Then
    come errors that are marked retryable, and those that a stream ended with and whose code says the same.  Each
    question is put to the error and then to its causes.  With *retry_unknown_errors* all others are tried again too,
    but for those that say who may call: status 401 and 403, and codes to that effect.

    Before a retry it waits *delay_ms* milliseconds, or as long as the server said in ``Retry-After``, at most
    *max_retry_after_ms*, whichever is longer; cancelling the run ends the wait.  It keeps a count of its own, within the
    run's budget (``max_processor_retries``, 10 unless told).

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> StreamErrorRetry(matchers=[{"match": lambda error: "socket" in str(error), "max_retries": 3}]).id
    'stream-error-retry-processor'
    """

    id = "stream-error-retry-processor"
    description = "Makes a failed model call again where the failure may pass."

    def __init__(
        self,
        *,
        max_retries: int = 1,
        matchers: Sequence[ErrorMatcher | RetryRule] = (),
        retry_unknown_errors: bool = False,
        delay_ms: Delay = 0,
        max_retry_after_ms: float = 30_000,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.max_retries = _count(max_retries, "StreamErrorRetry: max_retries")
        self.delay_ms = _delay(delay_ms, "StreamErrorRetry: delay_ms")
        self.max_retry_after_ms = _number(max_retry_after_ms, "StreamErrorRetry: max_retry_after_ms")
        self.retry_unknown_errors = retry_unknown_errors
        if not is_sequence(matchers):
            raise ProcessorDefinitionError(
                f"StreamErrorRetry: matchers is {type(matchers).__name__}", hint="give a list of them"
            )
        self._policies = [
            self._policy(given, f"StreamErrorRetry: matchers[{index}]") for index, given in enumerate(matchers)
        ]
        self._policies.append(_Policy(_may_pass, self.max_retries, self.delay_ms))
        self._unknown = _Policy(_may_pass, self.max_retries, self.delay_ms)

    def _policy(self, given: Any, where: str) -> _Policy:
        rule: Mapping[str, Any] = given if is_form(given) else {"match": given}
        unknown = set(rule) - RetryRule.__annotations__.keys() - {"match"}
        if unknown or not callable(rule.get("match")):
            raise ProcessorDefinitionError(
                f"{where} {f'has {min(unknown)!r}' if unknown else 'has no function to match with'}",
                hint="give a function of an error, or a mapping of match, max_retries, delay_ms and on_retry",
            )
        told = rule.get("on_retry")
        if told is not None and not callable(told):
            raise ProcessorDefinitionError(f"{where}: on_retry is {told!r}", hint="give a function")
        return _Policy(
            rule["match"],
            _count(rule.get("max_retries", self.max_retries), f"{where}: max_retries"),
            _delay(rule.get("delay_ms", self.delay_ms), f"{where}: delay_ms"),
            told,
        )

    async def process_api_error(self, ctx: APIErrorContext) -> Mapping[str, Any] | None:
        """
        Wait and ask for a retry, where the error may pass and there is budget.
        """
        error = ctx.error
        policy = await self._policy_for(error) if ctx.can_retry else None
        if policy is None:
            return None
        step, retries = ctx.state.get("retries", (ctx.step_number, 0))
        if step != ctx.step_number:  # another step, another count
            retries = 0
        if retries >= policy.max_retries:
            return None
        ctx.state["retries"] = (ctx.step_number, retries + 1)
        if policy.on_retry is not None:
            await _awaited(policy.on_retry(error, retries + 1))
        delay = policy.delay_ms
        waits: float = await _awaited(delay(error, retries)) if callable(delay) else delay
        waits = max(waits, min(_retry_after(error), self.max_retry_after_ms))
        if waits > 0:
            await sleep(waits / 1000)
        return {"retry": True}

    async def _policy_for(self, error: ModelError) -> _Policy | None:
        for each in _chain(error):
            for policy in self._policies:
                if await _awaited(policy.match(each)):
                    return policy
        known = not self.retry_unknown_errors or any(map(_is_about_access, _chain(error)))
        return None if known else self._unknown


StreamErrorRetryProcessor = StreamErrorRetry
"""The documents' name."""


def is_bad_request(error: BaseException) -> bool:
    """
    Whether a provider refused the request as such, with status 400; for *matchers*.
    """
    return getattr(error, "status_code", None) == 400


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(_CHAIN):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__


def _may_pass(error: BaseException) -> bool:
    if getattr(error, "retryable", False) is True:
        return True
    if not isinstance(error, ModelError) or error.status_code is not None:  # a status says whether it passes
        return False
    return any(map(_TRANSIENT_CODE.search, _codes(error))) or _SAYS_RETRY.search(error.message) is not None


def _is_about_access(error: BaseException) -> bool:
    if getattr(error, "status_code", None) in (401, 403):
        return True
    return isinstance(error, ModelError) and any(map(_NOT_ALLOWED.search, _codes(error)))


def _codes(error: ModelError) -> list[str]:
    """
    Return what a provider called the error, in the error and in the body.
    """
    found = [error.provider_code]
    body = error.body
    if is_form(body):
        for form in (body, body.get("error")):
            if is_form(form):
                found += [form.get("code"), form.get("type")]
    return [code for code in found if isinstance(code, str)]


def _retry_after(error: BaseException) -> float:
    """
    Return for how many milliseconds the server asks to wait; 0 where it does not say.
    """
    for each in _chain(error):
        given = getattr(each, "headers", None)
        headers = {str(name).lower(): str(value) for name, value in given.items()} if is_form(given) else {}
        for name, unit in (("retry-after-ms", 1.0), ("retry-after", 1000.0)):
            if name in headers:
                return max(0.0, _milliseconds(headers[name], unit))
    return 0.0


def _milliseconds(text: str, unit: float) -> float:
    try:
        return float(text) * unit
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    return (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds() * 1000


async def _awaited(given: Any) -> Any:
    return await given if hasattr(given, "__await__") else given


def _count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ProcessorDefinitionError(f"{where} is {value!r}", hint="give a count, 0 for never")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ProcessorDefinitionError(f"{where} is {value!r}", hint="give milliseconds, 0 for none")
    return value


def _delay(value: Any, where: str) -> Delay:
    return cast("Delay", value) if callable(value) else _number(value, where)
