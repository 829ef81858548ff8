/**
 * Cursors: where the next page of a list begins, sealed so that a client can
 * neither make one nor use it for another list.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { isJsonObject, type JsonValue } from "../../shared/schema/schema.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The list a cursor belongs to. */
export interface CursorScope {
  /** The tenant. */
  readonly tenantId: string;
  /**
   * What else tells the list from others: its path, filter, order. See
   * {@linkcode filterTextOf}.
   */
  readonly filter: string;
}

/** What opening a cursor comes to. */
export type CursorOutcome =
  | {
    readonly kind: "ok";
    /** What was sealed. */
    readonly position: JsonValue;
  }
  | {
    /** It is not one of this list. */
    readonly kind: "bad_cursor";
  };

/** The key has as many bytes at least. */
const MIN_KEY_BYTES = 16;

/** A truncated tag of 128 bits (RFC 2104, 5). */
const TAG_BYTES = 16;

const MAX_CURSOR_LENGTH = 2_048;

/** Keeps other uses of the same key from making cursors. */
const PURPOSE = "tercet cursor 1";

/** Seals and opens cursors with one key. */
export class Cursors {
  readonly #key: Uint8Array;

  /**
   * Cursors that a key seals; other keys cannot open them.
   *
   * @throws {RangeError} when the key has fewer than 16 bytes
   */
  constructor(key: Uint8Array) {
    if (key.byteLength < MIN_KEY_BYTES) {
      throw new RangeError(
        `Cannot seal cursors: the key has ${key.byteLength} bytes, ` +
          `${MIN_KEY_BYTES} are needed`,
      );
    }
    this.#key = Uint8Array.from(key);
  }

  /** Makes the cursor of a position. It can be read by anybody, not changed. */
  seal(scope: CursorScope, position: JsonValue): string {
    const payload = Buffer.from(JSON.stringify(position), "utf8");
    const tag = this.#tag(scope, payload);
    return Buffer.concat([tag, payload]).toString("base64url");
  }

  /** Reads the position of a cursor of the same list. */
  open(scope: CursorScope, cursor: string): CursorOutcome {
    if (cursor.length > MAX_CURSOR_LENGTH || !/^[\w-]+$/.test(cursor)) {
      return BAD_CURSOR;
    }
    const bytes = Buffer.from(cursor, "base64url");
    if (bytes.byteLength <= TAG_BYTES) return BAD_CURSOR;
    const payload = bytes.subarray(TAG_BYTES);
    const tag = bytes.subarray(0, TAG_BYTES);
    if (!timingSafeEqual(tag, this.#tag(scope, payload))) return BAD_CURSOR;
    // Only what seal() wrote has a good tag.
    const position: JsonValue = JSON.parse(payload.toString("utf8"));
    return { kind: "ok", position };
  }

  #tag(scope: CursorScope, payload: Uint8Array): Buffer {
    // As a JSON list, no two scopes come to the same text.
    const bound = JSON.stringify([PURPOSE, scope.tenantId, scope.filter]);
    return createHmac("sha256", this.#key)
      .update(`${bound}\n`)
      .update(payload)
      .digest()
      .subarray(0, TAG_BYTES);
  }
}

const BAD_CURSOR: CursorOutcome = { kind: "bad_cursor" };

/** A filter as text, the same whatever the order its members are written in. */
export function filterTextOf(
  filter: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify(filter, (_key, value: unknown) => {
    if (!isJsonObject(value)) return value;
    const sorted = Object.entries(value).sort(([left], [right]) =>
      left < right ? -1 : 1
    );
    return Object.fromEntries(sorted);
  });
}

/** The problem of a cursor that cannot be opened. */
export function badCursor(): ProblemAnswer {
  const detail = "Cannot go on from cursor: it is not one of this list; " +
    "begin with the first page";
  return problem("bad_cursor", {
    detail,
    errors: [{ parameter: "cursor", code: "bad_cursor", detail }],
  });
}
