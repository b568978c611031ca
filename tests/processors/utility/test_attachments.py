"""``AttachmentUploader``: files leave the messages and reach the model all the same."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.storage.s3_server import BUCKET, s3_server, session

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError, ProcessorError, StoreError
from procession.messages.message import Message
from procession.messages.parts import FilePart, TextPart
from procession.processors.memory.memory import Memory
from procession.processors.utility.attachments import AttachmentUploader
from procession.storage.file_sink import FileSink
from procession.storage.memory import InMemoryStore
from procession.storage.s3 import S3Sink
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100
PDF = b"%PDF-1.7\n" + b"page " * 5000
PDF_64 = base64.b64encode(PDF).decode()
ADA: dict[str, Any] = {"thread": "t", "resource": "ada"}
BOB: dict[str, Any] = {"thread": "t2", "resource": "bob"}


class Sink:
    """A sink in memory that counts, has addresses where it is told to, and fails where it is told to."""

    prefix = "mem:"

    def __init__(self, *, linked: bool = False, failing: str = "") -> None:
        self.kept: dict[str, tuple[bytes, str, str | None, str | None]] = {}
        self.got: list[str] = []
        self.linked = linked
        self.failing = failing

    async def put(self, data: bytes, *, media_type: str, name: str | None, scope: str | None) -> str:
        """Keep it."""
        if self.failing == "put":
            raise StoreError("the disk is full of private things")
        reference = f"{self.prefix}{scope}/{len(self.kept)}"
        self.kept[reference] = (data, media_type, name, scope)
        return reference

    async def get(self, reference: str, *, scope: str | None) -> bytes | None:
        """Return it."""
        if self.failing == "get":
            raise StoreError("the disk is gone")
        self.got.append(reference)
        found = self.kept.get(reference)
        return found[0] if found is not None and found[3] == scope else None

    async def url(self, reference: str, *, scope: str | None) -> str | None:
        """Return its address."""
        found = self.kept.get(reference)
        return f"https://files.example/{reference}" if self.linked and found and found[3] == scope else None

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """Forget it."""
        return self.kept.pop(reference, None) is not None


def asked(data: Any = PICTURE, kind: str = "image/png", name: str | None = "me.png", text: str = "What is it?") -> Any:
    """Return a user's message with a file."""
    return [Message("user", (TextPart(text), FilePart(data, kind, name, {"fake": {"n": 1}})))]


def files_of(messages: Any) -> list[FilePart]:
    """Return the files of messages, or of the entries of a prompt."""
    return [
        part
        for message in messages
        for part in (message.content if hasattr(message, "content") else message.parts)
        if isinstance(part, FilePart)
    ]


