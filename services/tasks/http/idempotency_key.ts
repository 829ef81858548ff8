/**
 * The Idempotency-Key header, by which the same request sent twice takes effect
 * once, and what is kept of an answer for the second time.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { AnswerPlace } from "../engine/bulk/operation.ts";
import type { IdempotencyEntry, Write } from "../store/store.ts";
import { type Answer, type RenderedAnswer, statusOf } from "./answer.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The outcome of reading the header. */
type IdempotencyKeyOutcome =
  | { readonly kind: "none" }
  | { readonly kind: "ok"; readonly key: string }
  | ProblemAnswer;

/** What two requests with one key must have in common to be the same. */
interface IdempotencyScope {
  /** The tenant; empty on hosts that are no tenant's. */
  readonly tenantId: string;
  /** The key or user that calls, as `kind:id`. */
  readonly credential: string;
  /** The method. */
  readonly method: string;
  /** The path without query, decoded or not but always alike. */
  readonly path: string;
}

/** Most characters of a key. */
const MAX_KEY_LENGTH = 255;

/** A string of structured headers (RFC 9651, 3.3.3) without spaces. */
const QUOTED = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

const VISIBLE = /^[\x21-\x7e]+$/;

/**
 * Reads the header: visible ASCII, plain or as the quoted string of the
 * header's draft; both forms are the same key. Several headers arrive as one
 * with a comma and a space, which is no key.
 */
export function parseIdempotencyKey(
  header: string | undefined,
): IdempotencyKeyOutcome {
  if (header === undefined) return { kind: "none" };
  const written = header.trim();
  if (written === "") return badKey("it is empty");
  // Checked before it is unquoted, so no text makes the pattern slow.
  if (written.length > MAX_KEY_LENGTH * 2 + 2) return tooLong();
  const quoted = QUOTED.exec(written);
  const key = quoted === null
    ? written
    : (quoted[1] ?? "").replaceAll(/\\(.)/g, "$1");
  if (quoted === null && written.startsWith('"')) {
    return badKey("its quotes are not closed, or it is more than one string");
  }
  if (key === "") return badKey("it is empty");
  if (key.length > MAX_KEY_LENGTH) return tooLong();
  if (!VISIBLE.test(key)) {
    return badKey("visible ASCII characters are all it may have");
  }
  return { kind: "ok", key };
}

/**
 * The key under which an answer is kept: the client's key within its scope, as
 * a hash of 43 characters, so that neither can be guessed from the other.
 */
export function idempotencyStoreKey(
  scope: IdempotencyScope,
  key: string,
): string {
  const { tenantId, credential, method, path } = scope;
  // As a JSON list, no two scopes have the same text.
  return hash(JSON.stringify([tenantId, credential, method, path, key]));
}

/** The hash by which a body is told from another one. */
export function bodyHash(body: string | Uint8Array): string {
  return hash(body);
}

function hash(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("base64url");
}

function tooLong(): ProblemAnswer {
  return badKey(`it has more than ${MAX_KEY_LENGTH} characters`);
}

function badKey(state: string): ProblemAnswer {
  return problem("bad_header", {
    detail: `Cannot read header "Idempotency-Key": ${state}`,
    extensions: { header: "Idempotency-Key" },
  });
}

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
interface KeepOptions {
  /** The answer as it was sent. */
  readonly answer: RenderedAnswer;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * The write that keeps an answer; it conflicts where one is kept already.
 *
 * @throws {TypeError} when the answer is bytes, which no route that changes
 * something answers
 */
export function keepAnswer(
  place: AnswerPlace,
  { answer: { status, headers, body = "" }, nowMs }: KeepOptions,
): Extract<Write, { readonly kind: "idempotency" }> {
  if (typeof body !== "string") {
    throw new TypeError("Cannot keep answer: its body is no text");
  }
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
 * begun; the code that finishes the effect fills it.
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

/**
 * The write that puts the answer where a place was kept for it.
 *
 * @throws {TypeError} as {@linkcode keepAnswer} does
 */
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
    body: entry.body === "" ? undefined : entry.body,
  };
}
