/**
 * Checks the shape of a JSON text before it is parsed: how deep and how wide it
 * is, and whether it has numbers that overflow. A parser takes a fifth of a
 * second for two megabytes of brackets, and as long for as many names, and
 * blocks all other requests meanwhile.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** Bounds of a shape. */
export interface JsonShapeLimits {
  /** Most lists and objects within each other. */
  readonly maxDepth: number;
  /** Most values, lists and objects counted too. */
  readonly maxValues: number;
  /**
   * Most members of one object: listing their names takes a while and cannot
   * be interrupted.
   * @default no bound of their own
   */
  readonly maxMembers?: number;
}

/** Why a text is refused. */
export interface JsonShapeFault {
  /** What is wrong. */
  readonly kind:
    | "too_deep"
    | "too_many_values"
    | "too_many_members"
    | "number_too_large";
  /**
   * The member of the outermost object, or the index in the outermost list,
   * that holds the fault; undefined for the whole text, or when not known.
   */
  readonly within: string | number | undefined;
}

/** How far {@linkcode JsonShape.scan} goes. */
interface ScanUntil {
  /** The scan stops at the first comma after this many values. */
  readonly values: number;
  /**
   * It stops at the first comma after this many bytes, or after twice as many.
   */
  readonly bytes: number;
  /** It stops before the bracket that closes a list or object of this depth. */
  readonly floor: number;
}

/** Where a scan has stopped. */
type ScanStop =
  /** Behind a comma. */
  | { readonly kind: "comma" }
  /**
   * Before the bracket that closes a list or an object as deep as the floor.
   */
  | { readonly kind: "close" }
  /** Anywhere, since no comma has come for long. */
  | { readonly kind: "paused" }
  /** Behind the last byte. */
  | { readonly kind: "end" }
  | { readonly kind: "fault"; readonly fault: JsonShapeFault };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Digits before the point of the largest number (about 1.8e308). */
const MAX_DIGITS = 308;
/**
 * Bytes of a string that are looked at one by one before the scan takes longer
 * steps.
 */
const NEAR_BYTES = 64;
/** Most characters of a name that a fault repeats. */
const MAX_NAME_CHARS = 256;

const COMMA_STOP: ScanStop = { kind: "comma" };
const CLOSE_STOP: ScanStop = { kind: "close" };
const PAUSED_STOP: ScanStop = { kind: "paused" };
const END_STOP: ScanStop = { kind: "end" };
const WHOLE: ScanUntil = { values: Infinity, bytes: Infinity, floor: -1 };

/**
 * What is wrong with the shape of a text; undefined when nothing is. Whether it
 * is JSON at all is for the parser to say: up to its first fault both read the
 * same.
 *
 * @param bytes The text in UTF-8.
 */
export function jsonShapeFault(
  bytes: Uint8Array,
  limits: JsonShapeLimits,
): JsonShapeFault | undefined {
  const stop = new JsonShape(bytes, limits).scan(WHOLE);
  return stop.kind === "fault" ? stop.fault : undefined;
}

/** Scans the shape of a JSON text in pieces; reads each byte at most twice. */
export class JsonShape {
  readonly #bytes: Uint8Array;
  readonly #limits: JsonShapeLimits;
  /**
   * Where each list and object begins that is open, by depth; the first is 1.
   */
  readonly #opensAt = [0];
  /** Commas directly within each of them. */
  readonly #commas = [0];
  /** The last string that began directly within each of them. */
  readonly #stringAt = [0];
  readonly #stringEnd = [0];
  #at = 0;
  #depth = 0;
  #values = 1;
  #quoteAt = -1;
  #backslashAt = -1;

