/**
 * Creates and parses the ids of tasks. Ids sort by the time of creation, and
 * the first 53 of their 130 bits are a number that a store can use as its key.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";

/** The beginning of all task ids. */
const TASK_ID_PREFIX = "tsk_";

/**
 * The characters of Crockford's base 32, which leaves out those that look
 * alike.
 */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** The code units of the alphabet, by their values. */
const CODES: readonly number[] = [...ALPHABET].map((character) =>
  character.charCodeAt(0)
);
/** The values of the alphabet, by their code units. */
const VALUES: readonly number[] = Array.from(
  { length: 128 },
  (_, code) => Math.max(0, CODES.indexOf(code)),
);
const FORM = /^tsk_[0-9a-hjkmnp-tv-z]{26}$/;

/**
 * The start of the time in ids: the year 2020, in milliseconds since the epoch.
 */
const EPOCH_MS = 1_577_836_800_000;
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;
const PER_MS = 4_096;
/**
 * The first number of a millisecond is drawn from the lower half of its range;
 * see {@linkcode TaskIds}.
 */
const FIRST_BOUND = PER_MS / 2;

/** The number of characters that are purely random. */
const TAIL_CHARS = 15;
const BYTES_PER_ID = TAIL_CHARS + 2;
const IDS_PER_DRAW = 256;
/**
 * 2^23: the range of the part of the number in its last five characters,
 * without the two random bits there.
 */
const LOW_RANGE = 0x80_0000;

/**
 * Creates ids in strictly rising order, even when the clock steps back or a
 * millisecond has more ids than numbers; then the ids run ahead of the clock.
 *
 * The numbers of each millisecond begin at random, so that a process that was
 * started after the clock was set back seldom creates a number that is taken
 * already. If it does, the store reports a conflict and the caller creates
 * another id.
 */
export class TaskIds {
  readonly #clock: Clock;
  readonly #randomBytes: (length: number) => Uint8Array;
  #pool: Uint8Array = new Uint8Array(0);
  #used = 0;
  #last = -1;

  /** Takes the clock and a source of random bytes that cannot be predicted. */
  constructor(clock: Clock, randomBytes: (length: number) => Uint8Array) {
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  /** A new id with another prefix; may be passed on as a function. */
  readonly newId = (prefix: string): string =>
    `${prefix}_${this.next().slice(TASK_ID_PREFIX.length)}`;

  /**
   * Returns a new id, greater than all ids before it.
   *
   * @throws {RangeError} when the clock is before 2020 or after 2089
   */
  next(): string {
    if (this.#used + BYTES_PER_ID > this.#pool.length) {
      this.#pool = this.#randomBytes(BYTES_PER_ID * IDS_PER_DRAW);
      this.#used = 0;
    }
    const [pool, used, last] = [this.#pool, this.#used, this.#last];
    const first = ((byteAt(pool, used) << 8) | byteAt(pool, used + 1)) %
      FIRST_BOUND;
    const fresh = (this.#clock.nowMs() - EPOCH_MS) * PER_MS + first;
    const number = last < 0 || isLaterMs(fresh, last) ? fresh : last + 1;
    if (number < 0 || number > MAX_NUMBER) {
      throw new RangeError(
        "Cannot create the id of a task: the clock is not between 2020 and " +
          "2089",
      );
    }
    this.#last = number;
    this.#used += BYTES_PER_ID;
    return encodeId(number, pool.subarray(used + 2, used + BYTES_PER_ID));
  }
}

/**
 * The number in an id: milliseconds since 2020 and 12 more bits; undefined when
 * the text is not the id of a task.
 */
export function taskNumber(id: string): number | undefined {
  if (!FORM.test(id)) return undefined;
  let value = 0;
  for (let index = 4; index < 14; index++) {
    value = value * 32 + digit(id, index);
  }
  return value * 8 + (digit(id, 14) >> 2);
}

/**
 * The smallest id with a number. It marks a place among ids and is the id of no
 * task.
 */
export function leastTaskId(number: number): string {
  return encodeId(number, new Uint8Array(TAIL_CHARS));
}

function isLaterMs(fresh: number, last: number): boolean {
  return Math.floor(fresh / PER_MS) > Math.floor(last / PER_MS);
}

function encodeId(number: number, chance: Uint8Array): string {
  let high = Math.floor(number / LOW_RANGE);
  const low = number % LOW_RANGE;
  // One call makes a flat text: each addition of a character would make a part
  // that has to be joined later.
  const codes: number[] = [0, 0, 0, 0, 0, 0];
  for (let index = 5; index >= 0; index--) {
    codes[index] = code(high);
    high = Math.floor(high / 32);
  }
  // Four characters hold 20 bits, and the next one 3 bits beside two random
  // ones.
  for (let shift = 18; shift >= 3; shift -= 5) codes.push(code(low >> shift));
  codes.push(code(((low & 7) << 2) | (byteAt(chance, 0) >> 6)));
  for (const byte of chance) codes.push(code(byte));
  return TASK_ID_PREFIX + String.fromCharCode(...codes);
}

function code(value: number): number {
  return CODES[value & 31] ?? 0;
}

function digit(id: string, index: number): number {
  return VALUES[id.charCodeAt(index)] ?? 0;
}

function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}
