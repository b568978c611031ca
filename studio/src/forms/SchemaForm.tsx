// A whole form of a schema, with a way to write the value as JSON instead.
import { useEffect, useRef, useState } from "react";

import type { Json } from "../api/types";
import { Field } from "./Field";
import "./forms.css";
import { RawField } from "./RawField";
import { faultsByPath, isForm, kindOf, resolved, type Schema } from "./schema";

export interface SchemaFormProps {
  /** Null where nothing is known of the value: it is written as JSON. */
  schema: Schema | null | undefined;
  value: Json | undefined;
  change: (value: Json) => void;
  name: string;
  faults?: readonly string[];
  /** Told whether what is written is no JSON (yet), so that it cannot be sent. */
  told?: (wrong: boolean) => void;
}

export function SchemaForm({ schema, value, change, name, faults = [], told }: SchemaFormProps) {
  const root = isForm(schema) ? schema : {};
  const unknown = kindOf(resolved(root, root)) === "anything";
  const [raw, setRaw] = useState(false);
  const wrong = faultsByPath(faults);
  const form = useRef<HTMLDivElement>(null);
  const faulty = faults.join("\n");
  useEffect(() => {
    if (faulty) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faulty]);
  const shared = { root, value, change, path: "", name, required: false, faults: wrong };
  const toggle = (to: boolean) => {
    setRaw(to);
    told?.(false);
  };
  return (
    <div className="schema-form" ref={form}>
      {!unknown && (
        <label className="check">
          <input type="checkbox" checked={raw} onChange={(event) => toggle(event.target.checked)} /> as JSON
        </label>
      )}
      {raw || unknown ? <RawField {...shared} schema={{ title: `${name} as JSON` }} rows={10} told={told} /> : <Field {...shared} schema={root} />}
    </div>
  );
}
