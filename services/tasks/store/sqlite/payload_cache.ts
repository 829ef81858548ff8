/**
 * Long payloads that are known to be in the database, so that a task which only
 * changes its status need not write, and one that is read again not read them.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";

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
  readonly #payloads: BoundedMap<string, StoredPayload>;

  /** A cache of at most `maxChars` characters. */
  constructor(maxChars: number) {
    this.#payloads = new BoundedMap({
      maxEntries: Infinity,
      maxWeight: maxChars,
      weightOf: ({ text }) => text.length,
    });
  }

  /** The payload that was last seen of a task. */
  get(kind: PayloadKind, id: string): StoredPayload | undefined {
    // Most stores have short payloads alone: those are in their rows.
    if (this.#payloads.size === 0) return undefined;
    return this.#payloads.get(`${kind} ${id}`);
  }

  /** Remembers a payload that is in the database. */
  set(kind: PayloadKind, id: string, payload: StoredPayload): void {
    this.#payloads.set(`${kind} ${id}`, payload);
  }

  /** Forgets the payload of a task. */
  delete(kind: PayloadKind, id: string): void {
    if (this.#payloads.size === 0) return;
    this.#payloads.delete(`${kind} ${id}`);
  }
}
