/**
 * Tells how many events of each type there were, at most so often, once for all
 * readers of the same filter.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";
import { utcTime } from "../../domain/instant.ts";
import {
  type EventBatch,
  type EventFilter,
  frameBytes,
} from "./event_batch.ts";

/** Options of {@linkcode EventDigest}. */
interface EventDigestOptions {
  /** Which events are counted. */
  readonly filter: EventFilter;
  /** The least milliseconds between two digests. */
  readonly everyMs: number;
  /** Sets timers. */
  readonly clock: Clock;
}

/** Takes the digest as it is sent. */
type Send = (bytes: Uint8Array) => void;

/** Counts events for readers. */
export class EventDigest {
  readonly #options: EventDigestOptions;
  readonly #readers = new Set<Send>();
  #counts = new Map<string, number>();
  #last: EventBatch | undefined;
  #timer: Timer | undefined;
  #toldMs = -Infinity;

  /** Counts nothing yet. */
  constructor(options: EventDigestOptions) {
    this.#options = options;
  }

  /**
   * Sends the digests to one more reader.
   *
   * @returns a function that ends that, and tells whether others are left
   */
  add(send: Send): () => boolean {
    const entry: Send = (bytes) => send(bytes);
    this.#readers.add(entry);
    return () => {
      this.#readers.delete(entry);
      if (this.#readers.size === 0) this.#timer?.cancel();
      return this.#readers.size > 0;
    };
  }

  /** Counts a batch, once however many readers are given it. */
  take(batch: EventBatch): void {
    if (batch === this.#last) return;
    this.#last = batch;
    const { filter, everyMs, clock } = this.#options;
    const { events } = batch.of(filter);
    if (events.length === 0) return;
    for (const { type } of events) {
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
    }
    if (this.#timer !== undefined) return;
    const waitMs = this.#toldMs + everyMs - clock.nowMs();
    // After a step of the clock it is longer than it may be.
    if (waitMs <= 0 || waitMs > everyMs) return this.#tell();
    this.#timer = clock.setTimer(() => this.#tell(), waitMs);
  }

  #tell(): void {
    this.#timer = undefined;
    this.#toldMs = this.#options.clock.nowMs();
    const id = this.#last?.end ?? "";
    const data = JSON.stringify({
      type: "digest",
      timestamp: utcTime(this.#toldMs),
      id,
      data: { counts: Object.fromEntries(this.#counts) },
    });
    this.#counts = new Map();
    const bytes = frameBytes({ id, event: "digest", data });
    for (const send of [...this.#readers]) send(bytes);
  }
}
