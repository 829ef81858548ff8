/**
 * Makes what is remembered of records: texts as they are, or parts of
 * conversations in which facts are found.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Metadata } from "../../../../mod.ts";
import type { ImportedRecord, ImportedText } from "./record.ts";

/** A text to send. */
export interface ImportPart {
  /** Tells it from all others: the same input has the same. */
  readonly hash: string;
  /** The text. */
  readonly text: string;
  /** When it was said, in milliseconds since the epoch. */
  readonly atMs?: number | undefined;
  /** How much it matters. */
  readonly importance?: number | undefined;
  /** What is stored with it. */
  readonly metadata: Metadata;
}

/** How parts are made. */
interface PartsOptions {
  /** The name of the format. */
  readonly format: string;
  /** Whether facts are to be found, in place of texts as they are. */
  readonly isExtracting: boolean;
  /** Whether texts of assistants are remembered as they are. */
  readonly isWhole: boolean;
  /** Goes into hashes: for whom, and into which namespace. */
  readonly target: string;
}

/** Most bytes of a text that is remembered; the relayer takes a mebibyte. */
const MAX_TEXT_BYTES = 1_000_000;
/** Most bytes of a text in which facts are found; the relayer takes 65,536. */
const MAX_EXTRACT_BYTES = 48_000;

/** Yields the parts of a record. */
export function* toParts(
  record: ImportedRecord,
  options: PartsOptions,
): Generator<ImportPart> {
  const { isExtracting, isWhole } = options;
  const texts = record.texts.filter(({ text }) => text !== "");
  if (isExtracting) {
    yield* talkParts({ ...record, texts }, options);
    return;
  }
  for (const text of texts) {
    if (text.role === "assistant" && !isWhole) continue;
    const cut = [...cutText(text.text, MAX_TEXT_BYTES)];
    for (const [at, piece] of cut.entries()) {
      yield toPart({ ...text, text: piece }, {
        ...options,
        id: [record.id, text.id, at],
        conversation: text.role === "note" ? undefined : record.id,
      });
    }
  }
}

/** Yields the talk of a record, as many texts at a time as fit. */
function* talkParts(
  record: ImportedRecord,
  options: PartsOptions,
): Generator<ImportPart> {
  let talk: string[] = [];
  let bytes = 0;
  let first: ImportedText | undefined;
  const take = function* (): Generator<ImportPart> {
    if (first === undefined) return;
    yield toPart({ ...first, text: talk.join("\n\n") }, {
      ...options,
      id: [record.id, first.id],
      conversation: record.id,
    });
    [talk, bytes, first] = [[], 0, undefined];
  };
  for (const text of record.texts) {
    const who = text.role === "note" ? "" : `${NAMES[text.role]}: `;
    for (const piece of cutText(text.text, MAX_EXTRACT_BYTES - who.length)) {
      const line = who + piece;
      const size = Buffer.byteLength(line) + 2;
      if (bytes + size > MAX_EXTRACT_BYTES) yield* take();
      first ??= text;
      talk.push(line);
      bytes += size;
    }
  }
  yield* take();
}

const NAMES = { user: "User", assistant: "Assistant" } as const;

function toPart(
  { text, atMs, importance, metadata = {} }: ImportedText,
  { format, target, isExtracting, id, conversation }: PartsOptions & {
    readonly id: readonly (string | number)[];
    readonly conversation: string | undefined;
  },
): ImportPart {
  const facts = [target, format, isExtracting, ...id, atMs ?? null, text];
  const hash = createHash("sha256").update(JSON.stringify(facts))
    .digest("base64url").slice(0, 24);
  return {
    ...{ hash, text, atMs, importance },
    metadata: {
      ...metadata,
      source: format,
      ...(atMs === undefined ? {} : { at: new Date(atMs).toISOString() }),
      ...(conversation === undefined || conversation === ""
        ? {}
        : { conversation: conversation.slice(0, 255).toWellFormed() }),
    },
  };
}

/**
 * Yields a text in pieces of at most so many bytes, cut at the end of a
 * paragraph or a line where there is one in the second half.
 */
export function* cutText(text: string, maxBytes: number): Generator<string> {
  let rest = text;
  while (Buffer.byteLength(rest) > maxBytes) {
    let head = rest.slice(0, maxBytes);
    while (Buffer.byteLength(head) > maxBytes) {
      const over = Buffer.byteLength(head) - maxBytes;
      head = head.slice(0, head.length - Math.max(1, Math.ceil(over / 3)));
    }
    if (!head.isWellFormed()) head = head.slice(0, -1);
    const ends = ["\n\n", "\n", " "].map((mark) => head.lastIndexOf(mark));
    const end = ends.find((at) => at > head.length / 2) ?? head.length;
    const piece = rest.slice(0, end).trim();
    if (piece !== "") yield piece;
    rest = rest.slice(end).trimStart();
  }
  if (rest.trim() !== "") yield rest.trim();
}
