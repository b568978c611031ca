"""
The contexts around a model call: of ``process_llm_request`` and ``process_llm_response``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from procession.messages.chunks import Chunk
from procession.messages.prompt import PromptMessage
from procession.messages.shapes import is_form
from procession.processors.context import HookContext
from procession.processors.hooks import Hook
from procession.processors.llm_payloads import LLMRequestPayload, LLMResponsePayload
from procession.processors.request_change import GivenResponse

__all__ = ["LLMRequestContext", "LLMResponseContext", "given_response"]


class LLMRequestContext(HookContext[LLMRequestPayload]):
    """
    Of ``process_llm_request``: the converted prompt, just before the call.
    """

    hook = Hook.LLM_REQUEST

    @property
    def prompt(self) -> list[PromptMessage]:
        """
        The prompt as a fresh list; return ``{"prompt": ...}`` to change what is sent.
        """
        return list(self._payload.prompt)

    @property
    def model(self) -> Any:
        """
        The model that will be asked.
        """
        return self._payload.model

    @property
    def tools(self) -> Mapping[str, Any]:
        """
        The tools of this step, by name.
        """
        return self._payload.tools

    @property
    def tool_choice(self) -> Any:
        """
        Which tool the model must, may or may not call.
        """
        return self._payload.tool_choice

    @property
    def active_tools(self) -> Sequence[str] | None:
        """
        The names of the tools that are sent and may run, or ``None`` for all.
        """
        return self._payload.active_tools

    @property
    def model_settings(self) -> Mapping[str, Any] | None:
        """
        Temperature and the like.
        """
        return self._payload.model_settings

    @property
    def provider_options(self) -> Mapping[str, Any] | None:
        """
        What is passed on to the provider, by provider name.
        """
        return self._payload.provider_options

    @property
    def response_format(self) -> Mapping[str, Any] | None:
        """
        The JSON schema that the model is asked to keep to, as it is sent: ``{"type": "json", "schema": ...}``, or ``None``.
        """
        return self._payload.response_format


def given_response(ctx: LLMRequestContext) -> GivenResponse | None:
    """
    Return the response that a processor before this one gave in place of the model's, if one did.
    """
    return ctx._payload.response  # pyright: ignore[reportPrivateUsage]


class LLMResponseContext(HookContext[LLMResponsePayload]):
    """
    Of ``process_llm_response``: after the call.
    """

    hook = Hook.LLM_RESPONSE

    @property
    def chunks(self) -> Sequence[Chunk]:
        """
        The model's own chunks, before ``process_output_stream`` (D33).
        """
        return self._payload.chunks

    @property
    def from_cache(self) -> bool:
        """
        Whether a processor gave the response in place of the model.
        """
        return self._payload.from_cache

    @property
    def model(self) -> Any:
        """
        The model that was asked.
        """
        return self._payload.model

    @property
    def warnings(self) -> Sequence[Any]:
        """
        What the provider, or the model's client, could not do as asked: mappings with a ``type``.
        """
        return self._payload.warnings

    @property
    def request(self) -> Any:
        """
        A copy of the body that was sent, where the model's client hands it over; else the ``ModelRequest``.
        """
        request = self._payload.request
        return deepcopy(request) if is_form(request) else request

    @property
    def raw_response(self) -> Any:
        """
        What the provider answered, as far as the model's client hands it over; of a stream that is status and headers.
        """
        return self._payload.raw_response
