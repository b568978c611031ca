// Server-sent events read from a response: EventSource can send no token.

export interface SseEvent {
  id: string | null;
  event: string;
  data: string;
}

/** Take lines of a text stream in pieces; give the events that are complete. */
export class SseParser {
  private rest = "";
  private data: string[] = [];
  private event = "";
  private id: string | null = null;

  feed(piece: string): SseEvent[] {
    const events: SseEvent[] = [];
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop()!;
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line) this.line(line);
      else {
        if (this.data.length) events.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
        this.data = [];
        this.event = "";
      }
    }
    return events;
  }

  private line(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: the server's heartbeat
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id") this.id = value;
  }
}

/** Hand the events of *response* to *take*, those that came together at once, until it ends; a slow *take* is waited for. */
export async function readSse(response: Response, take: (events: SseEvent[]) => void | Promise<void>): Promise<void> {
  const parser = new SseParser();
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = parser.feed(value);
    if (events.length) await take(events);
  }
}
