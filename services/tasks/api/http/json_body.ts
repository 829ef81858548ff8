/**
 * Request bodies as JSON: their type, size, text and depth.
 *
 * @module
 */

import { Buffer, isUtf8 } from "node:buffer";
import { quote } from "../../../shared/quote.ts";
import { jsonFault, jsonFaultDetail, MAX_DEPTH } from "../schema/json_value.ts";
import { jsonSyntaxFault } from "./json_syntax.ts";
import { parseMediaType } from "./media_type.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "./problem_answer.ts";

/** What reading the bytes of a body comes to. */
export type BodyBytes =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  | { readonly kind: "too_large" }
  /** Too many bodies are under way. */
  | { readonly kind: "busy" }
  | {
    readonly kind: "aborted";
    readonly reason: "timed_out" | "disconnected";
  };

/** A request as far as its body goes. */
export interface BodySource {
  /** The Content-Type header. */
  readonly contentType: string | undefined;
  /** The Content-Length header. */
  readonly contentLength: string | undefined;
  /** Reads the body, at most `maxBytes` of it. */
  read(maxBytes: number): Promise<BodyBytes>;
}

/** What a route takes. */
export interface ReadJsonOptions {
  /** The largest body, in bytes. */
  readonly maxBytes: number;
  /** Whether the body may be left out. */
  readonly isOptional: boolean;
  /** The types that are taken. */
  readonly mediaTypes: readonly string[];
  /**
   * What to do about a larger one, for the problem's detail.
   * @default nothing is said
   */
  readonly tooLargeAdvice?: string | undefined;
}

/** What a body comes to. */
export type JsonBodyOutcome =
  | {
    readonly kind: "ok";
    /** The parsed JSON; `undefined` when the body was left out. */
    readonly value: unknown;
    /** The text as it came; empty when the body was left out. */
    readonly text: string;
  }
  | ProblemAnswer
  /** The client has gone away, so nobody waits for an answer. */
  | { readonly kind: "gone" };

/**
 * Reads a JSON body. Its type is checked first, then the declared length, so
 * that nothing is read of a body that is refused.
 */
export async function readJsonBody(
  source: BodySource,
  options: ReadJsonOptions,
): Promise<JsonBodyOutcome> {
  const { maxBytes, isOptional, tooLargeAdvice } = options;
  const { contentType, contentLength } = source;
  // Verbs are often sent with no type and no bytes, which is no body at all.
  if (!(isOptional && contentType === undefined)) {
    const refused = checkMediaType(contentType, options);
    if (refused !== undefined && !(isOptional && contentLength === "0")) {
      return refused;
    }
  }
  if (contentLength !== undefined && Number(contentLength) > maxBytes) {
    return tooLarge(maxBytes, tooLargeAdvice);
  }
  const body = await source.read(maxBytes);
  switch (body.kind) {
    case "ok":
      if (body.bytes.byteLength === 0 && isOptional) return NO_BODY;
      return contentType === undefined
        ? unsupported(contentType, options)
        : parseJsonBody(body.bytes);
    case "too_large":
      return tooLarge(maxBytes, tooLargeAdvice);
    case "busy":
      return problem("overloaded", {
        detail: "Cannot read body: too many bodies are under way",
        retryAfterMs: 1_000,
      });
    case "aborted":
      return body.reason === "disconnected"
        ? { kind: "gone" }
        : problem("request_timeout", {
          detail: "Cannot read body: it did not arrive in time",
        });
  }
}

/** Parses the bytes of a body that has to be JSON. */
export function parseJsonBody(
  bytes: Uint8Array,
): Exclude<JsonBodyOutcome, { readonly kind: "gone" }> {
  const text = decode(bytes);
  if (text === undefined) return malformed("it is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return malformed(syntaxMessage(text));
  }
  const fault = jsonFault(value);
  if (fault === undefined) return { kind: "ok", value, text };
  const { code, pointer } = fault;
  const detail = jsonFaultDetail(code, MAX_DEPTH);
  return invalidRequest([{ pointer, code, detail }]);
}

/** The problem of a body that is larger than `maxBytes`, and what to do about it. */
export function tooLarge(maxBytes: number, advice?: string): ProblemAnswer {
  const state = `it has more than ${maxBytes} bytes`;
  return problem("too_large", {
    detail: `Cannot read body: ${state}${
      advice === undefined ? "" : `; ${advice}`
    }`,
    extensions: { limit: maxBytes },
  });
}

const NO_BODY = { kind: "ok", value: undefined, text: "" } as const;

function checkMediaType(
  header: string | undefined,
  options: ReadJsonOptions,
): ProblemAnswer | undefined {
  if (header === undefined) return unsupported(header, options);
  // Most clients write it this way, and then there is nothing to read.
  if (options.mediaTypes.includes(header)) return undefined;
  const type = parseMediaType(header);
  const isTaken = type !== undefined &&
    options.mediaTypes.includes(type.essence) &&
    (type.charset === undefined || type.charset === "utf-8" ||
      type.charset === "utf8");
  return isTaken ? undefined : unsupported(header, options);
}

function unsupported(
  header: string | undefined,
  { mediaTypes }: ReadJsonOptions,
): ProblemAnswer {
  const found = header === undefined
    ? "it has no Content-Type"
    : `its type is ${quote(header, { maxChars: 64 })}`;
  return problem("unsupported_media_type", {
    detail: `Cannot read body: ${found}; ${
      mediaTypes.join(" or ")
    } in UTF-8 is taken`,
    headers: { accept: mediaTypes.join(", ") },
  });
}

function malformed(state: string): ProblemAnswer {
  return problem("malformed_json", { detail: `Cannot read body: ${state}` });
}

function syntaxMessage(text: string): string {
  const fault = jsonSyntaxFault(text);
  if (fault === undefined) return "it is no JSON text";
  if (text.trim() === "") return "it is empty";
  const { line, column, expected, isEnd } = fault;
  const found = isEnd ? "it ends" : "there is something else";
  return `${found} at line ${line}, column ${column}, where ${expected} ` +
    "should be";
}

/** The text of bytes in UTF-8; a byte order mark is left out (RFC 8259, 8.1). */
function decode(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const { buffer, byteOffset, byteLength } = bytes;
  // Three times as fast as a decoder of its own, for bodies of usual size.
  const text = Buffer.from(buffer, byteOffset, byteLength).toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
