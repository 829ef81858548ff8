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

/** Who is sent the digests. */
interface DigestReader {
  /** Takes a digest as it is sent. */
  put(bytes: Uint8Array): void;
}

/** Counts events for readers. */
export class EventDigest {
  /** Which events are counted. */
  readonly filter: EventFilter;
  /** The least milliseconds between two digests. */
  readonly everyMs: number;
  readonly #clock: Clock;
  readonly #readers = new Set<DigestReader>();
  #counts = new Map<string, number>();
  #hasMore = false;
  #last: EventBatch | undefined;
  #timer: Timer | undefined;
  #toldMs = -Infinity;

  /** Counts nothing yet. */
  constructor({ filter, everyMs, clock }: EventDigestOptions) {
    this.filter = filter;
    this.everyMs = everyMs;
    this.#clock = clock;
  }

  /** Whether it has no reader. */
  get isUnread(): boolean {
    return this.#readers.size === 0;
  }

  /** Sends the digests to one more reader. */
  add(reader: DigestReader): void {
    this.#readers.add(reader);
  }

  /** Sends a reader no more digests. */
  remove(reader: DigestReader): void {
    this.#readers.delete(reader);
    if (this.isUnread) this.#timer?.cancel();
  }

  /** Counts a batch, once however many readers are given it. */
  take(batch: EventBatch): void {
    if (batch === this.#last) return;
    this.#last = batch;
    const { events } = batch.of(this.filter);
    if (events.length === 0 && !batch.hasMore) return;
    this.#hasMore ||= batch.hasMore;
    for (const { type } of events) {
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
    }
    if (this.#timer !== undefined) return;
    const waitMs = this.#toldMs + this.everyMs - this.#clock.nowMs();
    // After a step of the clock it is longer than it may be.
    if (waitMs <= 0 || waitMs > this.everyMs) return this.#tell();
    this.#timer = this.#clock.setTimer(() => this.#tell(), waitMs);
  }

  #tell(): void {
    this.#timer = undefined;
    this.#toldMs = this.#clock.nowMs();
    const id = this.#last?.end ?? "";
    const data = JSON.stringify({
      type: "digest",
      timestamp: utcTime(this.#toldMs),
      id,
      data: {
        counts: Object.fromEntries(this.#counts),
        more: this.#hasMore || undefined,
      },
    });
    this.#counts = new Map();
    this.#hasMore = false;
    const bytes = frameBytes({ id, event: "digest", data });
    for (const reader of [...this.#readers]) reader.put(bytes);
  }
}
