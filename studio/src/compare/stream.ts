// A stream as it was passed on: what came from the model, what processors made of it, and what left.
import type { JsonObject, RunEvent } from "../api/types";

export interface Passed {
  seq: number;
  number: number;
  turn: string;
  came: JsonObject | null;
  stages: { processor: string; out: JsonObject[] }[];
  left: JsonObject[];
}

export function passedOf(events: readonly RunEvent[]): Passed[] {
  const found: Passed[] = [];
  for (const event of events) {
    if (event.type !== "stream.passed") continue;
    const { number, came, stages, left } = event.payload;
    found.push({
      seq: event.seq,
      number: typeof number === "number" ? number : found.length,
      turn: event.node_path,
      came: isChunk(came) ? came : null,
      stages: Array.isArray(stages) ? (stages as unknown as Passed["stages"]).map((stage) => ({ processor: String(stage.processor ?? (stage as unknown as JsonObject).node_path ?? "branches together"), out: list(stage.out) })) : [],
      left: list(left),
    });
  }
  return found;
}

function list(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isChunk) : [];
}

function isChunk(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text of chunks, joined. */
export function textOf(chunks: Iterable<JsonObject | null>): string {
  const pieces: string[] = [];
  for (const chunk of chunks) if (chunk?.type === "text-delta" && typeof chunk.text === "string") pieces.push(chunk.text);
  return pieces.join("");
}

export interface Moment {
  came: string;
  left: string;
  /** How many characters have come and not left; less than none where processors wrote more than came. */
  held: number;
}

/** How the stream stood once number *at* had passed. */
export function standAt(passed: readonly Passed[], at: number): Moment {
  const until = passed.slice(0, at + 1);
  const came = textOf(until.map((one) => one.came));
  const left = textOf(until.flatMap((one) => one.left));
  return { came, left, held: came.length - left.length };
}

/** In a line, what a chunk says. */
export function chunkText(chunk: JsonObject): string {
  if (typeof chunk.text === "string") return chunk.text;
  const { type: _, id: _id, ...rest } = chunk;
  return Object.keys(rest).length ? JSON.stringify(rest) : "";
}
