/**
 * What is read from a file to import, whatever its format.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Metadata } from "../../../../mod.ts";
import { isJsonObject } from "../../../shared/schema/schema.ts";

/** A text of a file: a message, a memory, a section. */
export interface ImportedText {
  /** What tells the text from others of its record. */
  readonly id: string;
  /** The text. */
  readonly text: string;
  /** Who has said it; notes are of no conversation. */
  readonly role: "user" | "assistant" | "note";
  /**
   * When it was said or written, in milliseconds since the epoch.
   *
   * @default unknown
   */
  readonly atMs?: number | undefined;
  /**
   * How much it matters, from 0 to 1.
   *
   * @default unknown
   */
  readonly importance?: number | undefined;
  /**
   * What the file says of it.
   *
   * @default nothing
   */
  readonly metadata?: Metadata | undefined;
}

/** A part of a file: a conversation, a memory, a page. */
export interface ImportedRecord {
  /** What tells the record from others of the file. */
  readonly id: string;
  /** Its texts, in their order. */
  readonly texts: readonly ImportedText[];
}

/** A format of records in JSON. */
export interface JsonFormat {
  /** The format's name, which memories have as the metadata `source`. */
  readonly name: string;
  /** Returns whether a value is a record of this format. */
  readonly fits: (value: Readonly<Record<string, unknown>>) => boolean;
  /** Reads a record; one without texts has none to import. */
  readonly read: (value: Readonly<Record<string, unknown>>) => ImportedRecord;
}

/** The earliest and the latest second that a time in a file may be. */
const MAX_SECONDS = 8.64e12;

/**
 * Reads a time: RFC 3339, or seconds since the epoch.
 *
 * @returns milliseconds since the epoch; undefined when it is neither
 */
export function readTime(value: unknown): number | undefined {
  const ms = typeof value === "number" && Math.abs(value) <= MAX_SECONDS
    ? value * 1_000
    : typeof value === "string" && /^\d{4}-\d{2}-\d{2}/.test(value)
    ? Date.parse(value)
    : NaN;
  return Number.isFinite(ms) ? Math.round(ms) : undefined;
}

/** Returns a text; empty for another value. */
export function readText(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed().trim() : "";
}

/** Returns the objects of a list; none for another value. */
export function readObjects(
  value: unknown,
): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const MAX_MEMBERS = 24;
const MAX_NAME_BYTES = 64;
const MAX_VALUE_BYTES = 1_024;

/** Returns the plain members of an object that a relayer takes as metadata. */
export function readMetadata(value: unknown): Metadata {
  if (!isJsonObject(value)) return {};
  const plain = Object.entries(value).flatMap(([name, member]) => {
    const isNamed = name.isWellFormed() && !/\p{Cc}/u.test(name) &&
      name !== "" && Buffer.byteLength(name) <= MAX_NAME_BYTES;
    const isPlain = typeof member === "boolean" ||
      (typeof member === "number" && Number.isFinite(member)) ||
      (typeof member === "string" && member.isWellFormed() &&
        Buffer.byteLength(member) <= MAX_VALUE_BYTES);
    return isNamed && isPlain ? [[name, member] as const] : [];
  });
  return Object.fromEntries(plain.slice(0, MAX_MEMBERS));
}
