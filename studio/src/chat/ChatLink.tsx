import type { Agent } from "../api/types";
import { href } from "../ui/routes";

export function ChatLink({ agent }: { agent: Agent }) {
  return (
    <a className="button primary" href={href("/agents/:id/chat", { id: agent.id })}>
      Chat
    </a>
  );
}
