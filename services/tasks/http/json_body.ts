/**
 * Reads request bodies as JSON, and checks their media type, size, encoding and
 * depth. Bodies of the console's forms are read as text.
 *
 * @module
 */

import { isUtf8 } from "node:buffer";
import type { JsonShapeFault } from "../../shared/http/json_shape.ts";
import { quote } from "../../shared/quote.ts";
import type { Pausing } from "../../shared/slices.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { cannotTake, pointerTo } from "../../shared/schema/fault.ts";
import { jsonFaultDetail, MAX_DEPTH } from "../../shared/schema/json_value.ts";
import { readJsonText } from "./json_reader.ts";
import { jsonSyntaxFault, type SyntaxPlace } from "./json_syntax.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "./problem_answer.ts";

/** The outcome of reading the bytes of a body. */
type BodyBytes =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  | { readonly kind: "too_large" }
  /** Too many bodies are under way. */
  | { readonly kind: "busy" }
  | {
    readonly kind: "aborted";
    readonly reason: "timed_out" | "disconnected";
  };

/** The parts of a request that reading its body needs. */
interface BodySource {
  /** The Content-Type header. */
  readonly contentType: string | undefined;
  /** The Content-Length header. */
  readonly contentLength: string | undefined;
  /** Reads the body, at most `maxBytes` of it. */
  read(maxBytes: number): Promise<BodyBytes>;
}

/** How JSON is parsed. */
interface ParseJsonOptions {
  /** Most values in the body; names of members are not counted. */
  readonly maxValues: number;
  /**
   * Lets other requests go first while a long body is parsed.
   * @default it is parsed in one go
   */
  readonly pausing?: Pausing;
}

/** What body a route accepts, and how it is parsed. */
interface ReadJsonOptions extends ParseJsonOptions {
  /** The largest body, in bytes. */
  readonly maxBytes: number;
  /** Whether the body may be left out. */
  readonly isOptional: boolean;
  /** The media types that are accepted. */
  readonly mediaTypes: readonly string[];
  /**
   * What the client should do about a larger body, for the problem's detail.
   * @default nothing is said
   */
  readonly tooLargeAdvice?: string | undefined;
}

/** The outcome of reading a body. */
type JsonBodyOutcome =
  | {
    readonly kind: "ok";
    /** The parsed JSON; `undefined` when the body was left out. */
    readonly value: unknown;
    /**
     * The bytes as they were sent, without a byte order mark; empty when the
     * body was left out.
     */
    readonly bytes: Uint8Array;
  }
  | ProblemAnswer
  /** The client has gone away, so no answer is read. */
  | { readonly kind: "gone" };

/**
 * Reads a JSON body. Its type is checked first, then the declared length, so
 * that no byte of a refused body is read.
 */
