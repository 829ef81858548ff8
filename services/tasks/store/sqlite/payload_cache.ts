/**
 * Long payloads that are known to be in the database, so that a task which only
 * changes its status need not write, and one that is read again not read them.
 *
 * @module
 */

/** A payload and the version of the task that wrote it. */
export interface StoredPayload {
  /** The version. */
  readonly at: number;
  /** The payload. */
  readonly text: string;
}

/** What a payload is. */
export type PayloadKind = "data" | "result";

/** Remembers payloads up to a bound, those used last. */
export class PayloadCache {
  readonly #maxChars: number;
  readonly #payloads = new Map<string, StoredPayload>();
  #chars = 0;

  /** A cache of at most `maxChars` characters. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The payload that was last seen of a task. */
  get(kind: PayloadKind, id: string): StoredPayload | undefined {
    // Most stores have short payloads alone: those are in their rows.
    if (this.#payloads.size === 0) return undefined;
    const key = `${kind} ${id}`;
    const payload = this.#payloads.get(key);
    if (payload === undefined) return undefined;
    this.#payloads.delete(key);
    this.#payloads.set(key, payload);
    return payload;
  }

  /** Remembers a payload that is in the database. */
  set(kind: PayloadKind, id: string, payload: StoredPayload): void {
    this.delete(kind, id);
    if (payload.text.length > this.#maxChars) return;
    this.#payloads.set(`${kind} ${id}`, payload);
    this.#chars += payload.text.length;
    for (const [key, { text }] of this.#payloads) {
      if (this.#chars <= this.#maxChars) break;
      this.#payloads.delete(key);
      this.#chars -= text.length;
    }
  }

  /** Forgets the payload of a task. */
  delete(kind: PayloadKind, id: string): void {
    if (this.#payloads.size === 0) return;
    const key = `${kind} ${id}`;
    const payload = this.#payloads.get(key);
    if (payload === undefined) return;
    this.#payloads.delete(key);
    this.#chars -= payload.text.length;
  }
}
