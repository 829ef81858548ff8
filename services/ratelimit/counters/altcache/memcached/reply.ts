/**
 * Replies of memcached's text protocol, read strictly and within bounds.
 *
 * @module
 */

import { quote } from "../../../../shared/quote.ts";
import type { ExpectedReply } from "./command.ts";

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
  /** The server understood the command and did not carry it out. */
  | { readonly kind: "refused"; readonly reason: string };

/** What was found at a place of the stream. */
export type ReadReply =
  | {
    readonly kind: "reply";
    readonly reply: MemcachedReply;
    /** Where the next reply begins. */
    readonly end: number;
  }
  /** The rest has not come yet. */
  | { readonly kind: "incomplete" }
  /** This is no reply to that command; the stream can't be read on. */
  | { readonly kind: "fault"; readonly reason: string };

/** Longest line that is read. */
const MAX_LINE = 1_024;
/** Longest value that is read. */
const MAX_VALUE = 1_024;

const INCOMPLETE = { kind: "incomplete" } as const;

/**
 * Reads the reply that begins at `at`.
 *
 * @param text The stream so far, one character for each byte.
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
    if (index < 0) return fault("a value of a key nobody asked for");
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
      // For instance when the value is no number; nothing follows this line.
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

/** A line without its end, or why there is none. */
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
