/**
 * The report of a lease's holder: turns it into an event of the task, and the
 * outcome into an answer.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { LeaseProof, TaskEvent } from "../../domain/task_event.ts";
import {
  cleanWait,
  copyBeginning,
  cutWith,
  keptResult,
} from "../../engine/stored_json.ts";
import type {
  LeaseHolder,
  LeaseOutcome,
  LeaseReport,
} from "../../engine/leases.ts";
import { json, type JsonAnswer } from "../../http/answer.ts";
import { leaseOfNoTask, noSuchLease } from "../../http/admission.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import { utcTime } from "../../domain/instant.ts";
import type { Scrubber } from "../../secrets/scrub.ts";
import { type LogTally, MAX_ATTEMPT_LINES } from "./held_leases.ts";
import type { ActionReport, LeaseAction } from "./lease_schema.ts";

/** Options of {@linkcode SentReport}. */
interface SentReportOptions {
  /** The sender of the report. */
  readonly holder: LeaseHolder;
  /** Removes the secrets of the lease's worker; undefined when it has none. */
  readonly scrubber: Scrubber | undefined;
  /**
   * Counts the log lines of the lease; only reports with log lines need it.
   * @default they are not counted
   */
  readonly tally?: LogTally | undefined;
  /**
   * The only worker whose leases the sender may hold.
   * @default the leases of any worker
   */
  readonly workerId?: string | undefined;
}

/** A token hash that matches no lease, since no hash is empty. */
const NO_TOKEN = "";

/** Most characters of an error's message and of a reason. */
const MAX_MESSAGE_CHARS = 2_000;
/** Most characters of a log line. */
const MAX_LINE_CHARS = 1_000;
/** Most characters of an error's detail as JSON text. */
const MAX_DETAIL_CHARS = 8_192;
/**
 * How many characters of a longer text are read. A secret may be as long, and
 * the part of a secret that is left at the cut is removed.
 */
const MAX_READ_CHARS = 65_536;

/** The code of failures that are reported without one. */
const DEFAULT_CODE = "failed";
const DEFAULT_MESSAGE = "The worker said no more than that it failed";

/** A report that was sent, with its event and its answer. */
export class SentReport implements LeaseReport {
  /** The sender of the report. */
  readonly holder: LeaseHolder;
  readonly #action: LeaseAction;
  readonly #options: SentReportOptions;
  readonly #event: ReportEvent;
  /** Whether the lease is of another worker than the sender may report for. */
  #isForeign = false;
  /**
   * The log lines, with whether room for them was reserved; undefined before
   * that is known.
   */
  #lines: { readonly count: number; readonly isReserved: boolean } | undefined;

  /** The report is not applied yet. */
  constructor(report: ActionReport, options: SentReportOptions) {
    this.holder = options.holder;
    this.#action = report.action;
    this.#options = options;
    this.#event = eventOfReport(report, options.scrubber);
  }

