/**
 * A request as its handler sees it, and the run of that handler.
 *
 * @module
 */

import type {
  BodyOutcome,
  HttpHandler,
  HttpHeaders,
  HttpPeer,
  HttpRequest,
  HttpResponse,
} from "../http/exchange.ts";
import type { Logger } from "../logger.ts";
import type { RequestBody } from "./body.ts";
import type { RequestHead } from "./head.ts";
import { plainProblem } from "./response.ts";

/** Where a request came in. */
export interface RequestOrigin {
  /** Who sent it. */
  readonly peer: HttpPeer;
  /** Whether over TLS. */
  readonly isTls: boolean;
}

/** One request. */
export class Http1Request implements HttpRequest {
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
  readonly #body: RequestBody;
  #isGone = false;
  #listeners: Set<() => void> | undefined;

  /** A request whose client is there. */
  constructor(head: RequestHead, body: RequestBody, origin: RequestOrigin) {
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

  /** The request is answered: listeners are no longer called. */
  release(): void {
    this.#listeners = undefined;
  }
}

/** Options of {@linkcode Exchange}. */
interface ExchangeOptions {
  /** The request. */
  readonly request: Http1Request;
  /** Its body. */
  readonly body: RequestBody;
  /** Answers it. */
  readonly handler: HttpHandler;
  /** Takes what the handler throws. */
  readonly logger: Logger;
}

/** Longest path that goes to the log. */
const MAX_LOGGED_PATH = 200;

/** A request that waits for its answer. */
export class Exchange {
  readonly #options: ExchangeOptions;
  #onCut: ((response: HttpResponse) => void) | undefined;
  #isCut = false;

  /** Nothing has been asked yet. */
  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Asks the handler; there always is an answer. */
  answer(): HttpResponse | Promise<HttpResponse> {
    if (this.#isCut) return stopping();
    const { handler, request } = this.#options;
    try {
      const answer = handler(request);
      if (!(answer instanceof Promise)) return this.#checked(answer);
      return new Promise((resolve) => {
        this.#onCut = resolve;
        answer.then(
          (response) => resolve(this.#checked(response)),
          (error) => resolve(this.failed(error)),
        );
      });
    } catch (error) {
      return this.failed(error);
    }
  }

  /** The client has gone away. */
  markGone(): void {
    try {
      this.#options.request.markGone();
    } catch (error) {
      this.#log("Cannot end request of a client that has gone", error);
    }
  }

  /**
   * Answers 503 now, whatever the handler does; one that was not asked never
   * is.
   */
  cut(): void {
    this.#isCut = true;
    this.markGone();
    this.#onCut?.(stopping());
  }

  /** The answer in the place of one that failed; the fault is logged. */
  failed(error: unknown): HttpResponse {
    this.#log("Cannot answer request: the handler failed", error);
    return plainProblem(500, { code: "internal" });
  }

  #checked(response: HttpResponse): HttpResponse {
    return this.#options.body.isMalformed
      ? plainProblem(400, { detail: "The chunked body is malformed" })
      : response;
  }

  #log(message: string, error: unknown): void {
    const { logger, request } = this.#options;
    const [path = ""] = request.target.split("?", 1);
    logger.error(message, {
      method: request.method,
      path: path.slice(0, MAX_LOGGED_PATH),
      error: error instanceof Error
        ? error.stack ?? String(error)
        : String(error),
    });
  }
}

function stopping(): HttpResponse {
  return plainProblem(503, {
    detail: "The service is stopping",
    code: "stopping",
  });
}
