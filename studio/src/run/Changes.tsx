// What a processor changed: messages and chunks before and after, as differences of texts.
import { useMemo, useState } from "react";

import type { Json, JsonObject } from "../api/types";
import { Diff } from "../ui/Diff";
import { JsonView } from "../ui/JsonView";
import { Tag } from "../ui/parts";
import { Status } from "../ui/status";
import { visible } from "../ui/visible";
import { count, duration, hookName } from "../ui/words";
import type { ChunkChange, HookChange } from "./model";

const SHOWN = 20;

export function HookChanges({ changes }: { changes: HookChange[] }) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <div className="stack">
      {changes.slice(0, shown).map((change) => (
        <OneChange key={change.seq} change={change} />
      ))}
      {changes.length > shown && (
        <button type="button" onClick={() => setShown(shown + SHOWN)}>
          {count(changes.length - shown)} more
        </button>
      )}
    </div>
  );
}

function OneChange({ change }: { change: HookChange }) {
  const fields = Object.entries(change.fields);
  return (
    <div className="change">
      <p className="row">
        <Status status={change.outcome} />
        <Tag>{hookName(change.hook)}</Tag>
        {change.step !== null && <span className="faint">step {change.step}</span>}
        {change.seconds !== null && <span className="faint">{duration(change.seconds)}</span>}
      </p>
      {change.messages.map((message, index) => (
        <div key={`${message.id} ${index}`} className="change-part">
          <p className="faint">
            {message.change} · {visible(message.role)} message
          </p>
          <MessageDiff before={message.before} after={message.after} />
        </div>
      ))}
      {fields.map(([name, { before, after }]) => (
        <div key={name} className="change-part">
          <p className="faint">{visible(name)}</p>
          <ValueDiff before={before} after={after} />
        </div>
      ))}
      {change.violations.length > 0 && (
        <div className="change-part">
          <p className="faint">what it found</p>
          <JsonView value={change.violations} depth={2} />
        </div>
      )}
      {!change.messages.length && !fields.length && !change.violations.length && <p className="faint">Nothing was changed.</p>}
    </div>
  );
}

/** A message before and after: its text, and where that is the same, all of it. */
function MessageDiff({ before, after }: { before: JsonObject | null; after: JsonObject | null }) {
  const texts = [textOf(before), textOf(after)] as const;
  if (texts[0] !== texts[1]) return <Diff before={texts[0]} after={texts[1]} />;
  return <ValueDiff before={before} after={after} />;
}

function textOf(message: JsonObject | null): string {
  return typeof message?.text === "string" ? message.text : "";
}

export function ValueDiff({ before, after }: { before: Json | undefined; after: Json | undefined }) {
  return <Diff before={written(before)} after={written(after)} />;
}

function written(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export function ChunkChanges({ changes }: { changes: ChunkChange[] }) {
  const [shown, setShown] = useState(SHOWN);
  const whole = useMemo(() => [joined(changes, "before"), joined(changes, "after")] as const, [changes, changes.length]);
  return (
    <div className="stack">
      <div>
        <p className="faint">{changes.length === 1 ? "the one chunk that it changed" : `the text of the ${count(changes.length)} chunks that it changed, put together`}</p>
        <Diff before={whole[0]} after={whole[1]} />
      </div>
      {(changes.length === 1 ? [] : changes.slice(0, shown)).map((change, index) => (
        <div key={`${change.seq} ${index}`} className="change-part">
          <p className="faint">
            chunk {change.number}
            {change.after.length === 0 && ": held back or let go"}
            {change.after.length > 1 && `: became ${change.after.length}`}
          </p>
          <Diff before={chunkText(change.before)} after={chunkText(change.after)} />
        </div>
      ))}
      {changes.length > shown && (
        <button type="button" onClick={() => setShown(shown + SHOWN)}>
          {count(changes.length - shown)} more chunks
        </button>
      )}
    </div>
  );
}

function joined(changes: ChunkChange[], side: "before" | "after"): string {
  return changes.map((change) => change[side].map(spoken).join("")).join("");
}

/** What a chunk says; one that says nothing as it is. */
function spoken(chunk: JsonObject): string {
  for (const name of ["text", "delta", "args_text"]) if (typeof chunk[name] === "string") return chunk[name];
  return "";
}

function chunkText(chunks: JsonObject[]): string {
  return chunks.map((chunk) => spoken(chunk) || JSON.stringify(chunk)).join("");
}
