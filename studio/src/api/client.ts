// Requests to the server that the Studio came from.
import { askForToken, token } from "./token";

/** What the server answered that is no success; *status* is 0 where it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    readonly requestId: string | null = null,
    /** What does not fit, each with the path of the field: "addr.0.city: Field required". */
    readonly faults: readonly string[] = [],
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface Options {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

/** An address of the App, whatever prefix it is mounted at: the page is at PREFIX/studio/. */
export function address(path: string): string {
  return new URL(`..${path}`, document.baseURI.replace(/#.*/, "")).href;
}

/** A path with its parts encoded: path`/api/runs/${id}`. */
export function path(strings: TemplateStringsArray, ...parts: string[]): string {
  return strings.reduce((all, text, index) => all + encodeURIComponent(parts[index - 1] ?? "") + text);
}

/** Send a request and return the response, which is a success. Raises ApiError. */
export async function send(method: string, where: string, body?: unknown, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", "X-Procession": "1", ...options.headers };
  const held = token();
  if (held) headers.Authorization = `Bearer ${held}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(address(where), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: options.signal,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached.", "Is it still running?");
  }
  if (response.ok) return response;
  if (response.status === 401) askForToken();
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ApiError> {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, String(error.code), String(error.message), error.hint ?? null, error.request_id ?? null, faultsOf(error));
  } catch {
    return new ApiError(response.status, "http", `The server answered ${response.status} ${response.statusText}.`);
  }
}

function faultsOf(error: { faults?: unknown }): string[] {
  return Array.isArray(error.faults) ? error.faults.map(String) : [];
}

export async function get<T>(where: string, options?: Options): Promise<T> {
  return (await send("GET", where, undefined, options)).json();
}

export async function post<T>(where: string, body: unknown = {}, options?: Options): Promise<T> {
  return (await send("POST", where, body, options)).json();
}

export async function patch<T>(where: string, body: unknown, options?: Options): Promise<T> {
  return (await send("PATCH", where, body, options)).json();
}

export async function remove(where: string, options?: Options): Promise<void> {
  await send("DELETE", where, undefined, options);
}
