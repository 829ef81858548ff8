/**
 * Commands of memcached's text protocol (protocol.txt of memcached 1.6), as
 * far as counters need them.
 *
 * @module
 */

/** What the reply to a command must look like. */
export type ExpectedReply =
  /** Values of some of these keys, in this order. */
  | { readonly kind: "values"; readonly keys: readonly string[] }
  /** A number, or that there is none. */
  | { readonly kind: "number" }
  /** Whether it was stored. */
  | { readonly kind: "storage" }
  /** The server's version. */
  | { readonly kind: "version" };

/** One command. */
export interface MemcachedCommand {
  /** Its bytes, one for each character. */
  readonly text: string;
  /** What it is answered with. */
  readonly expected: ExpectedReply;
}

/** What {@linkcode addCommand} is told. */
export interface AddOptions {
  /** The value; printable ASCII. */
  readonly value: string;
  /**
   * When the value ends: 0 never, up to 2,592,000 seconds from now, above that
   * seconds since the Unix epoch.
   */
  readonly expiry: number;
}

/** Bytes of the longest key that a server takes. */
export const MAX_MEMCACHED_KEY_BYTES = 250;

const KEY = /^[\x21-\x7e]{1,250}$/;
const VALUE = /^[\x20-\x7e]{0,1000}$/;
const NUMBER = { kind: "number" } as const;
const STORAGE = { kind: "storage" } as const;
const VERSION = { kind: "version" } as const;

/** Reads several keys at once; none may come twice. */
export function getCommand(keys: readonly string[]): MemcachedCommand {
  for (const key of keys) checkKey(key);
  return {
    text: `get ${keys.join(" ")}\r\n`,
    expected: { kind: "values", keys },
  };
}

/** Adds to a number that is there already; 64 bits, wraps around. */
export function incrCommand(key: string, by: number): MemcachedCommand {
  return arithmetic("incr", key, by);
}

/** Takes from a number that is there already, down to 0. */
export function decrCommand(key: string, by: number): MemcachedCommand {
  return arithmetic("decr", key, by);
}

/**
 * Stores a value unless the key has one.
 *
 * @throws {RangeError} When the key, the value or the expiry can't be sent.
 */
export function addCommand(key: string, options: AddOptions): MemcachedCommand {
  const { value, expiry } = options;
  checkKey(key);
  checkNumber(expiry);
  if (!VALUE.test(value)) {
    throw new RangeError("Cannot send value: it is not short printable ASCII");
  }
  return {
    text: `add ${key} 0 ${expiry} ${value.length}\r\n${value}\r\n`,
    expected: STORAGE,
  };
}

/** Asks for the version; every server answers it at once. */
export function versionCommand(): MemcachedCommand {
  return { text: "version\r\n", expected: VERSION };
}

function arithmetic(
  verb: "incr" | "decr",
  key: string,
  by: number,
): MemcachedCommand {
  checkKey(key);
  checkNumber(by);
  return { text: `${verb} ${key} ${by}\r\n`, expected: NUMBER };
}

/** A key with a blank or a line end would be taken for more than a key. */
function checkKey(key: string): void {
  if (KEY.test(key)) return;
  throw new RangeError(
    "Cannot send key: it is not of 1 to 250 printable ASCII characters without blanks",
  );
}

function checkNumber(value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new RangeError(
    `Cannot send number: "${value}" is not a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
  );
}
