/**
 * Which headers a push call may carry.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";

/** What judging headers comes to. */
export type HeadersVerdict =
  | { readonly kind: "ok" }
  | {
    readonly kind: "refused";
    /** The header that is no good, as it was given. */
    readonly name: string;
    /** Why, as a message that holds no value of a header. */
    readonly reason: string;
  };

/** Options of {@linkcode judgeHeaders}. */
export interface JudgeHeadersOptions {
  /**
   * Further names that are not allowed, in lower case.
   *
   * @default {[]}
   */
  readonly reserved?: readonly string[];
}

/** The headers that the service sets itself: a worker's own can't be these. */
export const SERVICE_HEADERS: readonly string[] = [
  "content-type",
  "task-attempt",
  "task-id",
  "traceparent",
  "tracestate",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
];

/**
 * Headers that frame the request or belong to the connection (RFC 9110, section
 * 7.6.1): whoever sets them can smuggle a second request into the first.
 */
const CONNECTION_HEADERS: readonly string[] = [
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;

/** A field value of RFC 9110, section 5.5, without what is not ASCII. */
const VALUE = /^[\t\x20-\x7e]*$/;

const MAX_HEADERS = 64;
const MAX_CHARS = 65_536;

/** Judges the headers of a call, or those that a worker wants on its calls. */
export function judgeHeaders(
  headers: Readonly<Record<string, string>>,
  options: JudgeHeadersOptions = {},
): HeadersVerdict {
  const seen = new Set<string>();
  let chars = 0;
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    chars += name.length + value.length;
    const fault = nameFault(key, options.reserved ?? []) ??
      (VALUE.test(value) ? undefined : "its value is not visible ASCII") ??
      (seen.has(key) ? "it is there twice" : undefined) ??
      (chars > MAX_CHARS ? "the headers are too long together" : undefined);
    if (fault !== undefined) return refused(name, fault);
    seen.add(key);
    if (seen.size > MAX_HEADERS) {
      return refused(name, `there are more than ${MAX_HEADERS} headers`);
    }
  }
  return { kind: "ok" };
}

function nameFault(
  key: string,
  reserved: readonly string[],
): string | undefined {
  if (!TOKEN.test(key)) return "its name is none of HTTP";
  return CONNECTION_HEADERS.includes(key) || reserved.includes(key)
    ? "the service sets it itself"
    : undefined;
}

function refused(name: string, why: string): HeadersVerdict {
  const reason = `Cannot send header ${quote(name, { maxChars: 64 })}: ${why}`;
  return { kind: "refused", name, reason };
}
