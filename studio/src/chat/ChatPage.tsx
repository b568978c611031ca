// Talking to an agent, and seeing what its processors do meanwhile.
import { useEffect, useMemo, useRef, useState } from "react";

import { get, path } from "../api/client";
import type { Agent } from "../api/types";
import { JsonView } from "../ui/JsonView";
import { Empty, Head, Show } from "../ui/parts";
import { href, type PageProps } from "../ui/routes";
import { Status } from "../ui/status";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import "./chat.css";
import { newId, type ToolUse, type Turn } from "./turns";
import { TurnHooks } from "./TurnHooks";
import { useChat } from "./useChat";

export default function ChatPage({ params }: PageProps) {
  const agent = useLoad((signal) => get<Agent>(path`/api/agents/${params.id!}`, { signal }), [params.id]);
  return <Show of={agent}>{(value) => <Chat key={value.id} agent={value} />}</Show>;
}

function Chat({ agent }: { agent: Agent }) {
  const [thread, setThread] = useState(newId);
  const [resource, setResource] = useState("studio");
  const where = useMemo(() => ({ thread, resource }), [thread, resource]);
  const { turns, busy, ask, stop, clear } = useChat(agent, where);
  const [text, setText] = useState("");
  const end = useRef<HTMLDivElement>(null);
  const last = turns.at(-1);
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" }); // which gives a promise in newer browsers
  }, [turns.length, last?.text, last?.status]);
  const submit = () => {
    const given = text.trim();
    if (!given || busy) return;
    setText("");
    void ask(given);
  };
  return (
    <div className="chat">
      <Head
        kicker={
          <>
            Chat with <a href={href("/agents/:id", { id: agent.id })}>{visible(agent.id)}</a>
          </>
        }
        title={visible(agent.id)}
        actions={
          <button type="button" disabled={busy || !turns.length} onClick={() => (clear(), setThread(newId()))}>
            New conversation
          </button>
        }
      >
        {agent.memory ? (
          <details>
            <summary>Thread and resource</summary>
            <div className="row" style={{ marginTop: 8 }}>
              <label>
                Thread
                <input value={thread} disabled={turns.length > 0} onChange={(event) => setThread(event.target.value)} />
              </label>
              <label>
                Resource
                <input value={resource} disabled={turns.length > 0} onChange={(event) => setResource(event.target.value)} />
              </label>
            </div>
          </details>
        ) : (
          <p className="faint">It has no memory: what was said here is sent along, without tool calls.</p>
        )}
      </Head>
      <div className="turns" role="log" aria-label="Conversation" tabIndex={0}>
        {!turns.length && <Empty title="Say something">Under each answer stand the nine hooks, with what every processor did.</Empty>}
        {turns.map((turn) => (
          <TurnView key={turn.id} turn={turn} agent={agent} />
        ))}
        <div ref={end} />
      </div>
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label className="composer-text">
          <span className="sr">Message</span>
          <textarea
            value={text}
            rows={2}
            placeholder="Message; Enter sends, Shift+Enter begins a line"
            autoFocus
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              submit();
            }}
          />
        </label>
        {busy ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="submit" className="primary" disabled={!text.trim()}>
            Send
          </button>
        )}
      </form>
    </div>
  );
}

function TurnView({ turn, agent }: { turn: Turn; agent: Agent }) {
  return (
    <article className="turn" aria-label={`Turn: ${turn.asked.slice(0, 60)}`}>
      <div className="bubble is-user">
        <p className="said">{visible(turn.asked)}</p>
      </div>
      {turn.reasoning && (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <p className="said">{visible(turn.reasoning)}</p>
        </details>
      )}
      {turn.tools.map((use, index) => (
        <Tool key={`${use.id} ${index}`} use={use} />
      ))}
      {(turn.text || turn.status === "running") && (
        <div className="bubble is-agent" aria-busy={turn.status === "running"}>
          <p className="said">{turn.text ? visible(turn.text) : "…"}</p>
        </div>
      )}
      {turn.trouble && (
        <p className="turn-trouble" role="alert">
          <Status status={turn.status === "aborted" ? "cancelled" : turn.status} /> {visible(turn.trouble)}
        </p>
      )}
      {turn.begun && <TurnHooks id={turn.id} chains={agent.hooks} />}
    </article>
  );
}

function Tool({ use }: { use: ToolUse }) {
  const state = use.result === undefined ? "waiting" : use.isError ? "failed" : "success";
  return (
    <details className="tool-use">
      <summary>
        Tool <strong className="mono">{visible(use.name)}</strong> <Status status={state} />
      </summary>
      <h3>Arguments</h3>
      <JsonView value={use.args} />
      {use.result !== undefined && (
        <>
          <h3>{use.isError ? "Error" : "Result"}</h3>
          <JsonView value={use.result} />
        </>
      )}
    </details>
  );
}
