"""
What httpx raises, and what the libraries below it raise, as ``ModelError``.
"""

from __future__ import annotations

from procession.errors import ModelError, ModelErrorKind
from procession.models.failures import scrub

__all__ = ["as_model_errors"]

_LONGEST_QUOTE = 300
_BELOW_HTTPX = ("h2", "hpack", "hyperframe", "h11", "httpcore")


class as_model_errors:
    """
    Turns the exceptions of its block into ``ModelError``; *reading* says whether the answer had begun.
    """

    __slots__ = ("_model", "_reading")

    def __init__(self, model: str, *, reading: bool) -> None:
        self._model = model
        self._reading = reading

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ModelError):
            return
        import httpx

        # httpx lets some errors of the libraries below it through: those of h2, for one.
        below = type(error).__module__.partition(".")[0] in _BELOW_HTTPX
        if below or isinstance(error, (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError)):
            # A key that is no ASCII is quoted by the exception that it causes.
            raise self._translated(error) from (None if isinstance(error, UnicodeError) else error)

    def _translated(self, error: BaseException) -> ModelError:
        import httpx

        what: ModelErrorKind
        told, hint, retryable = _words_of(error), None, True
        if isinstance(error, httpx.TimeoutException):
            what = "timeout"
            told = "no connection in time" if isinstance(error, httpx.ConnectTimeout) else "the server fell silent"
        elif isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError)):
            what, retryable, hint = "rejected", False, "check the base URL and the key"
        elif self._reading:
            what = "stream"
            told = f"the connection broke before the answer was complete ({told})"
        elif isinstance(error, httpx.ConnectError):
            what, hint = "unavailable", "is the server running, and the base URL right?"
            told = f"no connection ({told})"
        else:
            what = "unavailable"
        return ModelError(f"{self._model}: {told}", kind=what, retryable=retryable, hint=hint)


def _words_of(error: BaseException) -> str:
    """
    Return what an error says, or, where it says nothing, what one says that it was caused by.
    """
    at: BaseException | None = error
    while at is not None and not str(at):
        at = at.__cause__ or at.__context__
    # What broke the protocol is quoted, at any length, and may quote the request.
    words: str = scrub(str(at))[:_LONGEST_QUOTE]
    return words if at is not None else type(error).__name__
