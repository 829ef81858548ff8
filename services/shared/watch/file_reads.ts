/**
 * Reads files that others write meanwhile. Nothing but a regular file is
 * opened, no more than a bound is read, and reads are repeated until nothing
 * changes, so that a file that is half written is not taken for a fault.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { pause } from "../periodic.ts";
import { describeError } from "../settled.ts";

/** The outcome of reading a file. */
type BoundedRead =
  | {
    readonly kind: "read";
    /** The content. */
    readonly bytes: Uint8Array;
    /** When the content was last changed, by the file system. */
    readonly changedMs: number;
  }
  | { readonly kind: "missing" }
  | { readonly kind: "not_a_file" }
  | { readonly kind: "too_large" }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Reads the file at `path`, or the one its links lead to. Only a regular file
 * is opened, as opening a pipe would wait forever.
 */
export async function readBounded(
  path: string,
  maxBytes: number,
): Promise<BoundedRead> {
  try {
    const info = await Deno.stat(path);
    if (!info.isFile) return { kind: "not_a_file" };
    if (info.size > maxBytes) return { kind: "too_large" };
    const bytes = await readUpTo(path, { sizeBytes: info.size, maxBytes });
    if (bytes === undefined) return { kind: "too_large" };
    return { kind: "read", bytes, changedMs: info.mtime?.getTime() ?? 0 };
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? { kind: "missing" }
      : { kind: "failed", error };
  }
}

/** Why a file was not read, as the end of a message. */
export function whyUnread(
  read: Exclude<BoundedRead, { readonly kind: "read" }>,
  maxBytes: number,
): string {
  switch (read.kind) {
    case "missing":
      return "there is no such file";
    case "not_a_file":
      return "it is not a file";
    case "too_large":
      return `it has more than ${maxBytes} bytes`;
    case "failed":
      return describeError(read.error);
  }
}

/**
 * Reads a file of at most `maxBytes`; undefined when it is larger. The bytes
 * are counted, as the file may have grown since its size was asked.
 */
async function readUpTo(
  path: string,
  { sizeBytes, maxBytes }: {
    readonly sizeBytes: number;
    readonly maxBytes: number;
  },
): Promise<Uint8Array | undefined> {
  using file = await Deno.open(path);
  // One byte more than the size, so that the end is found without growing.
  let bytes = new Uint8Array(sizeBytes + 1);
  let length = 0;
  while (true) {
    const count = await file.read(bytes.subarray(length));
    if (count === null) return bytes.subarray(0, length);
    length += count;
    if (length > maxBytes) return undefined;
    if (length === bytes.length) {
      const grown = new Uint8Array(2 * length);
      grown.set(bytes);
      bytes = grown;
    }
  }
}

/** How reads are repeated. */
interface SettledReadOptions<T> {
  /** Reads once. */
  readonly read: () => Promise<T>;
  /**
   * Returns the key of a read. Two reads with one key count as the same;
   * `undefined` is never the same.
   */
  readonly toKey: (value: T) => string | undefined;
  /**
   * Key of what is loaded already: a first read that has it needs no second.
   * @default none
   */
  readonly knownKey?: string | undefined;
  /** Milliseconds between two reads. */
  readonly settleMs: number;
  /** Most reads. */
  readonly maxReads: number;
  /** Gives the time. */
  readonly clock: Clock;
  /** Ends the wait early. */
  readonly signal: AbortSignal;
}

/** The last read, and whether the one before it was the same. */
export interface SettledRead<T> {
  /** What was read last. */
  readonly value: T;
  /**
   * True when two reads were the same; false after `maxReads` or an early end.
   */
  readonly settled: boolean;
}

/** Reads until two reads in a row have the same key. */
export async function readSettled<T>(
  options: SettledReadOptions<T>,
): Promise<SettledRead<T>> {
  const { read, toKey, knownKey, settleMs, maxReads, signal } = options;
  let value = await read();
  let key = toKey(value);
  if (key !== undefined && key === knownKey) return { value, settled: true };
  for (let reads = 1; reads < maxReads && !signal.aborted; reads++) {
    await pause(settleMs, { clock: options.clock, signal });
    if (signal.aborted) break;
    const before = key;
    value = await read();
    key = toKey(value);
    if (key !== undefined && key === before) return { value, settled: true };
  }
  return { value, settled: false };
}
