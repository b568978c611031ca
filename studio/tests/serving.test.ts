// What is drawn at a hook: who runs there, of a list that is one graph at every hook.
import { describe, expect, it } from "vitest";

import type { Graph, GraphEdge, GraphGroup, GraphNode, NodeKind } from "../src/api/types";
import { innerOf } from "../src/graph/serving";

const node = (id: string, kind: NodeKind, more: Partial<GraphNode> = {}): GraphNode => ({ id, path: id, kind, label: id, ...more });
const chain = (...ids: string[]): GraphEdge[] => ids.slice(1).map((target, at) => ({ source: ids[at]!, target, kind: "seq" }) as GraphEdge);
const graph = (id: string, nodes: GraphNode[], edges: GraphEdge[], more: Partial<Graph> = {}): Graph => ({
  schema_version: 1, workflow_id: id, kind: "processor", graph_hash: id, nodes, edges, groups: [], schemas: {}, ...more,
});

const group: GraphGroup = { id: "both", kind: "parallel", label: "", children: ["left", "right"], entry: "fork", exit: "join" };
const beside = graph(
  "beside",
  [
    node("@start", "start"), node("fork", "fork"), node("left", "processor", { hooks: ["process_input"] }),
    node("right", "processor", { hooks: ["process_input_step"] }), node("join", "join"),
    node("late", "processor", { hooks: ["process_output_result"] }), node("@end", "end"),
  ],
  [...chain("@start", "fork", "left", "join", "late", "@end"), ...chain("fork", "right", "join")],
  { groups: [group] },
);
const list = graph(
  "list",
  [
    node("@start", "start"), node("at-input", "processor", { hooks: ["process_input"] }),
    node("at-step", "processor", { hooks: ["process_input_step"] }),
    node("beside", "workflow", { ref_hash: "beside", hooks: ["process_input", "process_input_step", "process_output_result"] }),
    node("own", "step", { on: ["process_input_step"] }), node("@end", "end"),
  ],
  chain("@start", "at-input", "at-step", "beside", "own", "@end"),
);
const root = graph("bot", [node("process_input", "hook", { ref_hash: "list" })], [], { workflows: { list, beside } });

const ids = (shown: Graph | null) => shown?.nodes.map(({ id }) => id);
const edges = (shown: Graph | null) => shown?.edges.map(({ source, target }) => `${source}>${target}`);

describe("innerOf", () => {
  it("leaves out who does not serve at the hook, in what is nested as well", () => {
    const input = innerOf(root, node("process_input", "hook", { ref_hash: "list" }))!;
    expect(ids(input)).toEqual(["@start", "at-input", "beside", "@end"]);
    expect(edges(input)).toEqual(["@start>at-input", "at-input>beside", "beside>@end"]);
    const inside = innerOf(root, input.nodes[2]!);
    expect(ids(inside)).toEqual(["@start", "fork", "left", "join", "@end"]);
    expect(edges(inside)).toEqual(["@start>fork", "fork>left", "left>join", "join>@end"]);
  });

  it("leaves a container out that has no arm left", () => {
    const result = innerOf(root, node("process_output_result", "hook", { ref_hash: "list" }))!;
    expect(ids(result)).toEqual(["@start", "beside", "@end"]);
    const inside = innerOf(root, result.nodes[1]!);
    expect(ids(inside)).toEqual(["@start", "late", "@end"]);
    expect(edges(inside)).toEqual(["@start>late", "late>@end"]);
  });

  it("is the whole graph elsewhere, and one object each time", () => {
    expect(innerOf(root, node("x", "workflow", { ref_hash: "list" }))).toBe(list);
    const hook = node("process_input_step", "hook", { ref_hash: "list" });
    expect(innerOf(root, hook)).toBe(innerOf(root, hook));
    expect(ids(innerOf(root, hook))).toEqual(["@start", "at-step", "beside", "own", "@end"]);
    expect(innerOf(root, node("y", "step"))).toBeNull();
  });
});
