// A long list of which only what can be seen is drawn; rows have one height.
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

const BEYOND = 12;

export function Rows({ count, height, label, children, active, onActive, onOpen, follow = false }: {
  count: number;
  height: number;
  label: string;
  /** What stands in row *index*. */
  children: (index: number) => ReactNode;
  /** The row that the keyboard is at; -1 for none. */
  active: number;
  onActive: (index: number) => void;
  onOpen: (index: number) => void;
  /** Whether the end stays in sight while the list grows. */
  follow?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [seen, setSeen] = useState(600);

  useLayoutEffect(() => {
    const measured = new ResizeObserver(([entry]) => entry && setSeen(entry.contentRect.height));
    measured.observe(box.current!);
    return () => measured.disconnect();
  }, []);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = count * height;
  }, [follow, count, height]);

  const go = (index: number) => {
    const next = Math.max(0, Math.min(count - 1, index));
    onActive(next);
    const { current } = box;
    if (!current) return;
    if (next * height < current.scrollTop) current.scrollTop = next * height;
    else if ((next + 1) * height > current.scrollTop + seen) current.scrollTop = (next + 1) * height - seen;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(seen / height) - 1);
    const steps: Record<string, number> = {
      ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: count - 1,
    };
    if (event.key in steps) go(steps[event.key]!);
    else if (event.key === "Enter" && active >= 0) onOpen(active);
    else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(top / height) - BEYOND);
  const last = Math.min(count, Math.ceil((top + seen) / height) + BEYOND);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  return (
    <div
      ref={box}
      className="rows"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={active >= first && active < last ? `row-${active}` : undefined}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: count * height }}>
        {shown.map((index) => (
          <div
            key={index}
            id={`row-${index}`}
            role="option"
            aria-selected={index === active}
            aria-setsize={count}
            aria-posinset={index + 1}
            className="rows-row"
            style={{ height, top: index * height }}
            onClick={() => (onActive(index), onOpen(index))}
          >
            {children(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
