/**
 * A tasks service for tests of workers.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { scriptedFetch } from "../../memory/testing/scripted_fetch.ts";
import type { LeaseWish, LeaseWord } from "../api_types.ts";
import { Worker } from "../worker.ts";
import type { WorkerOptions } from "../worker_options.ts";

/** A tasks service whose leases and answers the test decides. */
export class ScriptedService {
  /** The clock of workers. */
  readonly clock = new FakeClock();
  /** Jobs of the tasks that the next request for tasks returns. */
  readonly due: string[] = [];
  /** What the leases of the next tasks also have. */
  more: object = {};
  /** All reports on leases except heartbeats. */
  readonly words: LeaseWord[] = [];
  /** The number of heartbeats. */
  beats = 0;
  /** The requests for tasks. */
  readonly wishes: LeaseWish[] = [];
  /** What workers have passed to `onError`. */
  readonly errors: Error[] = [];
  /**
   * Returns an answer to a request for tasks instead of leases; undefined for
   * leases.
   */
  refuseLease: (() => Response | undefined) | undefined;
  /** Returns the result of a report. */
  answer: (word: LeaseWord) => unknown = () => ({ status: 200 });
  /** Whether requests with reports find no service. */
  isAway = false;
  #leases = 0;

  /**
   * Returns an answer to a request with reports instead of their results;
   * undefined for their results.
   */
  refuseReports:
    | ((
      words: readonly LeaseWord[],
    ) => Response | Promise<Response> | undefined)
    | undefined;

  /** Creates a worker of the service. */
  worker(
    options: Pick<WorkerOptions, "handlers"> & Partial<WorkerOptions>,
  ): Worker {
    const { fetch } = scriptedFetch(({ path, body, init }) => {
      const said = JSON.parse(new TextDecoder().decode(body));
      return path.endsWith("/lease")
        ? this.#lease(said, init.signal!)
        : this.#report(said);
    });
    return new Worker({
      url: "http://tasks.test",
      key: "wk_1",
      worker: "mailer",
      clock: this.clock,
      fetch: fetch as typeof globalThis.fetch,
      onError: (error) => void this.errors.push(error),
      ...options,
    });
  }

  #lease(wish: LeaseWish, signal: AbortSignal): Response | Promise<Response> {
    this.wishes.push(wish);
    const refused = this.refuseLease?.();
    if (refused !== undefined) return refused;
    const leases = this.due.splice(0, wish.max).map((job) => ({
      ...{ id: `lse_${++this.#leases}`, token: "lt", fence: this.#leases },
      ...{ run: 0, attempt: 1, expires_at: "2027-01-01T00:00:00Z" },
      task: { id: `tsk_${this.#leases}`, job, data: null, metadata: {} },
      ...this.more,
    }));
    if (leases.length > 0) return Response.json({ leases });
    // The request stays open until the worker aborts it.
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  }

  #report(
    { leases }: { readonly leases: readonly LeaseWord[] },
  ): Response | Promise<Response> {
    if (this.isAway) return Promise.reject(new TypeError("no service"));
    const refused = this.refuseReports?.(leases);
    if (refused !== undefined) return refused;
    const results = leases.map((word) => {
      if (word.action === "heartbeat") this.beats++;
      else this.words.push(word);
      return this.answer(word);
    });
    return Response.json({ results });
  }

  /** Lets time pass, in steps, until the condition is true. */
  async until(condition: () => boolean, stepMs = 50): Promise<void> {
    for (let times = 0; times < 5_000 && !condition(); times++) {
      await this.clock.advanceAsync(stepMs);
    }
    assert(condition(), String(condition));
  }

  /** Stops a worker while time passes. */
  async stop(worker: Worker, graceMs = 1_000): Promise<void> {
    let isStopped = false;
    const stopped = worker.stop({ graceMs }).then(() => isStopped = true);
    await this.until(() => isStopped);
    await stopped;
    assertEquals(this.clock.pendingTimers, 0);
  }
}
