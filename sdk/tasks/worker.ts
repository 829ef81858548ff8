/**
 * A pull worker, which takes tasks from the tasks service and executes them.
 *
 * @module
 */

import { type ClientClock, pause, runWithin } from "../memory/client_clock.ts";
import type {
  LeaseBatch,
  LeaseResults,
  Leases,
  LeaseWish,
} from "./api_types.ts";
import { deferred } from "./deferred.ts";
import { isBodyRefused, LeaseReports, logParts } from "./lease_reports.ts";
import {
  failureOf,
  type LeasedTask,
  type TaskAttemptContext,
  TaskFailure,
  type TaskHandler,
  WorkEnded,
} from "./task_handler.ts";
import { ServiceCalls, type TasksConnection } from "./service_calls.ts";
import { TasksError } from "./tasks_error.ts";

/** Options of {@linkcode Worker}. */
export interface WorkerOptions extends TasksConnection {
  /** The worker's name or id. */
  readonly worker: string;
  /**
   * The functions that execute tasks: one for all jobs, or one for each job by
   * name.
   */
  readonly handlers: TaskHandler | Readonly<Record<string, TaskHandler>>;
  /**
   * The jobs whose tasks the worker takes.
   *
   * @default all
   */
  readonly jobs?: readonly string[] | undefined;
  /**
   * The most tasks that are executed at the same time.
   *
   * @default {10}
   */
  readonly concurrency?: number | undefined;
  /**
   * The most requests for tasks that are open at the same time, and likewise
   * the most requests with reports. One is enough for some thousand tasks a
   * second.
   *
   * @default {1}
   */
  readonly connections?: number | undefined;
  /**
   * Milliseconds until a lease ends, at least 5,000. The worker extends its
   * leases three times in this period; when it does not, the service gives the
   * task to another worker.
   *
   * @default {30000}
   */
  readonly leaseMs?: number | undefined;
  /**
   * The most milliseconds that a request for tasks waits for the first task.
   *
   * @default {20000}
   */
  readonly waitMs?: number | undefined;
  /**
   * The name of this process in the history of tasks.
   *
   * @default no name
   */
  readonly instance?: string | undefined;
  /**
   * Whether the worker's secrets are sent with its tasks.
   *
   * @default {false}
   */
  readonly withSecrets?: boolean | undefined;
  /**
   * Called with errors outside of handlers, such as that the service could not
   * be reached, or that a lease was lost before its result was reported. Log
   * them: the worker goes on by itself.
   */
  readonly onError: (error: Error) => void;
}

/** A lease as the service gives it. */
type Lease = Leases["leases"][number];

/** An attempt that is in progress. */
interface Running {
  readonly lease: Lease;
  readonly controller: AbortController;
  /**
   * The time by the worker's clock at which the lease ends unless it is
   * extended.
   */
  endsAtMs: number;
  /** Progress that was not reported yet; undefined for none. */
  progress: { readonly value: unknown } | undefined;
}

