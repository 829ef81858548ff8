/**
 * Calls of an OpenAI-compatible endpoint: one JSON request, one JSON answer,
 * with a timeout and a limit of size. The reason of a failure never holds the
 * key, a text or a part of the answer, which may repeat them.
 *
 * @module
 */

import { type Clock, systemClock } from "../../shared/clock.ts";
import { type Fetch, postJson } from "../remote/http_call.ts";
import type { EmbedOutcome } from "./embedder.ts";

/** Options of {@linkcode ModelEndpoint}. */
export interface ModelEndpointOptions {
  /**
   * The address that paths are appended to, such as `https://api.example/v1`.
   */
  readonly baseUrl: string;
  /**
   * The bearer token.
   *
   * @default none is sent
   */
  readonly apiKey?: string | undefined;
  /** Milliseconds for the whole call, the body included. */
  readonly timeoutMs: number;
  /**
   * The largest answer that is read, in bytes; a larger one is a failure.
   *
   * @default {33554432}
   */
  readonly maxAnswerBytes?: number;
  /**
   * Sends requests.
   *
   * @default the runtime's `fetch`
   */
  readonly fetch?: Fetch;
  /**
   * Measures the timeout.
   *
   * @default the machine's clock
   */
  readonly clock?: Clock;
}

/**
 * Why there is no answer. Its reason is a part of a sentence: callers put their
 * own words and a colon before it.
 */
type EndpointFailure = Extract<EmbedOutcome, { readonly kind: "unavailable" }>;

/** The outcome of a call. */
type EndpointAnswer =
  | { readonly kind: "ok"; readonly json: unknown }
  | EndpointFailure;

const DEFAULT_MAX_ANSWER_BYTES = 32 * 1_024 * 1_024;
const ACCEPTING = { accept: "application/json" };
/**
 * ASCII characters that a key may have: those that are safe in a header field.
 */
const TOKEN = /^[\x21-\x7e]*$/;
const PASSING_STATUSES: readonly number[] = [408, 409, 425, 429];
/** Statuses that are about the texts, also from a proxy. */
const TEXT_STATUSES: readonly number[] = [400, 413, 422];

/** An endpoint of models. */
export class ModelEndpoint {
  readonly #base: string;
  readonly #options: ModelEndpointOptions;
  /**
   * An endpoint; nothing is sent yet.
   *
   * @throws {TypeError} when the address or the key cannot be used
   */
  constructor(options: ModelEndpointOptions) {
    this.#base = checkedBase(options.baseUrl);
    if (!TOKEN.test(options.apiKey ?? "")) {
      throw new TypeError(
        "Cannot use endpoint: its key holds blanks or characters beyond ASCII",
      );
    }
    this.#options = options;
  }

  /** Posts `body` to a path below the base; never throws. */
  async post(
    path: string,
    options: {
      readonly body: unknown;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<EndpointAnswer> {
    const { apiKey = "", maxAnswerBytes, timeoutMs, clock, fetch } =
      this.#options;
    const answer = await postJson(`${this.#base}${path}`, {
      body: options.body,
      headers: apiKey === ""
        ? ACCEPTING
        : { ...ACCEPTING, authorization: `Bearer ${apiKey}` },
      fetch: fetch ?? globalThis.fetch.bind(globalThis),
      clock: clock ?? systemClock,
      maxBytes: maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
      timeoutMs,
      signal: options.signal,
    });
    switch (answer.kind) {
      case "ok":
        return answer;
      case "late":
        return passing("the endpoint took too long");
      case "ended":
        return passing("the call was ended");
      case "not_json":
        return passing("the answer is not JSON");
      case "failed":
        return passing(
          `the endpoint cannot be reached (${describeCause(answer.error)})`,
        );
      case "too_large":
        return { ...passing("the answer is too large"), isPassing: false };
      case "refused": {
        const { status, retryAfterMs, isJson } = answer;
        // A proxy that answers in the endpoint's place says nothing about the
        // texts.
        const isPassing = status >= 500 || PASSING_STATUSES.includes(status) ||
          (!isJson && !TEXT_STATUSES.includes(status));
        return {
          kind: "unavailable",
          reason: `the endpoint answered with status ${status}`,
          isPassing,
          retryAfterMs: isPassing ? retryAfterMs : undefined,
        };
      }
    }
  }
}

function checkedBase(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new TypeError(
      "Cannot use endpoint: its address is not one of http or https",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(
      "Cannot use endpoint: its address holds a name or a password; set the key instead",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw new TypeError(
      "Cannot use endpoint: its address has a query or a fragment, and paths are added to it",
    );
  }
  return url.href.replace(/\/+$/, "");
}

/**
 * Causes of network errors, found by words of the runtime's message. The
 * message itself is not passed on, as it holds the address.
 */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/refused/i, "connection refused"],
  [/dns|lookup|resolve/i, "its host name is not known"],
  [/certificate|tls|ssl/i, "its certificate is not trusted"],
  [/permission|NotCapable|requires net/i, "no permission for its host"],
  [/reset|closed|before|body|eof|broken pipe/i, "connection lost"],
];

function describeCause(error: unknown): string {
  const text = error instanceof Error
    ? `${error.name} ${error.message} ${
      error.cause instanceof Error ? error.cause.message : ""
    }`
    : "";
  // The address is left out, as a host name may hold any of the searched words.
  const words = text.replace(/https?:\/\/\S*/g, "");
  return CAUSES.find(([pattern]) => pattern.test(words))?.[1] ??
    "network error";
}

function passing(reason: string): EndpointFailure {
  return { kind: "unavailable", reason, isPassing: true };
}
