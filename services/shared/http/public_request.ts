/**
 * A request as its handler sees it.
 *
 * @module
 */

import type { BodyOutcome } from "./body.ts";
import type { HttpHeaders, HttpPeer, HttpRequest } from "./exchange.ts";
import type { PublicBody } from "./public_body.ts";
import type { RequestHead } from "./public_head.ts";

/** Where a request came in. */
export interface RequestOrigin {
  /** Who sent it. */
  readonly peer: HttpPeer;
  /** Whether over TLS. */
  readonly isTls: boolean;
}

/** One request. */
export class PublicRequest implements HttpRequest {
  /** The method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The header fields. */
  readonly headers: HttpHeaders;
  /** Who sent it. */
  readonly peer: HttpPeer;
  /** Whether it came over TLS. */
  readonly isTls: boolean;
  readonly #body: PublicBody;
  #isGone = false;
  #listeners: Set<() => void> | undefined;

  /** A request whose client is there. */
  constructor(head: RequestHead, body: PublicBody, origin: RequestOrigin) {
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.peer = origin.peer;
    this.isTls = origin.isTls;
    this.#body = body;
  }

  /** Takes in the body. */
  body(maxBytes: number): Promise<BodyOutcome> {
    return this.#body.read(maxBytes);
  }

  /** Whether the client has gone away. */
  isGone(): boolean {
    return this.#isGone;
  }

  /** Calls `listener` when the client goes away. */
  onGone(listener: () => void): () => void {
    if (this.#isGone) {
      listener();
      return () => {};
    }
    // A function of its own, so that one listener may be added twice.
    const entry = (): void => listener();
    this.#listeners ??= new Set();
    this.#listeners.add(entry);
    return () => void this.#listeners?.delete(entry);
  }

  /** The client has gone away. */
  markGone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    listeners?.forEach((listener) => listener());
  }

  /** The request is answered: nobody is called any more. */
  release(): void {
    this.#listeners = undefined;
  }
}
