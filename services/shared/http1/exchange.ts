/**
 * A request as the handler sees it, and the call of that handler.
 *
 * @module
 */

import type {
  BodyOutcome,
  HttpHeaders,
  HttpPeer,
  HttpRequest,
  HttpResponse,
} from "../http/exchange.ts";
import type { RequestBody } from "./body.ts";
import type { ConnectionContext } from "./connection_context.ts";
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

/** What answers, and what takes its faults. */
type Answering = Pick<ConnectionContext, "handler" | "pages" | "logger">;

/** Longest path that goes to the log. */
const MAX_LOGGED_PATH = 200;

/** A request that waits for its answer. */
export class Exchange {
  readonly #request: Http1Request;
  readonly #body: RequestBody;
  readonly #context: Answering;
  #onCut: ((response: HttpResponse) => void) | undefined;
  #isCut = false;

  /** Nothing has been asked yet. */
  constructor(request: Http1Request, body: RequestBody, context: Answering) {
    this.#request = request;
    this.#body = body;
    this.#context = context;
  }

  /**
   * Answers with a page, or calls the handler; an error of it becomes an answer
   * with status 500.
   */
  answer(): HttpResponse | Promise<HttpResponse> {
    if (this.#isCut) return stopping();
    try {
      const { handler, pages } = this.#context;
      const page = pages?.get(toPath(this.#request));
      const answer = page?.(this.#request) ?? handler(this.#request);
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
      this.#request.markGone();
    } catch (error) {
      this.#log("Cannot end request of a client that has gone", error);
    }
  }

  /**
   * Answers 503 now, whatever the handler does; a handler that was not called
   * yet is never called.
   */
  cut(): void {
    this.#isCut = true;
    this.markGone();
    this.#onCut?.(stopping());
  }

  /** Logs an error of the handler and returns the answer with status 500. */
  failed(error: unknown): HttpResponse {
    this.#log("Cannot answer request: the handler failed", error);
    return plainProblem(500, { code: "internal" });
  }

  #checked(response: HttpResponse): HttpResponse {
    return this.#body.isMalformed
      ? plainProblem(400, { detail: "The chunked body is malformed" })
      : response;
  }

  #log(message: string, error: unknown): void {
    this.#context.logger.error(message, {
      method: this.#request.method,
      path: toPath(this.#request).slice(0, MAX_LOGGED_PATH),
      error: error instanceof Error
        ? error.stack ?? String(error)
        : String(error),
    });
  }
}

/** The path without the query. */
function toPath({ target }: HttpRequest): string {
  const mark = target.indexOf("?");
  return mark === -1 ? target : target.slice(0, mark);
}

function stopping(): HttpResponse {
  return plainProblem(503, {
    detail: "The service is stopping",
    code: "stopping",
  });
}
