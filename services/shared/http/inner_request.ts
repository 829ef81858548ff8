/**
 * Requests without a socket, for parts of a service that ask its own API: they
 * are admitted, charged and answered as any other.
 *
 * @module
 */

import type { HttpHeaders, HttpPeer, HttpRequest } from "./exchange.ts";

/** What an {@linkcode InnerRequest} is made of. */
export interface InnerRequestOptions {
  /** The method, upper case. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /**
   * The header fields, their names in lower case; a field that was sent
   * repeatedly has a list.
   */
  readonly fields: ReadonlyMap<string, string | readonly string[]>;
  /**
   * The body.
   *
   * @default empty
   */
  readonly body?: Uint8Array | undefined;
  /**
   * Aborts when the answer is no longer waited for.
   *
   * @default it never does
   */
  readonly signal?: AbortSignal | null | undefined;
  /** Who is at the other end of the outer request. */
  readonly peer: HttpPeer;
  /**
   * Whether the outer request came over TLS that ends here.
   *
   * @default {false}
   */
  readonly isTls?: boolean;
}

/** A request from within. */
export class InnerRequest implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HttpHeaders;
  readonly peer: HttpPeer;
  readonly isTls: boolean;
  readonly #body: Uint8Array | undefined;
  readonly #signal: AbortSignal | null | undefined;

  /** Makes a request, which is not sent. */
  constructor(options: InnerRequestOptions) {
    const { fields, isTls = false } = options;
    this.method = options.method;
    this.target = options.target;
    this.peer = options.peer;
    this.isTls = isTls;
    this.#body = options.body;
    this.#signal = options.signal;
    const all = (name: string): readonly string[] => {
      const value = fields.get(name.toLowerCase()) ?? [];
      return typeof value === "string" ? [value] : value;
    };
    this.headers = {
      all,
      get(name) {
        const values = all(name);
        return values.length === 0 ? undefined : values.join(", ");
      },
    };
  }

  isGone(): boolean {
    return this.#signal?.aborted ?? false;
  }

  onGone(listener: () => void): () => void {
    const signal = this.#signal;
    if (!signal) return () => {};
    if (signal.aborted) {
      listener();
      return () => {};
    }
    signal.addEventListener("abort", listener, { once: true });
    return () => signal.removeEventListener("abort", listener);
  }

  body(maxBytes: number): ReturnType<HttpRequest["body"]> {
    const bytes = new Uint8Array(this.#body ?? []);
    return Promise.resolve(
      bytes.length > maxBytes ? { kind: "too_large" } : { kind: "ok", bytes },
    );
  }
}
