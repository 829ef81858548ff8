/**
 * Writes commands in the form that a Redis server reads, and decides how long
 * commands are gathered so that they share one write.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../../../../shared/clock.ts";

const CR = 0x0d;
const LF = 0x0a;
const STAR = 0x2a;
const DOLLAR = 0x24;
const ZERO = 0x30;

/**
 * Most bytes of a length or count: the sign, up to 16 digits and the line end.
 */
const MAX_HEAD_BYTES = 19;
const FIRST_BYTES = 16_384;
/** Bytes of the largest buffer that is kept for the next commands. */
const MAX_KEPT_BYTES = 1_048_576;
/**
 * Characters up to which copying a text here is faster than a call of the
 * runtime.
 */
const SHORT_TEXT = 48;
/** Bytes up to which copying them here is faster than a call of the runtime. */
const LONG_BYTES = 96;
const TWO_POW_31 = 0x8000_0000;

/** One argument of a command. */
export type RedisArgument = string | Buffer;

/** One command. */
export type RedisCommand = readonly RedisArgument[];

/** Writes commands one after the other into a buffer. */
export class CommandWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #end = 0;
  #spare: Buffer<ArrayBuffer> | undefined;

  /** Bytes written since the last {@linkcode CommandWriter.take}. */
  get length(): number {
    return this.#end;
  }

  /** Writes bytes that are parts of commands already. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#copy(bytes, 0, bytes.length);
  }

  /** Writes an argument: `bytes` from `start` up to `end`. */
  bytes(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    this.#reserve(length + MAX_HEAD_BYTES + 2);
    this.#head(DOLLAR, length);
    this.#copy(bytes, start, end);
    this.#endLine();
  }

  /** Writes a whole number, 0 or more, as an argument. */
  number(number: number): void {
    this.#reserve(2 * MAX_HEAD_BYTES + 2);
    this.#head(DOLLAR, digitCount(number));
    this.#digits(number);
    this.#endLine();
  }

  /** Writes a command as a list of texts. */
  add(command: RedisCommand): void {
    this.#reserve(MAX_HEAD_BYTES);
    this.#head(STAR, command.length);
    for (let i = 0; i < command.length; i++) this.#argument(command[i]!);
  }

  /**
   * Returns the bytes so far. They are the caller's until it gives their buffer
   * back with {@linkcode CommandWriter.reuse}.
   */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#end);
    this.#bytes = this.#spare ?? Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.#spare = undefined;
    this.#end = 0;
    return taken;
  }

  /** Takes back the buffer that {@linkcode CommandWriter.take} gave. */
  reuse(taken: Uint8Array): void {
    const { buffer } = taken;
    if (buffer.byteLength > MAX_KEPT_BYTES) return;
    this.#spare = Buffer.from(buffer as ArrayBuffer);
  }

  #argument(argument: RedisArgument): void {
    if (typeof argument !== "string") {
      this.#reserve(argument.length + MAX_HEAD_BYTES + 2);
      this.#head(DOLLAR, argument.length);
      this.#copy(argument, 0, argument.length);
    } else if (argument.length > SHORT_TEXT || !this.#short(argument)) {
      const length = Buffer.byteLength(argument);
      this.#reserve(length + MAX_HEAD_BYTES + 2);
      this.#head(DOLLAR, length);
      this.#end += this.#bytes.write(argument, this.#end, "utf8");
    }
    this.#endLine();
  }

  /**
   * Writes a short ASCII text; for another text, returns false and writes
   * nothing.
   */
  #short(text: string): boolean {
    this.#reserve(text.length + MAX_HEAD_BYTES + 2);
    const begun = this.#end;
    this.#head(DOLLAR, text.length);
    const bytes = this.#bytes;
    let at = this.#end;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        this.#end = begun;
        return false;
      }
      bytes[at++] = code;
    }
    this.#end = at;
    return true;
  }

  #head(sign: number, count: number): void {
    const bytes = this.#bytes;
    let at = this.#end;
    bytes[at++] = sign;
    this.#end = at;
    this.#digits(count);
    this.#endLine();
  }

  #digits(value: number): void {
    this.#end = writeDigits(this.#bytes, this.#end, value);
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    const own = this.#bytes;
    let at = this.#end;
    if (end - start > LONG_BYTES) {
      own.set(bytes.subarray(start, end), at);
      at += end - start;
    } else {
      for (let i = start; i < end; i++) own[at++] = bytes[i]!;
    }
    this.#end = at;
  }

  #endLine(): void {
    this.#bytes[this.#end++] = CR;
    this.#bytes[this.#end++] = LF;
  }

  #reserve(count: number): void {
    const needed = this.#end + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(
      Math.max(needed, 2 * this.#bytes.length),
    );
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
  }
}

