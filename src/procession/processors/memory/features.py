"""
Features: the processors of a memory that are there only where they are switched on.

What each stands on is imported with the first memory that has it: most have one or two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from procession.errors import DefinitionError
from procession.processors.memory.history_limit import HistoryLimit

if TYPE_CHECKING:
    from procession.processors.memory.memory_token_limiter import MemoryTokenLimiter
    from procession.processors.memory.observational import ObservationalMemory
    from procession.processors.memory.semantic_recall import SemanticRecall
    from procession.processors.memory.title import ThreadTitle
    from procession.processors.memory.turn_mark import OnSaveError
    from procession.processors.memory.working_memory import WorkingMemory
    from procession.storage.threads import ThreadStore

__all__ = ["is_on", "observing_of", "recall_of", "titles_of", "token_limiter_of", "working_of"]


def is_on(given: Any) -> bool:
    """
    Return whether an option of a memory switches its feature on: ``None`` and ``False`` do not.
    """
    return given is not None and given is not False


def token_limiter_of(last: HistoryLimit | None, counter: Any) -> MemoryTokenLimiter | None:
    """
    Return what keeps to the tokens of *last*, or ``None`` where it has no limit of them.
    """
    if last is None or last.max_tokens is None:
        return None
    from procession.processors.memory.memory_token_limiter import MemoryTokenLimiter

    return MemoryTokenLimiter(last.max_tokens, at_max_remove_tokens=last.at_max_remove_tokens, counter=counter)


def working_of(
    storage: ThreadStore, given: Any, *, on_save_error: OnSaveError, on_error: Literal["stop", "skip"]
) -> WorkingMemory | None:
    """
    Return what ``working_memory`` asks for.
    """
    if not is_on(given):
        return None
    from procession.processors.memory.working_memory import working_memory_of

    return working_memory_of(storage, given, on_save_error=on_save_error, on_error=on_error)


def titles_of(storage: ThreadStore, given: Any) -> ThreadTitle | None:
    """
    Return what ``generate_title`` asks for.
    """
    if not is_on(given):
        return None
    from procession.processors.memory.title import title_of_memory

    return title_of_memory(storage, given)


def recall_of(storage: ThreadStore, given: Any, vector: Any, embedder: Any) -> SemanticRecall | None:
    """
    Return what ``semantic_recall`` asks for.
    """
    if not is_on(given):
        return None
    from procession.processors.memory.semantic_recall import SemanticRecall

    return SemanticRecall(storage, vector, embedder, settings=given)


def observing_of(
    storage: ThreadStore, given: Any, last: HistoryLimit | None, on_error: Literal["stop", "skip"]
) -> ObservationalMemory | None:
    """
    Return what ``observational`` asks for; raises ``DefinitionError`` where nothing is saved that could be observed.
    """
    if not is_on(given):
        return None
    from procession.processors.memory.observational import ObservationalMemory

    made = ObservationalMemory(storage, None if given is True else given, on_error=on_error)
    if last is None:
        raise DefinitionError(
            "observational memory is on, and last_messages=False saves nothing that could be observed",
            hint="leave last_messages out",
        )
    return made
