/**
 * Sends a worker's reports on its leases, several in one request.
 *
 * @module
 */

import { type ClientClock, pause, steadyMs } from "../memory/client_clock.ts";
import type { LeaseBatch, LeaseResults, LeaseWord } from "./api_types.ts";
import { deferred } from "./deferred.ts";
import {
  problemError,
  TasksError,
  type TasksErrorCode,
} from "./tasks_error.ts";

/** How reports are sent. */
interface LeaseReportsOptions {
  /** Sends a batch of reports. */
  readonly send: (batch: LeaseBatch) => Promise<LeaseResults>;
  /** The most requests that are open at the same time. */
  readonly connections: number;
  /** Tells the time and sets timers. */
  readonly clock: ClientClock;
  /** Called with the error of a report that could not be sent in full. */
  readonly onError: (error: Error) => void;
}

/** A report, and its length as JSON. */
interface MeasuredWord {
  readonly word: LeaseWord;
  readonly length: number;
}

/** A report that waits to be sent. */
interface Waiting extends MeasuredWord {
  /** Whether it is sent alone, because a batch with it was refused. */
  readonly isAlone: boolean;
  /**
   * When the lease ends, after which the report is of no use, by the clock that
   * only goes forward.
   */
  readonly endsAtMs: () => number;
  readonly done: () => void;
}

const MAX_WORDS = 500;
/**
 * Most characters of a request. The service accepts 4 MiB, and a character can
 * take three bytes.
 */
const MAX_BATCH_CHARS = 1_000_000;
const RETRY_MS = 1_000;
/**
 * The service's codes for a request whose body it does not take. One report of a
 * batch may be the reason, such as a result with too many lists within each
 * other.
 */
const BODY_CODES: readonly TasksErrorCode[] = [
  "malformed_json",
  "too_large",
  "invalid",
];
/** A proxy limits the length of bodies, too. */
const TOO_LARGE = 413;

/** Most lines of a report; the service has the same limit. */
const MAX_LOG_LINES = 100;
/** Most characters of a report's lines; the service has the same limit. */
const MAX_LOG_CHARS = 262_144;

/**
 * Tells whether the service refused a request for its body, so that the same
 * request with less in it may succeed.
 */
export function isBodyRefused(error: unknown): error is TasksError {
  return error instanceof TasksError &&
    (BODY_CODES.includes(error.code) || error.status === TOO_LARGE);
}

/**
 * Collects reports and sends them in batches: reports that arrive while
 * requests are open are sent together in the next one. A report that cannot be
 * sent is retried until its lease ends.
 */
export class LeaseReports {
  readonly #options: LeaseReportsOptions;
  readonly #queue: Waiting[] = [];
  /** Requests that are open, or scheduled. */
  #open = 0;
  #drained = deferred();

  /** Creates an empty queue of reports. */
  constructor(options: LeaseReportsOptions) {
    this.#options = options;
  }

  /**
   * Queues a report. The promise settles when the report was sent, or is of no
   * use because its lease has ended or the service refuses it.
   */
  add(
    word: LeaseWord,
    { endsAtMs }: { readonly endsAtMs: () => number },
  ): Promise<void> {
    const { promise, resolve: done } = deferred();
    const isAlone = false;
    this.#queue.push({ ...this.#fitting(word), endsAtMs, done, isAlone });
    if (this.#open < this.#options.connections) {
      this.#open++;
      // The timer lets reports that are made in the same turn share a request.
      this.#options.clock.setTimer(() => void this.#flush(), 0);
    }
    return promise;
  }

  /** Settles when all queued reports were sent or dropped. */
  async drained(): Promise<void> {
    while (this.#open > 0) await this.#drained.promise;
  }

  /**
   * Returns a report that can be sent: what is too long or not JSON, a result
   * or the detail of an error, is left out. A result that is not JSON fails the
   * task.
   */
  #fitting(word: LeaseWord): MeasuredWord {
    let length: number;
    try {
      length = JSON.stringify(word).length;
    } catch (cause) {
      return this.#fitting(this.#asJson(word, cause));
    }
    if (length <= MAX_BATCH_CHARS) return { word, length };
    return this.#lesser(word, `is too long, with ${length} characters`) ??
      { word, length };
  }

