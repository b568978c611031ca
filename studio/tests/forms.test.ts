import { expect, test } from "vitest";

import { passedOf, standAt } from "../src/compare/stream";
import { chosen, faultsAt, faultsByPath, initial, kindOf, resolved, type Schema } from "../src/forms/schema";

const root = {
  $defs: {
    Card: { type: "object", properties: { kind: { const: "card" }, number: { type: "string" } }, required: ["kind", "number"] },
    Invoice: { type: "object", properties: { kind: { const: "invoice" } }, required: ["kind"] },
    Tree: { type: "object", properties: { inside: { $ref: "#/$defs/Tree" } }, required: ["inside"] },
    Loop: { $ref: "#/$defs/Loop" },
  },
};

test("a form begins with defaults and with what is required", () => {
  const schema = { type: "object", properties: { a: { type: "string" }, b: { type: "integer", default: 3 }, c: { type: "boolean" } }, required: ["a"] };
  expect(initial(schema, schema)).toEqual({ a: "", b: 3 });
});

test("a reference in a circle ends", () => {
  expect(initial({ $ref: "#/$defs/Tree" }, root)).toHaveProperty("inside");
  expect(kindOf(resolved({ $ref: "#/$defs/Loop" }, root))).toBe("anything");
  expect(resolved({ $ref: "#/$defs/constructor" }, root)).toEqual({});
});

test("which alternative a value is", () => {
  const options: Schema[] = [{ $ref: "#/$defs/Card" }, { $ref: "#/$defs/Invoice" }, { type: "null" }];
  expect(chosen({ kind: "invoice" }, options, root)).toBe(1);
  expect(chosen(null, options, root)).toBe(2);
  expect(chosen({ kind: "card", number: "1" }, options, root)).toBe(0);
});

test("faults stand at their fields", () => {
  const faults = faultsByPath(["addr.0.city: Field required", "chunks[2]: no type", "value: no number"]);
  expect(faultsAt(faults, "addr.0.city")).toEqual(["Field required"]);
  expect(faultsAt(faults, "chunks.2")).toEqual(["no type"]);
  expect(faultsAt(faults, "")).toEqual(["no number"]);
  expect(faultsAt(faults, "addr", true)).toEqual(["addr.0.city: Field required"]);
});

test("what had come and what had left", () => {
  const delta = (text: string) => ({ type: "text-delta", id: "t", text });
  const event = (number: number, came: object | null, left: object[]) => ({ seq: number, ts: 0, run_id: "r", type: "stream.passed", node_path: "s", node_id: null, attempt: 1, payload: { number, came, stages: [], left } });
  const passed = passedOf([event(0, delta("ab"), []), event(1, delta("cd"), [delta("abc")]), event(2, null, [delta("d")])] as never);
  expect(standAt(passed, 0)).toEqual({ came: "ab", left: "", held: 2 });
  expect(standAt(passed, 1)).toEqual({ came: "abcd", left: "abc", held: 1 });
  expect(standAt(passed, 2).held).toBe(0);
});