const MAX_LEASES = 100;
const MAX_CONCURRENCY = 1_000;
/** Most bytes of progress in a heartbeat; the service has the same limit. */
const MAX_PROGRESS_BYTES = 4_096;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Statuses after which the same request cannot succeed later. */
const FINAL_STATUSES: readonly number[] = [400, 401, 403, 404, 422];
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
export class Worker implements AsyncDisposable {
  readonly #options: WorkerOptions;
  readonly #calls: ServiceCalls;
  readonly #reports: LeaseReports;
  readonly #concurrency: number;
  readonly #connections: number;
  readonly #leaseMs: number;
  readonly #running = new Map<string, Running>();
  /** Aborts the requests for tasks. */
  readonly #polling = new AbortController();
  /** Ends the heartbeats. */
  readonly #beating = new AbortController();
  readonly #ended = deferred();
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
  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#calls = new ServiceCalls(options);
    this.#concurrency = wholeNumber("concurrency", options.concurrency ?? 10, {
      max: MAX_CONCURRENCY,
    });
    this.#connections = wholeNumber("connections", options.connections ?? 1, {
      max: this.#concurrency,
    });
    this.#leaseMs = wholeNumber("leaseMs", options.leaseMs ?? 30_000, {
      min: 5_000,
      max: 86_400_000,
    });
    if (typeof options.worker !== "string" || options.worker === "") {
      throw new TypeError("Cannot start a worker: worker is empty");
    }
    this.#reports = new LeaseReports({
      send: (batch) => this.#say(batch),
      connections: this.#connections,
      clock: this.#calls.clock,
      onError: (error) => this.#tell(error),
    });
    // The error that ends the worker is passed to `onError`, so it must not
    // also be an unhandled rejection.
    this.#ended.promise.catch(() => {});
  }

  /**
   * Settles when the worker has stopped.
   *
   * @throws {TasksError} When the service refused the credential or the worker,
   * so that another request cannot succeed.
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
        "Cannot start the worker: it was stopped; make another one",
      );
    }
    this.#loops ??= Promise.all([
      this.#beat(),
      ...Array.from({ length: this.#connections }, () => this.#poll()),
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
    for (const running of this.#running.values()) this.#release(running);
    this.#running.clear();
    this.#beating.abort();
    await this.#reports.drained();
    await this.#loops;
    this.#ended.resolve();
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
    let failures = 0;
    while (!signal.aborted) {
      const room = await this.#room(signal);
      if (room === 0) break;
      let leases: readonly Lease[] = [];
      const sinceMs = clock.nowMs();
      try {
        leases = await this.#lease(room, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        await this.#failed(error, failures++);
      } finally {
        this.#free(room - leases.length);
      }
      for (const lease of leases) this.#begin(lease);
      const restMs = sinceMs + FIRST_PAUSE_MS - clock.nowMs();
      if (leases.length > 0 || failures > 0 || restMs <= 0) continue;
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
    while (this.#taken >= this.#concurrency && !signal.aborted) {
      await this.#freed.promise;
    }
    if (signal.aborted) return 0;
    const share = Math.ceil(this.#concurrency / this.#connections);
    const room = Math.min(
      ...[this.#concurrency - this.#taken, share, MAX_LEASES],
    );
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
    const {
      waitMs = 20_000,
      worker,
      jobs,
      instance,
      withSecrets = false,
    } = this.#options;
    const wish: LeaseWish = {
      max,
      wait: waitMs / 1_000,
      lease: this.#leaseMs / 1_000,
      jobs,
      instance,
      secrets: withSecrets,
    };
    const { body } = await this.#calls.call<Leases>({
      action: "take tasks",
      method: "POST",
      path: ["workers", worker, "lease"],
      body: wish,
      headers: { prefer: "return=minimal" },
      extraMs: waitMs,
      signal,
    });
    if (areLeases(body?.leases)) return body.leases;
    throw unexpectedAnswer("take tasks");
  }

  /**
   * Reports a failed request for tasks to `onError` and pauses; an error that
   * cannot pass stops the worker.
   */
  async #failed(error: unknown, failures: number): Promise<void> {
    const isFinal = error instanceof TasksError && error.status !== undefined &&
      FINAL_STATUSES.includes(error.status);
    if (isFinal || !(error instanceof TasksError)) {
      this.#ended.reject(error);
      this.#tell(error);
      // This is not awaited: stopping waits for the loop that called this
      // function.
      void this.stop();
      return;
    }
    this.#tell(error);
    const longestMs = Math.min(
      FIRST_PAUSE_MS * 2 ** failures,
      LONGEST_PAUSE_MS,
    );
    const delayMs = error.retryAfterMs ?? longestMs * (0.5 + Math.random() / 2);
    const { clock } = this.#calls;
    await pause(delayMs, { clock, signal: this.#polling.signal })
      .catch(() => {});
  }

  #begin(lease: Lease): void {
    const controller = new AbortController();
    const running: Running = {
      lease,
      controller,
      endsAtMs: this.#calls.clock.nowMs() + this.#leaseMs,
      progress: undefined,
    };
    this.#running.set(lease.id, running);
    void this.#work(running).finally(() => {
      this.#running.delete(lease.id);
      this.#free(1);
    });
  }

  /** Executes one task and reports the result. */
  async #work(running: Running): Promise<void> {
    const { lease, controller: { signal } } = running;
    const { id, token } = lease;
    const { data, metadata = {}, job = "default" } = lease.task;
    try {
      const handler = this.#handlerOf(job);
      const task: LeasedTask = { id: lease.task.id ?? "", job, data, metadata };
      const result = await handler(task, this.#contextOf(running));
      if (isGone(signal)) return;
      await this.#reports.add({ id, token, action: "complete", result }, {
        endsAtMs: () => running.endsAtMs,
      });
    } catch (error) {
      if (isGone(signal)) return;
      if (signal.aborted) return this.#release(running);
      await this.#reports.add({
        ...{ id, token, action: "fail" },
        ...failureOf(error),
      }, { endsAtMs: () => running.endsAtMs });
    }
  }

  #handlerOf(job: string): TaskHandler {
    const { handlers } = this.#options;
    if (typeof handlers === "function") return handlers;
    const handler = Object.hasOwn(handlers, job) ? handlers[job] : undefined;
    if (handler === undefined) {
      // Another version of the program may have the handler, so the failure is
      // not final.
      throw new TaskFailure(`Cannot do the task: no handler of job "${job}"`, {
        code: "unknown_job",
      });
    }
    return handler;
  }

  #contextOf(running: Running): TaskAttemptContext {
    const { lease, controller } = running;
    return {
      signal: controller.signal,
      fence: lease.fence,
      run: lease.run,
      attempt: lease.attempt,
      secrets: lease.secrets ?? {},
      progress: (value) => {
        running.progress = { value };
      },
      log: (...lines) => {
        if (isGone(controller.signal)) return;
        const { id, token } = lease;
        for (const part of logParts(lines)) {
          void this.#reports.add({ id, token, action: "log", lines: part }, {
            endsAtMs: () => running.endsAtMs,
          });
        }
      },
    };
  }

  #release(running: Running): void {
    const { lease: { id, token } } = running;
    void this.#reports.add({
      ...{ id, token, action: "release", reason: "The worker stopped" },
    }, { endsAtMs: () => running.endsAtMs });
  }

  /**
   * Sends heartbeats for all leases that the worker holds, until the worker has
   * stopped. A heartbeat without answer is given up when the next one is due,
   * so that one lost answer does not end the leases.
   */
  async #beat(): Promise<void> {
    const { clock } = this.#calls;
    const { signal } = this.#beating;
    let dueMs = clock.nowMs() + this.#beatMs;
    while (!signal.aborted) {
      const restMs = Math.min(dueMs - clock.nowMs(), this.#beatMs);
      await pause(Math.max(0, restMs), { clock, signal }).catch(() => {});
      dueMs = clock.nowMs() + this.#beatMs;
      if (!signal.aborted) await this.#beatOnce(clock);
    }
  }

  /** Milliseconds from one heartbeat to the next. */
  get #beatMs(): number {
    return this.#leaseMs / 3;
  }

  async #beatOnce(clock: ClientClock): Promise<void> {
    const beating = [...this.#running.values()];
    if (beating.length === 0) return;
    const sinceMs = clock.nowMs();
    const told = beating.map((running) => this.#takeProgress(running));
    try {
      const { results } = await this.#sayBeats(beating, told);
      for (const [index, running] of beating.entries()) {
        const result = results[index];
        if (result?.lease?.canceled === true) end(running, "canceled");
        else if (result?.status === 200) {
          running.endsAtMs = sinceMs + this.#leaseMs;
        } else if (result?.status === 409) end(running, "lost");
      }
    } catch (error) {
      if (this.#running.size > 0) this.#tell(error);
      // The next heartbeat reports the progress again, unless the handler has
      // reported newer progress.
      for (const [index, running] of beating.entries()) {
        running.progress ??= told[index];
      }
    }
    for (const running of beating) {
      if (clock.nowMs() >= running.endsAtMs) end(running, "lost");
    }
  }

  /**
   * Sends heartbeats with progress, and again without it when the service does
   * not take them: without an answer the leases would end.
   */
  async #sayBeats(
    beating: readonly Running[],
    told: readonly Running["progress"][],
  ): Promise<LeaseResults> {
    const say = (isWithProgress: boolean): Promise<LeaseResults> => {
      const leases = beating.map(({ lease: { id, token } }, index) => {
        const progress = isWithProgress ? told[index] : undefined;
        return {
          ...{ id, token, action: "heartbeat" as const },
          extend: this.#leaseMs / 1_000,
          ...(progress === undefined ? {} : { progress: progress.value }),
        };
      });
      return runWithin((signal) => this.#say({ leases }, signal), {
        signals: [this.#beating.signal],
        deadline: {
          clock: this.#calls.clock,
          timeoutMs: this.#beatMs,
          error: () =>
            new TasksError(
              `Cannot extend leases: no answer within ${this.#beatMs} ms`,
              { code: "no_answer" },
            ),
        },
      });
    };
    try {
      return await say(true);
    } catch (error) {
      if (!isBodyRefused(error) || told.every((one) => one === undefined)) {
        throw error;
      }
      this.#tell(error);
      return await say(false);
    }
  }

  /**
   * Returns the progress to report in a heartbeat. Progress that the service
   * would refuse is passed to `onError` and left out, so that the heartbeat,
   * which also holds other leases, is accepted.
   */
  #takeProgress(running: Running): Running["progress"] {
    const { progress } = running;
    running.progress = undefined;
    if (progress === undefined) return undefined;
    try {
      const text = JSON.stringify(progress.value) ?? "";
      const { length } = new TextEncoder().encode(text);
      if (length <= MAX_PROGRESS_BYTES) return progress;
      this.#tell(
        new Error(
          `Cannot report progress: it is ${length} bytes long as JSON, and ` +
            `${MAX_PROGRESS_BYTES} are the most`,
        ),
      );
    } catch (cause) {
      const reason = `it is no JSON: ${String(cause)}`;
      this.#tell(new Error(`Cannot report progress: ${reason}`, { cause }));
    }
    return undefined;
  }

  /** Sends reports on leases. */
  async #say(
    batch: LeaseBatch,
    signal?: AbortSignal,
  ): Promise<LeaseResults> {
    const { body } = await this.#calls.call<LeaseResults>({
      action: "report on tasks",
      method: "POST",
      path: ["leases", "batch"],
      body: batch,
      // The service answers a repeated report as it answered the first one.
      isRepeatable: true,
      signal,
    });
    if (Array.isArray(body?.results)) return body;
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

function end({ controller }: Running, cause: WorkEnded["cause"]): void {
  controller.abort(new WorkEnded(cause));
}

/**
 * Tells whether the work was aborted for another reason than the worker's stop.
 * The service would then refuse a report.
 */
function isGone({ reason }: AbortSignal): boolean {
  return reason instanceof WorkEnded && reason.cause !== "stopping";
}

function wholeNumber(
  name: string,
  value: number,
  { min = 1, max }: { readonly min?: number; readonly max: number },
): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new TypeError(
    `Cannot start a worker: ${name} is ${value}, not a whole number from ${min} ` +
      `to ${max}`,
  );
}
