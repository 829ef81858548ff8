/**
 * What matters of a worker's answer.
 *
 * @module
 */

import type { IncomingHttpHeaders } from "node:http";
import type { PushAnswer } from "./push_outcome.ts";
import { parseRetryAfter } from "../../shared/http/retry_after.ts";

/** An answer as it came. */
export interface RawAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** All headers. */
  readonly headers: IncomingHttpHeaders;
  /** The beginning of the body. */
  readonly body: Uint8Array;
  /** Whether there was more of the body. */
  readonly isTruncated: boolean;
}

/** When an answer came. */
export interface AnswerTiming {
  /** The time of day: milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** Milliseconds from the call's begin to the answer's end. */
  readonly durationMs: number;
}

const KEPT_HEADERS: readonly string[] = [
  "content-encoding",
  "content-type",
  "location",
  "retry-after",
  "task-lease",
  "task-retry",
];

/** A day, like the longest time-out of a task. */
const MAX_LEASE_SECONDS = 86_400;

/** Reads an answer: its body as UTF-8 text, its headers' meaning. */
export function readAnswer(raw: RawAnswer, timing: AnswerTiming): PushAnswer {
  const headers = keptHeaders(raw.headers);
  const retryAfterMs = parseRetryAfter(headers["retry-after"] ?? "", {
    nowMs: timing.nowMs,
  });
  const leaseMs = parseLease(headers["task-lease"] ?? "");
  // A character that the end of what is kept cuts in two is left out.
  const bodyText = new TextDecoder()
    .decode(raw.body, { stream: raw.isTruncated });
  return {
    kind: "answered",
    status: raw.status,
    headers,
    bodyText,
    isTruncated: raw.isTruncated,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(leaseMs === undefined ? {} : { leaseMs }),
    isFinal: headers["task-retry"]?.trim().toLowerCase() === "no",
    durationMs: timing.durationMs,
  };
}

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (value !== undefined) kept[name] = String(value);
  }
  return kept;
}

/** Whole seconds from 1 to a day, as milliseconds. */
function parseLease(text: string): number | undefined {
  if (!/^\s*\d{1,6}\s*$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds >= 1 && seconds <= MAX_LEASE_SECONDS
    ? seconds * 1_000
    : undefined;
}
