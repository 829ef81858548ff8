/**
 * Merges the hits on one counter that are written together into one `INCRBY`,
 * and deals its reply out to them.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { type CommandWriter, writeDigits } from "./command_writer.ts";
import type { Expiries } from "./expiries.ts";
import { isRedisRefusal, type RedisReply } from "./reply.ts";

/** Takes the replies to some commands. */
export interface ReplySink {
  /** Takes the reply to the command at `index`. */
  reply(index: number, reply: RedisReply): void;
}

/** Hits on a counter, and how long it lives after them. */
export interface Hit {
  /** Index of the reply, which is the count. */
  readonly index: number;
  /**
   * True when the reply to `EXPIRE` is wanted as well, at the next index: 1
   * also when the expiry was set before.
   */
  readonly isPair: boolean;
  /** Holds the counter's name, or its begin. */
  readonly bytes: Uint8Array;
  /** Index of the first byte of the name. */
  readonly start: number;
  /** One past the index of its last byte. */
  readonly end: number;
  /**
   * A whole number whose digits end the name.
   *
   * @default none
   */
  readonly number?: number | undefined;
  /** Hits, a whole number from 1 to `Number.MAX_SAFE_INTEGER`. */
  readonly hits: number;
  /** Whole seconds that a new counter lives. */
  readonly lifeSeconds: number;
}

/** How {@linkcode MergedHits} are made. */
interface MergedHitsOptions {
  /** Knows which counters have an expiry. */
  readonly expiries: Expiries;
  /** Sends the `EXPIRE` of a counter that turned out to be new. */
  readonly expire: (
    name: Buffer,
    life: { readonly seconds: number; readonly sink: ReplySink },
  ) => void;
  /** Called when all hits have their replies. */
  readonly onAnswered: (hits: MergedHits) => void;
}

/** One counter. */
interface Entry {
  start: number;
  end: number;
  hash: number;
  /** Hits of all shares. */
  hits: number;
  lifeSeconds: number;
  /** Whether `EXPIRE` is sent along. */
  hasExpiry: boolean;
  isAnswered: boolean;
  /** Indexes of the first and the last share. */
  first: number;
  last: number;
}

/** The part of one call in an entry. */
interface Share {
  sink: ReplySink | undefined;
  index: number;
  isPair: boolean;
  hits: number;
  /** Index of the next share of the entry; -1 behind the last one. */
  next: number;
}

const ENCODER = new TextEncoder();
const INCRBY = ENCODER.encode("*3\r\n$6\r\nINCRBY\r\n");
const EXPIRE = ENCODER.encode("*3\r\n$6\r\nEXPIRE\r\n");
/** The reply of `EXPIRE` when the counter exists. */
const WAS_SET = 1;
const MAX_DIGITS = 16;
const FIRST_BYTES = 4_096;
const FIRST_SLOTS = 64;
/** Bytes of the largest memory for names that is kept for the next hits. */
const MAX_KEPT_BYTES = 65_536;
/** Most shares that are kept for the next hits. */
const MAX_KEPT_SHARES = 4_096;

/**
 * Collects hits until they are written: one `INCRBY` for each counter, with an
 * `EXPIRE` unless the server has set its expiry already. Hits get the counts
 * that they would get from an `INCRBY` each, in their order. When a count shows
 * that the counter is new after all, its `EXPIRE` is sent before the hits get
 * their replies, so that no hit is acknowledged whose counter stays forever.
 */
export class MergedHits implements ReplySink {
  readonly #options: MergedHitsOptions;
  #names = new Uint8Array(FIRST_BYTES);
  #namesEnd = 0;
  // Entries and shares are used again, so that hits allocate nothing.
  #entries: Entry[] = [];
  #entryCount = 0;
  #shares: Share[] = [];
  #shareCount = 0;
  /** For each hash the index of the latest entry + 1; 0 for a free slot. */
  #slots = new Int32Array(FIRST_SLOTS);
  #epoch = 0;
  #nextReply = 0;
  #count: RedisReply | undefined;
  #unanswered = 0;