/**
 * Writes the decimal digits of a whole number from 0 to 2^53 - 1, for which
 * there must be room; returns where they end.
 */
export function writeDigits(
  bytes: Uint8Array,
  start: number,
  value: number,
): number {
  const end = start + digitCount(value);
  let rest = value;
  for (let at = end - 1; at >= start; at--) {
    // Beyond 32 bits a remainder is slow, and cutting it to 32 bits would be
    // wrong.
    const tens = rest < TWO_POW_31 ? rest / 10 | 0 : Math.floor(rest / 10);
    bytes[at] = rest - tens * 10 + ZERO;
    rest = tens;
  }
  return end;
}

/** Returns the number of digits of a whole number from 0 to 2^53 - 1. */
function digitCount(value: number): number {
  let count = 1;
  for (let bound = 10; value >= bound; bound *= 10) count++;
  return count;
}

/** How long commands are gathered so that they share one write. */
export interface GatheringOptions {
  /**
   * Milliseconds that commands may wait for others. Timers know whole
   * milliseconds only, so below 1 no command waits, and those of one turn of
   * the event loop are written together.
   *
   * @default 0
   */
  readonly pipelineWindowMs?: number | undefined;
  /**
   * Number of gathered commands that ends the wait; 0 is no limit.
   *
   * @default 0
   */
  readonly pipelineLimit?: number | undefined;
  /** Gives the time. */
  readonly clock: Clock;
  /**
   * Calls back when the events of this turn of the event loop are over.
   *
   * @default setImmediate
   */
  readonly afterTurn?: ((callback: () => void) => void) | undefined;
}

/**
 * Number of commands from which on the cost of a write hardly matters for each.
 */
const ENOUGH_COMMANDS = 64;

/** Decides when the gathered commands of one connection are written. */
export class Gathering {
  readonly #options: GatheringOptions;
  readonly #onEnd: () => void;
  #commands = 0;
  #timer: Timer | undefined;
  /**
   * Number of the round, by which a turn's callback sees that its commands were
   * written already.
   */
  #round = 0;

  /** Calls `onEnd` each time that the gathered commands are to be written. */
  constructor(options: GatheringOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /** True while commands are gathered. */
  get isUnderWay(): boolean {
    return this.#commands > 0;
  }

  /**
   * True while further commands make the write cheaper. Without a window the
   * commands of a long turn go over several connections, so that a connection
   * that hangs is noticed sooner.
   */
  get isOpen(): boolean {
    const { pipelineWindowMs = 0 } = this.#options;
    return this.#commands > 0 &&
      (pipelineWindowMs > 0 || this.#commands < ENOUGH_COMMANDS);
  }

  /** Counts commands that were added. */
  add(commands: number): void {
    const isFirst = this.#commands === 0;
    this.#commands += commands;
    const { pipelineLimit = 0 } = this.#options;
    if (pipelineLimit > 0 && this.#commands >= pipelineLimit) this.#end();
    else if (isFirst) this.#wait();
  }

  /** Forgets the gathered commands. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#commands = 0;
    this.#round++;
  }

  #wait(): void {
    const { clock, afterTurn, pipelineWindowMs = 0 } = this.#options;
    if (pipelineWindowMs >= 1) {
      this.#timer = clock.setTimer(() => this.#end(), pipelineWindowMs);
      return;
    }
    const round = this.#round;
    (afterTurn ?? callAfterTurn)(() => {
      if (this.#round === round) this.#end();
    });
  }

  #end(): void {
    this.stop();
    this.#onEnd();
  }
}

function callAfterTurn(callback: () => void): void {
  setImmediate(callback);
}
