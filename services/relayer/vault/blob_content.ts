/**
 * What is in a blob, as bytes: JSON in UTF-8 with a version of its own.
 *
 * @module
 */

import type { BlobContent, Metadata } from "./vault.ts";

/**
 * Most bytes of a content: a text of 1 MiB fits however it is written, and with
 * its envelope it is no more than the 8 MiB that stores of blobs take.
 */
export const MAX_CONTENT_BYTES = 8 * 1_048_576 - 4_096;

const VERSION = 1;

/**
 * Encodes a content.
 *
 * @throws {RangeError} when it is too long, or has a number that is none
 */
export function encodeContent(
  content: BlobContent,
): Uint8Array<ArrayBuffer> {
  const { id, namespace, text, createdAtMs, agentId, importance } = content;
  const { metadata, supersedes } = content;
  const numbers = [createdAtMs, importance, ...Object.values(metadata)];
  if (numbers.some(isNotFinite)) {
    throw new RangeError(
      "Cannot seal memory: one of its numbers is not finite",
    );
  }
  const bytes = new TextEncoder().encode(JSON.stringify({
    v: VERSION,
    id,
    namespace,
    text,
    createdAtMs,
    agentId,
    importance,
    metadata,
    supersedes,
  }));
  if (bytes.length > MAX_CONTENT_BYTES) {
    throw new RangeError(
      `Cannot seal memory: it has ${bytes.length} bytes, ` +
        `${MAX_CONTENT_BYTES} is the most`,
    );
  }
  return bytes;
}

/** Decodes a content; undefined when the bytes are none. */
export function decodeContent(bytes: Uint8Array): BlobContent | undefined {
  const value = parseJson(bytes);
  if (!isRecord(value) || value["v"] !== VERSION) return undefined;
  const { id, namespace, text, createdAtMs, agentId, importance } = value;
  const { metadata, supersedes } = value;
  if (
    typeof id !== "string" || typeof namespace !== "string" ||
    typeof text !== "string" || typeof agentId !== "string" ||
    typeof createdAtMs !== "number" || typeof importance !== "number" ||
    !isMetadata(metadata)
  ) return undefined;
  const content = {
    id,
    namespace,
    text,
    createdAtMs,
    agentId,
    importance,
    metadata,
  };
  if (supersedes === undefined) return content;
  return typeof supersedes === "string"
    ? { ...content, supersedes }
    : undefined;
}

/** JSON would make nothing of it. */
function isNotFinite(value: string | number | boolean): boolean {
  return typeof value === "number" && !Number.isFinite(value);
}

/** JSON in UTF-8; undefined when it is none. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // Neither UTF-8 nor JSON: either way these are not the bytes of a value.
    return undefined;
  }
}

/** Tells whether a value is what a client may say of a memory. */
export function isMetadata(value: unknown): value is Metadata {
  return isRecord(value) &&
    Object.values(value).every((entry) =>
      typeof entry === "string" || typeof entry === "number" ||
      typeof entry === "boolean"
    );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
