// One field of a form, made from its schema: objects and lists hold further ones.
import { useId, type ReactNode } from "react";

import type { Json } from "../api/types";
import { visible } from "../ui/visible";
import { Compound } from "./Compound";
import { RawField } from "./RawField";
import { alternatives, chosen, faultsAt, initial, kindOf, resolved, titleOf, wordOf, type Schema } from "./schema";

export interface FieldProps {
  schema: Schema;
  /** What `$ref` is looked up in. */
  root: Schema;
  value: Json | undefined;
  change: (value: Json) => void;
  /** Where it stands, as the server says it: "addr.0.city". */
  path: string;
  name: string;
  required: boolean;
  faults: Map<string, string[]>;
  /** What stands beside the label: to leave it out, to take it away. */
  aside?: ReactNode;
}

const FORMATS: Record<string, string> = { date: "date", "date-time": "datetime-local", time: "time", email: "email", uri: "url", password: "password" };

export function Field(props: FieldProps) {
  const schema = resolved(props.schema, props.root);
  const inner = { ...props, schema };
  switch (kindOf(schema)) {
    case "object":
    case "list":
      return <Compound {...inner} />;
    case "union":
      return <Union {...inner} />;
    case "anything":
      return schema.type === "null" ? <Labelled {...inner}>{() => <span className="faint">nothing</span>}</Labelled> : <RawField {...inner} />;
    default:
      return <Simple {...inner} />;
  }
}

/** A label, what is asked for, its description and its faults; *children* is given the ids that tie them together. */
export function Labelled({ schema, name, path, required, faults, aside, children }: Omit<FieldProps, "root" | "value" | "change"> & { children: (ids: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean | undefined }) => ReactNode }) {
  const id = useId();
  const wrong = faultsAt(faults, path);
  const about = typeof schema.description === "string" ? schema.description : "";
  const described = [about ? `${id}-about` : "", wrong.length ? `${id}-wrong` : ""].filter(Boolean).join(" ");
  return (
    <div className="field">
      <div className="field-head">
        <label htmlFor={id}>
          {visible(titleOf(schema, name))}
          {required && <span className="faint"> (required)</span>}
        </label>
        {aside}
      </div>
      {about && (
        <p id={`${id}-about`} className="faint">
          {visible(about)}
        </p>
      )}
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": wrong.length ? true : undefined })}
      <Faults id={`${id}-wrong`} texts={wrong} />
    </div>
  );
}

export function Faults({ id, texts }: { id?: string; texts: string[] }) {
  if (!texts.length) return null;
  return (
    <p id={id} className="fault" role="alert">
      ✗ {texts.map(visible).join("; ")}
    </p>
  );
}

function Simple(props: FieldProps) {
  const { schema, value, change } = props;
  const kind = kindOf(schema);
  return (
    <Labelled {...props}>
      {(ids) => {
        if (kind === "constant") return <code id={ids.id}>{JSON.stringify(schema.const)}</code>;
        if (kind === "choice") {
          const choices = schema.enum as Json[];
          const at = choices.findIndex((one) => one === value);
          return (
            <select {...ids} value={String(at)} onChange={(event) => change(choices[Number(event.target.value)] ?? null)}>
              {at < 0 && <option value="-1">choose…</option>}
              {choices.map((one, index) => (
                <option key={index} value={index}>
                  {typeof one === "string" ? visible(one) : JSON.stringify(one)}
                </option>
              ))}
            </select>
          );
        }
        if (kind === "boolean")
          return (
            <label className="check">
              <input {...ids} type="checkbox" checked={value === true} onChange={(event) => change(event.target.checked)} />
              <span aria-hidden="true">{value === true ? "yes" : "no"}</span>
            </label>
          );
        if (kind === "number" || kind === "integer")
          return <input {...ids} type="text" inputMode="decimal" value={shown(value)} onChange={(event) => change(asNumber(event.target.value))} />;
        return <TextInput {...props} ids={ids} />;
      }}
    </Labelled>
  );
}

function TextInput({ schema, value, change, ids }: FieldProps & { ids: object }) {
  const format = typeof schema.format === "string" ? FORMATS[schema.format] : undefined;
  const text = shown(value);
  const fitting = format === "datetime-local" ? text.replace(/(Z|[+-]\d\d:\d\d)$/, "") : text;
  const set = (given: string) => change(format === "datetime-local" && given ? `${given}${given.length === 16 ? ":00" : ""}Z` : given);
  if (format === undefined && (text.length > 60 || text.includes("\n") || (typeof schema.maxLength !== "number" && schema.format === undefined)))
    return <textarea {...ids} rows={Math.min(10, Math.max(1, text.split("\n").length))} value={text} onChange={(event) => change(event.target.value)} />;
  return (
    <>
      <input {...ids} type={format ?? "text"} step={format === "datetime-local" ? 1 : undefined} value={fitting} onChange={(event) => set(event.target.value)} />
      {format === "datetime-local" && <span className="faint">UTC</span>}
    </>
  );
}

/** What was typed as a number; what is none stays as it was typed, for the server to say so. */
function asNumber(text: string): Json {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && !/[.eE]$|\.0*$/.test(text.trim()) ? number : text;
}

function shown(value: Json | undefined): string {
  return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function Union(props: FieldProps) {
  const { schema, root, value, change } = props;
  const options = alternatives(schema);
  const at = chosen(value, options, root);
  const { anyOf: _a, oneOf: _o, ...own } = schema;
  return (
    <Labelled {...props}>
      {(ids) => (
        <div className="field-union">
          <select {...ids} value={at} onChange={(event) => change(initial(options[Number(event.target.value)], root))}>
            {options.map((option, index) => (
              <option key={index} value={index}>
                {visible(wordOf(option, root))}
              </option>
            ))}
          </select>
          {resolved(options[at], root).type !== "null" && (
            <Field {...props} schema={{ title: `${titleOf(own, props.name)}: ${wordOf(options[at]!, root)}`, ...options[at]!, description: "" }} required={false} aside={undefined} />
          )}
        </div>
      )}
    </Labelled>
  );
}
