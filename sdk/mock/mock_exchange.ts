/**
 * Requests to the mock and its answers, and what answers them.
 *
 * @module
 */

import type { ClientClock } from "../memory/client_clock.ts";
import type { MockRoute } from "./mock_routes.ts";
import type { MockStore } from "./mock_store.ts";

/** A request. */
export interface MockRequest {
  /** The method. */
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  /** The query. */
  readonly query: URLSearchParams;
  /** The header fields. */
  readonly headers: Headers;
  /** The body as JSON; undefined where there is none. */
  readonly body: unknown;
  /** Ends what waits. */
  readonly signal: AbortSignal;
}

/** An answer. */
export interface MockAnswer {
  /** The status. */
  readonly status: number;
  /** The body; undefined for none. */
  readonly json: unknown;
  /** Header fields; undefined for none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** What a relayer in memory is made with. */
export interface MockRelayerOptions {
  /** The time. */
  readonly clock: ClientClock;
  /** The facts of a text. */
  readonly facts: (text: string) => readonly string[];
  /** Answers a question from texts. */
  readonly answer: (question: string, texts: readonly string[]) => string;
  /** Bytes of memories that a recall answers with, but always one memory. */
  readonly maxAnswerBytes: number;
}

/** A request to a route that is known. */
export interface MockCall extends MockRequest {
  /** What stands in the path for `:id` and the like, in that order. */
  readonly params: readonly string[];
}

/** What answers the requests of each route. */
export type MockHandlers = Readonly<
  Record<MockRoute, (call: MockCall) => MockAnswer | Promise<MockAnswer>>
>;

/** What the routes work with. */
export interface MockParts extends MockRelayerOptions {
  /** What is remembered. */
  readonly store: MockStore;
}

/** An answer with a status. */
export function answerOf(
  status: number,
  json: unknown,
  headers?: Readonly<Record<string, string>>,
): MockAnswer {
  return { status, json, headers };
}

/** A good answer. */
export function ok(json: unknown): MockAnswer {
  return answerOf(200, json);
}
