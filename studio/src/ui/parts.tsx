// Small parts that every page is made of.
import type { ReactNode } from "react";

import type { ApiError } from "../api/client";
import type { Loaded } from "./useLoad";

/** A page's head: what it is about, and what can be done. */
export function Head({ title, kicker, children, actions }: { title: ReactNode; kicker?: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="head">
      <div className="head-text">
        {kicker && <p className="kicker">{kicker}</p>}
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
      {actions && <div className="actions">{actions}</div>}
    </header>
  );
}

export function Card({ title, children, aside }: { title?: ReactNode; children: ReactNode; aside?: ReactNode }) {
  return (
    <section className="card">
      {title && (
        <div className="card-head">
          <h2>{title}</h2>
          {aside}
        </div>
      )}
      {children}
    </section>
  );
}

/** Where there is nothing to show: what would be here, and how it comes about. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

/** What the server refused, with its hint. */
export function Problem({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div className="problem" role="alert">
      <p className="problem-title">{error.message}</p>
      {error.hint && <p>{error.hint}</p>}
      <p className="faint">
        {error.status ? `HTTP ${error.status} · ` : ""}
        {error.code}
        {error.requestId && ` · request ${error.requestId}`}
      </p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What was read, once it was; else why it is not there (yet). */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ReactNode }) {
  if (of.value !== null)
    return (
      <>
        {of.error && <Problem error={of.error} retry={of.reload} />}
        {children(of.value)}
      </>
    );
  if (of.error) return <Problem error={of.error} retry={of.reload} />;
  return (
    <p className="loading" role="status">
      Loading…
    </p>
  );
}

/** A short word beside a name. */
export function Tag({ children, tone }: { children: ReactNode; tone?: string }) {
  return <span className={`tag${tone ? ` tone-${tone}` : ""}`}>{children}</span>;
}
