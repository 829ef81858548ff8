/**
 * A pull worker, which takes tasks from the tasks service and executes them.
 *
 * @module
 */

import { pause, steadyMs } from "../memory/client_clock.ts";
import type {
  LeaseBatch,
  LeaseResults,
  Leases,
  LeaseWish,
} from "./api_types.ts";
import { deferred } from "./deferred.ts";
import { LeaseFailures } from "./lease_failures.ts";
import {
  type HeldLease,
  type Lease,
  LeaseHeartbeats,
} from "./lease_heartbeats.ts";
import { LeaseReports } from "./lease_reports.ts";
import type { AnyJobs, JobTypes } from "./job_types.ts";
import { ServiceCalls } from "./service_calls.ts";
import { WorkEnded } from "./task_handler.ts";
import { type TaskHandlers, TaskWork } from "./task_work.ts";
import { TasksError } from "./tasks_error.ts";
import {
  type WorkerOptions,
  type WorkerSettings,
  workerSettings,
} from "./worker_options.ts";

const MAX_LEASES = 100;
/** Least milliseconds between two requests that return no tasks. */
const LEAST_WAIT_MS = 500;
/** Milliseconds that handlers have to end after their signals have aborted. */
const LAST_WAIT_MS = 5_000;

/**
 * Takes tasks of one worker from the service, calls handlers with them, extends
 * their leases meanwhile, and reports the results.
 *
 * @example Send mails
 * ```ts
 * import { Worker } from "@tercet/sdk/tasks";
 *
 * await using worker = new Worker({
 *   url: "https://acme.tasks.example.com",
 *   key: "wk_your_credential",
 *   worker: "mailer",
 *   handlers: {
 *     welcome: async (task, { signal, fence }) => {
 *       console.log(task.data, fence, signal.aborted);
 *       return { sent: true };
 *     },
 *   },
 *   onError: (error) => console.error(error.message),
 *   // A service without tasks, so that this example runs by itself.
 *   fetch: () => Promise.resolve(Response.json({ leases: [] })),
 * });
 * worker.start();
 * // Later, or at the end of the block: takes no more tasks, and waits for those it has.
 * await worker.stop();
 * ```
 */