  /** A scan at the beginning of a text in UTF-8. */
  constructor(bytes: Uint8Array, limits: JsonShapeLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  /** Where the scan continues. */
  get at(): number {
    return this.#at;
  }

  /** How many lists and objects are open there. */
  get depth(): number {
    return this.#depth;
  }

  /** Where the open list or object of a depth begins; the outermost is at 1. */
  opensAt(depth: number): number {
    return this.#opensAt[depth]!;
  }

  /** Whether the open list or object of a depth is a list. */
  isList(depth: number): boolean {
    return this.#bytes[this.#opensAt[depth]!] === OPEN_LIST;
  }

  /**
   * The bytes of the last string directly within the open one of a depth, with
   * its quotes.
   */
  lastString(depth: number): Uint8Array {
    return this.#bytes.subarray(this.#stringAt[depth], this.#stringEnd[depth]);
  }

  /** Takes a step over the bracket that the scan has stopped before. */
  close(): void {
    this.#at++;
    this.#depth--;
  }

  /** Takes a step over a comma between two members, past blanks before it. */
  takeComma(): boolean {
    this.skipBlanks();
    if (this.#bytes[this.#at] !== COMMA) return false;
    this.#at++;
    this.#values++;
    this.#commas[this.#depth]!++;
    return true;
  }

  /** Skips blanks; returns whether the text ends there. */
  skipBlanks(): boolean {
    const bytes = this.#bytes;
    while (this.#at < bytes.length && isBlank(bytes[this.#at]!)) this.#at++;
    return this.#at >= bytes.length;
  }

  /** Continues the scan until a limit, a fault or the end of the text. */
  scan({ values: moreValues, bytes: moreBytes, floor }: ScanUntil): ScanStop {
    const bytes = this.#bytes;
    const { maxDepth, maxValues, maxMembers = Infinity } = this.#limits;
    const [commas, opensAt] = [this.#commas, this.#opensAt];
    const commaAt = this.#at + moreBytes;
    const commaValues = this.#values + moreValues;
    // Without a comma after as many bytes again, stop anywhere.
    const pauseAt = Math.min(bytes.length, commaAt + moreBytes);
    let [at, depth, values] = [this.#at, this.#depth, this.#values];
    const stopAt = (place: number, stop: ScanStop): ScanStop => {
      [this.#at, this.#depth, this.#values] = [place, depth, values];
      return stop;
    };
    for (; at < pauseAt; at++) {
      const byte = bytes[at]!;
      switch (byte) {
        case QUOTE:
          this.#stringAt[depth] = at;
          at = this.#endOfString(at + 1);
          this.#stringEnd[depth] = at + 1;
          continue;
        case COMMA:
          values++;
          if (
            ++commas[depth]! >= maxMembers && depth > 0 && !this.isList(depth)
          ) return stopAt(at, this.#fault("too_many_members", depth - 1));
          break;
        case OPEN_LIST:
        case OPEN_OBJECT:
          values++;
          if (++depth > maxDepth) return stopAt(at, this.#fault("too_deep"));
          opensAt[depth] = this.#stringAt[depth] = this.#stringEnd[depth] = at;
          commas[depth] = 0;
          break;
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          if (depth === floor) return stopAt(at, CLOSE_STOP);
          // A bracket too many is left to the parser to report.
          if (depth > 0) depth--;
          continue;
        default:
          if (byte > NINE || byte < MINUS || (byte < ZERO && byte !== MINUS)) {
            continue;
          }
          {
            const end = endOfNumber(bytes, at);
            if (isTooLarge(bytes, at, end)) {
              return stopAt(at, this.#fault("number_too_large", depth));
            }
            at = end - 1;
          }
          continue;
      }
      if (values > maxValues) {
        return stopAt(at, faultStop("too_many_values", undefined));
      }
      if (byte === COMMA && (at >= commaAt || values >= commaValues)) {
        return stopAt(at + 1, COMMA_STOP);
      }
    }
    return stopAt(at, at >= bytes.length ? END_STOP : PAUSED_STOP);
  }

  #fault(kind: JsonShapeFault["kind"], depth = 1): ScanStop {
    if (depth < 1) return faultStop(kind, undefined);
    return faultStop(
      kind,
      this.isList(1) ? this.#commas[1] : parseName(this.lastString(1)),
    );
  }

  /**
   * The index of the quotation mark that ends a string, or the end of the
   * bytes. The next quote and backslash ahead are remembered: searching for
   * them again for each string would take quadratic time.
   */
  #endOfString(from: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    let at = from;
    while (true) {
      for (const near = at + NEAR_BYTES; at < near; at++) {
        if (at >= length) return length;
        const byte = bytes[at];
        if (byte === QUOTE) return at;
        if (byte === BACKSLASH) at++;
      }
      if (this.#quoteAt < at) this.#quoteAt = indexOrEnd(bytes, QUOTE, at);
      if (this.#backslashAt < at) {
        this.#backslashAt = indexOrEnd(bytes, BACKSLASH, at);
      }
      if (this.#quoteAt < this.#backslashAt) return this.#quoteAt;
      if (this.#backslashAt >= length) return length;
      at = this.#backslashAt;
    }
  }
}

function faultStop(
  kind: JsonShapeFault["kind"],
  within: JsonShapeFault["within"],
): ScanStop {
  return { kind: "fault", fault: { kind, within } };
}

/** The name that a string is; undefined when it is no string of JSON. */
function parseName(bytes: Uint8Array): string | undefined {
  try {
    const name: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof name === "string" ? name.slice(0, MAX_NAME_CHARS) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function indexOrEnd(bytes: Uint8Array, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index === -1 ? bytes.length : index;
}

function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < bytes.length && isOfNumber(bytes[at]!)) at++;
  return at;
}

function isOfNumber(byte: number): boolean {
  // Digits, "-", "." and "/", which the parser refuses; "+", "e" and "E".
  return byte >= MINUS && byte <= NINE || byte === 0x2b ||
    (byte | 0x20) === 0x65;
}

/**
 * Whether a number overflows to infinity when parsed. Only one with very many
 * digits or a large exponent has to be converted to find out.
 */
function isTooLarge(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < 4) return false;
  let exponentAt = end;
  while (exponentAt > start && (bytes[exponentAt - 1]! | 0x20) !== 0x65) {
    exponentAt--;
  }
  const hasExponent = exponentAt > start;
  if (!hasExponent && end - start <= MAX_DIGITS) return false;
  if (hasExponent && bytes[exponentAt] === MINUS && end - start <= MAX_DIGITS) {
    return false;
  }
  if (hasExponent && end - start <= 40 && end - exponentAt < 3) return false;
  const { buffer, byteOffset } = bytes;
  const text = Buffer.from(buffer, byteOffset + start, end - start)
    .toString("latin1");
  return Math.abs(Number(text)) === Infinity;
}
