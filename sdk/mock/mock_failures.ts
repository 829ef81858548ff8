/**
 * Failures that a test has planned for requests to the mock.
 *
 * @module
 */

import { MOCK_ROUTES, type MockRoute } from "./mock_exchange.ts";

/** What happens to a request instead of the usual answer. */
export type MockFailure =
  & {
    /**
     * How many requests fail in this way; `Infinity` for all.
     *
     * @default {1}
     */
    readonly times?: number | undefined;
  }
  & (
    | {
      /** The relayer refuses with a status. */
      readonly kind: "status";
      /** The status, 400 to 599. */
      readonly status: number;
      /**
       * The error text of the answer.
       *
       * @default that the mock was told to fail
       */
      readonly error?: string | undefined;
      /**
       * Seconds in `Retry-After`.
       *
       * @default no such header field
       */
      readonly retryAfterSeconds?: number | undefined;
    }
    | {
      /** The relayer cannot be reached, and does not get the request. */
      readonly kind: "no_answer";
    }
    | {
      /** The relayer carries out the request, and the answer is lost. */
      readonly kind: "lost_answer";
    }
    | {
      /** The relayer carries out the request, and answers late. */
      readonly kind: "slow";
      /**
       * Milliseconds of delay by the mock's clock; `Infinity` for no answer.
       */
      readonly delayMs: number;
    }
  );

interface Planned {
  readonly route: MockRoute | "*";
  readonly failure: MockFailure;
  left: number;
}

/** The planned failures, in the order in which they were planned. */
export class FailurePlan {
  readonly #planned: Planned[] = [];

  /**
   * Plans a failure of requests to a route, or with `"*"` to any route.
   *
   * @throws {TypeError} When there is no such route, or the failure is not valid.
   */
  add(route: MockRoute | "*", failure: MockFailure): void {
    checkRoute(route);
    checkFailure(failure);
    this.#planned.push({ route, failure, left: failure.times ?? 1 });
  }

  /**
   * Takes the failure of the next request to a route from the plan; undefined
   * when none is planned.
   */
  take(route: MockRoute | undefined): MockFailure | undefined {
    const planned = this.#planned.find((one) =>
      one.left > 0 && (one.route === "*" || one.route === route)
    );
    if (planned === undefined) return undefined;
    planned.left--;
    return planned.failure;
  }

  /** Removes all planned failures. */
  clear(): void {
    this.#planned.length = 0;
  }
}

function checkRoute(route: string): void {
  if (route === "*" || MOCK_ROUTES.some((known) => known === route)) return;
  throw new TypeError(
    `Cannot fail ${JSON.stringify(route)}: it is no route; take "*" or one ` +
      `of "${MOCK_ROUTES.join('", "')}"`,
  );
}

function checkFailure(failure: MockFailure): void {
  if (typeof failure !== "object" || failure === null) {
    throw fault("it is not said how; give an object with kind");
  }
  const { times = 1 } = failure;
  const isCount = times === Infinity || Number.isInteger(times);
  if (!isCount || times < 1) throw fault("times is not a whole number above 0");
  switch (failure.kind) {
    case "status": {
      const { status, retryAfterSeconds = 0 } = failure;
      if (!Number.isInteger(status) || status < 400 || status > 599) {
        throw fault("status is not 400 to 599");
      }
      if (Number.isFinite(retryAfterSeconds) && retryAfterSeconds >= 0) return;
      throw fault("retryAfterSeconds is not a number from 0 on");
    }
    case "slow":
      if (failure.delayMs >= 0) return;
      throw fault("delayMs is not a number from 0 on");
    case "no_answer":
    case "lost_answer":
      return;
    default:
      throw fault(
        "kind is not one of status, no_answer, lost_answer, slow",
      );
  }
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot fail requests: ${state}`);
}
