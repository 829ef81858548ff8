/**
 * What accepting texts is about: the texts, the outcome, and the ids of jobs.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import type { JobStatus } from "../store/rows.ts";
import type { Metadata } from "../vault/vault.ts";

/** A text to be remembered; its bounds were checked. */
export interface NewText {
  /** The text. */
  readonly text: string;
  /** The namespace. */
  readonly namespace: string;
  /**
   * How much it matters, 0 to 1.
   * @default 0.5
   */
  readonly importance?: number | undefined;
  /**
   * What the client says of it.
   * @default nothing
   */
  readonly metadata?: Metadata | undefined;
  /**
   * The memory whose place it takes.
   * @default none
   */
  readonly supersedes?: string | undefined;
}

/** Options of `JobIntake.accept()`. */
export interface AcceptOptions extends Pick<WorkOptions, "pausing"> {
  /** How the jobs begin. */
  readonly status: Extract<JobStatus, "pending" | "running">;
  /**
   * The client's key: asking the same again with it gives the same jobs.
   * @default none
   */
  readonly idempotencyKey?: string | undefined;
}

/** The outcome of accepting. */
export type AcceptOutcome =
  /** The jobs are on disk, in the order of the texts. */
  | {
    readonly kind: "accepted";
    readonly jobIds: readonly string[];
    /** Whether they were made for an earlier request with the same key. */
    readonly isRepeated: boolean;
  }
  /** The key stood for other texts. */
  | { readonly kind: "key_reused" }
  /** The owner has no such memory to take the place of. */
  | { readonly kind: "nothing_to_supersede"; readonly id: string }
  /** The owner would have more than fits. */
  | { readonly kind: "over_quota"; readonly quotaBytes: number }
  /** Too much is unfinished, of the owner or at all. */
  | { readonly kind: "busy"; readonly retryAfterMs: number };

/** More would be the next millisecond's. */
const MAX_COUNTER = 0xfff;
/** At the start of a millisecond the counter has room for as many again. */
const FIRST_COUNTER_MASK = 0x7ff;

/** Options of {@linkcode JobIds}. */
interface JobIdsOptions {
  /** The time. */
  readonly clock: Pick<Clock, "nowMs">;
  /** Gives random bytes. */
  readonly randomBytes: (length: number) => Uint8Array;
}

/**
 * Makes ids that sort in the order they were made in, as UUIDs of version 7 (RFC 9562,
 * 5.7 and 6.2, method 1): texts of one request are neighbours in the store and in the
 * order of memories, and no id can be guessed by its 62 random bits.
 */
export class JobIds {
  readonly #options: JobIdsOptions;
  #timeMs = -1;
  #counter = 0;

  /** No ids yet. */
  constructor(options: JobIdsOptions) {
    this.#options = options;
  }

  /** An id that is greater than those before it, whatever the clock says. */
  next(): string {
    const { clock, randomBytes } = this.#options;
    const random = randomBytes(10);
    const nowMs = clock.nowMs();
    if (nowMs > this.#timeMs) this.#begin(nowMs, random);
    else if (this.#counter < MAX_COUNTER) this.#counter++;
    else this.#begin(this.#timeMs + 1, random);
    return uuidOf(this.#timeMs, {
      counter: this.#counter,
      rest: random.subarray(2),
    });
  }

  #begin(timeMs: number, [high = 0, low = 0]: Uint8Array): void {
    this.#timeMs = timeMs;
    this.#counter = (high * 256 + low) & FIRST_COUNTER_MASK;
  }
}

/** A UUID of a time, a number of 12 bits and 8 bytes. */
function uuidOf(
  timeMs: number,
  { counter, rest }: { readonly counter: number; readonly rest: Uint8Array },
): string {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(timeMs / 0x1_0000));
  view.setUint16(4, timeMs % 0x1_0000);
  view.setUint16(6, 0x7000 | counter);
  bytes.set(rest, 8);
  bytes[8] = 0x80 | (rest[0]! & 0x3f);
  const hex = bytes.toHex();
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