def contents(folder: Path) -> list[bytes]:
    """Return what is in the files of the folders of *folder*."""
    return [path.read_bytes() for path in folder.glob("*/*")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the address of an S3 server."""
    with s3_server() as address:
        yield address


def agent(sink: Any, model: FakeModel | None = None, *, options: dict[str, Any] | None = None, **more: Any) -> Agent:
    """Return an agent with an uploader."""
    uploader = AttachmentUploader(sink, **(options or {}))
    return Agent("p", model=model or FakeModel("ok", repeat_last=True), input_processors=[uploader], **more)


@both_ways
@pytest.mark.parametrize("form", ["bytes", "base64", "base64 in lines", "data URL"])
async def test_the_message_has_a_reference_and_the_model_the_file(way: str, form: str) -> None:
    """However the file came, it is kept once; memory has the reference, and the model is shown the very bytes."""
    plain = base64.b64encode(PICTURE).decode()
    data: Any = {
        "bytes": PICTURE,
        "base64": plain,
        "base64 in lines": "\n".join(plain[at : at + 76] for at in range(0, len(plain), 76)),
        "data URL": f"data:image/png;base64,{plain}",
    }[form]
    sink, store = Sink(), InMemoryStore()
    model = FakeModel("ok", repeat_last=True)
    await ask(agent(sink, model, memory=Memory(store)), way, asked(data), **ADA)
    ((reference, entry),) = sink.kept.items()
    assert entry == (PICTURE, "image/png", "me.png", "ada")
    (stored,) = files_of(await store.messages("t"))
    assert (stored.data, stored.media_type, stored.filename) == (reference, "image/png", "me.png")
    (sent,) = files_of(model.requests[0].messages)
    assert (sent.data, sent.filename, sent.provider_metadata) == (PICTURE, "me.png", {"fake": {"n": 1}})
    assert model.requests[0].messages[0].text == "What is it?"


@both_ways
async def test_the_next_turn_shows_it_again(way: str) -> None:
    """History is left as it is, and what it refers to is read back; nothing is kept twice."""
    sink, model = Sink(), FakeModel("ok", repeat_last=True)
    made = agent(sink, model, memory=Memory())
    await ask(made, way, asked(), **ADA)
    await ask(made, way, "And now?", **ADA)
    assert len(sink.kept) == 1
    assert [part.data for part in files_of(model.requests[1].messages)] == [PICTURE]


@both_ways
async def test_it_is_read_once_for_a_run(way: str) -> None:
    """Each step of a run shows the model the same entry, object for object."""
    tool, _ = counted_tool()
    sink, model = Sink(), FakeModel([call_tool("lookup"), call_tool("lookup"), "done"])
    await ask(agent(sink, model, tools=[tool]), way, asked())
    assert len(sink.got) == 1
    first, second, third = (request.messages[0] for request in model.requests)
    assert first is second is third


async def test_pictures_go_as_addresses_where_there_are_any() -> None:
    """Other files go as bytes: some providers fetch pictures alone."""
    sink, model = Sink(linked=True), FakeModel("ok", repeat_last=True)
    parts = (FilePart(PICTURE, "image/png"), FilePart(PDF, "application/pdf"))
    await ask(agent(sink, model), "generate", [Message("user", parts)])
    picture, document = files_of(model.requests[0].messages)
    assert str(picture.data).startswith("https://files.example/mem:")
    assert document.data == PDF


@pytest.mark.parametrize("data", [b"small", "https://example.org/big.png", "s3://theirs/big.png"])
async def test_small_files_and_addresses_stay(data: Any) -> None:
    """A file up to the threshold stays in its message, and an address is not touched."""
    sink, model = Sink(), FakeModel("ok")
    await ask(agent(sink, model), "generate", asked(data))
    assert sink.kept == {}
    assert [part.data for part in files_of(model.requests[0].messages)] == [data]


async def test_the_threshold_is_a_number_of_bytes() -> None:
    """A file of just so many bytes stays, one more is kept elsewhere."""
    for size, count in ((10, 0), (11, 1)):
        sink = Sink()
        await ask(agent(sink, options={"threshold": 10}), "generate", asked(b"x" * size, "text/plain"))
        assert len(sink.kept) == count


async def test_what_it_is_is_read_off_its_first_bytes() -> None:
    """A picture that is called something else is kept as what it is; a kind that cannot be told stays as it was said."""
    sink = Sink()
    parts = (FilePart(PICTURE, "application/octet-stream"), FilePart(b"x" * 20_000, "Text/Plain; charset=utf-8"))
    await ask(agent(sink), "generate", [Message("user", parts)])
    assert [kind for _, kind, _, _ in sink.kept.values()] == ["image/png", "text/plain"]


@both_ways
@pytest.mark.parametrize(
    ("parts", "options", "why"),
    [
        ((FilePart(PICTURE, "image/png"),), {"max_size": 1000}, "too_large"),
        ((FilePart("A" * 10_000_000, "image/png"),), {"max_size": 1000}, "too_large"),
        ((FilePart("no base64!", "image/png"),), {}, "malformed"),
        ((FilePart(PDF, "application/pdf"),), {"allowed_types": ["image/*"]}, "type"),
        ((FilePart(PDF, "image/png"),), {"allowed_types": ["image/*"]}, "type"),
        ((FilePart(b"<script>" * 9000, "image/png"),), {"allowed_types": ["image/*"]}, "type"),
        ((FilePart(b"small", "text/html"),), {"allowed_types": ["image/*"]}, "type"),
        ((FilePart(f"DATA:text/html;base64,{PDF_64}", "image/png"),), {"allowed_types": ["image/*"]}, "type"),
        ((FilePart(f" data:image/png;base64,{PDF_64}", "image/png"),), {"max_size": 1000}, "too_large"),
        ((FilePart(f"x:{PDF_64}", "image/png"),), {}, "malformed"),
        ((FilePart("data:image/png;base64", "image/png"),), {}, "malformed"),
    ],
)
async def test_what_is_not_allowed_stops_the_run(way: str, parts: Any, options: dict[str, Any], why: str) -> None:
    """Before anything is kept, also where another file of the message is allowed; the model is not asked."""
    sink, model = Sink(), FakeModel("ok")
    message = Message("user", (TextPart("x"), FilePart(PICTURE[:900], "image/png"), *parts))
    seen = await ask(agent(sink, model, options={"threshold": 10, **options}), way, [message])
    assert seen.result.status == "blocked"
    assert seen.tripwire.metadata == {"kind": "attachment_refused", "why": why}
    assert seen.tripwire.processor_id == "attachment-uploader"
    assert (sink.kept, model.requests) == ({}, [])


@both_ways
@pytest.mark.parametrize("failing", ["put", "get"])
async def test_a_sink_that_fails_stops_the_run(way: str, failing: str) -> None:
    """The error names the processor and tells nothing private; the model is not asked without the file."""
    sink, model = Sink(failing=failing), FakeModel("ok")
    store = InMemoryStore()
    seen = await ask(agent(sink, model, memory=Memory(store)), way, asked(), **ADA)
    assert isinstance(seen.error, ProcessorError)
    assert (seen.error.processor_id, model.requests) == ("attachment-uploader", [])
    assert "private" not in str(seen.error)
    assert await store.messages("t") == []


@both_ways
async def test_anothers_file_cannot_be_had(way: str) -> None:
    """Who sends somebody else's reference stops their own run: it is as good as not there (D35)."""
    sink, model = Sink(), FakeModel("ok", repeat_last=True)
    made = agent(sink, model, memory=Memory())
    await ask(made, way, asked(), **ADA)
    (reference,) = sink.kept
    seen = await ask(made, way, asked(reference), **BOB)
    assert seen.tripwire.metadata == {"kind": "attachment_missing"}
    assert len(model.requests) == 1
    seen = await ask(made, way, asked(reference))  # nobody's
    assert seen.tripwire.metadata == {"kind": "attachment_missing"}


async def test_a_file_that_is_gone_may_be_a_note() -> None:
    """With ``on_missing="note"`` a conversation goes on, and the model is told what is missing."""
    sink, model = Sink(), FakeModel("ok", repeat_last=True)
    made = agent(sink, model, options={"on_missing": "note"}, memory=Memory())
    await ask(made, "generate", asked(), **ADA)
    sink.kept.clear()
    await ask(made, "generate", "And now?", **ADA)
    assert "[me.png (image/png) is not there any more.]" in model.requests[1].messages[0].text


async def test_whose_files_they_are_may_be_said() -> None:
    """``owner`` reads it from the request's values; without it and without a resource they are nobody's."""
    sink = Sink()

    def tenant(context: Any) -> str:
        return str(context["tenant"])

    made = agent(sink, options={"owner": tenant})
    await ask(made, "generate", asked(), request_context={"tenant": "acme"})
    await ask(agent(sink), "generate", asked())
    assert [scope for _, _, _, scope in sink.kept.values()] == ["acme", None]


async def test_a_resource_without_a_thread_owns_its_files() -> None:
    """A call that names its resource alone, or a request context that does, has a place of its own as well (D35)."""
    sink = Sink()
    await ask(agent(sink), "generate", asked(), resource="ada")
    await ask(agent(sink), "generate", asked(), request_context={"resource_id": "bob"})
    assert [scope for _, _, _, scope in sink.kept.values()] == ["ada", "bob"]


async def test_processors_behind_see_the_reference() -> None:
    """On the way in they are shown what will be kept, and before the call what the model will be shown."""
    sink, model = Sink(), FakeModel("ok")
    kinds: list[Any] = []
    look = at("process_input", lambda ctx: kinds.append(files_of(ctx.view)[0].data), id="look")
    prompt = at("process_llm_request", lambda ctx: kinds.append(files_of(ctx.prompt)[0].data), id="prompt")
    made = Agent("p", model=model, input_processors=[AttachmentUploader(sink), look, prompt])
    await ask(made, "generate", asked())
    assert kinds == [next(iter(sink.kept)), PICTURE]


async def test_the_documents_attachments_are_files_too() -> None:
    """``experimental_attachments`` of the documents' messages are kept like any other file."""
    sink, model = Sink(), FakeModel("ok")
    url = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    message = {"role": "user", "content": "x", "experimental_attachments": [{"url": url, "contentType": "image/png"}]}
    await ask(agent(sink, model), "generate", [message])
    assert [data for data, *_ in sink.kept.values()] == [PICTURE]
    assert [part.data for part in files_of(model.requests[0].messages)] == [PICTURE]


@both_ways
async def test_with_a_directory(way: str, tmp_path: Path) -> None:
    """The file is in the directory, the thread has the reference, and the model sees the bytes."""
    model, store = FakeModel("ok", repeat_last=True), InMemoryStore()
    made = agent(FileSink(tmp_path), model, memory=Memory(store))
    await ask(made, way, asked(name="../../evil.png"), **ADA)
    await ask(made, way, "And now?", **ADA)
    (stored,) = files_of(await store.messages("t"))
    assert str(stored.data).startswith("attachment:")
    assert contents(tmp_path) == [PICTURE]
    assert [part.data for part in files_of(model.requests[1].messages)] == [PICTURE]


@both_ways
@pytest.mark.parametrize("links", ["presigned", "none"])
async def test_with_a_bucket(way: str, links: Any, server: str) -> None:
    """The model is given an address of the object that holds for a while, or its bytes; the thread has neither."""
    sink = S3Sink(BUCKET, endpoint_url=server, session=session(), links=links)
    model, store = FakeModel("ok"), InMemoryStore()
    await ask(agent(sink, model, memory=Memory(store)), way, asked(), **ADA)
    (stored,), (sent,) = files_of(await store.messages("t")), files_of(model.requests[0].messages)
    assert str(stored.data).startswith(f"s3://{BUCKET}/") and "Signature" not in str(stored.data)
    if links == "none":
        assert sent.data == PICTURE
    else:
        assert str(sent.data).startswith(server) and "Signature" in str(sent.data)


@both_ways
@pytest.mark.parametrize("construct", ["then", "parallel"])
async def test_it_works_in_a_workflow(way: str, construct: str) -> None:
    """In a workflow of processors, also beside another one, files are kept and shown as in a list."""
    sink, model, store = Sink(), FakeModel("ok"), InMemoryStore()
    uploader, other = AttachmentUploader(sink), at("process_input", lambda ctx: None, id="other")
    flow: Any = create_workflow("w", kind="processor")
    flow = flow.then(uploader).then(other) if construct == "then" else flow.parallel([uploader, other])
    made = Agent("p", model=model, memory=Memory(store), input_processors=[flow.commit()])
    await ask(made, way, asked(), **ADA)
    assert [part.data for part in files_of(await store.messages("t"))] == list(sink.kept)
    assert [part.data for part in files_of(model.requests[0].messages)] == [PICTURE]


@pytest.mark.parametrize(
    ("sink", "options", "named"),
    [
        ("a directory", {}, "no sink"),
        (Sink(), {"threshold": -1}, "threshold"),
        (Sink(), {"threshold": True}, "threshold"),
        (Sink(), {"max_size": 0}, "max_size"),
        (Sink(), {"allowed_types": ["png"]}, "png"),
        (Sink(), {"on_missing": "ignore"}, "on_missing"),
        (Sink(), {"owner": "ada"}, "owner"),
    ],
)
def test_wrong_options_are_refused(sink: Any, options: dict[str, Any], named: str) -> None:
    """The error names the option and what it may be."""
    with pytest.raises(ProcessorDefinitionError, match=named) as caught:
        AttachmentUploader(sink, **options)
    assert caught.value.hint
