// The turns of a conversation, filled by the chunks of each answer.
import type { Json, JsonObject } from "../api/types";

export interface ToolUse {
  id: string;
  name: string;
  args: Json;
  result: Json | undefined;
  isError: boolean;
}

export interface Turn {
  /** The id of its run. */
  id: string;
  asked: string;
  text: string;
  reasoning: string;
  tools: ToolUse[];
  /** "running" until the result is there. */
  status: string;
  /** Whether the run is known to the server, so that it can be followed. */
  begun: boolean;
  /** Why there is no answer, in words for whoever asked. */
  trouble: string | null;
}

export function newTurn(id: string, asked: string): Turn {
  return { id, asked, text: "", reasoning: "", tools: [], status: "running", begun: false, trouble: null };
}

/** Put what one chunk says into *turn*. */
export function takeChunk(turn: Turn, type: string, chunk: JsonObject): void {
  turn.begun = true;
  switch (type) {
    case "text-delta":
      turn.text += String(chunk.text ?? "");
      break;
    case "reasoning-delta":
      turn.reasoning += String(chunk.text ?? "");
      break;
    case "tool-call":
      turn.tools.push({ id: String(chunk.tool_call_id), name: String(chunk.tool_name), args: chunk.args ?? null, result: undefined, isError: false });
      break;
    case "tool-result":
    case "tool-error": {
      const use = turn.tools.findLast((one) => one.id === chunk.tool_call_id);
      if (use) Object.assign(use, { result: chunk.result ?? chunk.error ?? null, isError: type === "tool-error" || chunk.is_error === true });
      break;
    }
    case "tripwire":
      turn.trouble = String(chunk.message ?? chunk.reason ?? "blocked");
      break;
    case "result":
      takeResult(turn, chunk);
      break;
  }
}

function takeResult(turn: Turn, result: JsonObject): void {
  turn.status = String(result.status ?? "failed");
  // What was delivered, where it is told: a replaced answer takes the place of what was streamed.
  if (typeof result.text === "string" && result.text && turn.status !== "failed") turn.text = result.text;
  const tripwire = result.tripwire as JsonObject | null | undefined;
  const error = result.error as JsonObject | null | undefined;
  if (tripwire) turn.trouble = String(tripwire.message ?? tripwire.reason ?? "blocked");
  else if (error) turn.trouble = String(error.message ?? error.code ?? "it failed");
}

/** The conversation so far as messages, for an agent that has no memory of it. */
export function history(turns: readonly Turn[]): JsonObject[] {
  const messages: JsonObject[] = [];
  for (const turn of turns) {
    if (turn.status !== "completed" || !turn.text) continue;
    messages.push({ role: "user", content: turn.asked }, { role: "assistant", content: turn.text });
  }
  return messages;
}

export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
