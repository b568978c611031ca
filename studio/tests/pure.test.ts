// What is pure: the parser of events, differences of texts, and the folding of events.
import { describe, expect, it } from "vitest";

import { SseParser } from "../src/api/sse";
import type { RunEvent } from "../src/api/types";
import { RunFold } from "../src/run/fold";
import { barsOf } from "../src/run/spans";
import { difference } from "../src/ui/diff";
import { visible } from "../src/ui/visible";

describe("SseParser", () => {
  it("gives the same events however the text was cut", () => {
    const text = ": alive\n\nid: 1\nevent: node.started\ndata: {\"a\":1}\n\nid: 2\r\ndata: x\r\ndata: y\r\n\r\n";
    const whole = new SseParser().feed(text);
    expect(whole).toEqual([
      { id: "1", event: "node.started", data: '{"a":1}' },
      { id: "2", event: "message", data: "x\ny" },
    ]);
    for (let cut = 1; cut < text.length; cut += 1) {
      const parser = new SseParser();
      expect([...parser.feed(text.slice(0, cut)), ...parser.feed(text.slice(cut))]).toEqual(whole);
    }
  });
});

describe("difference", () => {
  it("keeps what stayed, and both sides can be read from it", () => {
    const pairs = [["Where is 20240117?", "Where is [order]?"], ["", "new"], ["old", ""], ["a b c d", "b a d c"], ["😀 x", "😀 y"]];
    for (const [before, after] of pairs) {
      const pieces = difference(before!, after!);
      expect(pieces.filter(({ kind }) => kind !== "new").map(({ text }) => text).join("")).toBe(before);
      expect(pieces.filter(({ kind }) => kind !== "gone").map(({ text }) => text).join("")).toBe(after);
    }
    expect(difference("Where is 20240117?", "Where is [order]?").map(({ kind }) => kind)).toEqual(["same", "gone", "new", "same"]);
  });
});

describe("visible", () => {
  it("writes out what hides, and leaves what joins an emoji", () => {
    expect(visible("a\u202eb\u200b")).toBe("a⟨U+202E⟩b⟨U+200B⟩");
    expect(visible("👩‍🚀")).toBe("👩‍🚀");
  });
});

describe("RunFold", () => {
  const event = (seq: number, type: string, node_path: string, payload: RunEvent["payload"], ts = seq): RunEvent => ({
    seq, ts, run_id: "r", type, node_path, node_id: node_path, attempt: 1, payload,
  });
  const told = [
    event(0, "run.started", "", { workflow: "w" }),
    event(1, "node.started", "slow", { kind: "step" }),
    event(2, "node.started", "quick", { kind: "step" }),
    event(3, "node.failed", "quick", { error: { message: "no" } }),
    event(4, "node.cancelled", "slow", { reason: "a branch beside it" }),
    event(5, "run.finished", "", { status: "failed" }),
  ];

  it("takes each event once, also when it comes again", () => {
    const fold = new RunFold();
    fold.take(told.slice(0, 4));
    expect(fold.take(told)).toBe(2);
    expect(fold.events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(fold.missing).toBe(0);
    expect([fold.status, fold.nodes.get("slow")!.status, fold.nodes.get("quick")!.status]).toEqual(["failed", "cancelled", "failed"]);
  });

  it("says how many events are no longer kept", () => {
    const fold = new RunFold();
    fold.take([told[0]!, told[5]!]);
    expect(fold.missing).toBe(4);
  });

  it("has what held the run up on the critical path, and not what was cancelled", () => {
    const fold = new RunFold();
    fold.take(told);
    expect(barsOf(fold, 5).filter(({ critical }) => critical).map(({ node }) => node.path)).toEqual(["quick"]);
  });

  it("marks the time in which the run waited", () => {
    const fold = new RunFold();
    fold.take([told[0]!, event(1, "run.suspended", "", { status: "suspended" }, 10), event(2, "run.started", "", { resumed: true }, 60)]);
    expect(fold.gaps).toEqual([{ from: 10, to: 60 }]);
    expect(fold.status).toBe("running");
  });
});
