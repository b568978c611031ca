"""
What is saved once the outcome is known (D34): each mark that a processor left is told how the request ended.
"""

from __future__ import annotations

import anyio

from procession.steps.scope import Outcome, RequestScope

__all__ = ["commit_cancelled", "commit_marks", "commit_within", "log_not_saved"]


async def commit_marks(scope: RequestScope, outcome: Outcome) -> None:
    """
    Let every mark save, or not, in the order in which the marks were left; each once.

    Raises what the first store raised that failed: after it nothing is saved but what always is.  What callbacks left to be
    awaited is awaited all the same.
    """
    marks, scope.marks = scope.marks, []
    failure: Exception | None = None
    try:
        for at, mark in enumerate(marks):
            if failure is not None and not mark.always:
                continue
            try:
                await mark.commit(outcome)
            except Exception as error:
                failure = failure or error
            except BaseException:  # cancelled: what is always saved is for whoever cleans up
                scope.marks = [one for one in marks[at:] if one.always]
                raise
        if failure is not None:
            raise failure
    finally:
        await scope.settle()


async def commit_within(scope: RequestScope, outcome: Outcome) -> None:
    """
    Do what :func:`commit_marks` does within the grace period: whoever aborted the run does not wait for a slow store.
    """
    with anyio.move_on_after(scope.grace):
        await commit_marks(scope, outcome)
        return
    log_not_saved(scope.run_id, TimeoutError())


async def commit_cancelled(scope: RequestScope) -> None:
    """
    Let every mark know that the task of the request is being cancelled, within the grace period.
    """
    marks, scope.marks = scope.marks, []
    with anyio.move_on_after(scope.grace, shield=True):
        for mark in marks:
            try:
                await mark.commit("cancelled")
            except Exception as error:
                log_not_saved(scope.run_id, error)


def log_not_saved(run_id: str, error: Exception) -> None:
    """
    Say that a store failed after a run that had been stopped anyway.
    """
    import structlog

    structlog.get_logger("procession.agents").warning("not saved", run_id=run_id, error=type(error).__name__)
