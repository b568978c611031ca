// Statuses: a sign, a word and a colour, never the colour alone.

const SIGNS: Record<string, string> = {
  success: "✓", passed: "✓", failed: "✗", blocked: "■", cancelled: "⊘", suspended: "‖", waiting: "‖", running: "…",
  pending: "…", bailed: "↩", skipped: "–", idle: "–", changed: "±", added: "+", removed: "−", paused: "‖",
};

const TONES: Record<string, string> = {
  success: "ok", passed: "ok", failed: "bad", blocked: "warn", cancelled: "idle", suspended: "wait", waiting: "wait",
  paused: "wait", running: "busy", pending: "busy", bailed: "ok", skipped: "idle", changed: "busy", added: "ok", removed: "bad",
};

export function sign(status: string): string {
  return SIGNS[status] ?? "·";
}

export function tone(status: string): string {
  return TONES[status] ?? "idle";
}

export function Status({ status, children }: { status: string; children?: React.ReactNode }) {
  return (
    <span className={`status tone-${tone(status)}`}>
      <span aria-hidden="true">{sign(status)}</span> {status || "not begun"}
      {children}
    </span>
  );
}
