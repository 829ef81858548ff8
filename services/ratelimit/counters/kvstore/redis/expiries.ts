/**
 * Remembers which counters will expire, so that `EXPIRE` is not sent with every
 * hit, and which ones may have been left without an expiry.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { hashBytes, randomHashSeed } from "../../../bytes/byte_map.ts";
import type { RedisCommand } from "./command_writer.ts";

/** Counters for which there is a place; the memory is a quarter of a MiB. */
const PLACES = 65_536;
/**
 * Milliseconds after which all counters are forgotten. A proxy may hide a
 * failover, after which the server has a counter and not its expiry.
 */
const AGE_MS = 10_000;
/** Most counters that are kept for an expiry that is owed. */
const MOST_OWED = 10_000;

/**
 * Remembers the counters whose expiry a server has acknowledged, by a hash of
 * 32 bits. Each hash has one place, where a later counter replaces an earlier
 * one, so that callers with many keys make `EXPIRE` frequent again and nothing
 * grow.
 *
 * A counter may be remembered and not exist: the server was emptied, or evicted
 * it, or another counter has the same hash. The reply to its next hit shows
 * that it is new.
 */
export class Expiries {
  readonly #seed = randomHashSeed();
  #hashes: Uint32Array | undefined;
  #isEmpty = true;
  #sinceMs = -Infinity;
  #epoch = 0;
  #owed: RedisCommand[] = [];

  /** Changes whenever the counters are forgotten. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Returns the hash of the name in `bytes` from `start` up to `end`. */
  hash(bytes: Uint8Array, start: number, end: number): number {
    return hashBytes(bytes, start, end, this.#seed);
  }

  /** Forgets what is older than ten seconds, by a steady clock. */
  age(nowMs: number): void {
    if (nowMs - this.#sinceMs < AGE_MS) return;
    this.#sinceMs = nowMs;
    this.forget();
  }

  /** True when the expiry of the counter with this hash was acknowledged. */
  isKnown(hash: number): boolean {
    return this.#hashes !== undefined && this.#hashes[hash % PLACES] === hash;
  }

  /**
   * Remembers the counter with this hash.
   *
   * @param epoch The epoch in which its `EXPIRE` was written: what a server
   * acknowledged before its connection was lost, the next one may not have.
   */
  learn(hash: number, epoch: number): void {
    if (epoch !== this.#epoch) return;
    this.#hashes ??= new Uint32Array(PLACES);
    this.#hashes[hash % PLACES] = hash;
    this.#isEmpty = false;
  }

  /** Forgets all counters, as a server may have lost expiries. */
  forget(): void {
    this.#epoch++;
    if (this.#isEmpty) return;
    this.#hashes?.fill(0);
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
