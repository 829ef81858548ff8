/**
 * What single header fields of a request mean, `grpc-timeout` among them.
 *
 * @module
 */

import { type ByteSpan, spanEquals } from "./byte_span.ts";

const MAX_DIGITS = 8;

/**
 * Reads a value such as `20m`: up to eight digits and a unit.
 *
 * @returns Whole milliseconds, rounded up; -1 when it is no such value.
 */
function grpcTimeoutMs({ bytes, start, end }: ByteSpan): number {
  const digitsEnd = end - 1;
  if (digitsEnd <= start || digitsEnd - start > MAX_DIGITS) return -1;
  let number = 0;
  for (let at = start; at < digitsEnd; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  switch (bytes[digitsEnd]) {
    case 0x48: // H
      return number * 3_600_000;
    case 0x4d: // M
      return number * 60_000;
    case 0x53: // S
      return number * 1_000;
    case 0x6d: // m
      return number;
    case 0x75: // u
      return Math.ceil(number / 1_000);
    case 0x6e: // n
      return Math.ceil(number / 1_000_000);
    default:
      return -1;
  }
}

/** Kinds of fields. A kind below `REGULAR` is that of a pseudo header. */
export const FIELD = {
  METHOD: 0,
  SCHEME: 1,
  PATH: 2,
  AUTHORITY: 3,
  REGULAR: 4,
  CONTENT_TYPE: 5,
  CONTENT_LENGTH: 6,
  TE: 7,
  TIMEOUT: 8,
  ENCODING: 9,
  MALFORMED: 10,
  /** The first of the fields whose text is kept; the others follow it. */
  KEPT: 11,
} as const;

/** What a field means. */
export interface FieldMeaning {
  /** One of {@linkcode FIELD}. */
  readonly kind: number;
  /**
   * For a method {@linkcode METHOD}; for a path its number, -1 when it is not
   * known; for a content type and an encoding 1 when it is gRPC's, or none;
   * for a length its number; for a timeout milliseconds, -1 when it cannot be
   * read.
   */
  readonly value: number;
  /** The value itself, of a field that is kept; absent of all others. */
  readonly text?: string | undefined;
}

/** A longer value of a kept field is ignored, as if the field had not come. */
const MAX_KEPT_BYTES = 512;

type KnownName = readonly [name: Uint8Array, kind: number];

/** The HTTP methods that are told apart. */
export const METHOD = { OTHER: 0, POST: 1, CONNECT: 2 } as const;

const NAMES: readonly (readonly [name: string, kind: number])[] = [
  [":method", FIELD.METHOD],
  [":scheme", FIELD.SCHEME],
  [":path", FIELD.PATH],
  [":authority", FIELD.AUTHORITY],
  ["content-type", FIELD.CONTENT_TYPE],
  ["content-length", FIELD.CONTENT_LENGTH],
  ["te", FIELD.TE],
  ["grpc-timeout", FIELD.TIMEOUT],
  ["grpc-encoding", FIELD.ENCODING],
  // These belong to HTTP/1.1 (RFC 9113, section 8.2.2).
  ["connection", FIELD.MALFORMED],
  ["proxy-connection", FIELD.MALFORMED],
  ["keep-alive", FIELD.MALFORMED],
  ["transfer-encoding", FIELD.MALFORMED],
  ["upgrade", FIELD.MALFORMED],
];

const MALFORMED: FieldMeaning = { kind: FIELD.MALFORMED, value: 0 };
const REGULAR: FieldMeaning = { kind: FIELD.REGULAR, value: 0 };
const COLON = 0x3a;

/** Understands the fields of requests, with these paths as the known ones. */
export class RequestFields {
  readonly #names: KnownName[][] = [];
  readonly #paths: readonly Uint8Array[];
  readonly #pathMeanings: readonly FieldMeaning[];
  readonly #otherPath: FieldMeaning = { kind: FIELD.PATH, value: -1 };
  readonly #words: { readonly [word: string]: Uint8Array };

  /**
   * Paths are identified by their index in `paths`. Of fields called like one
   * of `keptNames` the text is kept, under the kind of its index after `KEPT`.
   */
  constructor(paths: readonly string[], keptNames: readonly string[] = []) {
    const encoder = new TextEncoder();
    const kept = keptNames.map((name, at) => [name, FIELD.KEPT + at] as const);
    for (const [name, kind] of [...NAMES, ...kept]) {
      (this.#names[name.length] ??= []).push([encoder.encode(name), kind]);
    }
    this.#paths = paths.map((path) => encoder.encode(path));
    this.#pathMeanings = paths.map((_, value) => ({ kind: FIELD.PATH, value }));
    this.#words = {
      post: encoder.encode("POST"),
      connect: encoder.encode("CONNECT"),
      grpc: encoder.encode("application/grpc"),
      trailers: encoder.encode("trailers"),
      identity: encoder.encode("identity"),
    };
  }

  /** The kind of a name; names that are not allowed are malformed. */
  nameKind(name: ByteSpan): number {
    const known = this.#names[name.end - name.start];
    if (known !== undefined) {
      for (const [bytes, kind] of known) {
        if (spanEquals(name, bytes)) return kind;
      }
    }
    return isName(name) ? FIELD.REGULAR : FIELD.MALFORMED;
  }

  /** The meaning of a value under a name of that kind. */
  meaning(kind: number, value: ByteSpan): FieldMeaning {
    if (kind === FIELD.MALFORMED || !isValue(value)) return MALFORMED;
    switch (kind) {
      case FIELD.REGULAR:
        return REGULAR;
      case FIELD.METHOD:
        return { kind, value: this.#method(value) };
      case FIELD.PATH:
        return this.#path(value);
      case FIELD.SCHEME:
        return value.end > value.start ? { kind, value: 0 } : MALFORMED;
      case FIELD.CONTENT_TYPE:
        return { kind, value: this.#isGrpc(value) ? 1 : 0 };
      case FIELD.CONTENT_LENGTH:
        return contentLength(value);
      case FIELD.TE:
        return spanEquals(value, this.#words.trailers!) ? REGULAR : MALFORMED;
      case FIELD.TIMEOUT:
        return { kind, value: grpcTimeoutMs(value) };
      case FIELD.ENCODING: {
        const isPlain = spanEquals(value, this.#words.identity!);
        return { kind, value: isPlain ? 1 : 0 };
      }
      default:
        return kind < FIELD.KEPT
          ? { kind, value: 0 }
          : keptMeaning(kind, value);
    }
  }

  #method(value: ByteSpan): number {
    if (spanEquals(value, this.#words.post!)) return METHOD.POST;
    if (spanEquals(value, this.#words.connect!)) return METHOD.CONNECT;
    return METHOD.OTHER;
  }

  #path(value: ByteSpan): FieldMeaning {
    const first = value.start < value.end ? value.bytes[value.start] : 0;
    // A path begins with "/"; "*" asks about the server as a whole.
    if (first !== 0x2f && first !== 0x2a) return MALFORMED;
    for (let index = 0; index < this.#paths.length; index++) {
      if (spanEquals(value, this.#paths[index]!)) {
        return this.#pathMeanings[index]!;
      }
    }
    return this.#otherPath;
  }

  /** `application/grpc`, alone or with a "+" or ";" behind it. */
  #isGrpc({ bytes, start, end }: ByteSpan): boolean {
    const expected = this.#words.grpc!;
    const wordEnd = start + expected.length;
    if (end < wordEnd) return false;
    if (!spanEquals({ bytes, start, end: wordEnd }, expected)) return false;
    return end === wordEnd || bytes[wordEnd] === 0x2b ||
      bytes[wordEnd] === 0x3b;
  }
}

function keptMeaning(
  kind: number,
  { bytes, start, end }: ByteSpan,
): FieldMeaning {
  if (end - start > MAX_KEPT_BYTES) return REGULAR;
  let text = "";
  for (let at = start; at < end; at++) {
    text += String.fromCharCode(bytes[at]!);
  }
  return { kind, value: 0, text };
}

/**
 * Whether a name is allowed (RFC 9113, section 8.2.1); a colon would make it an
 * unknown pseudo header.
 */
function isName({ bytes, start, end }: ByteSpan): boolean {
  if (start === end) return false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte <= 0x20 || byte >= 0x7f || byte === COLON) return false;
    if (byte >= 0x41 && byte <= 0x5a) return false;
  }
  return true;
}

/** Whether a value is allowed (RFC 9113, section 8.2.1). */
function isValue({ bytes, start, end }: ByteSpan): boolean {
  if (start === end) return true;
  if (isBlank(bytes[start]!) || isBlank(bytes[end - 1]!)) return false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte <= 13 && (byte === 0 || byte === 10 || byte === 13)) return false;
  }
  return true;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09;
}

/** Reads a length; more than fifteen digits would not be exact in a number. */
function contentLength({ bytes, start, end }: ByteSpan): FieldMeaning {
  if (start === end || end - start > 15) return MALFORMED;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return MALFORMED;
    value = value * 10 + digit;
  }
  return { kind: FIELD.CONTENT_LENGTH, value };
}
