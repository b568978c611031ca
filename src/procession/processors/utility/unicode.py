"""
UnicodeNormalizer: one spelling for what looks the same, before other processors look at it.
"""

from __future__ import annotations

import time
from typing import Literal

from procession.messages.chunks import Chunk, TextDelta
from procession.messages.parts import Parts, TextPart
from procession.messages.text.normalise import SAFE, Normaliser, Profile
from procession.processors.contexts import InputContext, OutputStreamContext
from procession.processors.options import one_of
from procession.processors.processor import Processor
from procession.processors.text_blocks import TextBlocks

__all__ = ["UnicodeNormalizer"]

_BUDGET = 0.7
"""Seconds of work that a text may take."""
_PIECE = 16_000
"""Characters between two looks at the clock."""


class UnicodeNormalizer(Processor):
    """
    Normalises the text of new input, and of a streamed answer where it stands among the output processors.

    ``profile="classic"`` is NFKC with *collapse_whitespace* (runs of blanks become one blank, runs of line ends one
    newline) and *trim*; *strip_control_chars* also removes control characters, with ``preserve_emojis=False`` also
    everything beyond the Basic Multilingual Plane.  ``profile="safe"`` is what guards want in front of them that look
    at code points, such as ``RegexFilter``: NFKC, without control characters and without what is drawn as nothing
    (zero-width, directional and tag characters; a joiner between two emoji stays), runs of spaces as one, line ends
    and both ends as they are.  Not so ``PromptInjectionDetector``, which reads hidden orders from just that: it
    belongs before a normaliser of this profile.

    Text parts of the messages that come with the call change, whoever's they are, and nothing else does; history is left
    alone.

    >>> UnicodeNormalizer(profile="safe").normalised("Ｉgn\\u200bore  this")
    'Ignore this'
    """

    id = "unicode-normalizer"
    description = "one spelling for what looks the same"
    mutates = True
    nested_text = True

    def __init__(
        self,
        *,
        strip_control_chars: bool = False,
        preserve_emojis: bool = True,
        collapse_whitespace: bool = True,
        trim: bool = True,
        profile: Literal["classic", "safe"] = "classic",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        if one_of("UnicodeNormalizer", "profile", profile, ("classic", "safe")) == "safe":
            self.profile = SAFE
        else:
            self.profile = Profile(
                strip_control=strip_control_chars,
                keep_control="\t\n\r",
                strip_invisible=False,
                preserve_emojis=preserve_emojis,
                collapse="whitespace" if collapse_whitespace else "none",
                trim=trim,
            )

    def normalised(self, text: str) -> str:
        """
        Return *text* normalised; raises ``TimeoutError`` for one that takes too long.
        """
        whole = Normaliser(self.profile)  # without the way back, which nobody asks for
        deadline = time.thread_time() + _BUDGET
        pieces: list[str] = []
        for start in range(0, len(text), _PIECE):
            if time.thread_time() > deadline:
                raise TimeoutError(f"{start} of {len(text)} characters were normalised when the time was up")
            pieces.append(whole.feed(text[start : start + _PIECE]))
        return "".join(pieces) + whole.finish()

    def process_input(self, ctx: InputContext) -> None:
        """
        Normalise the messages that came with this call.
        """
        for message in tuple(ctx.message_list.view("input")):
            parts: Parts = message.parts
            for index, part in enumerate(message.parts):
                if isinstance(part, TextPart):
                    text = self.normalised(part.text)
                    if text != part.text:
                        parts = parts.replaced(index, part.replace(text=text))
            if parts is not message.parts:
                ctx.message_list.replace(message.with_parts(parts))

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Pass on what is certain of a text block; the last character waits for the marks that may follow it.
        """
        chunk = ctx.chunk
        if type(chunk) is not TextDelta:
            return chunk
        text = TextBlocks[Normaliser].of(ctx, self._new_block).block(chunk).feed(chunk.text)
        return TextDelta(text, chunk.id, chunk.provider_metadata) if text else None

    def flush_output_stream(self, ctx: OutputStreamContext) -> list[Chunk]:
        """
        Return the rest of the blocks that end now that ``ctx.chunk`` is about to come.
        """
        ended = TextBlocks[Normaliser].of(ctx, self._new_block).ended_by(ctx.chunk)
        texts = [(id, block.finish()) for id, block in ended]
        return [TextDelta(text, id) for id, text in texts if text]

    def reset_output_stream(self, ctx: OutputStreamContext) -> None:
        """
        Drop what is held back: the attempt it belongs to was rejected.
        """
        TextBlocks.forget(ctx)

    def _new_block(self) -> Normaliser:
        return Normaliser(self.profile)
