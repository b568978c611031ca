"""
Attachments: the documents' ``experimental_attachments``, a second spelling of the files among a message's parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from procession.errors import MessageError
from procession.messages.media_types import media_type_of
from procession.messages.part_reading import DEFAULT_FILE, take
from procession.messages.part_writing import file_url
from procession.messages.parts import FilePart, Part
from procession.messages.shapes import is_form

__all__ = ["attachments_of", "read_attachments", "views_of", "with_attachments"]


def attachments_of(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """
    Return the files among *parts* as attachments.

    >>> attachments_of([FilePart("aGk=", "text/plain")])
    [{'url': 'data:text/plain;base64,aGk=', 'contentType': 'text/plain'}]
    """
    return [{"url": file_url(part), "contentType": part.media_type} for part in parts if isinstance(part, FilePart)]


def read_attachments(parts: Sequence[Part], attachments: Any, where: str) -> list[Part]:
    """
    Return *parts* with *attachments* that came beside them: each that is no file yet becomes one.

    Where there are as many as there are files, they stand for those in their order: one that is another takes the
    place of its file.  Of an address and the bare data the address holds, whichever of the two has it: the data was
    brought there.
    """
    given = _read(attachments, where)
    files = [at for at, part in enumerate(parts) if isinstance(part, FilePart)]
    made = list(parts)
    if len(given) == len(files) and not all(_is_one_of(one, parts) for one in given):
        for at, one in zip(files, given, strict=True):
            if _is_inline(one) <= _is_inline(made[at]):
                made[at] = _put(made[at], one)
        return made
    return made + [one for one in given if not _is_one_of(one, parts)]


def with_attachments(parts: Sequence[Part], attachments: Any, where: str) -> list[Part]:
    """
    Return *parts* with *attachments* as the only files among them, in the places that files had; more come behind.
    """
    given = iter(_read(attachments, where))
    made: list[Part] = []
    for part in parts:
        if not isinstance(part, FilePart):
            made.append(part)
        elif (one := next(given, None)) is not None:
            made.append(_put(part, one))
    return [*made, *given]


def views_of(parts: Iterable[Part]) -> tuple[Mapping[str, Any], ...]:
    """
    Return the attachments for reading alone: what is set in one of them would be lost.
    """
    return tuple(MappingProxyType(one) for one in attachments_of(parts))


def _put(part: Part, one: FilePart) -> Part:
    """
    Return the file *part* as *one* says it is; what an attachment cannot say of it stays.
    """
    assert isinstance(part, FilePart)
    if file_url(part) == one.data or part.data == one.data:
        return part
    return part.replace(data=one.data, media_type=one.media_type, filename=one.filename or part.filename)


def _is_inline(part: Part) -> bool:
    return isinstance(part, FilePart) and file_url(part).startswith("data:")


def _is_one_of(one: FilePart, parts: Iterable[Part]) -> bool:
    return any(isinstance(part, FilePart) and one.data in (part.data, file_url(part)) for part in parts)


def _read(attachments: Any, where: str) -> list[FilePart]:
    made: list[FilePart] = []
    for one in attachments or ():
        url = one.get("url") if is_form(one) else None
        if not isinstance(url, str):
            raise MessageError(
                f"{where} has an attachment without a url", hint='give {"url": "https://…", "contentType": "image/png"}'
            )
        kind = take(one, "contentType", "content_type", "mediaType") or media_type_of(url, DEFAULT_FILE)
        made.append(FilePart(url, kind, take(one, "name", "filename")))
    return made
