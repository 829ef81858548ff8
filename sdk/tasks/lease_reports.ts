/**
 * What a worker says of its leases, many in one request.
 *
 * @module
 */

import { type ClientClock, pause } from "../memory/client_clock.ts";
import type { LeaseBatch, LeaseResults, LeaseWord } from "./api_types.ts";
import { deferred } from "./deferred.ts";
import { problemError, TasksError } from "./tasks_error.ts";

/** How reports are sent. */
interface LeaseReportsOptions {
  /** Sends a batch. */
  readonly send: (batch: LeaseBatch) => Promise<LeaseResults>;
  /** Requests that are open at once. */
  readonly connections: number;
  /** Tells time and waits. */
  readonly clock: ClientClock;
  /** Takes what could not be said. */
  readonly onError: (error: Error) => void;
}

/** A report that waits for its turn. */
interface Waiting {
  readonly word: LeaseWord;
  /** How long it is as JSON. */
  readonly length: number;
  /** When the lease ends, after which it is of no use. */
  readonly endsAtMs: () => number;
  readonly done: () => void;
}

const MAX_WORDS = 500;
/** A request may have 4 MiB, in which a letter may take three bytes. */
const MAX_BATCH_CHARS = 1_000_000;
const RETRY_MS = 1_000;

/**
 * Collects reports and sends them: what comes while requests are open goes together
 * with the next one. A report that can't be sent is sent again until its lease ends.
 */
export class LeaseReports {
  readonly #options: LeaseReportsOptions;
  readonly #queue: Waiting[] = [];
  /** Requests that are open, or about to be. */
  #open = 0;
  #drained = deferred();

  /** Nothing is to be said. */
  constructor(options: LeaseReportsOptions) {
    this.#options = options;
  }

  /** Settles when the report has been said, or is of no use. */
  add(
    word: LeaseWord,
    { endsAtMs }: { readonly endsAtMs: () => number },
  ): Promise<void> {
    const { promise, resolve: done } = deferred();
    this.#queue.push({ ...this.#fitting(word), endsAtMs, done });
    if (this.#open < this.#options.connections) {
      this.#open++;
      // What ends in the same turn goes together.
      this.#options.clock.setTimer(() => void this.#flush(), 0);
    }
    return promise;
  }

  /** Settles when all that was to be said has been said. */
  async drained(): Promise<void> {
    while (this.#open > 0) await this.#drained.promise;
  }

  /** A report whose result, or whose error's detail, can't be sent goes without it. */
  #fitting(
    word: LeaseWord,
  ): { readonly word: LeaseWord; readonly length: number } {
    const { onError } = this.#options;
    let text: string;
    try {
      text = JSON.stringify(word);
    } catch (cause) {
      const { id, token } = word;
      const message = `the result is no JSON: ${String(cause)}`;
      onError(new Error(`Cannot report a result: ${message}`, { cause }));
      return this.#fitting({
        ...{ id, token, action: "fail", retry: false },
        error: { code: "result_not_json", message },
      });
    }
    const { length } = text;
    if (length <= MAX_BATCH_CHARS) return { word, length };
    if (word.action === "fail" && typeof word.error === "object") {
      const { detail, ...error } = word.error;
      if (detail === undefined) return { word, length };
      onError(
        new Error(
          `Cannot report all of an error: its detail is too long, with ` +
            `${length} characters; the task fails without it`,
        ),
      );
      return this.#fitting({ ...word, error });
    }
    if (word.action !== "complete") return { word, length };
    onError(
      new Error(
        `Cannot report a result: it is ${length} characters long; the task ` +
          "is completed without it",
      ),
    );
    const { id, token, action } = word;
    return { word: { id, token, action }, length: 200 };
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

  /** The first reports that fit into a request; those of leases that ended are dropped. */
  #next(): Waiting[] {
    const nowMs = this.#options.clock.nowMs();
    const batch: Waiting[] = [];
    let chars = 0;
    while (this.#queue.length > 0 && batch.length < MAX_WORDS) {
      const first = this.#queue[0]!;
      if (batch.length > 0 && chars + first.length > MAX_BATCH_CHARS) break;
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
    }
    return batch;
  }

  /** Puts a batch that could not be sent back, unless it never will be taken. */
  async #again(batch: readonly Waiting[], error: unknown): Promise<void> {
    const told = error instanceof Error ? error : new Error(String(error));
    this.#options.onError(told);
    const isPassing = error instanceof TasksError &&
      (error.status === undefined || error.status === 429 ||
        error.status >= 500);
    if (!isPassing) {
      for (const { done } of batch) done();
      return;
    }
    this.#queue.unshift(...batch);
    const { signal } = new AbortController();
    await pause(RETRY_MS, { clock: this.#options.clock, signal });
  }
}

const DONE: Readonly<Record<LeaseWord["action"], string>> = {
  complete: "complete",
  fail: "failed",
  heartbeat: "being worked on",
  release: "given back",
  log: "logged",
};
