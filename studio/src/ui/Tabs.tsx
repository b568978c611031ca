// Tabs: one is shown, arrow keys lead from one to the next.
import type { KeyboardEvent } from "react";

export function Tabs({ tabs, shown, pick }: { tabs: { id: string; title: string }[]; shown: string; pick: (id: string) => void }) {
  const order = tabs.map(({ id }) => id);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = order[(order.indexOf(shown) + step + order.length) % order.length]!;
    pick(next);
    event.currentTarget.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
    event.preventDefault();
  };
  return (
    <div className="tabs" role="tablist" onKeyDown={onKeyDown}>
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          aria-selected={id === shown}
          aria-controls={id === shown ? `panel-${id}` : undefined}
          tabIndex={id === shown ? 0 : -1}
          onClick={() => pick(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
