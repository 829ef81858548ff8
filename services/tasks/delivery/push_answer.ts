/**
 * Parses a worker's answer to a push call and decides how the attempt ended.
 *
 * @module
 */

import { parseRetryAfter } from "../../shared/http/retry_after.ts";
import { object } from "../../shared/schema/object.ts";
import { described, readWhole } from "../../shared/schema/schema.ts";
import type { Failure } from "../domain/retry_policy.ts";
import { type ReadWait, WAIT_FOR } from "../domain/wait_schema.ts";
import type { RawAnswer } from "./push_exchange.ts";
import type { PushFailure, PushRefusal } from "./push_failure.ts";

/** The answer of a worker, read to its end or to the size limit. */
interface PushAnswer {
  /** The worker answered, with any status. */
  readonly kind: "answered";
  /** The HTTP status. */
  readonly status: number;
  /** The headers that matter, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text. */
  readonly bodyText: string;
  /** Whether the body was longer than the part that is kept. */
  readonly isTruncated: boolean;
  /** Why the body can't be read; absent when it can. */
  readonly unreadable?: string | undefined;
  /** How long the worker asks to wait before the next try, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** How long the lease is that the worker asks for, in milliseconds. */
  readonly leaseMs?: number | undefined;
  /** Whether the worker said that another try is useless. */
  readonly isFinal: boolean;
  /** Milliseconds from the start of the call to the end of the answer. */
  readonly durationMs: number;
}

/** The outcome of a push call. */
export type PushOutcome = PushAnswer | PushRefusal | PushFailure;

const KEPT_HEADERS: readonly string[] = [
  "content-type",
  "location",
  "retry-after",
  "task-lease",
  "task-retry",
  "task-wait",
];

/** A day, which is also the longest timeout of a task. */
const MAX_LEASE_SECONDS = 86_400;

/** Parses an answer: decodes its body as UTF-8 and interprets its headers. */
export function readAnswer(
  { status, headers: all, body, isTruncated, unreadable }: RawAnswer,
  { nowMs, durationMs }: {
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
    /** Milliseconds from the start of the call to the end of the answer. */
    readonly durationMs: number;
  },
): PushAnswer {
  const headers: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = all[name];
    if (value !== undefined) headers[name] = String(value);
  }
  // `stream` leaves out a character that the size limit cuts in two.
  const bodyText = new TextDecoder().decode(body, { stream: isTruncated });
  return {
    kind: "answered",
    status,
    headers,
    bodyText,
    isTruncated,
    ...(unreadable === undefined ? {} : { unreadable }),
    retryAfterMs: parseRetryAfter(headers["retry-after"] ?? "", { nowMs }),
    leaseMs: parseLease(headers["task-lease"] ?? ""),
    isFinal: headers["task-retry"]?.trim().toLowerCase() === "no",
    durationMs,
  };
}