  /** Returns the report to send instead of one that is not JSON. */
  #asJson(word: LeaseWord, cause: unknown): LeaseWord {
    const reason = `is not JSON: ${String(cause)}`;
    const lesser = word.action === "fail"
      ? this.#lesser(word, reason)
      : undefined;
    if (lesser !== undefined) return lesser.word;
    const { id, token } = word;
    const message = `the result ${reason}`;
    this.#options.onError(
      new Error(`Cannot report a result: ${message}`, { cause }),
    );
    return {
      ...{ id, token, action: "fail", retry: false },
      error: { code: "result_not_json", message },
    };
  }

  /**
   * Returns a report without its result or the detail of its error, and passes
   * to `onError` why that is left out; undefined when there is nothing to leave
   * out.
   */
  #lesser(word: LeaseWord, reason: string): MeasuredWord | undefined {
    const tell = (what: string): void =>
      this.#options.onError(
        new Error(
          `Cannot report ${what} ${reason}; the report goes without it`,
        ),
      );
    if (word.action === "complete" && word.result !== undefined) {
      const { id, token, action } = word;
      tell("a result: it");
      return measured({ id, token, action });
    }
    if (word.action !== "fail" || typeof word.error !== "object") {
      return undefined;
    }
    const { detail, ...error } = word.error;
    if (detail === undefined) return undefined;
    tell("all of an error: its detail");
    return measured({ ...word, error });
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#next();
      if (batch.length === 0) continue;
      try {
        const { results } = await this.#options.send({
          leases: batch.map(({ word }) => word),
        });
        for (const [index, { word, done }] of batch.entries()) {
          const result = results[index];
          if (result?.problem !== undefined) {
            const action = `report that the task is ${DONE[word.action]}`;
            this.#options.onError(problemError(result.problem, { action }));
          }
          done();
        }
      } catch (error) {
        await this.#again(batch, error);
      }
    }
    this.#open--;
    if (this.#open > 0) return;
    this.#drained.resolve();
    this.#drained = deferred();
  }

  /**
   * Takes from the queue the first reports that fit into one request; reports
   * whose lease has ended are dropped.
   */
  #next(): Waiting[] {
    const nowMs = steadyMs(this.#options.clock);
    const batch: Waiting[] = [];
    let chars = 0;
    while (this.#queue.length > 0 && batch.length < MAX_WORDS) {
      const first = this.#queue[0]!;
      const isFull = first.isAlone || chars + first.length > MAX_BATCH_CHARS;
      if (batch.length > 0 && isFull) break;
      this.#queue.shift();
      if (first.endsAtMs() <= nowMs) {
        this.#options.onError(
          new Error(
            `Cannot report that a task is ${
              DONE[first.word.action]
            }: its lease has ended`,
          ),
        );
        first.done();
        continue;
      }
      chars += first.length;
      batch.push(first);
      if (first.isAlone) break;
    }
    return batch;
  }

  /**
   * Queues a batch that could not be sent again until its leases end, unless the
   * service does not take its body. Of a batch with a body that the service does not take, each
   * report is sent alone, so that one does not take the others with it; a
   * report that is not taken alone either is sent without its result or detail.
   */
  async #again(batch: readonly Waiting[], error: unknown): Promise<void> {
    const told = error instanceof Error ? error : new Error(String(error));
    if (isBodyRefused(error) && batch.length > 1) {
      this.#queue.unshift(...batch.map((one) => ({ ...one, isAlone: true })));
      return;
    }
    const [first] = batch;
    if (isBodyRefused(error) && first !== undefined) {
      const lesser = this.#lesser(first.word, `was refused: ${told.message}`);
      if (lesser !== undefined) {
        this.#queue.unshift({ ...first, ...lesser });
        return;
      }
    }
    this.#options.onError(told);
    if (isBodyRefused(error)) {
      for (const { done } of batch) done();
      return;
    }
    this.#queue.unshift(...batch);
    const { signal } = new AbortController();
    await pause(RETRY_MS, { clock: this.#options.clock, signal });
  }
}

function measured(word: LeaseWord): MeasuredWord {
  return { word, length: JSON.stringify(word).length };
}

const DONE: Readonly<Record<LeaseWord["action"], string>> = {
  complete: "complete",
  fail: "failed",
  heartbeat: "being worked on",
  release: "given back",
  wait: "waiting",
  log: "logged",
};

/**
 * Returns log lines in parts, each for a report of its own. A line that is too
 * long for a report is cut: the service keeps the beginning of each line.
 */
export function logParts(
  lines: readonly string[],
): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let chars = Infinity;
  for (const given of lines) {
    // The lines may come from code that is not checked for types.
    const line = String(given).slice(0, MAX_LOG_CHARS);
    const last = parts.at(-1);
    chars += line.length;
    if (last && last.length < MAX_LOG_LINES && chars <= MAX_LOG_CHARS) {
      last.push(line);
    } else {
      parts.push([line]);
      chars = line.length;
    }
  }
  return parts;
}
