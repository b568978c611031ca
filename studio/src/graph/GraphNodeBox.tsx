// One node as it is drawn: shape and word for its kind, sign and word for its status.
import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import { memo, useContext, type KeyboardEvent } from "react";

import { sign, tone } from "../ui/status";
import { visible } from "../ui/visible";
import { GraphContext } from "./GraphContext";
import type { PlacedFrame, PlacedNode } from "./layout";
import { innerOf } from "./serving";
import { KIND_WORDS, outline } from "./shapes";

export type BoxNode = Node<{ placed: PlacedNode }, "box">;
export type FrameNode = Node<{ frame: PlacedFrame }, "frame">;

export const GraphNodeBox = memo(function GraphNodeBox({ data: { placed } }: NodeProps<BoxNode>) {
  const { marks, selected, focused, root, select, toggle, move } = useContext(GraphContext);
  const { node, key, width, height, open } = placed;
  const mark = marks.node(key, placed.prefix + node.path, node.kind);
  const inner = innerOf(root, node);
  const shape = outline(open ? "step" : node.kind, width, height);
  const name = node.label.replace(/^processor:/, "") || node.id;
  const small = height < 40;
  const kind = node.kind === "decision" && placed.group?.kind === "branch" ? "if" : KIND_WORDS[node.kind];

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") select(placed);
    else if (event.key === " " && inner) toggle(key);
    else if (event.key.startsWith("Arrow")) move(placed, event.key.slice(5).toLowerCase());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      role="button"
      tabIndex={focused === key ? 0 : -1}
      data-key={key}
      aria-pressed={selected === key}
      className={[
        "gnode", `kind-${node.kind}`, open && "is-open", small && "is-small", node.placeholder && "is-empty",
        mark && `tone-${tone(mark.status)} status-${mark.status}`, selected === key && "is-selected",
      ].filter(Boolean).join(" ")}
      style={{ width, height }}
      onClick={() => select(placed)}
      onDoubleClick={() => inner && toggle(key)}
      onKeyDown={onKeyDown}
    >
      {/* The edges have routes of their own; React Flow draws none without these. */}
      <Handle type="target" position={Position.Top} isConnectable={false} className="gnode-handle" />
      <Handle type="source" position={Position.Bottom} isConnectable={false} className="gnode-handle" />
      <svg className="gnode-shape" width={width} height={height} aria-hidden="true">
        <path className="gnode-fill" d={shape.path} />
        {mark?.heat !== undefined && mark.heat > 0 && (
          <rect className="gnode-heat" x="6" y={height - 9} height="4" width={Math.max(2, (width - 12) * mark.heat)} rx="2" />
        )}
        {shape.lines && !open && <path className="gnode-lines" d={shape.lines} />}
      </svg>
      <div className="gnode-text">
        {small ? (
          <span className="gnode-kind">
            {kind}
            {mark && ` ${sign(mark.status)}`}
          </span>
        ) : (
          <>
            <span className="gnode-kind">
              {kind}
              {node.mutates && " · changes"}
              {node.can_suspend && " · ‖ may wait"}
            </span>
            <span className="gnode-label" title={visible(node.label)}>
              {visible(name)}
            </span>
            {mark ? (
              <span className="gnode-status">
                {sign(mark.status)} {mark.status === "idle" ? "nothing to do" : mark.status} {mark.text}
              </span>
            ) : (
              node.hooks?.length ? <span className="gnode-status">{hooksShort(node.hooks)}</span> : null
            )}
            {inner && <span className="sr">{open ? "Space closes it" : "Space opens what is inside"}</span>}
          </>
        )}
      </div>
      {/* No button in a button: the keyboard has Space for it. */}
      {inner && (
        <span className="gnode-open nodrag" aria-hidden="true" onClick={(event) => (event.stopPropagation(), toggle(key))}>
          {open ? "−" : "+"}
        </span>
      )}
    </div>
  );
});

export const GraphFrame = memo(function GraphFrame({ data: { frame } }: NodeProps<FrameNode>) {
  return (
    <div className="gframe" style={{ width: frame.width, height: frame.height }}>
      <span>{frame.label}</span>
    </div>
  );
});

// In the order in which they fire.
const SHORT: Record<string, string> = {
  process_input: "in", process_input_step: "step-in", process_llm_request: "request", process_output_stream: "stream",
  process_api_error: "error", process_llm_response: "response", process_output_step: "step-out",
  process_tool_result: "tool", process_output_result: "out",
};

function hooksShort(hooks: string[]): string {
  const known = Object.keys(SHORT).filter((hook) => hooks.includes(hook));
  return known.length === 9 ? "all hooks" : known.map((hook) => SHORT[hook]).join(", ");
}
