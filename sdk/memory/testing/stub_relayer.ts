/**
 * A relayer for tests: it answers by script and records what it is asked.
 *
 * @module
 */

import type { MemFetch } from "../round_trip.ts";
import { MemError, RateLimitError } from "../errors.ts";
import type { Exchange, RelayerAnswer, RelayerRequest } from "../exchange.ts";

/** An answer of the script. */
export interface StubAnswer {
  /**
   * The status.
   *
   * @default {200}
   */
  readonly status?: number;
  /**
   * What is answered.
   *
   * @default {{}}
   */
  readonly json?: unknown;
  /**
   * Seconds in `Retry-After`.
   *
   * @default none
   */
  readonly retryAfterSeconds?: number;
  /**
   * What is thrown instead of an answer.
   *
   * @default nothing
   */
  readonly error?: unknown;
}

/** A request that was recorded. */
export interface StubRequest {
  /** Method and path, without the query. */
  readonly route: string;
  /** Path and query. */
  readonly path: string;
  /** The body as it came over the wire; undefined when there was none. */
  readonly body: unknown;
  /** The header fields; none when the request came as a {@linkcode RelayerRequest}. */
  readonly headers: Headers;
  /** Its deadline in milliseconds, when it came as a {@linkcode RelayerRequest}. */
  readonly timeoutMs: number | undefined;
}

/** An answer, or how to find one. */
export type StubScript = StubAnswer | ((request: StubRequest) => StubAnswer);

/** A version answer that clients accept. */
export const STUB_VERSION = {
  relayerVersion: "0.1.0",
  apiVersion: "1.0.0",
  minSupportedSdk: { typescript: "0.0.4", python: "0.1.0", mcp: "0.0.1" },
  featureFlags: {},
  deprecations: [],
  build: {},
} as const;

/** Answers by script, as an {@linkcode Exchange} and as a `fetch`. */
export class StubRelayer implements Exchange {
  /** All requests, in order. */
  readonly requests: StubRequest[] = [];
  /** Use it as the `fetch` of a client. */
  readonly fetch: MemFetch = (url, init) => this.#fetch(url, init);
  readonly #scripts = new Map<string, StubScript[]>();

  /** A relayer that knows `/version` only. */
  constructor() {
    this.on("GET /version", { json: STUB_VERSION });
  }

  /**
   * Sets the answers of a route, such as `POST /api/recall`; the last one is
   * repeated.
   */
  on(route: string, ...scripts: readonly StubScript[]): this {
    this.#scripts.set(route, [...scripts]);
    return this;
  }

  /** The requests to a route. */
  requestsTo(route: string): readonly StubRequest[] {
    return this.requests.filter((request) => request.route === route);
  }

  /** The only request to a route. */
  requestTo(route: string): StubRequest {
    const [request, ...more] = this.requestsTo(route);
    if (request !== undefined && more.length === 0) return request;
    throw new Error(
      `Cannot give the request to "${route}": there are ` +
        `${this.requestsTo(route).length}`,
    );
  }

  /** Answers a request as the client's own exchange would. */
  async send(request: RelayerRequest): Promise<RelayerAnswer> {
    const { method, path, body, timeoutMs, alsoGood = [] } = request;
    await Promise.resolve();
    const answer = this.#answer({
      route: formatRoute(method, path),
      path,
      body: body === undefined ? undefined : JSON.parse(JSON.stringify(body)),
      headers: new Headers(),
      timeoutMs,
    });
    const { status = 200, json = {}, retryAfterSeconds } = answer;
    if (status >= 300 && !alsoGood.includes(status)) {
      const options = { status, retryAfterSeconds };
      throw status === 429
        ? new RateLimitError("Cannot send: 429", options)
        : new MemError(`Cannot send: ${status}`, options);
    }
    return { status, json, headers: new Headers() };
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { method = "GET", body, headers } = init;
    const { pathname, search } = new URL(url);
    const text = body === undefined || body === null
      ? undefined
      : await new Response(body).text();
    const answer = this.#answer({
      route: formatRoute(method, pathname),
      path: pathname + search,
      body: text === undefined ? undefined : JSON.parse(text),
      headers: new Headers(headers),
      timeoutMs: undefined,
    });
    const { status = 200, json = {}, retryAfterSeconds } = answer;
    return Response.json(json, {
      status,
      headers: retryAfterSeconds === undefined
        ? {}
        : { "retry-after": String(retryAfterSeconds) },
    });
  }

  #answer(request: StubRequest): StubAnswer {
    this.requests.push(request);
    const scripts = this.#scripts.get(request.route) ?? [];
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    if (script === undefined) {
      return { status: 404, json: { error: "unknown" } };
    }
    const answer = typeof script === "function" ? script(request) : script;
    if (answer.error !== undefined) throw answer.error;
    return answer;
  }
}

function formatRoute(method: string, path: string): string {
  return `${method} ${path.split("?")[0]}`;
}
