/**
 * The interface of HTTP requests and responses that the APIs of the services
 * use. It has no type of a runtime or a library, so that the transport can be
 * replaced.
 *
 * @module
 */

/**
 * The header fields of a request. They never change, and requests with equal
 * fields may share one object, so what was parsed may be cached by it.
 */
export interface HttpHeaders {
  /**
   * The value of a field; `undefined` when it wasn't sent. A field that was
   * sent more than once gives its values in order, joined with a comma and a
   * space (RFC 9110, 5.3).
   */
  get(name: string): string | undefined;
  /**
   * Every value of a field, in the order they were sent, so that a doubled
   * field that must be single can be seen.
   */
  all(name: string): readonly string[];
}

/** The other end of a connection. */
export interface HttpPeer {
  /** Its IP address; an IPv4 address is never in its IPv6-mapped form. */
  readonly address: string;
  /** Its port. */
  readonly port: number;
}

/** The outcome of reading a body. */
export type BodyOutcome =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** More bytes than allowed, declared or sent: answer 413. */
  | { readonly kind: "too_large" }
  /** The bodies being received use up the memory limit: answer 503. */
  | { readonly kind: "busy" }
  /**
   * The body is incomplete: answer 408 when timed out; else the client has
   * gone.
   */
  | {
    readonly kind: "aborted";
    readonly reason: "timed_out" | "disconnected";
  };

/** A request. */
export interface HttpRequest {
  /** The method, upper case. */
  readonly method: string;
  /** Path and query as they were sent; begins with "/". */
  readonly target: string;
  /** The header fields. */
  readonly headers: HttpHeaders;
  /** Who sent it, or the last proxy before us. */
  readonly peer: HttpPeer;
  /** Whether it came over TLS that ends here. */
  readonly isTls: boolean;
  /**
   * Whether the client has gone away. One that closed its sending side only
   * counts as gone too, but an answer given nevertheless is sent.
   */
  isGone(): boolean;
  /**
   * Calls `listener` once when the client goes away before it has its answer;
   * at once when it has gone already. A client that goes away during a stream
   * has the stream canceled instead.
   *
   * @returns Stops listening.
   */
  onGone(listener: () => void): () => void;
  /**
   * Takes in the body, at most `maxBytes` of it. A body that breaks the rules
   * of its coding shows as "disconnected"; what the handler answers then is of
   * no effect.
   *
   * @throws {TypeError} when the body was asked for before
   */
  body(maxBytes: number): Promise<BodyOutcome>;
}

/** An answer. */
export interface HttpResponse {
  /** The status code, 200 to 599. */
  readonly status: number;
  /**
   * Header fields in printable ASCII. Those that say how the message is framed
   * (`content-length`, `transfer-encoding`, `connection`) and `date` are the
   * transport's.
   */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /**
   * The content. An answer to HEAD has the one that GET would have; it isn't
   * sent, but its length is.
   *
   * @default none
   */
  readonly body?: string | Uint8Array | undefined;
  /**
   * The content as it comes, instead of `body`; an answer to HEAD has none. The
   * transport cancels it when it will not read on.
   *
   * @default none
   */
  readonly stream?: ByteStream | undefined;
}

/** Bytes that come in the course of time. */
export interface ByteStream {
  /**
   * Waits for the next bytes, one call at a time; undefined at the end.
   *
   * @throws {Error} when the stream broke; the client sees a broken answer
   */
  next(): Promise<Uint8Array | undefined>;
  /** Ends the stream at once, and the wait for bytes; harmless twice. */
  cancel(): void;
}

/** Answers requests. An exception becomes a 500 without details. */
export type HttpHandler = (
  request: HttpRequest,
) => HttpResponse | Promise<HttpResponse>;

/**
 * Pages that stand in front of a handler, by their paths. A page that gives
 * undefined leaves the request to the handler.
 */
export type HttpPages = ReadonlyMap<
  string,
  (request: HttpRequest) => HttpResponse | Promise<HttpResponse> | undefined
>;

/** The media type of a problem (RFC 9457, 3). */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";
