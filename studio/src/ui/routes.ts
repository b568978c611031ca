// Hash routes: "#/runs/abc?tab=events" is the page "/runs/:id" with {id: "abc"} and a query.
import { useSyncExternalStore, type ComponentType } from "react";

export interface PageProps {
  /** What the path's placeholders stand for, decoded. */
  params: Record<string, string>;
  query: URLSearchParams;
}

export interface Page {
  title: string;
  /** Its place in the navigation; without a number it has none. */
  nav?: number;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export interface Route extends PageProps {
  path: string;
  page: Page;
}

const pages = new Map<string, Page>();

/** Register the page at *path*, whose parts may be placeholders (":id"). */
export function page(path: string, what: Page): void {
  pages.set(path, what);
}

/** The pages of the navigation, in their order. */
export function navigation(): [string, Page][] {
  return [...pages].filter(([, what]) => what.nav !== undefined).sort(([, a], [, b]) => a.nav! - b.nav!);
}

/** Find the page of a hash, or null where no page is. */
export function find(hash: string): Route | null {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const wanted = path.split("/").filter(Boolean);
  for (const [pattern, what] of pages) {
    const params = match(pattern.split("/").filter(Boolean), wanted);
    if (params) return { path: pattern, page: what, params, query: new URLSearchParams(query) };
  }
  return null;
}

function match(pattern: string[], wanted: string[]): Record<string, string> | null {
  if (pattern.length !== wanted.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const given = wanted[index]!;
    if (part.startsWith(":")) params[part.slice(1)] = decode(given);
    else if (part !== given) return null;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand: a lone % is itself
  }
}

/** The address of a page: `href("/runs/:id", {id}, {tab})`. */
export function href(path: string, params: Record<string, string> = {}, query: Record<string, string | undefined> = {}): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  return `#${filled}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** Go to a page; *replace* leaves no entry in the browser's history. */
export function go(address: string, { replace = false } = {}): void {
  if (!replace) location.hash = address;
  else {
    history.replaceState(null, "", address);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

/** The hash, which is what page is shown. */
export function useHash(): string {
  return useSyncExternalStore(subscribe, () => location.hash || "#/workflows");
}
