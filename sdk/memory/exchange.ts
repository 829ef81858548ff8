/**
 * How the client talks to the relayer: one request and its answer. A request is
 * made ready before it is signed, and nothing in it changes after that.
 *
 * @module
 */

/** A request. */
export interface RelayerRequest {
  /** The method. */
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
   * Whether it is signed. A signed one waits for the check that client and
   * relayer fit each other.
   *
   * @default {true}
   */
  readonly isSigned?: boolean;
  /**
   * Whether it reads memories, so that a relayer behind key servers needs a session.
   *
   * @default {false}
   */
  readonly readsMemories?: boolean;
  /**
   * Statuses that are good answers beside 200 to 299.
   *
   * @default {[]}
   */
  readonly alsoGood?: readonly number[];
  /** Milliseconds after which it is given up; Infinity for never. */
  readonly timeoutMs: number;
  /**
   * What it is for, in words for a timeout's message.
   *
   * @default the method and the path
   */
  readonly purpose?: string;
  /**
   * Ends it early.
   *
   * @default none
   */
  readonly signal?: AbortSignal;
}

/** A good answer. */
export interface RelayerAnswer {
  /** The status. */
  readonly status: number;
  /** What the answer holds, unchecked; undefined when it is empty. */
  readonly json: unknown;
  /** The header fields. */
  readonly headers: Headers;
}

/**
 * Sends requests. Every other answer, and none at all, is an exception; see
 * `errors.ts`.
 */
export interface Exchange {
  /** Sends a request. */
  send(request: RelayerRequest): Promise<RelayerAnswer>;
}

/** A request that is ready to be signed and sent. */
export interface PreparedRequest {
  /** The method. */
  readonly method: RelayerRequest["method"];
  /** The whole URL. */
  readonly url: string;
  /** Path and query as the relayer gets them, without the server URL's path. */
  readonly path: string;
  /** The body's bytes; undefined without a body. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** Whether it is to be signed. */
  readonly isSigned: boolean;
  /** Whether a relayer behind key servers needs a session for it. */
  readonly readsMemories: boolean;
  /** What it is for, in words. */
  readonly purpose: string;
  /** Statuses that are good answers beside 200 to 299. */
  readonly alsoGood: readonly number[];
  /** Milliseconds after which it is given up; Infinity for never. */
  readonly timeoutMs: number;
}

/**
 * Makes a request ready for the relayer at `serverUrl`, which has no slash at
 * its end. The path comes out in the form that `fetch` gives it, so that what
 * is signed is what is sent.
 *
 * @throws {TypeError} When the path leads away from the relayer, or the body is
 * nothing that JSON knows.
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
      `Cannot send a request: ${JSON.stringify(path)} is no path below the ` +
        "relayer's URL",
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
    // A query may hold what must not stand in a log.
    purpose: request.purpose ??
      `${method} ${url.pathname.slice(prefix.length)}`,
    alsoGood,
    timeoutMs: request.timeoutMs,
  };
}