/** Parses a whole number of seconds, from 1 to a day, as milliseconds. */
function parseLease(text: string): number | undefined {
  if (!/^\s*\d{1,6}\s*$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds >= 1 && seconds <= MAX_LEASE_SECONDS
    ? seconds * 1_000
    : undefined;
}

/** What the outcome of a push call means for its task. */
export type PushVerdict =
  | {
    /** The worker has done the task. */
    readonly kind: "succeeded";
    /** Its result: a JSON value, the body as text, or null without a body. */
    readonly result: unknown;
    /** Whether the result is only the beginning of the body. */
    readonly isTruncated: boolean;
    /** Why there is no result although there was a body, for the task's owner. */
    readonly message?: string | undefined;
  }
  | {
    /** The worker has accepted the task and will report the outcome later. */
    readonly kind: "accepted";
    /** How long the lease is that the worker asks for, in milliseconds. */
    readonly leaseMs: number;
  }
  | {
    /** The task is to wait for an event or an approval. */
    readonly kind: "waiting";
    /** What for, and how long. */
    readonly wait: ReadWait;
  }
  | {
    /** The attempt has failed. */
    readonly kind: "failed";
    /** Decides whether the retry policy allows another try. */
    readonly failure: Failure;
    /** The reason, as a message for the task's owner. */
    readonly message: string;
    /** The beginning of the worker's answer. */
    readonly detail?: string | undefined;
    /**
     * How long the worker asks to wait before the next try, in milliseconds.
     */
    readonly retryAfterMs?: number | undefined;
  };

/**
 * The deepest nesting at which a result is parsed as JSON; a deeper one stays
 * text.
 */
const MAX_DEPTH = 64;

const MAX_DETAIL_CHARS = 1_024;

/**
 * Judges the outcome of a push call. Every 2xx is a success; 202 with a
 * `task-lease` header means accepted, and a `task-wait` header that the body
 * says what the task is to wait for. Redirects are failures, since they are
 * not followed. The retry policy decides whether a failure is worth another
 * try, and knows 410 and 501; `task-retry: no` makes the failure final here.
 */
export function judgeAnswer(outcome: PushOutcome): PushVerdict {
  switch (outcome.kind) {
    case "answered":
      return judgeStatus(outcome);
    case "refused":
      return {
        kind: "failed",
        failure: { code: "target_refused" },
        message: outcome.reason,
      };
    case "failed":
      return {
        kind: "failed",
        failure: { code: outcome.code },
        message: outcome.message,
      };
  }
}

function judgeStatus(answer: PushAnswer): PushVerdict {
  const { status, leaseMs } = answer;
  if (status === 202 && leaseMs !== undefined) {
    return { kind: "accepted", leaseMs };
  }
  if (status === 202 && answer.headers["task-lease"] !== undefined) {
    // The task is neither done nor leased: if this counted as a success, the
    // task would be lost.
    return failed(
      answer,
      "bad_lease",
      "Cannot keep the task for the worker: its task-lease is not a number of " +
        "seconds from 1 to 86400",
    );
  }
  const isSuccess = status >= 200 && status <= 299;
  if (isSuccess && answer.headers["task-wait"] !== undefined) {
    return judgeWait(answer);
  }
  if (isSuccess) {
    const { isTruncated, unreadable } = answer;
    // The worker has done the task, so it is not called again for its words.
    const result = parseResult(answer);
    return {
      ...{ kind: "succeeded", result, isTruncated },
      ...(unreadable === undefined
        ? {}
        : { message: `Cannot read the result: ${unreadable}` }),
    };
  }
  const message = `Cannot run the task: the worker answered ${status}`;
  if (status < 300 || status > 399) {
    return failed(answer, "http_status", message);
  }
  const why = "redirects are not followed; change its URL";
  return failed(answer, "redirected", `${message}, and ${why}`);
}

/** The answer's body is `{"wait_for": …}`, as the report of a lease has it. */
const WAIT_BODY = object({ wait_for: described(WAIT_FOR, "The wait") });

function judgeWait(answer: PushAnswer): PushVerdict {
  const read = readWhole(WAIT_BODY, parseResult(answer));
  if (read.kind === "ok") return { kind: "waiting", wait: read.value.wait_for };
  // The task is neither done nor does it wait, so it is tried again.
  const [fault] = read.faults;
  return failed(
    answer,
    "bad_wait",
    `Cannot wait as the worker asks by task-wait: ${fault?.detail ?? ""}`,
  );
}

function failed(
  answer: PushAnswer,
  code: string,
  message: string,
): PushVerdict {
  const { status: httpStatus, isFinal, retryAfterMs } = answer;
  const { unreadable } = answer;
  const detail = answer.bodyText.slice(0, MAX_DETAIL_CHARS).toWellFormed();
  return {
    kind: "failed",
    failure: { code, httpStatus, isFinal },
    message: unreadable === undefined
      ? message
      : `${message}, and its body can't be read: ${unreadable}`,
    detail: detail === "" ? undefined : detail,
    retryAfterMs,
  };
}

/**
 * The result in a body. A body that is JSON is parsed as JSON whatever type it
 * claims to have: many servers call theirs `text/plain`.
 */
function parseResult(answer: PushAnswer): unknown {
  const { bodyText, isTruncated } = answer;
  if (bodyText === "") return null;
  if (isTruncated || measureDepth(bodyText) > MAX_DEPTH) return bodyText;
  try {
    return JSON.parse(bodyText);
  } catch (error) {
    if (error instanceof SyntaxError) return bodyText;
    throw error;
  }
}

/**
 * The depth of the brackets in a JSON text. It is limited because a result is
 * written as JSON again later, by a recursive writer whose depth is limited.
 */
function measureDepth(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const [bracket] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (bracket === "[" || bracket === "{") {
      deepest = Math.max(deepest, ++depth);
    } else if (bracket === "]" || bracket === "}") depth--;
  }
  return deepest;
}
