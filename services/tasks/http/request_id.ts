/**
 * What ties a request to log lines and to the client's trace.
 *
 * @module
 */

import { newRequestId } from "../../shared/http/new_request_id.ts";

export { newRequestId } from "../../shared/http/new_request_id.ts";

/** A place in a distributed trace (W3C Trace Context, 3.2). */
export interface TraceParent {
  /** The trace: 32 hexadecimal digits. */
  readonly traceId: string;
  /** The caller's span: 16 hexadecimal digits. */
  readonly parentId: string;
  /** Whether the caller may have recorded it. */
  readonly isSampled: boolean;
  /** The header as it came. */
  readonly text: string;
}

/** What needs no quoting in a log, a URL path or a header. */
const SAFE_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

const TRACE_PARENT =
  /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * The id of a request: the client's own, when it is safe to repeat, or else a
 * new one, which `generate` makes.
 */
export function requestIdOf(
  header: string | undefined,
  generate: () => string = newRequestId,
): string {
  return header !== undefined && SAFE_ID.test(header) ? header : generate();
}

/**
 * Reads a `traceparent` header. Versions to come are read as far as the first
 * one goes (W3C Trace Context, 3.2.4).
 *
 * @returns `undefined` for what has to be ignored.
 */
export function parseTraceParent(
  header: string | undefined,
): TraceParent | undefined {
  if (header === undefined || header.length > 512) return undefined;
  const match = TRACE_PARENT.exec(header);
  if (match === null) return undefined;
  const [text, version, traceId = "", parentId = "", flags = "", rest] = match;
  if (version === "ff" || (version === "00" && rest !== undefined)) {
    return undefined;
  }
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, parentId, isSampled, text };
}
