// JSON Schema as a form reads it: what kind of field a schema is, and what it begins with.
import type { Json, JsonObject } from "../api/types";

export type Schema = JsonObject;

export type Kind = "text" | "number" | "integer" | "boolean" | "choice" | "constant" | "object" | "list" | "union" | "anything";

const DEEPEST = 8;

/** Follow a `$ref` of *schema* in *root*; one that leads nowhere, or round in a circle, is anything. */
export function resolved(schema: unknown, root: Schema): Schema {
  let found = isForm(schema) ? schema : {};
  for (let steps = 0; typeof found.$ref === "string"; steps += 1) {
    const target = found.$ref.startsWith("#/") ? found.$ref.slice(2).split("/").reduce<unknown>(into, root) : undefined;
    if (steps > 16 || !isForm(target)) return {};
    const { $ref: _, ...beside } = found;
    found = { ...target, ...beside };
  }
  // What says one thing only, such as a title beside a reference.
  if (Array.isArray(found.allOf) && found.allOf.length === 1) {
    const { allOf, ...beside } = found;
    return { ...resolved((allOf as Json[])[0], root), ...beside };
  }
  return found;
}

function into(found: unknown, part: string): unknown {
  const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
  return isForm(found) && Object.hasOwn(found, name) ? found[name] : undefined;
}

export function kindOf(schema: Schema): Kind {
  if (schema.const !== undefined) return "constant";
  if (Array.isArray(schema.enum)) return "choice";
  if (alternatives(schema).length) return "union";
  switch (schema.type) {
    case "string":
      return "text";
    case "number":
    case "integer":
    case "boolean":
      return schema.type;
    case "array":
      return "list";
    case "object":
      return "object";
    default:
      return isForm(schema.properties) ? "object" : "anything";
  }
}

/** What a value may be instead of one thing: of `anyOf`, `oneOf` and a list of types. */
export function alternatives(schema: Schema): Schema[] {
  const many = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(many)) return many.filter(isForm);
  if (Array.isArray(schema.type)) return schema.type.map((type) => ({ ...schema, type }));
  return [];
}

/** The properties of an object, in their order: those that must be there first where nothing else is said. */
export function properties(schema: Schema): [string, Schema, boolean][] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = isForm(schema.properties) ? Object.entries(schema.properties) : [];
  return fields.map(([name, one]) => [name, isForm(one) ? one : {}, required.has(name)]);
}

/** What a field begins with: its default, else the simplest value of its kind. */
export function initial(schema: unknown, root: Schema, depth = 0): Json {
  const found = resolved(schema, root);
  if (found.default !== undefined) return structuredClone(found.default);
  switch (kindOf(found)) {
    case "constant":
      return found.const!;
    case "choice":
      return (found.enum as Json[])[0] ?? null;
    case "text":
      return "";
    case "number":
    case "integer":
      return typeof found.minimum === "number" ? found.minimum : 0;
    case "boolean":
      return false;
    case "list":
      return depth > DEEPEST ? [] : Array.from({ length: atLeast(found) }, () => initial(found.items, root, depth + 1));
    case "object": {
      const made: JsonObject = {};
      for (const [name, one, required] of depth > DEEPEST ? [] : properties(found))
        if (required || resolved(one, root).default !== undefined) made[name] = initial(one, root, depth + 1);
      return made;
    }
    case "union":
      return initial(alternatives(found)[0], root, depth + 1);
    case "anything":
      return found.type === "null" ? null : "";
  }
}

function atLeast(schema: Schema): number {
  return typeof schema.minItems === "number" ? Math.min(schema.minItems, 20) : 0;
}

/** Which of the alternatives *value* is, as far as its shape says; 0 where none fits. */
export function chosen(value: Json | undefined, options: Schema[], root: Schema): number {
  const fitting = options.findIndex((option) => fits(value, resolved(option, root), root));
  return Math.max(0, fitting);
}

function fits(value: Json | undefined, schema: Schema, root: Schema): boolean {
  switch (kindOf(schema)) {
    case "constant":
      return value === schema.const;
    case "choice":
      return (schema.enum as Json[]).includes(value as Json);
    case "text":
      return typeof value === "string";
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "object":
      return (
        isForm(value) &&
        properties(schema).every(([name, one, required]) => {
          const field = resolved(one, root);
          if (!Object.hasOwn(value, name)) return !required;
          return field.const === undefined || value[name] === field.const;
        })
      );
    case "union":
      return alternatives(schema).some((one) => fits(value, resolved(one, root), root));
    case "anything":
      return schema.type === "null" ? value === null : true;
  }
}

/** What a field is called: its title, else its name in words. */
export function titleOf(schema: Schema, name: string): string {
  if (typeof schema.title === "string" && schema.title) return schema.title;
  return name ? name.replaceAll("_", " ") : "Value";
}

/** In a word, what a schema is: for the choice of a union. */
export function wordOf(schema: Schema, root: Schema): string {
  const found = resolved(schema, root);
  if (typeof found.title === "string") return found.title;
  if (found.type === "null") return "nothing";
  const kind = kindOf(found);
  return kind === "constant" ? JSON.stringify(found.const) : kind === "choice" ? "one of a list" : kind;
}

/** The faults that a server found, by the path of the field: "addr.0.city: Field required". */
export function faultsByPath(faults: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const fault of faults) {
    const at = fault.indexOf(": ");
    const path = at < 0 ? "" : fault.slice(0, at).replace(/\[(\d+)\]/g, ".$1");
    const key = path === "value" ? "" : path;
    found.set(key, [...(found.get(key) ?? []), at < 0 ? fault : fault.slice(at + 2)]);
  }
  return found;
}

/** The faults of a field: also those deeper than it where *deep* says that nothing shows them. */
export function faultsAt(faults: Map<string, string[]>, path: string, deep = false): string[] {
  const own = faults.get(path) ?? [];
  if (!deep) return own;
  const inside = [...faults].filter(([key]) => key.startsWith(path ? `${path}.` : "") && key !== path);
  return [...own, ...inside.flatMap(([key, texts]) => texts.map((text) => `${key}: ${text}`))];
}

export function isForm(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
