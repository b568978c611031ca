// Numbers and times in words.

/** A duration: "40 ms", "1.2 s", "3 min 5 s". */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0.001) return "<1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A moment, from seconds since the epoch or an ISO text; null where it is neither. */
export function moment(value: unknown): Date | null {
  const date = typeof value === "number" ? new Date(value * 1000) : typeof value === "string" ? new Date(value) : null;
  return date && !Number.isNaN(date.getTime()) ? date : null;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function clock(value: unknown): string {
  const date = moment(value);
  return date ? CLOCK.format(date) : "–";
}

const NUMBER = new Intl.NumberFormat("en");

export function count(value: number): string {
  return NUMBER.format(value);
}

export function money(value: number): string {
  return `$${value < 0.01 ? value.toFixed(5) : value.toFixed(3)}`;
}

/** Names of hooks without "process_": "input, output stream". */
export function hookName(hook: string): string {
  return hook.replace(/^process_/, "").replaceAll("_", " ");
}

/** The nine hooks, in the order in which they fire. */
export const HOOKS = [
  "process_input", "process_input_step", "process_llm_request", "process_output_stream", "process_api_error",
  "process_llm_response", "process_output_step", "process_tool_result", "process_output_result",
];
