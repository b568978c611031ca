// Fields that hold others: an object by its properties, a list by its items.
import type { Json, JsonObject } from "../api/types";
import { visible } from "../ui/visible";
import { Faults, Field, type FieldProps } from "./Field";
import { RawField } from "./RawField";
import { faultsAt, initial, isForm, kindOf, properties, resolved, titleOf } from "./schema";

export function Compound(props: FieldProps) {
  const { schema, name, path, faults, aside, required } = props;
  const isList = kindOf(schema) === "list";
  const title = visible(titleOf(schema, name));
  // An object that says nothing of its fields is written as it is.
  if (!isList && !properties(schema).length) return <RawField {...props} />;
  return (
    <fieldset className="field-group">
      <legend>
        {title}
        {required && path !== "" && <span className="faint"> (required)</span>}
      </legend>
      {aside}
      {typeof schema.description === "string" && <p className="faint">{visible(schema.description)}</p>}
      <Faults texts={faultsAt(faults, path)} />
      {isList ? <Items {...props} /> : <Properties {...props} />}
    </fieldset>
  );
}

function Properties({ schema, root, value, change, path, faults }: FieldProps) {
  const form = isForm(value) ? value : {};
  const fields = properties(schema);
  const known = new Set(fields.map(([name]) => name));
  const set = (name: string, one: Json) => change({ ...form, [name]: one });
  const without = (name: string) => {
    const { [name]: _, ...rest } = form;
    change(rest as JsonObject);
  };
  return (
    <>
      {fields.map(([name, one, required]) => {
        const field = resolved(one, root);
        const title = titleOf(field, name);
        const inside = path ? `${path}.${name}` : name;
        if (!Object.hasOwn(form, name))
          return (
            <div key={name} className="field-left-out">
              <button type="button" className="quiet" onClick={() => set(name, initial(one, root))}>
                + {visible(title)}
              </button>
              <span className="faint">{required ? "required" : "left out"}</span>
              <Faults texts={faultsAt(faults, inside, true)} />
            </div>
          );
        const aside = required ? undefined : (
          <button type="button" className="quiet" aria-label={`Leave out ${title}`} onClick={() => without(name)}>
            leave out
          </button>
        );
        return <Field key={name} schema={one} root={root} value={form[name]} change={(given) => set(name, given)} path={inside} name={name} required={required} faults={faults} aside={aside} />;
      })}
      {Object.keys(form).some((name) => !known.has(name)) && (
        <p className="faint">Beside these it has {Object.keys(form).filter((name) => !known.has(name)).map(visible).join(", ")}: see “as JSON”.</p>
      )}
    </>
  );
}

function Items({ schema, root, value, change, path, name, faults }: FieldProps) {
  const items = Array.isArray(value) ? value : [];
  const title = titleOf(schema, name);
  const most = typeof schema.maxItems === "number" ? schema.maxItems : Infinity;
  return (
    <>
      {items.map((one, index) => (
        <Field
          key={index}
          schema={isForm(schema.items) ? schema.items : {}}
          root={root}
          value={one}
          change={(given) => change(items.map((each, at) => (at === index ? given : each)))}
          path={path ? `${path}.${index}` : String(index)}
          name={`${index + 1}`}
          required={false}
          faults={faults}
          aside={
            <button type="button" className="quiet" aria-label={`Remove item ${index + 1} of ${title}`} onClick={() => change(items.filter((_, at) => at !== index))}>
              remove
            </button>
          }
        />
      ))}
      <div>
        <button type="button" className="quiet" disabled={items.length >= most} onClick={() => change([...items, initial(schema.items, root)])}>
          + item of {visible(title)}
        </button>
      </div>
    </>
  );
}
