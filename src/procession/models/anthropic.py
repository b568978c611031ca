"""
AnthropicModel: any server that speaks Anthropic's Messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

from procession.models.formats.anthropic.answer import MessagesAnswer
from procession.models.formats.anthropic.body import StructuredOutput, messages_body, options_of
from procession.models.loose import as_list, as_text
from procession.models.model import ModelRequest
from procession.models.providers import PROVIDERS, Provider
from procession.models.wire_model import AnswerContext, WireModel, WireOptions, WireRequest

__all__ = ["AnthropicModel"]


class AnthropicModel(WireModel):
    """
    A model behind Anthropic's Messages, at Anthropic or at a server that imitates it.

    Without *base_url* and *api_key* the environment is asked, ``ANTHROPIC_BASE_URL`` and ``ANTHROPIC_API_KEY``, when
    the first call is made.  Anthropic itself needs a key; another server is called without one where none is given.

    >>> AnthropicModel("claude-haiku-5-5").id
    'anthropic/claude-haiku-5-5'
    """

    server: ClassVar[Provider] = PROVIDERS["anthropic"]

    def __init__(
        self,
        model: str,
        *,
        provider: str = "anthropic",
        version: str = "2026-10-21",
        betas: Sequence[str] = (),
        structured_output: StructuredOutput | None = None,
        **options: Unpack[WireOptions],
    ) -> None:
        """
        *options* are those that every client takes: ``WireOptions``.

        *version* is that of the API; since 2026-10-21 it takes no ``temperature``, ``top_p`` and ``top_k``, which are
        left out and reported, and sent to older versions.  *betas* are switched on for every call; those of a call's
        ``provider_options`` come on top.  *structured_output* says how the model is asked for JSON, where it is not to
        follow from the model's name.
        """
        super().__init__(model, provider=provider, **options)
        self._version = version
        self._betas = tuple(betas)
        self._structured_output: StructuredOutput | None = structured_output

    def prepare(self, request: ModelRequest, *, base_url: str, key: str | None) -> WireRequest:
        """
        Return *request* as Messages.
        """
        body, warnings = messages_body(
            request,
            model=self.model,
            provider=self.provider,
            structured_output=self._structured_output,
            takes_sampling=self._version < "2026-10-21",
        )
        headers = {"accept": "text/event-stream", "anthropic-version": self._version}
        betas = dict.fromkeys((*self._betas, *_names(options_of(request, self.provider).get("betas"))))
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        if key is not None:
            headers["x-api-key"] = key
        # Addresses are written with the version, as OpenAI's are, and without it, as Anthropic's are.
        path = "/messages" if base_url.endswith("/v1") else "/v1/messages"
        return WireRequest(path=path, body=body, headers=headers, warnings=warnings)

    def reader(self, context: AnswerContext) -> MessagesAnswer:
        """
        Return what reads an answer.
        """
        return MessagesAnswer(context)


def _names(betas: Any) -> tuple[str, ...]:
    given = (betas,) if isinstance(betas, str) else as_list(betas)
    return tuple(name for beta in given if (name := as_text(beta)))