export class Worker<Jobs extends JobTypes<Jobs> = AnyJobs>
  implements AsyncDisposable {
  readonly #options: WorkerOptions<Jobs>;
  readonly #settings: WorkerSettings;
  readonly #calls: ServiceCalls;
  readonly #reports: LeaseReports;
  readonly #heartbeats: LeaseHeartbeats;
  readonly #work: TaskWork;
  readonly #running = new Map<string, HeldLease>();
  /** Aborts the requests for tasks. */
  readonly #polling = new AbortController();
  readonly #ended = deferred();
  /** Why the worker ended by itself. */
  #fault: { readonly error: unknown } | undefined;
  /**
   * The tasks that are in progress, and those that open requests may return.
   */
  #taken = 0;
  #freed = deferred();
  #loops: Promise<unknown> | undefined;
  #stopping: Promise<void> | undefined;

  /**
   * Creates a worker that has not started.
   *
   * @throws {TypeError} When an option is not valid.
   */
  constructor(options: WorkerOptions<NoInfer<Jobs>>) {
    this.#options = options;
    this.#calls = new ServiceCalls(options);
    this.#settings = workerSettings(options);
    const { clock } = this.#calls;
    const onError = (error: Error): void => options.onError(error);
    this.#reports = new LeaseReports({
      send: (batch) => this.#say(batch),
      connections: this.#settings.connections,
      ...{ clock, onError },
    });
    this.#heartbeats = new LeaseHeartbeats({
      send: (batch, signal) => this.#say(batch, signal),
      held: () => this.#running.values(),
      leaseMs: this.#settings.leaseMs,
      ...{ clock, onError },
    });
    this.#work = new TaskWork({
      // The types of jobs hold for the callers; tasks have any job.
      handlers: options.handlers as TaskHandlers,
      reports: this.#reports,
      onReturn: () => this.#heartbeats.look(),
    });
  }

  /**
   * Settles when the worker has stopped. When the worker ends by itself, this
   * rejects: await it, or let the unhandled rejection end the process, so that
   * whatever supervises the process starts another one.
   *
   * @throws {TasksError} When the service refused the request, or for a minute
   * the credential or the worker, so that another request cannot succeed.
   */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The number of tasks that are in progress. */
  get busy(): number {
    return this.#running.size;
  }

  /**
   * Starts to take tasks; a second call does nothing.
   *
   * @throws {Error} When the worker was stopped before.
   */
  start(): void {
    if (this.#stopping !== undefined) {
      throw new Error(
        "Cannot start the worker: it was stopped; create another one",
      );
    }
    this.#loops ??= Promise.all([
      this.#heartbeats.run(),
      ...Array.from(
        { length: this.#settings.connections },
        () => this.#poll(),
      ),
    ]);
  }

  /**
   * Stops to take tasks and waits for those in progress. After `graceMs` the
   * signals of the remaining ones abort, and their tasks are released, so that
   * another worker gets them at once.
   */
  stop(
    { graceMs = 30_000 }: {
      /**
       * Milliseconds that the tasks in progress have to end.
       *
       * @default {30000}
       */
      readonly graceMs?: number | undefined;
    } = {},
  ): Promise<void> {
    return this.#stopping ??= this.#stop(graceMs);
  }

  /** Stops the worker as {@linkcode Worker.stop} does. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(graceMs: number): Promise<void> {
    this.#polling.abort(new WorkEnded("stopping"));
    this.#wake();
    await this.#idle(graceMs);
    for (const { controller } of this.#running.values()) {
      controller.abort(new WorkEnded("stopping"));
    }
    await this.#idle(LAST_WAIT_MS);
    for (const running of this.#running.values()) {
      void this.#work.giveBack(running);
    }
    this.#running.clear();
    this.#heartbeats.stop();
    await this.#reports.drained();
    await this.#loops;
    if (this.#fault === undefined) this.#ended.resolve();
    else this.#ended.reject(this.#fault.error);
  }

  /** Waits until no task is in progress, for `timeoutMs` at most. */
  async #idle(timeoutMs: number): Promise<void> {
    const { clock } = this.#calls;
    let isOver = false;
    const over = deferred();
    const timer = clock.setTimer(() => {
      isOver = true;
      over.resolve();
    }, timeoutMs);
    while (this.#running.size > 0 && !isOver) {
      await Promise.race([this.#freed.promise, over.promise]);
    }
    timer.cancel();
  }

  /**
   * Requests tasks repeatedly, as many as may be executed, until the worker
   * stops.
   */
  async #poll(): Promise<void> {
    const { signal } = this.#polling;
    const { clock } = this.#calls;
    const { refusedForMs } = this.#settings;
    const failures = new LeaseFailures({ clock, refusedForMs });
    while (!signal.aborted) {
      const room = await this.#room(signal);
      if (room === 0) break;
      let leases: readonly Lease[] = [];
      const sinceMs = steadyMs(clock);
      try {
        leases = await this.#lease(room, signal);
        failures.clear();
      } catch (error) {
        if (signal.aborted) break;
        await this.#failed(error, failures);
      } finally {
        this.#free(room - leases.length);
      }
      for (const lease of leases) this.#begin(lease);
      const restMs = sinceMs + LEAST_WAIT_MS - steadyMs(clock);
      if (leases.length > 0 || failures.hasFailed || restMs <= 0) continue;
      // A service that answers at once without tasks does not delay its answer
      // as requested: pause here, so that requests do not follow each other at
      // once.
      await pause(restMs, { clock, signal }).catch(() => {});
    }
  }

  /**
   * Waits until a task may be executed, and reserves as many tasks as one
   * request may return; returns 0 when the worker stops.
   */
  async #room(signal: AbortSignal): Promise<number> {
    // Stopping the worker ends this wait as well.
    const { concurrency, connections } = this.#settings;
    while (this.#taken >= concurrency && !signal.aborted) {
      await this.#freed.promise;
    }
    if (signal.aborted) return 0;
    const share = Math.ceil(concurrency / connections);
    const room = Math.min(concurrency - this.#taken, share, MAX_LEASES);
    this.#taken += room;
    return room;
  }

  #free(count: number): void {
    if (count === 0) return;
    this.#taken -= count;
    this.#wake();
  }

  /** Continues everything that waits for room, or for tasks to end. */
  #wake(): void {
    this.#freed.resolve();
    this.#freed = deferred();
  }

  async #lease(
    max: number,
    signal: AbortSignal,
  ): Promise<readonly Lease[]> {
    const { instance, withSecrets = false } = this.#options;
    const { worker, jobs, waitMs, leaseMs } = this.#settings;
    const wish: LeaseWish = {
      max,
      wait: { milliseconds: waitMs },
      lease: { milliseconds: leaseMs },
      jobs,
      instance,
      secrets: withSecrets,
    };
    const body = await this.#calls.call<Leases | undefined>({
      action: "take tasks",
      method: "POST",
      path: ["workers", worker, "lease"],
      body: wish,
      headers: { prefer: "return=minimal" },
      extraMs: waitMs,
      signal,
    });
    if (body !== undefined && areLeases(body?.leases)) return body.leases;
    throw unexpectedAnswer("take tasks");
  }

  /**
   * Reports a failed request for tasks to `onError` and pauses; an error after
   * which no request can succeed ends the worker.
   */
  async #failed(error: unknown, failures: LeaseFailures): Promise<void> {
    const delayMs = failures.add(error);
    this.#tell(error);
    if (delayMs === undefined) {
      this.#fault ??= { error };
      // This is not awaited: stopping waits for the loop that called this
      // function.
      void this.stop();
      return;
    }
    const { clock } = this.#calls;
    await pause(delayMs, { clock, signal: this.#polling.signal })
      .catch(() => {});
  }

  #begin(lease: Lease): void {
    const controller = new AbortController();
    const running: HeldLease = {
      lease,
      controller,
      endsAtMs: steadyMs(this.#calls.clock) + this.#settings.leaseMs,
      progress: undefined,
    };
    this.#running.set(lease.id, running);
    this.#heartbeats.look();
    void this.#work.run(running).finally(() => {
      this.#running.delete(lease.id);
      this.#free(1);
    });
  }

  /** Sends reports on leases. */
  async #say(
    batch: LeaseBatch,
    signal?: AbortSignal,
  ): Promise<LeaseResults> {
    const body = await this.#calls.call<LeaseResults | undefined>({
      action: "report on tasks",
      method: "POST",
      path: ["leases", "batch"],
      body: batch,
      // The service answers a repeated report as it answered the first one.
      isRepeatable: true,
      signal,
    });
    if (body !== undefined && Array.isArray(body.results)) return body;
    throw unexpectedAnswer("report on tasks");
  }

  #tell(error: unknown): void {
    this.#options.onError(
      error instanceof Error ? error : new Error(String(error)),
    );
  }
}

/**
 * The error for an answer that is not the service's, as a proxy may give it. It
 * has no status, so the request is made again.
 */
function unexpectedAnswer(action: string): TasksError {
  return new TasksError(
    `Cannot ${action}: the answer is not the tasks service's`,
    { code: "unexpected_answer" },
  );
}

function areLeases(leases: unknown): leases is readonly Lease[] {
  return Array.isArray(leases) &&
    leases.every((lease) =>
      typeof lease?.id === "string" && typeof lease.token === "string" &&
      typeof lease.task === "object" && lease.task !== null
    );
}
