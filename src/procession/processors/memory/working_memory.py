"""
WorkingMemory: what a model keeps in mind of a user, or of a conversation, and writes down itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from procession.errors import InputError, ProcessorDefinitionError, SchemaError, ToolArgumentsError
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart
from procession.processors.contexts import InputContext, InputStepContext
from procession.processors.log import log_once
from procession.processors.memory.kept_where import unreadable
from procession.processors.memory.outbox import outbox_of
from procession.processors.memory.turn_mark import OnSaveError, turn_notes
from procession.processors.memory.use import MemoryUse, use_of
from procession.processors.memory.working.forms import TEMPLATE, Form, MarkdownForm, SchemaForm
from procession.processors.memory.working.prompt import TAG, TOOL, instructions_for, shown_in
from procession.processors.memory.working.settings import (
    WorkingMemoryScope,
    WorkingMemorySettings,
    working_memory_settings,
)
from procession.processors.memory.working.updates import WorkingMemoryUpdates, write_merged
from procession.processors.options import one_of
from procession.processors.processor import Processor, StepOverrides
from procession.steps.scope import RequestScope
from procession.storage.notes import NoteKey, NoteStore
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

__all__ = ["WorkingMemory", "working_memory_of"]

_KIND = "working-memory"
_WRITER = "working-memory-writer"
"""Where in ``scope.resources`` stands the processor that the tool belongs to: it has one name, and writes in one place."""
_STAND_IN = re.compile(r"<([A-Z][A-Z0-9_]{0,62})_[1-9][0-9]{0,8}>")


class WorkingMemory(Processor):
    """
    Shows the model what it has written down of this user, and gives it the tool ``updateWorkingMemory`` to change that.

    What a request writes is merged with what others write at the same time, once its outcome is known: a rejected turn
    leaves nothing.

    >>> from procession.storage.memory import InMemoryStore
    >>> WorkingMemory(InMemoryStore(), template="- Name:", scope="thread").scope
    'thread'
    """

    id = "working-memory"
    description = "Shows the model its working memory, and lets it write there."
    timeout = 30.0

    def __init__(
        self,
        storage: NoteStore,
        *,
        template: str | None = None,
        schema: Any = None,
        scope: WorkingMemoryScope = "resource",
        read_only: bool = False,
        max_characters: int = 16_000,
        on_save_error: OnSaveError = "report",
        on_error: Literal["stop", "skip"] = "stop",
        id: str | None = None,
    ) -> None:
        """
        Keep the working memory in *storage*.

        It is Markdown like *template*, or an object with the fields of *schema*, a pydantic model; one of each resource,
        or with *scope* ``"thread"`` one of each thread, of up to *max_characters*.  With *read_only* the model is shown
        it and cannot change it.  A store that does not take what was written keeps no answer from the user, unless
        *on_save_error* is ``"raise"``; one that cannot be read stops the run, or with *on_error* ``"skip"`` it goes on
        without.

        Raises ``ProcessorDefinitionError`` for options that cannot be, and for a store that keeps no notes.
        """
        super().__init__(id=id)
        name = type(self).__name__
        settings = working_memory_settings(
            WorkingMemorySettings(
                template=template, schema=schema, scope=scope, read_only=read_only, max_characters=max_characters
            ),
            name,
        )
        assert settings is not None
        if not isinstance(storage, NoteStore):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ProcessorDefinitionError(
                f"{name} has a store that keeps no notes: {type(storage).__name__}",
                hint="give a NoteStore, such as InMemoryStore or SQLiteStore",
            )
        self.storage = storage
        self.on_save_error: OnSaveError = one_of(name, "on_save_error", on_save_error, ("report", "raise"))
        self.on_error = one_of(name, "on_error", on_error, ("stop", "skip"))
        self.settings = settings
        self.scope: WorkingMemoryScope = settings.scope
        self.form: Form = SchemaForm(schema) if schema is not None else MarkdownForm(template or TEMPLATE)
        self.tool: Tool[Any] = self._made_tool()
        """``updateWorkingMemory``; to be given again where a call of it waited for approval and its run is resumed."""

    def begin_request(self, scope: RequestScope) -> None:
        """
        Let the calls of the tool be left out of what is stored.
        """
        if self._writes(scope) is not None:
            turn_notes(scope, self.storage).left_out.add(TOOL)

    async def process_input(self, ctx: InputContext) -> None:
        """
        Show the model what is written.
        """
        use = self._use(ctx.scope)
        if use is None:
            return
        text = await self._read(self._key(use.resource_id, use.thread_id))
        writable = self._writes(ctx.scope) is not None
        if not writable and ctx.scope.resources.get(_WRITER, self) is not self:
            log_once(self.id, "another working memory comes before this one: it is written, and this one only shown")
        told = instructions_for(self.form, text, scope=self.scope, writable=writable)
        ctx.message_list.add_system(told, TAG)
        if writable:
            self._begin(ctx.scope, use, text)

    async def process_input_step(self, ctx: InputStepContext) -> StepOverrides | None:
        """
        Give the model the tool.
        """
        use = self._writes(ctx.scope)
        if use is None:
            return None
        own = ctx.tools.get(TOOL)
        if own is not None and own is not self.tool:
            turn_notes(ctx.scope, self.storage).left_out.discard(TOOL)
            log_once(
                self.id, f"there is another tool called {TOOL!r}: it is called, and the working memory stays as it is"
            )
            return None
        updates = self._updates(ctx.scope, use)
        if updates is None:  # it was not shown: then nothing may take its place
            return None
        updates.begin_step()
        tools = ctx.tools if own is not None else {**ctx.tools, TOOL: self.tool}
        if ctx.active_tools is None or TOOL in ctx.active_tools:
            return {"tools": tools}
        return {"tools": tools, "active_tools": [*ctx.active_tools, TOOL]}

    # -- for applications

    async def content(self, resource: str, thread: str | None = None) -> Any:
        """
        Return what is written: Markdown, or with a schema an object; ``None`` where nothing is.

        Raises ``StoreError`` where the store fails, ``InputError`` where each thread has one of its own and none is named.
        """
        text = await self._read(self._key(resource, thread))
        return self.form.content_of(text) if text is not None else None

    async def write(self, content: Any, resource: str, thread: str | None = None) -> Any:
        """
        Write a whole *content* in place of what is there, and return it as it stands: merged with what others write at
        the same time.

        Raises ``InputError`` where it does not fit, and what ``content`` raises.
        """
        text = self._fitting(self.form.whole(content))
        key = self._key(resource, thread)
        note = await self.storage.note(key)
        if await self.storage.put_note(key, text, version=note.version if note is not None else 0) is None:
            text = await write_merged(
                self.storage, key, self.form, note.text or None if note is not None else None, text
            )
        return self.form.content_of(text)

    # -- the tool

    def _made_tool(self) -> Tool[Any]:
        content = dict(self.form.content)
        shared = content.pop("$defs", None)
        parameters = {
            "type": "object",
            "properties": {"memory": content},
            "required": ["memory"],
            "additionalProperties": False,
        }
        return Tool(
            name=TOOL,
            description=f"Updates the working memory. Call it {self.form.how}.",
            parameters={**parameters, "$defs": shared} if shared else parameters,
            execute=self._update,
            requires_approval=_asks_nobody,
        )

    def _update(self, args: Mapping[str, Any], ctx: ToolContext) -> Mapping[str, Any]:
        use = self._writes(ctx.scope)
        updates = self._updates(ctx.scope, use) if use is not None else None
        if updates is None:
            raise ToolArgumentsError(TOOL, ["the working memory cannot be changed in this request"])
        given: Any = args["memory"]
        hidden = ctx.scope.stand_ins is not None
        if hidden:
            given = self.tool.read_arguments(_as_called(ctx, args))["memory"]
        try:
            text = self.form.updated(updates.known, given)
            text = self._fitting(_STAND_IN.sub(r"[\1]", text) if hidden else text)
        except SchemaError as error:
            raise ToolArgumentsError(TOOL, error.faults) from None
        updates.add(ctx.scope, ctx.tool_call_id, text)
        return {"success": True}

    def _fitting(self, text: str) -> str:
        most = self.settings.max_characters
        if len(text) > most:
            raise SchemaError(
                f"working memory of {len(text)} characters",
                hint=f"at most {most}",
                faults=(f"memory: has {len(text)} characters, and may have at most {most}: keep what matters most",),
            )
        return text

    # -- of one request

    def _use(self, scope: RequestScope) -> MemoryUse | None:
        use = use_of(scope)
        return use if use is not None and use.override("working_memory", True) else None

    def _writes(self, scope: RequestScope) -> MemoryUse | None:
        use = self._use(scope)
        if use is None or use.read_only or self.settings.read_only:
            return None
        return use if scope.resources.get(_WRITER, self) is self else None

    def _key(self, resource: str, thread: str | None) -> NoteKey:
        if self.scope == "thread" and thread is None:
            raise InputError("each thread has a working memory of its own", hint="say which: thread=")
        return NoteKey(kind=_KIND, resource_id=resource, thread_id=thread if self.scope == "thread" else None)

    async def _read(self, key: NoteKey) -> str | None:
        store: Any = self.storage
        outbox = outbox_of(store)
        if outbox:
            await outbox.flush(store)
        try:
            note = await self.storage.note(key)
        except Exception as error:
            raise unreadable(store, "the working memory", error) from error
        if note is None or not note.text:
            return None
        self.form.content_of(note.text)
        return note.text

    def _updates(self, scope: RequestScope, use: MemoryUse) -> WorkingMemoryUpdates | None:
        found: WorkingMemoryUpdates | None = scope.state(self.id).get("updates")
        if found is not None:
            return found
        messages: MessageList | None = scope.resources.get("messages")
        try:  # the run was suspended before
            text = shown_in(messages.system(TAG) if messages is not None else ())
        except LookupError:
            return None
        for call in _own_calls(messages.view("response") if messages is not None else ()):
            with suppress(SchemaError):
                given = self.tool.read_arguments(call.args)["memory"]
                text = self.form.updated(text if text is not None else self.form.blank, given)
        return self._begin(scope, use, text)

    def _begin(self, scope: RequestScope, use: MemoryUse, text: str | None) -> WorkingMemoryUpdates:
        """
        Begin with the *text* that the model knows of.
        """
        scope.resources[_WRITER] = self
        made = scope.state(self.id)["updates"] = WorkingMemoryUpdates(
            self.storage,
            self._key(use.resource_id, use.thread_id),
            self.form,
            text,
            thread=use.thread_id,
            notes=turn_notes(scope, self.storage),
            on_save_error=self.on_save_error,
            within=self.timeout,
        )
        return made


def working_memory_of(storage: Any, given: Any, **options: Any) -> WorkingMemory | None:
    """
    Return the processor that the option ``working_memory`` of a ``Memory`` asks for, or ``None`` for none; *options* are
    those of the memory as a whole.

    Raises ``ProcessorDefinitionError`` for what it cannot be.
    """
    settings = working_memory_settings(given)
    if settings is None:
        return None
    return WorkingMemory(
        storage, **{name: getattr(settings, name) for name in WorkingMemorySettings.__fields__}, **options
    )


def _asks_nobody(args: Mapping[str, Any], ctx: ToolContext) -> bool:
    """
    Nobody has to agree to a call.  That it is asked for keeps a cache from keeping the result: it is run each time.
    """
    return False


def _own_calls(messages: Sequence[Any]) -> list[ToolCallPart]:
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    return [part for part in parts if part.tool_name == TOOL and part.result == {"success": True}]


def _as_called(ctx: ToolContext, args: Any) -> Any:
    """
    Return what the model has called the tool with, tokens in place of private values: those are not written down.
    """
    for message in reversed(ctx.messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.tool_call_id == ctx.tool_call_id and part.tool_name == TOOL:
                return part.args
    return args
