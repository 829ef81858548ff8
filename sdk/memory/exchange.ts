/**
 * How the client talks to the relayer: one request and its answer.
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

/** Sends requests. Every other answer, and none at all, is an exception; see `errors.ts`. */
export interface Exchange {
  /** Sends a request. */
  send(request: RelayerRequest): Promise<RelayerAnswer>;
}
