// A value as it is: opened part by part, so that a large one costs only what is looked at.
import { useId, useState } from "react";

import { visible } from "./visible";

const OPEN_AT_ONCE = 100;
const TEXT_AT_ONCE = 600;

/** *value*, opened down to *depth*; *bare* leaves out what would close the outermost object. */
export function JsonView({ value, depth = 2, bare = false }: { value: unknown; depth?: number; bare?: boolean }) {
  return (
    <div className="json">
      <Value value={value} depth={depth} bare={bare} />
    </div>
  );
}

function Value({ value, depth, bare = false }: { value: unknown; depth: number; bare?: boolean }) {
  if (typeof value === "string") return <Text text={value} />;
  if (value === null || typeof value !== "object") return <span className="json-plain">{String(value)}</span>;
  return <Compound value={value} depth={depth} bare={bare && !Array.isArray(value)} />;
}

function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > TEXT_AT_ONCE;
  return (
    <span className="json-text">
      {visible(whole || !long ? text : text.slice(0, TEXT_AT_ONCE))}
      {text === "" && <span className="faint">empty text</span>}
      {long && (
        <button type="button" className="link" onClick={() => setWhole(!whole)}>
          {whole ? "show less" : `… show all ${text.length} characters`}
        </button>
      )}
    </span>
  );
}

function Compound({ value, depth, bare }: { value: object; depth: number; bare: boolean }) {
  const [open, setOpen] = useState(depth > 0);
  const [shown, setShown] = useState(OPEN_AT_ONCE);
  const id = useId();
  const isList = Array.isArray(value);
  const size = isList ? value.length : Object.keys(value).length;
  if (size === 0) return <span className="json-plain">{isList ? "[]" : "{}"}</span>;
  const entries: [string, unknown][] = !open ? [] : isList ? value.slice(0, shown).map((each, index) => [String(index), each]) : Object.entries(value).slice(0, shown);
  return (
    <span className="json-compound">
      {!bare && (
        <button type="button" className="json-toggle" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}>
          {open ? "▾" : "▸"} {isList ? `list of ${size}` : `${size} ${size === 1 ? "field" : "fields"}`}
        </button>
      )}
      {open && (
        <ul id={id}>
          {entries.map(([key, each]) => (
            <li key={key}>
              <span className="json-key">{visible(key)}</span> <Value value={each} depth={depth - 1} />
            </li>
          ))}
          {size > shown && (
            <li>
              <button type="button" className="link" onClick={() => setShown(shown + 10 * OPEN_AT_ONCE)}>
                … {size - shown} more
              </button>
            </li>
          )}
        </ul>
      )}
    </span>
  );
}
