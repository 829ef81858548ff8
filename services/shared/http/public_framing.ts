/**
 * How the body of a request is told from what follows it (RFC 9112, 6).
 *
 * @module
 */

import type { HttpHeaders } from "./exchange.ts";

/** What comes after a head. */
export type BodyFraming =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** Why nobody can tell. */
export interface FramingRefusal {
  /** The status to answer with. */
  readonly status: number;
  /** What is wrong. */
  readonly detail: string;
}

/** Without either header field a request has no body. */
const NO_BODY: BodyFraming = { kind: "length", bytes: 0 };
const CHUNKED: BodyFraming = { kind: "chunked" };

/**
 * Tells how a body is framed. Whatever leaves room for two opinions is
 * refused, also where RFC 9112 would let a server choose one: the other
 * opinion could be that of a proxy before us.
 */
export function bodyFraming(
  headers: HttpHeaders,
  isOldVersion: boolean,
): BodyFraming | FramingRefusal {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined) {
    if (length !== undefined) {
      return refusal("Transfer-Encoding and Content-Length exclude each other");
    }
    return isOldVersion
      ? refusal("HTTP/1.0 has no Transfer-Encoding")
      : transferCoding(coding.toLowerCase());
  }
  if (length === undefined) return NO_BODY;
  // Fifteen digits are exact as a number. A list, even of the same length
  // twice, is none.
  return /^\d{1,15}$/.test(length)
    ? { kind: "length", bytes: Number(length) }
    : refusal("The Content-Length header field is malformed");
}

function transferCoding(coding: string): BodyFraming | FramingRefusal {
  if (coding === "chunked") return CHUNKED;
  // With chunks last the end could be found, but not what lies inside.
  return /^[^,]+,[ \t]*chunked$/.test(coding) && !coding.startsWith("chunked")
    ? { status: 501, detail: "The only transfer coding is chunked" }
    : refusal("The last transfer coding must be chunked, once");
}

function refusal(detail: string): FramingRefusal {
  return { status: 400, detail };
}
