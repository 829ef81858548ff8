/**
 * What is kept of an answer, so that a repeated request gets it again.
 *
 * @module
 */

import type { AnswerPlace } from "../engine/bulk/operation.ts";
import type { IdempotencyEntry, Write } from "../store/store.ts";
import { type Answer, type RenderedAnswer, statusOf } from "./answer.ts";

/** How long an answer is kept. */
const KEPT_MS = 86_400_000;

/** Headers of an answer that are given again. */
const KEPT_HEADERS = [
  "content-type",
  "location",
  "etag",
  "preference-applied",
];

/** No answer that is kept has it, so it tells those that are yet to come. */
const PENDING_HEADER = "retry-after";

/**
 * Tells whether an answer is kept: not one that says nothing about the request
 * itself.
 */
export function isKept(answer: Answer): boolean {
  const status = statusOf(answer);
  return status < 500 && status !== 401 && status !== 429 &&
    !(answer.kind === "problem" && answer.code === "idempotency_in_progress");
}

/** Options of {@linkcode keepAnswer}. */
export interface KeepOptions {
  /** The answer as it was sent. */
  readonly answer: RenderedAnswer;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The write that keeps an answer; it conflicts where one is kept already. */
export function keepAnswer(
  place: AnswerPlace,
  { answer: { status, headers, body = "" }, nowMs }: KeepOptions,
): Extract<Write, { readonly kind: "idempotency" }> {
  const kept = KEPT_HEADERS.flatMap((header) => {
    const value = headers[header];
    return value === undefined ? [] : [[header, value]];
  });
  return {
    kind: "idempotency",
    tenantId: place.tenantId,
    key: place.key,
    entry: {
      bodyHash: place.bodyHash,
      status,
      headers: Object.fromEntries(kept),
      body,
      expiresAtMs: nowMs + KEPT_MS,
    },
  };
}

/**
 * The write that keeps a place for an answer that comes after its effect has
 * begun; whoever goes on with the effect has to fill it.
 */
export function holdPlace(
  { tenantId, key, bodyHash }: AnswerPlace,
  nowMs: number,
): Write {
  return {
    kind: "idempotency",
    tenantId,
    key,
    entry: {
      bodyHash,
      status: 409,
      headers: { [PENDING_HEADER]: "1" },
      body: "",
      expiresAtMs: nowMs + KEPT_MS,
    },
  };
}

/** The write that puts the answer where a place was kept for it. */
export function fillPlace(place: AnswerPlace, options: KeepOptions): Write {
  return { ...keepAnswer(place, options), replaces: true };
}

/** Tells whether an answer is yet to come. */
export function isPending({ headers }: IdempotencyEntry): boolean {
  return headers[PENDING_HEADER] !== undefined;
}

/** A kept answer as it is given again. */
export function answerAgain(entry: IdempotencyEntry): RenderedAnswer {
  return {
    status: entry.status,
    headers: { ...entry.headers, "idempotency-replayed": "true" },
    ...(entry.body === "" ? {} : { body: entry.body }),
  };
}
