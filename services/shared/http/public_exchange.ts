/**
 * One request on its way through the handler.
 *
 * @module
 */

import type { Logger } from "../logger.ts";
import type { HttpHandler, HttpResponse } from "./exchange.ts";
import type { PublicBody } from "./public_body.ts";
import type { PublicRequest } from "./public_request.ts";
import { plainProblem } from "./public_response.ts";

/** Options of {@linkcode PublicExchange}. */
export interface PublicExchangeOptions {
  /** The request. */
  readonly request: PublicRequest;
  /** Its body. */
  readonly body: PublicBody;
  /** Answers it. */
  readonly handler: HttpHandler;
  /** Takes what the handler throws. */
  readonly logger: Logger;
}

/** Longest path that goes to the log. */
const MAX_LOGGED_PATH = 200;

/** A request that waits for its answer. */
export class PublicExchange {
  readonly #options: PublicExchangeOptions;
  #onCut: ((response: HttpResponse) => void) | undefined;
  #isCut = false;

  /** Nothing has been asked yet. */
  constructor(options: PublicExchangeOptions) {
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

  /** Answers 503 now, whatever the handler does; one that was not asked never is. */
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
