// The frame of every page: navigation, theme, token, and the page that the address names.
import { Component, Suspense, lazy, useEffect, useMemo, useRef, type ComponentType, type ReactNode } from "react";

import { get } from "../api/client";
import type { Info } from "../api/types";
import { Empty } from "./parts";
import { find, navigation, useHash, type Page, type PageProps } from "./routes";
import { ThemeButton } from "./theme";
import { TokenDialog } from "./TokenDialog";
import { useLoad } from "./useLoad";

const loaded = new Map<Page, ComponentType<PageProps>>();

function componentOf(page: Page): ComponentType<PageProps> {
  let component = loaded.get(page);
  if (!component) loaded.set(page, (component = lazy(page.load)));
  return component;
}

export function Shell() {
  const hash = useHash();
  const route = useMemo(() => find(hash), [hash]);
  const info = useLoad((signal) => get<Info>("/api/info", { signal }), []);
  const main = useRef<HTMLElement>(null);
  const place = hash.split("?")[0];
  const first = useRef(true);

  useEffect(() => {
    document.title = route ? `${Object.values(route.params)[0] ?? route.page.title} · Procession Studio` : "Procession Studio";
    // Whoever reads with a screen reader is told of the new page; the first one is read anyhow.
    if (first.current) first.current = false;
    else main.current?.focus();
  }, [place]);

  const Shown = route && componentOf(route.page);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <nav className="side" aria-label="Studio">
        <a className="brand" href="#/workflows">
          <img src="./favicon.svg" alt="" width="24" height="24" /> Procession
        </a>
        <ul>
          {navigation().map(([path, page]) => (
            <li key={path}>
              <a href={`#${path}`} aria-current={route && within(route.path, path) ? "page" : undefined}>
                {page.title}
              </a>
            </li>
          ))}
        </ul>
        <div className="side-foot">
          {info.value?.read_only && <p>Read-only: nothing can be started or changed here.</p>}
          {info.value && !info.value.redacted && <p>Values are shown as they are.</p>}
          <ThemeButton />
          {info.value && <p className="faint">version {info.value.version}</p>}
        </div>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <Guard key={place}>
          {Shown && route ? (
            <Suspense fallback={<p className="loading" role="status">Loading…</p>}>
              <Shown params={route.params} query={route.query} />
            </Suspense>
          ) : (
            <Empty title="There is no such page">
              <a href="#/workflows">All workflows</a>
            </Empty>
          )}
        </Guard>
      </main>
      <TokenDialog />
    </div>
  );
}

function within(path: string, entry: string): boolean {
  return path === entry || path.startsWith(`${entry}/`);
}

/** A page that fails is told, and the others stay. */
class Guard extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="problem" role="alert">
        <p className="problem-title">This page cannot be shown.</p>
        <p className="faint">{String(this.state.error)}</p>
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    );
  }
}
