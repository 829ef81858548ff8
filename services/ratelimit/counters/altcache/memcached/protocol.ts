/**
 * Writes the commands and reads the replies of memcached's text protocol
 * (protocol.txt of memcached 1.6), as far as counters need them.
 *
 * @module
 */

import { quote } from "../../../../shared/quote.ts";

/** The kind of reply that a command expects. */
type ExpectedReply =
  /** Values of some of these keys, in this order. */
  | { readonly kind: "values"; readonly keys: readonly string[] }
  /** A number, or that the key has no value. */
  | { readonly kind: "number" }
  /** Whether the value was stored. */
  | { readonly kind: "storage" }
  /** The server's version. */
  | { readonly kind: "version" };

/** One command. */
export interface MemcachedCommand {
  /** Bytes of the command, one for each character. */
  readonly text: string;
  /** The kind of reply to the command. */
  readonly expected: ExpectedReply;
}

/** Options of {@linkcode addCommand}. */
interface AddOptions {
  /** The value; printable ASCII. */
  readonly value: string;
  /**
   * When the value expires: 0 is never, up to 2,592,000 is seconds from now,
   * above that seconds since the Unix epoch.
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

/** Reads several keys at once; no key may occur twice. */
export function getCommand(keys: readonly string[]): MemcachedCommand {
  for (const key of keys) checkKey(key);
  return {
    text: `get ${keys.join(" ")}\r\n`,
    expected: { kind: "values", keys },
  };
}

/** Adds to an existing number; 64 bits, wraps around. */
export function incrCommand(key: string, by: number): MemcachedCommand {
  return arithmetic("incr", key, by);
}

/** Subtracts from an existing number, down to 0. */
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

/**
 * Refuses a key with a blank or a line end: the server would read further
 * arguments or commands in it.
 */
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

/** A reply to one command. */
export type MemcachedReply =
  /** The value of each key asked for, in their order. */
  | {
    readonly kind: "values";
    readonly values: readonly (string | undefined)[];
  }
  /** The number after the change; not exact above 2^53. */
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "not_found" }
  | { readonly kind: "stored" }
  | { readonly kind: "not_stored" }
  | { readonly kind: "version"; readonly version: string }
  /** The server understood the command and did not execute it. */
  | { readonly kind: "refused"; readonly reason: string };

/** What was found at a place of the received text. */
type ReadReply =
  | {
    readonly kind: "reply";
    readonly reply: MemcachedReply;
    /** Index at which the next reply begins. */
    readonly end: number;
  }
  /** The rest of the reply has not arrived yet. */
  | { readonly kind: "incomplete" }
  /** The text is not a reply to that command; nothing behind it can be read. */
  | { readonly kind: "fault"; readonly reason: string };

/** Most bytes of a line that is read. */
const MAX_LINE = 1_024;
/** Most bytes of a value that is read. */
const MAX_VALUE = 1_024;

const INCOMPLETE = { kind: "incomplete" } as const;

/**
 * Reads the reply that begins at `at`.
 *
 * @param text The received text, one character for each byte.
 */
export function readReply(
  text: string,
  at: number,
  options: { readonly expected: ExpectedReply },
): ReadReply {
  const { expected } = options;
  if (expected.kind === "values") return readValues(text, at, expected.keys);
  const line = readLine(text, at);
  if (typeof line !== "string") return line;
  const reply = lineReply(line, expected.kind);
  if (reply === undefined) return unexpected(line);
  return { kind: "reply", reply, end: at + line.length + 2 };
}

function readValues(
  text: string,
  start: number,
  keys: readonly string[],
): ReadReply {
  const values = new Array<string | undefined>(keys.length).fill(undefined);
  let at = start;
  let next = 0;
  for (;;) {
    const line = readLine(text, at);
    if (typeof line !== "string") return line;
    at += line.length + 2;
    if (line === "END") {
      return { kind: "reply", reply: { kind: "values", values }, end: at };
    }
    const refused = refusal(line);
    if (refused !== undefined) {
      return { kind: "reply", reply: refused, end: at };
    }
    const match = /^VALUE ([\x21-\x7e]+) \d{1,10} (\d{1,10})$/.exec(line);
    if (match === null) return unexpected(line);
    // Values come in the order of the keys; a key without one is left out.
    const index = keys.indexOf(match[1]!, next);
    if (index < 0) return fault("a value of a key that was not asked for");
    next = index + 1;
    const length = Number(match[2]);
    if (length > MAX_VALUE) return fault(`a value of ${length} bytes`);
    const end = at + length;
    if (text.length < end + 2) return INCOMPLETE;
    if (!text.startsWith("\r\n", end)) return fault("a value without its end");
    values[index] = text.slice(at, end);
    at = end + 2;
  }
}

function lineReply(
  line: string,
  expected: "number" | "storage" | "version",
): MemcachedReply | undefined {
  switch (expected) {
    case "number":
      if (/^\d{1,20} *$/.test(line)) {
        return { kind: "number", value: Number(line) };
      }
      if (line === "NOT_FOUND") return { kind: "not_found" };
      // For instance when the value is not a number; no further line follows.
      if (line.startsWith("CLIENT_ERROR ")) return refused(line);
      break;
    case "storage":
      if (line === "STORED") return { kind: "stored" };
      if (line === "NOT_STORED") return { kind: "not_stored" };
      break;
    case "version":
      if (line.startsWith("VERSION ")) {
        return { kind: "version", version: line.slice(8) };
      }
      break;
  }
  return refusal(line);
}

/** Returns a line without its line end, or why no line can be read. */
function readLine(text: string, at: number): string | ReadReply {
  const end = text.indexOf("\r\n", at);
  if (end >= 0 && end - at <= MAX_LINE) return text.slice(at, end);
  if (end < 0 && text.length - at <= MAX_LINE) return INCOMPLETE;
  return fault(`a line of more than ${MAX_LINE} bytes`);
}

function refusal(line: string): MemcachedReply | undefined {
  return line.startsWith("SERVER_ERROR") ? refused(line) : undefined;
}

function refused(line: string): MemcachedReply {
  return {
    kind: "refused",
    reason: `the server answered ${quote(line, { maxChars: 100 })}`,
  };
}

function unexpected(line: string): ReadReply {
  return fault(quote(line, { maxChars: 100 }));
}

function fault(what: string): ReadReply {
  return { kind: "fault", reason: `the server answered unexpectedly: ${what}` };
}
