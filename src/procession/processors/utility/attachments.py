"""
AttachmentUploader: files that come with a message are kept elsewhere, and the message has a reference to them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

from procession.errors import ProcessorDefinitionError
from procession.messages.media_types import media_type_of
from procession.messages.message import Message
from procession.messages.parts import FilePart, Parts, TextPart
from procession.messages.prompt import PromptMessage, PromptPart
from procession.messages.prompt_parts import plain_file
from procession.processors.contexts import InputContext, LLMRequestContext
from procession.processors.options import one_of
from procession.processors.processor import Processor
from procession.processors.tenant import tenant_of
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.storage.attachments import AttachmentSink

__all__ = ["AttachmentUploader"]

_NAMELESS = "application/octet-stream"
_SNIFFED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
"""What the first bytes of a file tell."""
_DATA = re.compile(r"\s*data:", re.IGNORECASE)
_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*):", re.IGNORECASE)
"""What an address begins with; base64 has no colon in it."""
_LONGEST_ADDRESS = 8_192
"""Characters of an address: what is longer is a file that is called an address, so as not to be looked at."""
_METHODS = ("put", "get", "url", "delete")


class AttachmentUploader(Processor):
    """
    Puts files of new messages that are larger than *threshold* bytes into *sink*, and a reference in their place.

    Messages, memory and the runs that are kept stay small; the model is shown the file all the same: just before each
    call a picture becomes an address, where the sink has one, and everything else its bytes.

    * ``max_size``: a larger file stops the run (bytes; ``None`` for any size).
    * ``allowed_types``: other files stop the run: ``["image/*", "application/pdf"]``; ``None`` for all.
    * ``on_missing``: what a reference comes to that the sink knows nothing of: ``"stop"``, or a ``"note"`` to the model.
    * ``owner``: whose files they are, of the request's values; without it the request's resource, or nobody.

    Raises ``ProcessorDefinitionError`` for what is no sink, and for sizes and types that are none.

    >>> from procession.storage.file_sink import FileSink
    >>> AttachmentUploader(FileSink("attachments"), allowed_types=["image/*"]).threshold
    16384
    """

    id = "attachment-uploader"
    description = "Keeps attachments elsewhere, and references to them in messages."
    mutates = True
    timeout = 30.0

    def __init__(
        self,
        sink: AttachmentSink,
        *,
        threshold: int = 16 * 1024,
        max_size: int | None = 20 * 1024 * 1024,
        allowed_types: Sequence[str] | None = None,
        on_missing: Literal["stop", "note"] = "stop",
        owner: Callable[[RequestContext], str | None] | None = None,
        timeout: float | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        if not all(callable(getattr(sink, name, None)) for name in _METHODS) or not getattr(sink, "prefix", ""):
            raise ProcessorDefinitionError(
                f"AttachmentUploader was given {type(sink).__name__}, which is no sink",
                hint="give FileSink(directory), S3Sink(bucket), or an AttachmentSink of your own",
            )
        self.sink = sink
        self.threshold = _size("threshold", threshold, least=0)
        """Bytes up to which a file stays in its message."""
        self.max_size = None if max_size is None else _size("max_size", max_size, least=1)
        self.allowed_types = _types(allowed_types)
        self.on_missing = one_of("AttachmentUploader", "on_missing", on_missing, ("stop", "note"))
        if owner is not None and not callable(owner):
            raise ProcessorDefinitionError(
                f"AttachmentUploader has owner={type(owner).__name__}", hint="give a function of the request's context"
            )
        self.owner = owner
        self.timeout = timeout if timeout is not None else self.timeout

    async def process_input(self, ctx: InputContext) -> None:
        """
        Keep the files that came with this call, once all of them are known to be allowed.
        """
        found: list[tuple[Message, list[tuple[int, FilePart, _Inline]]]] = []
        for message in tuple(ctx.message_list.view("input")):
            files: list[tuple[int, FilePart, _Inline]] = []
            for at, part in enumerate(message.parts):
                if isinstance(part, FilePart):
                    inline = self._checked(ctx, part)
                    if inline is not None and len(inline.data) > self.threshold:
                        files.append((at, part, inline))
            if files:
                found.append((message, files))
        scope = self._scope(ctx.scope)
        for message, files in found:
            parts: Parts = message.parts
            for at, part, (data, kind) in files:
                reference = await self.sink.put(data, media_type=kind, name=part.filename, scope=scope)
                parts = parts.replaced(at, part.replace(data=reference, media_type=kind))
            ctx.message_list.replace(message.with_parts(parts))

    async def process_llm_request(self, ctx: LLMRequestContext) -> Mapping[str, Any] | None:
        """
        Show the model what the references stand for; the messages keep them.
        """
        prompt = ctx.prompt
        made = [await self._shown(ctx, entry) for entry in prompt]
        same = all(new is old for new, old in zip(made, prompt, strict=True))
        return None if same else {"prompt": made}

    # -- on the way in

    def _checked(self, ctx: InputContext, part: FilePart) -> _Inline | None:
        """
        Return the bytes of a file and what they are, or ``None`` where it is elsewhere; stop the run for what is not
        allowed, before anything is kept.
        """
        if isinstance(part.data, str) and _DATA.match(part.data):  # a scheme may be written in capitals
            part = part.replace(data="data:" + part.data.partition(":")[2])
        plain = plain_file(part)
        if isinstance(plain.data, str) and (found := _SCHEME.match(plain.data)) is not None:
            if found[1].lower() != "data" and len(plain.data) <= _LONGEST_ADDRESS:
                return None
            self._refuse(ctx, "malformed", "the address of a file is none, or is too long")
        most = self.max_size
        # Of a text that is far too long nothing is made: base64 has four characters for three bytes, and line ends.
        data = _decoded(plain.data) if most is None or len(plain.data) < 2 * most + 4 else plain.data
        if most is not None and data is not None and len(data) > most:
            self._refuse(ctx, "too_large", f"a file is larger than {most} bytes")
        if not isinstance(data, bytes):
            self._refuse(ctx, "malformed", f"a file of type {plain.media_type!r} is no base64")
        declared = plain.media_type.partition(";")[0].strip().lower() or _NAMELESS
        kind = media_type_of(data, "") or declared
        if self.allowed_types is not None:
            if not _allowed(kind, self.allowed_types):
                self._refuse(ctx, "type", f"files of type {kind!r} are not taken")
            if declared in _SNIFFED and kind == declared and not media_type_of(data, ""):
                self._refuse(ctx, "type", f"a file that is called {declared!r} is none")
        return _Inline(data, kind)

    def _refuse(self, ctx: InputContext, why: str, reason: str) -> NoReturn:
        ctx.abort(
            f"{self.id}: {reason}", metadata={"kind": "attachment_refused", "why": why}, message=f"Not sent: {reason}."
        )

    def _scope(self, scope: RequestScope) -> str | None:
        if self.owner is not None:
            return self.owner(scope.request_context)
        return tenant_of(scope)

    # -- on the way to the model

    async def _shown(self, ctx: LLMRequestContext, entry: PromptMessage) -> PromptMessage:
        """
        Return *entry* with what its references stand for: the same object at every step of a run, as clients that convert
        a prompt once look for it.
        """
        if not any(self._is_reference(part) for part in entry.content):
            return entry
        known: dict[int, tuple[PromptMessage, PromptMessage]] = ctx.state.setdefault("shown", {})
        found = known.get(id(entry))
        if found is None or found[0] is not entry:
            content = tuple([await self._resolved(ctx, part) for part in entry.content])
            found = known[id(entry)] = (entry, entry.replace(content=content))
        return found[1]

    async def _resolved(self, ctx: LLMRequestContext, part: PromptPart) -> PromptPart:
        if not isinstance(part, FilePart) or not self._is_reference(part):
            return part
        reference, scope = str(part.data), self._scope(ctx.scope)
        # Some providers fetch pictures alone, and no file of another kind.
        linked = part.media_type.startswith("image/")
        shown = await self.sink.url(reference, scope=scope) if linked else None
        data = shown or await self.sink.get(reference, scope=scope)
        if data is not None:
            return part.replace(data=data)
        if self.on_missing == "stop":
            metadata = {"kind": "attachment_missing"}
            ctx.abort(f"{self.id}: a file of the conversation is not there any more", metadata=metadata)
        return TextPart(f"[{part.filename or 'A file'} ({part.media_type}) is not there any more.]")

    def _is_reference(self, part: PromptPart) -> bool:
        return isinstance(part, FilePart) and isinstance(part.data, str) and part.data.startswith(self.sink.prefix)


class _Inline(NamedTuple):
    """
    The bytes of a file that came with a message, and what they are.
    """

    data: bytes
    kind: str


def _decoded(data: str | bytes) -> bytes | None:
    if isinstance(data, bytes):
        return data
    text = "".join(data.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _allowed(kind: str, allowed: Sequence[str]) -> bool:
    return any(kind == each or (each.endswith("/*") and kind.startswith(each[:-1])) for each in allowed)


def _size(option: str, value: Any, *, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise ProcessorDefinitionError(f"AttachmentUploader has {option}={value!r}", hint=f"give bytes, at least {least}")


def _types(types: Any) -> tuple[str, ...] | None:
    if types is None:
        return None
    listed = [types] if isinstance(types, str) else list(types)
    for each in listed:
        if not isinstance(each, str) or each.count("/") != 1:
            raise ProcessorDefinitionError(
                f"AttachmentUploader has {each!r} among its allowed_types",
                hint='give media types: "image/*", "image/png"',
            )
    return tuple(each.strip().lower() for each in listed)
