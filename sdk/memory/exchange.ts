/**
 * Requests to the relayer and their answers. A request is completed before it
 * is signed, and not changed after that.
 *
 * @module
 */

import type { EndSignal } from "./life.ts";

/** What is sent to the relayer. */
export interface RelayerRequest {
  /** The HTTP method, which is signed. */
  readonly method: "GET" | "POST" | "DELETE";
  /** Path and query, as they are signed and sent. */
  readonly path: string;
  /**
   * What is sent as JSON; members that are undefined are left out.
   *
   * @default nothing
   */
  readonly body?: Readonly<Record<string, unknown>>;
  /**
   * Whether the request is signed. A signed request is sent only after the
   * check that client and relayer are compatible.
   *
   * @default {true}
   */
  readonly isSigned?: boolean;
  /**
   * Whether the request reads memories, for which a relayer behind key servers
   * needs a session.
   *
   * @default {false}
   */
  readonly readsMemories?: boolean;
  /**
   * Whether the request changes something, which not every access token
   * permits.
   *
   * @default {false}
   */
  readonly changes?: boolean;
  /**
   * Statuses that are accepted in addition to 200 to 299.
   *
   * @default {[]}
   */
  readonly alsoGood?: readonly number[];
  /** Timeout in milliseconds; Infinity for no timeout. */
  readonly timeoutMs: number;
  /**
   * The name of the request in a timeout's message.
   *
   * @default the method and the path
   */
  readonly purpose?: string;
  /**
   * Aborts the request.
   *
   * @default none
   */
  readonly signal?: EndSignal;
}

/** An answer whose status is accepted. */
export interface RelayerAnswer {
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The parsed JSON of the answer, unchecked; undefined when the answer is
   * empty.
   */
  readonly json: unknown;
  /** The header fields, as they came. */
  readonly headers: Headers;
}

/**
 * Sends requests. An answer that is not accepted, and a missing answer, are
 * exceptions; see `errors.ts`.
 */
export interface Exchange {
  /** Sends a request and returns its answer. */
  send(request: RelayerRequest): Promise<RelayerAnswer>;
}

/** A request that is ready to be signed and sent. */
export interface PreparedRequest {
  /** The HTTP method, which is signed. */
  readonly method: RelayerRequest["method"];
  /** The whole URL. */
  readonly url: string;
  /** Path and query as the relayer gets them, without the server URL's path. */
  readonly path: string;
  /** The body's bytes; undefined without a body. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** Whether the request is to be signed. */
  readonly isSigned: boolean;
  /** Whether a relayer behind key servers needs a session for it. */
  readonly readsMemories: boolean;
  /** The name of the request for messages. */
  readonly purpose: string;
  /** Statuses that are accepted in addition to 200 to 299. */
  readonly alsoGood: readonly number[];
  /** Timeout in milliseconds; Infinity for no timeout. */
  readonly timeoutMs: number;
}

/**
 * Completes a request for the relayer at `serverUrl`, which has no slash at its
 * end. The path is normalized as `fetch` would do it, so that the signed path
 * is the one that is sent.
 *
 * @throws {TypeError} When the path leads outside of the relayer's URL, or the
 * body cannot be written as JSON.
 */
export function prepareRequest(
  request: RelayerRequest,
  serverUrl: string,
): PreparedRequest {
  const { method, path, body, isSigned = true, alsoGood = [] } = request;
  const base = new URL(serverUrl);
  const url = new URL(serverUrl + path);
  const prefix = base.pathname.replace(/\/+$/, "");
  const isInside = path.startsWith("/") && url.origin === base.origin &&
    url.hash === "" && url.pathname.startsWith(`${prefix}/`);
  if (!isInside) {
    throw new TypeError(
      `Cannot send a request: ${JSON.stringify(path)} is not a path below ` +
        "the relayer's URL",
    );
  }
  return {
    method,
    url: url.href,
    path: url.pathname.slice(prefix.length) + url.search,
    body: body === undefined
      ? undefined
      : new TextEncoder().encode(JSON.stringify(body)),
    isSigned,
    readsMemories: request.readsMemories ?? false,
    // The query is left out, because it may hold values that must not be
    // logged.
    purpose: request.purpose ??
      `${method} ${url.pathname.slice(prefix.length)}`,
    alsoGood,
    timeoutMs: request.timeoutMs,
  };
}