  /**
   * Makes the event for the lease's task, and reserves room for the log lines
   * if the sender holds the lease.
   */
  event(lease: LeaseProof, task: Task): TaskEvent {
    const { workerId, tally } = this.#options;
    this.#isForeign = workerId !== undefined && task.workerId !== workerId;
    const proof = this.#isForeign
      ? { id: lease.id, tokenHash: NO_TOKEN }
      : lease;
    const event = { ...this.#event, lease: proof };
    const isHeld = task.attempt?.id === proof.id &&
      task.attempt.tokenHash === proof.tokenHash;
    if (event.kind !== "log" || tally === undefined || !isHeld) return event;
    // A commit that conflicted is planned again, and keeps the room of its
    // lines.
    const count = event.lines.length;
    this.#lines ??= { count, isReserved: tally.reserve(count) };
    return this.#lines.isReserved ? event : { ...event, lines: [] };
  }

  /**
   * Turns an outcome into the answer, and releases the room of lines that were
   * not written.
   */
  answer(outcome: LeaseOutcome): JsonAnswer | ProblemAnswer {
    const lines = this.#lines;
    if (lines?.isReserved === false && outcome.kind === "ok") {
      return tooManyLines(lines.count, this.#options.tally?.lines ?? 0);
    }
    if (outcome.kind !== "ok") this.releaseLines();
    return toAnswer(outcome, {
      action: this.#action,
      holder: this.holder,
      isForeign: this.#isForeign,
    });
  }

  /** Releases the room of the report's log lines, which were not written. */
  releaseLines(): void {
    const lines = this.#lines;
    if (lines?.isReserved) this.#options.tally?.release(lines.count);
  }
}

/**
 * Applies reports. When that fails, the room of their log lines is released:
 * the store has not written the lines, and the sender tries again.
 *
 * @throws {Error} as `apply` does
 */
export async function applyReports<Outcome>(
  reports: readonly SentReport[],
  apply: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await apply();
  } catch (error) {
    for (const report of reports) report.releaseLines();
    throw error;
  }
}

function tooManyLines(count: number, used: number): ProblemAnswer {
  return problem("quota_exceeded", {
    detail: `Cannot add log lines: there are ${used}, ${count} are too many ` +
      `more, an attempt may have ${MAX_ATTEMPT_LINES}`,
    extensions: { limit: MAX_ATTEMPT_LINES, used },
  });
}

function toAnswer(
  outcome: LeaseOutcome,
  { action, holder: { leaseId, taskId }, isForeign }: {
    readonly action: LeaseAction;
    readonly holder: LeaseHolder;
    readonly isForeign: boolean;
  },
): JsonAnswer | ProblemAnswer {
  switch (outcome.kind) {
    case "ok": {
      const { task, isRepeated } = outcome;
      const { status, attempt } = task;
      const isNext = status === "retry" || status === "done" ||
        status === "scheduled" || status === "waiting";
      const isOutcome = action !== "heartbeat" && action !== "log";
      return json({
        id: leaseId,
        task: task.id,
        status,
        date: isNext ? utcTime(task.dateMs) : null,
        expires_at: attempt?.id === leaseId
          ? utcTime(attempt.expiresAtMs)
          : null,
        canceled: false,
        repeated: isRepeated && isOutcome,
      });
    }
    case "lease_gone": {
      const { reason, isCanceled } = outcome;
      const canceled = isCanceled && !isForeign;
      if (!canceled || action !== "heartbeat") {
        return problem("lease_gone", {
          detail: reason,
          extensions: { canceled },
        });
      }
      return json({
        id: leaseId,
        task: taskId,
        status: "canceled",
        date: null,
        expires_at: null,
        canceled,
        repeated: false,
      });
    }
    case "missing":
      return taskId === undefined ? noSuchLease() : leaseOfNoTask();
    case "conflict":
      throw new Error(
        `Cannot write the report of a worker: there is a conflict by ` +
          `"${outcome.reason}"`,
      );
  }
}

/** The event of a report, before the lease's proof is added. */
type ReportEvent = Extract<TaskEvent, { readonly kind: LeaseAction }>;

/** A placeholder for the proof in the event of a report. */
const UNPROVEN: LeaseProof = { id: "", tokenHash: NO_TOKEN };

/**
 * Makes the event of a report. Secrets are removed from all text before it is
 * cut to its length, since half a secret would not be found.
 */
function eventOfReport(
  report: ActionReport,
  scrubber: Scrubber | undefined,
): ReportEvent {
  const text = (value: string): string =>
    cut(beginning(value, scrubber), MAX_MESSAGE_CHARS);
  switch (report.action) {
    case "heartbeat": {
      const { extend: extendMs, progress } = report;
      const progressJson = progress === undefined || progress === null
        ? undefined
        : JSON.stringify(scrubber?.scrubJson(progress) ?? progress);
      return { kind: "heartbeat", lease: UNPROVEN, extendMs, progressJson };
    }
    case "complete": {
      const { result } = report;
      return result === undefined || result === null
        ? { kind: "complete", lease: UNPROVEN }
        : {
          kind: "complete",
          lease: UNPROVEN,
          ...keptResult(result, { scrubber }),
        };
    }
    case "fail": {
      const { error, retry, retry_after: retryAfterMs } = report;
      const { code, message, detail } = typeof error === "string"
        ? { message: error }
        : error ?? { message: "" };
      return {
        kind: "fail",
        lease: UNPROVEN,
        failure: {
          code: code === undefined ? DEFAULT_CODE : clean(code, scrubber),
          isFinal: retry ? undefined : true,
        },
        message: text(message) || DEFAULT_MESSAGE,
        detailJson: detail === undefined || detail === null
          ? undefined
          : keptDetail(detail, scrubber),
        retryAfterMs,
      };
    }
    case "release": {
      const { delay: delayMs, reason } = report;
      return {
        kind: "release",
        lease: UNPROVEN,
        delayMs,
        reason: reason === undefined ? undefined : text(reason),
      };
    }
    case "wait":
      return {
        kind: "wait",
        lease: UNPROVEN,
        ...cleanWait(report.wait_for, scrubber),
      };
    case "log": {
      // The lines are cleaned together, since a secret with line ends, such as
      // a key, spans several lines.
      const lines = clean(report.lines.join("\n"), scrubber).split("\n")
        .map((line) => cut(line, MAX_LINE_CHARS));
      return { kind: "log", lease: UNPROVEN, lines };
    }
  }
}

/**
 * The detail as JSON text. Of a long detail, a JSON string with the beginning
 * of that text.
 */
function keptDetail(detail: unknown, scrubber: Scrubber | undefined): string {
  const { value } = copyBeginning(detail, {
    maxChars: MAX_READ_CHARS,
    cut: scrubber && cutWith(scrubber),
  });
  const cleaned = scrubber === undefined ? value : scrubber.scrubJson(value);
  const json = JSON.stringify(cleaned);
  return json.length <= MAX_DETAIL_CHARS
    ? json
    : JSON.stringify(cut(json, MAX_DETAIL_CHARS));
}

/** The beginning of a text, which may be long, without secrets. */
function beginning(text: string, scrubber: Scrubber | undefined): string {
  if (text.length <= MAX_READ_CHARS) return clean(text, scrubber);
  return scrubber === undefined
    ? text.slice(0, MAX_READ_CHARS)
    : cutWith(scrubber)(text, MAX_READ_CHARS);
}

function clean(text: string, scrubber: Scrubber | undefined): string {
  return scrubber === undefined ? text : scrubber.scrubText(text);
}

/** Cuts a text to a length; half a character at the cut is replaced. */
function cut(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}