export async function readJsonBody(
  source: BodySource,
  options: ReadJsonOptions,
): Promise<JsonBodyOutcome> {
  const { maxBytes, isOptional, tooLargeAdvice } = options;
  const { contentType, contentLength } = source;
  // Verbs are often sent with neither type nor bytes, which counts as no body.
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
      if (contentType === undefined) return unsupported(contentType, options);
      return options.mediaTypes.includes(FORM_MEDIA_TYPE)
        ? readForm(body.bytes)
        : await parseJsonBody(body.bytes, options);
    case "too_large":
      return tooLarge(maxBytes, tooLargeAdvice);
    case "busy":
      return problem("overloaded", {
        detail: "Cannot read body: too many bodies are in progress",
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

/** The media type of forms that browsers send. */
export const FORM_MEDIA_TYPE = "application/x-www-form-urlencoded";

/** A form's fields are read from its text by the route's own reader. */
function readForm(bytes: Uint8Array): JsonBodyOutcome {
  return isUtf8(bytes)
    ? { kind: "ok", value: new TextDecoder().decode(bytes), bytes }
    : malformed("it is not UTF-8");
}

/** Most members of one object of a body. */
const MAX_MEMBERS = 65_536;

/**
 * Parses the bytes of a JSON body.
 *
 * @returns A value at once when the body is short, otherwise a promise.
 */
export function parseJsonBody(
  given: Uint8Array,
  { maxValues, pausing }: ParseJsonOptions,
): MaybePromise<Exclude<JsonBodyOutcome, { readonly kind: "gone" }>> {
  if (!isUtf8(given)) return malformed("it is not UTF-8");
  const bytes = withoutMark(given);
  const limits = {
    maxDepth: MAX_DEPTH,
    maxValues,
    maxMembers: MAX_MEMBERS,
  };
  const reading = readJsonText(bytes, {
    limits,
    pausing,
  });
  return andThen(reading, (outcome) => {
    switch (outcome.kind) {
      case "ok":
        return { kind: "ok", value: outcome.value, bytes };
      case "malformed":
        return malformed(syntaxMessage(bytes, outcome.from));
      case "refused":
        return refusal(outcome.fault, maxValues);
    }
  });
}

function refusal(
  { kind, within }: JsonShapeFault,
  maxValues: number,
): ProblemAnswer {
  return invalidRequest([{
    pointer: within === undefined ? "" : pointerTo("", within),
    code: kind,
    detail: describeFault(kind, maxValues),
  }]);
}

function describeFault(
  kind: JsonShapeFault["kind"],
  maxValues: number,
): string {
  switch (kind) {
    case "too_many_values":
      return cannotTake(`it has more than ${maxValues} values`);
    case "too_many_members":
      return cannotTake(
        `it has an object with more than ${MAX_MEMBERS} members`,
      );
    default:
      return jsonFaultDetail(kind, MAX_DEPTH);
  }
}

/**
 * The problem of a body that is larger than `maxBytes`, with advice for the
 * client.
 */
function tooLarge(maxBytes: number, advice?: string): ProblemAnswer {
  const state = `it has more than ${maxBytes} bytes`;
  return problem("too_large", {
    detail: `Cannot read body: ${state}${
      advice === undefined ? "" : `; ${advice}`
    }`,
    extensions: { limit: maxBytes },
  });
}

const NO_BODY = {
  kind: "ok",
  value: undefined,
  bytes: new Uint8Array(0),
} as const;

function checkMediaType(
  header: string | undefined,
  options: ReadJsonOptions,
): ProblemAnswer | undefined {
  if (header === undefined) return unsupported(header, options);
  // Most clients write the type exactly so, which saves parsing the header.
  if (options.mediaTypes.includes(header)) return undefined;
  const type = parseMediaType(header);
  const isTaken = type !== undefined &&
    options.mediaTypes.includes(type.essence) &&
    (type.charset === undefined || type.charset === "utf-8" ||
      type.charset === "utf8");
  return isTaken ? undefined : unsupported(header, options);
}

/** What a Content-Type says. */
interface MediaType {
  /** Type and subtype in lower case. */
  readonly essence: string;
  /** The character set in lower case, if one is named. */
  readonly charset: string | undefined;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*((?:;.*)?)$`, "s");

const CHARSET = new RegExp(`;[ \\t]*charset=(?:"([^"]*)"|(${TOKEN}))`, "i");

/** Reads a Content-Type (RFC 9110, 8.3); `undefined` when it is malformed. */
function parseMediaType(header: string): MediaType | undefined {
  if (header.length > 512) return undefined;
  const match = MEDIA_TYPE.exec(header.trim());
  if (match === null) return undefined;
  const charset = CHARSET.exec(match[2] ?? "");
  return {
    essence: (match[1] ?? "").toLowerCase(),
    charset: (charset?.[1] ?? charset?.[2])?.toLowerCase(),
  };
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

function syntaxMessage(bytes: Uint8Array, from: SyntaxPlace): string {
  const decoder = new TextDecoder();
  const text = decoder.decode(bytes);
  const at = decoder.decode(bytes.subarray(0, from.at)).length;
  const fault = jsonSyntaxFault(text, { ...from, at });
  if (fault === undefined) return "it is not JSON text";
  if (text.trim() === "") return "it is empty";
  const { line, column, expected, isEnd } = fault;
  const found = isEnd ? "it ends" : "there is something else";
  return `${found} at line ${line}, column ${column}, where ${expected} ` +
    "should be";
}

/** The bytes without a byte order mark (RFC 8259, 8.1). */
function withoutMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isMarked ? bytes.subarray(3) : bytes;
}
