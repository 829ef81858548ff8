/**
 * Remembers which counters will expire, so that `EXPIRE` is not sent with every
 * hit, and which ones may have been left without an expiry.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { hashBytes, randomHashSeed } from "../../../bytes/byte_map.ts";
import type { RedisCommand } from "./command_writer.ts";

/** A counter by 64 bits of its name. */
export interface CounterMark {
  /** The hash of {@linkcode Expiries.hash}. */
  readonly hash: number;
  /** The hash of {@linkcode Expiries.tag}. */
  readonly tag: number;
}

/** Counters for which there is a place; the memory is half a MiB. */
const PLACES = 65_536;
/**
 * Milliseconds after which all counters are forgotten. A proxy may hide a
 * failover, after which the server has a counter and not its expiry.
 */
const AGE_MS = 10_000;
/** Most counters that are kept for an expiry that is owed. */
const MOST_OWED = 10_000;

/**
 * Remembers the counters whose expiry a server has acknowledged. Each hash has
 * one place, where a later counter replaces an earlier one, so that callers
 * with many keys make `EXPIRE` frequent again and nothing grow.
 *
 * A counter that is remembered and does not exist any more (the server was
 * emptied, or evicted it) is not noticed here: the reply to its next hit shows
 * that it is new.
 */
export class Expiries {
  readonly #seed = randomHashSeed();
  readonly #tagSeed = randomHashSeed();
  #marks: Int32Array | undefined;
  #isEmpty = true;
  #sinceMs = -Infinity;
  #epoch = 0;
  #owed: RedisCommand[] = [];

  /** Changes whenever the counters are forgotten. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Returns 32 bits of the name in `bytes` from `start` up to `end`. */
  hash(bytes: Uint8Array, start: number, end: number): number {
    return hashBytes(bytes, start, end, this.#seed);
  }

  /** Returns 32 further bits of the name. */
  tag(bytes: Uint8Array, start: number, end: number): number {
    return hashBytes(bytes, start, end, this.#tagSeed);
  }

  /** Forgets what is older than ten seconds, by a steady clock. */
  age(nowMs: number): void {
    if (nowMs - this.#sinceMs < AGE_MS) return;
    this.#sinceMs = nowMs;
    this.forget();
  }

  /** True when the counter's expiry was acknowledged. */
  isKnown({ hash, tag }: CounterMark): boolean {
    const marks = this.#marks;
    if (marks === undefined) return false;
    const at = hash % PLACES << 1;
    return marks[at] === (hash | 0) && marks[at + 1] === (tag | 0);
  }

  /**
   * Remembers a counter.
   *
   * @param epoch The epoch in which its `EXPIRE` was written: what a server
   * acknowledged before its connection was lost, the next one may not have.
   */
  learn({ hash, tag }: CounterMark, epoch: number): void {
    if (epoch !== this.#epoch) return;
    const marks = this.#marks ??= new Int32Array(2 * PLACES);
    const at = hash % PLACES << 1;
    marks[at] = hash;
    marks[at + 1] = tag;
    this.#isEmpty = false;
  }

  /** Forgets all counters, as a server may have lost expiries. */
  forget(): void {
    this.#epoch++;
    if (this.#isEmpty) return;
    this.#marks?.fill(0);
    this.#isEmpty = true;
  }

  /** True when counters may exist that have no expiry. */
  get owes(): boolean {
    return this.#owed.length > 0;
  }

  /**
   * Notes a counter that may exist without an expiry, as a connection was lost
   * before the reply. Beyond 10,000 such counters the earliest are kept.
   */
  owe(name: Buffer, lifeSeconds: number): void {
    if (this.#owed.length >= MOST_OWED) return;
    this.#owed.push(["EXPIRE", name, String(lifeSeconds)]);
  }

  /** Returns the commands that set the owed expiries, which end the debt. */
  takeOwed(): readonly RedisCommand[] {
    const owed = this.#owed;
    this.#owed = [];
    return owed;
  }

  /** Takes commands back that were not executed. */
  oweAgain(commands: readonly RedisCommand[]): void {
    const room = MOST_OWED - this.#owed.length;
    this.#owed.push(...commands.slice(0, room));
  }
}
