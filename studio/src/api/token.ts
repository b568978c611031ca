// The token: typed once, kept until the tab is closed, and sent in a header only.
const KEY = "procession.token";

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

export function keepToken(value: string): void {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
  window.dispatchEvent(new Event("procession:token"));
}

/** Tell whoever listens that the server wants a token, or another one. */
export function askForToken(): void {
  window.dispatchEvent(new Event("procession:token-needed"));
}
