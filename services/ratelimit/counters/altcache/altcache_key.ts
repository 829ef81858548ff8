/**
 * Counters' names on memcached, which takes neither blanks nor long keys.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { CounterBatch, CounterOperation } from "../counter_store.ts";
import { windowStartSeconds } from "../fixed_window.ts";
import { MAX_MEMCACHED_KEY_BYTES } from "./memcached/command.ts";

/** Names of this beginning are hashed ones; no key is used as it is with it. */
const MARK = "sha256:";
/** How much of a hashed key can be read in its name. */
const SHOWN_BYTES = 64;

/**
 * The name of an operation's counter: the key with the start of the window in
 * decimal digits behind it. A key that the server would not take, or that
 * could be taken for another one, goes by the SHA-256 of all its bytes, so
 * that two keys never share a counter and every key has one.
 */
export function altcacheKey(
  batch: CounterBatch,
  operation: CounterOperation,
): string {
  const { keyStart, keyEnd, windowSeconds } = operation;
  const { buffer, byteOffset } = batch.keys;
  const key = Buffer.from(buffer, byteOffset + keyStart, keyEnd - keyStart);
  const window = String(windowStartSeconds(batch.nowSeconds, windowSeconds));
  if (key.length + window.length <= MAX_MEMCACHED_KEY_BYTES && isPlain(key)) {
    const name = key.toString("latin1") + window;
    if (!name.startsWith(MARK)) return name;
  }
  const shown = key.toString("latin1", 0, SHOWN_BYTES).replace(
    /[^\x21-\x7e]/g,
    "?",
  );
  const hash = createHash("sha256").update(key).digest("base64url");
  return `${MARK}${shown}:${hash}:${window}`;
}

/** Whether the key can be sent, and ends where the digits of a window begin. */
function isPlain(key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) {
    const byte = key[i]!;
    if (byte <= 0x20 || byte > 0x7e) return false;
  }
  const last = key[key.length - 1];
  return last === undefined || last < 0x30 || last > 0x39;
}