  /** Starts without hits. */
  constructor(options: MergedHitsOptions) {
    this.#options = options;
  }

  /** Number of counters. */
  get size(): number {
    return this.#entryCount;
  }

  /** Bytes of the names. */
  get bytes(): number {
    return this.#namesEnd;
  }

  /** Adds the hits of a call; the bytes are copied. */
  add(sink: ReplySink, hit: Hit): void {
    const start = this.#namesEnd;
    const end = this.#writeName(hit);
    const hash = this.#options.expiries.hash(this.#names, start, end);
    const at = this.#find(hash, start, end);
    const found = this.#slots[at]! - 1;
    const share = this.#addShare(sink, hit);
    if (found >= 0) {
      const entry = this.#entries[found]!;
      // Beyond this, numbers would not be exact.
      if (entry.hits + hit.hits <= Number.MAX_SAFE_INTEGER) {
        entry.hits += hit.hits;
        this.#shares[entry.last]!.next = share;
        entry.last = share;
        return;
      }
    }
    this.#namesEnd = end;
    this.#addEntry({ start, end, hash, share, hit });
    this.#slots[at] = this.#entryCount;
    if (2 * this.#entryCount > this.#slots.length) this.#grow();
  }

  /** Writes the commands; returns how many they are. */
  writeTo(writer: CommandWriter): number {
    const { expiries } = this.#options;
    const names = this.#names;
    this.#epoch = expiries.epoch;
    this.#unanswered = this.#entryCount;
    let commands = this.#entryCount;
    for (let i = 0; i < this.#entryCount; i++) {
      const entry = this.#entries[i]!;
      const { start, end } = entry;
      entry.hasExpiry = !expiries.isKnown(entry.hash);
      writer.raw(INCRBY);
      writer.bytes(names, start, end);
      writer.number(entry.hits);
      if (!entry.hasExpiry) continue;
      commands++;
      writer.raw(EXPIRE);
      writer.bytes(names, start, end);
      writer.number(entry.lifeSeconds);
    }
    return commands;
  }

  /** Takes the replies to the commands, in their order. */
  reply(_index: number, reply: RedisReply): void {
    const entry = this.#entries[this.#nextReply]!;
    const count = this.#count;
    if (count !== undefined) {
      this.#count = undefined;
      this.#nextReply++;
      return this.#expired(entry, { count, reply });
    }
    if (entry.hasExpiry) {
      this.#count = reply;
      return;
    }
    this.#nextReply++;
    if (reply !== entry.hits) {
      return this.#answer(entry, { count: reply, expiry: WAS_SET });
    }
    // Nothing was there before these hits: the counter is new.
    this.#options.expire(this.#copyName(entry), {
      seconds: entry.lifeSeconds,
      sink: {
        reply: (_, expiry) =>
          this.#expired(entry, { count: entry.hits, reply: expiry }),
      },
    });
  }

  /** Notes the counters whose replies are lost: they may have no expiry. */
  lose(): void {
    for (let i = 0; i < this.#entryCount; i++) {
      const entry = this.#entries[i]!;
      if (entry.isAnswered) continue;
      this.#options.expiries.owe(this.#copyName(entry), entry.lifeSeconds);
    }
  }

  /** Forgets all hits, so that others can be added. */
  clear(): void {
    if (this.#names.length > MAX_KEPT_BYTES) {
      this.#names = new Uint8Array(FIRST_BYTES);
    }
    if (this.#shares.length > MAX_KEPT_SHARES) {
      this.#shares = [];
      this.#entries = [];
      this.#slots = new Int32Array(FIRST_SLOTS);
    } else this.#slots.fill(0);
    this.#namesEnd =
      this.#entryCount =
      this.#shareCount =
      this.#nextReply =
        0;
  }

  #writeName({ bytes, start, end, number }: Hit): number {
    const needed = this.#namesEnd + end - start + MAX_DIGITS;
    if (needed > this.#names.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#names.length));
      grown.set(this.#names.subarray(0, this.#namesEnd));
      this.#names = grown;
    }
    const names = this.#names;
    let at = this.#namesEnd;
    for (let i = start; i < end; i++) names[at++] = bytes[i]!;
    return number === undefined ? at : writeDigits(names, at, number);
  }

  /** Returns the slot of a name, or the free one where it belongs. */
  #find(hash: number, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = hash & mask;; at = at + 1 & mask) {
      const number = slots[at]!;
      if (number === 0) return at;
      const entry = this.#entries[number - 1]!;
      if (entry.hash === hash && this.#isName(entry, start, end)) return at;
    }
  }

  #isName(entry: Entry, start: number, end: number): boolean {
    const length = end - start;
    if (entry.end - entry.start !== length) return false;
    const names = this.#names;
    for (let i = 0; i < length; i++) {
      if (names[entry.start + i] !== names[start + i]) return false;
    }
    return true;
  }

  #addShare(sink: ReplySink, { index, isPair, hits }: Hit): number {
    const at = this.#shareCount++;
    const share = this.#shares[at];
    if (share === undefined) {
      this.#shares.push({ sink, index, isPair, hits, next: -1 });
    } else {
      share.sink = sink;
      share.index = index;
      share.isPair = isPair;
      share.hits = hits;
      share.next = -1;
    }
    return at;
  }

  #addEntry({ start, end, hash, share, hit }: {
    readonly start: number;
    readonly end: number;
    readonly hash: number;
    readonly share: number;
    readonly hit: Hit;
  }): void {
    const { hits, lifeSeconds } = hit;
    const entry = this.#entries[this.#entryCount++];
    if (entry === undefined) {
      this.#entries.push({
        ...{ start, end, hash, hits, lifeSeconds },
        ...{ hasExpiry: true, isAnswered: false, first: share, last: share },
      });
      return;
    }
    entry.start = start;
    entry.end = end;
    entry.hash = hash;
    entry.hits = hits;
    entry.lifeSeconds = lifeSeconds;
    entry.isAnswered = false;
    entry.first = entry.last = share;
  }

  #grow(): void {
    const slots = this.#slots = new Int32Array(2 * this.#slots.length);
    for (let i = 0; i < this.#entryCount; i++) {
      const { hash, start, end } = this.#entries[i]!;
      // The later of two entries with one name takes the place of the earlier.
      slots[this.#find(hash, start, end)] = i + 1;
    }
  }

  #copyName({ start, end }: Entry): Buffer {
    return Buffer.from(this.#names.subarray(start, end));
  }

  #expired(
    entry: Entry,
    { count, reply }: {
      readonly count: RedisReply;
      readonly reply: RedisReply;
    },
  ): void {
    if (reply === WAS_SET) {
      this.#options.expiries.learn(entry.hash, this.#epoch);
    }
    this.#answer(entry, { count, expiry: reply });
  }

  /** Deals the reply out: each hit gets the count that it would have seen. */
  #answer(
    entry: Entry,
    { count, expiry }: {
      readonly count: RedisReply;
      readonly expiry: RedisReply;
    },
  ): void {
    entry.isAnswered = true;
    const failure = typeof count === "number" && isRedisRefusal(expiry)
      ? { ...expiry, hasCounted: true }
      : undefined;
    let after = typeof count === "number" ? count - entry.hits : undefined;
    for (let at = entry.first; at >= 0;) {
      const share = this.#shares[at]!;
      const { sink, index, isPair } = share;
      share.sink = undefined;
      at = share.next;
      if (after !== undefined) after += share.hits;
      if (!isPair) {
        sink?.reply(index, failure ?? after ?? count);
        continue;
      }
      sink?.reply(index, after ?? count);
      sink?.reply(index + 1, expiry);
    }
    if (--this.#unanswered === 0) this.#options.onAnswered(this);
  }
}
