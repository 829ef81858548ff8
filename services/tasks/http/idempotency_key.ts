/**
 * The Idempotency-Key header: the same request sent twice takes effect once.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** What reading the header comes to. */
export type IdempotencyKeyOutcome =
  | { readonly kind: "none" }
  | { readonly kind: "ok"; readonly key: string }
  | ProblemAnswer;

/** What makes two requests with one key the same one. */
export interface IdempotencyScope {
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
export const MAX_KEY_LENGTH = 255;

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
  // As a JSON list, no two scopes come to the same text.
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
