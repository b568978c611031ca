// Slots: places of a page that other folders fill, so that neither imports the other.
import type { ComponentType } from "react";

import type { Agent, Workflow } from "../api/types";
import type { LiveRun } from "../run/live";

export interface SlotProps {
  /** A tab of the run page. */
  "run.tab": { run: LiveRun };
  /** A button in the run page's head. */
  "run.action": { run: LiveRun };
  /** Above the run page's tabs: what the run asks of whoever looks. */
  "run.banner": { run: LiveRun };
  /** A section of the panel of one node of a run. */
  "node.section": { run: LiveRun; path: string };
  /** A tab of a workflow's page: forms to run it. */
  "workflow.tab": { workflow: Workflow };
  /** A button in a workflow's head. */
  "workflow.action": { workflow: Workflow };
  /** A button in an agent's head. */
  "agent.action": { agent: Agent };
}

export interface Filling<P> {
  id: string;
  title: string;
  component: ComponentType<P>;
  /** Whether it is shown at all; without it, always. */
  when?: (props: P) => boolean;
}

const filled = new Map<string, Filling<never>[]>();

/** Put *what* into the slot *name*, after what is in it. */
export function fill<N extends keyof SlotProps>(name: N, what: Filling<SlotProps[N]>): void {
  filled.set(name, [...(filled.get(name) ?? []), what as Filling<never>]);
}

/** What is in the slot *name* and wants to be shown with *props*. */
export function inSlot<N extends keyof SlotProps>(name: N, props: SlotProps[N]): Filling<SlotProps[N]>[] {
  const all = (filled.get(name) ?? []) as unknown as Filling<SlotProps[N]>[];
  return all.filter((one) => one.when?.(props) ?? true);
}
