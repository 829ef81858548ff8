/**
 * Idempotency keys, under which a write that is sent again does not write
 * twice.
 *
 * @module
 */

import { encodeHex } from "./encodings.ts";
import { isPassingTrouble, MemError } from "./errors.ts";
import { sha256 } from "./cryptography.ts";

const VERSION_PREFIX = "r1-";
const BUCKET_MS = 30 * 60_000;
/** How long relayers remember an idempotency key. */
const KEY_LIFE_MS = 24 * 60 * 60_000;
const MAX_KEYS = 1_000;
const REQUEST_TIMEOUT = 408;

interface OpenKey {
  readonly key: string;
  readonly madeAtMs: number;
}

/** Options of {@linkcode IdempotencyKeys.send}. */
interface SendOptions {
  /** The time, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** The caller's own key, which is used instead of a generated one. */
  readonly key?: string | undefined;
}

/**
 * Generates idempotency keys, and keeps those of writes whose outcome is not
 * known. The same content gets the same key within half an hour, and also later
 * until the write is acknowledged, so that a retry after a lost answer makes no
 * second memory.
 */
export class IdempotencyKeys {
  readonly #open = new Map<string, OpenKey>();

  /** The number of writes that are not acknowledged. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Sends a write under an idempotency key.
   *
   * @param content everything that identifies the write, with the namespace and
   * the text first
   * @throws {unknown} What `send` throws.
   */
  async send<Result>(
    content: readonly string[],
    options: SendOptions & {
      readonly send: (key: string) => Promise<Result>;
    },
  ): Promise<Result> {
    const { nowMs, send } = options;
    if (options.key !== undefined) return await send(options.key);
    const digest = await hashText(content.join("\0"));
    const open = await this.#deriveKey(content, { digest, nowMs });
    try {
      const result = await send(open.key);
      this.#forget(digest, open);
      return result;
    } catch (error) {
      if (isRefusal(error)) this.#forget(digest, open);
      throw error;
    }
  }

  /** Forgets all keys. */
  clear(): void {
    this.#open.clear();
  }

  async #deriveKey(
    content: readonly string[],
    { digest, nowMs }: { readonly digest: string; readonly nowMs: number },
  ): Promise<OpenKey> {
    const bucket = Math.floor(nowMs / BUCKET_MS);
    const key = VERSION_PREFIX +
      await hashText([String(bucket), ...content].join("\0"));
    const known = this.#open.get(digest);
    if (known !== undefined && nowMs - known.madeAtMs < KEY_LIFE_MS) {
      return known;
    }
    const fresh = { key, madeAtMs: nowMs };
    this.#open.delete(digest);
    this.#open.set(digest, fresh);
    this.#bound();
    return fresh;
  }

  #bound(): void {
    for (const digest of this.#open.keys()) {
      if (this.#open.size <= MAX_KEYS) return;
      this.#open.delete(digest);
    }
  }

  /**
   * Forgets the key of a write, unless another write of the same content has
   * made a newer key.
   */
  #forget(digest: string, open: OpenKey): void {
    if (this.#open.get(digest) === open) this.#open.delete(digest);
  }
}

/**
 * Tells whether the relayer refused the write, so that nothing was written and
 * the key is not needed for a retry.
 */
function isRefusal(error: unknown): boolean {
  const status = error instanceof MemError ? error.status : undefined;
  return status !== undefined && status >= 400 && status < 500 &&
    status !== REQUEST_TIMEOUT && !isPassingTrouble(error);
}

async function hashText(text: string): Promise<string> {
  return encodeHex(await sha256(new TextEncoder().encode(text)));
}
