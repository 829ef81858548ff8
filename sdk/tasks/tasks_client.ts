/**
 * A client of the tasks service for who makes tasks and looks after them.
 *
 * @module
 */

import { pause } from "../memory/client_clock.ts";
import type {
  BulkAction,
  BulkResult,
  HistoryList,
  HistoryRecord,
  Me,
  NewTask,
  Operation,
  PreviewRequest,
  Problem,
  SchedulePreview,
  Task,
  TaskAttempt,
  TaskAttemptList,
  TaskBatchResults,
  TaskChanges,
  TaskExplanation,
  TaskList,
  TaskPart,
  Usage,
} from "./api_types.ts";
import { KeysClient } from "./keys_client.ts";
import { PagedList } from "./pages.ts";
import {
  type CallOptions,
  ServiceCalls,
  type TasksConnection,
} from "./service_calls.ts";
import { WorkersClient } from "./workers_client.ts";

/** What can be said of a call that makes or starts something. */
export interface MakeOptions extends CallOptions {
  /**
   * Names what is made, so that it is made once: to be taken from what it stands for
   * (an order's number), where a program that starts again would ask again. Kept for
   * 24 hours.
   *
   * @default a random one, which covers the client's own retries
   */
  readonly idempotencyKey?: string | undefined;
}

/** What can be said of a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * Changes it only while it has this `version`; else the call fails with
   * `precondition_failed`.
   *
   * @default whatever its version
   */
  readonly ifVersion?: number | undefined;
}

/** Which tasks a list has, and how. */
export interface TaskFilter extends CallOptions {
  /** Of these workers, by name or id. */
  readonly worker?: string | readonly string[] | undefined;
  /** With one of these statuses; `active` and `final` stand for several. */
  readonly status?: TaskStatus | readonly TaskStatus[] | undefined;
  /** From then on: `2027`, `2027-01`, `2027-01-31` or RFC 3339. */
  readonly start?: string | undefined;
  /** Up to then, all of it included. */
  readonly end?: string | undefined;
  /** The zone of years, months and days; UTC when absent. */
  readonly tz?: string | undefined;
  /** The time that `start` and `end` bound; `date` when absent. */
  readonly by?: "date" | "created_at" | "finished_at" | undefined;
  /** Of this job. */
  readonly job?: string | undefined;
  /** Of this group; empty for tasks without one. */
  readonly group?: string | undefined;
  /** With this key. */
  readonly key?: string | undefined;
  /** Whose last error has this code. */
  readonly error?: string | undefined;
  /** With all of these tags, which have no commas. */
  readonly tag?: string | readonly string[] | undefined;
  /** With these labels. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Those whose date has come, or those whose date has not. */
  readonly due?: boolean | undefined;
  /** The time that orders them; `date` when absent. */
  readonly sort?: "date" | "created_at" | undefined;
  /** Earliest or latest first; `asc` when absent. */
  readonly order?: "asc" | "desc" | undefined;
  /** Fields to be shown; all when absent. */
  readonly fields?: ReadonlyArray<keyof TaskPart> | undefined;
  /** Tasks of a page, at most 200; 50 when absent. */
  readonly limit?: number | undefined;
  /** Whether pages tell how many there are. */
  readonly count?: boolean | undefined;
}

/** A status that lists take. */
export type TaskStatus = Task["status"] | "active" | "final";

/** Which records a history has. */
export interface HistoryFilter extends CallOptions {
  /** Of this kind. */
  readonly type?: HistoryRecord["type"] | undefined;
  /** Of this run. */
  readonly run?: number | undefined;
  /** Earliest or latest first; `asc` when absent. */
  readonly order?: "asc" | "desc" | undefined;
  /** Records of a page. */
  readonly limit?: number | undefined;
}

/** What became of one task of a batch. */
export type BatchOutcome =
  | {
    /** It was made, or one with its key was there. */
    readonly kind: "task";
    /** Whether it was made now. */
    readonly isNew: boolean;
    /** The task. */
    readonly task: Task;
  }
  | {
    /** It was refused. */
    readonly kind: "refused";
    /** Why. */
    readonly problem: Problem;
  };

const NO_BODY = {} as const;

/**
 * Makes tasks, finds them, and does with them what the service can.
 *
 * @example Make a task that runs every morning
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * const tasks = new TasksClient({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that takes everything, so that this example runs by itself.
 *   fetch: () => Promise.resolve(Response.json({ id: "tsk_1", status: "scheduled" })),
 * });
 * const task = await tasks.create({
 *   worker: "mailer",
 *   job: "digest",
 *   data: { user: 7 },
 *   repeat: { cron: "0 7 * * *" },
 *   timezone: "Europe/Vienna",
 * });
 * console.log(task.status); // scheduled
 * ```
 */
export class TasksClient {
  readonly #calls: ServiceCalls;
  /** Workers and their secrets. */
  readonly workers: WorkersClient;
  /** API keys. */
  readonly keys: KeysClient;

  /**
   * A client of the tenant at `url`.
   *
   * @throws {TypeError} When an option is not valid.
   */
  constructor(connection: TasksConnection) {
    this.#calls = new ServiceCalls(connection);
    this.workers = new WorkersClient(this.#calls);
    this.keys = new KeysClient(this.#calls);
  }

  /**
   * Makes a task; where a live one has its `key`, `on_conflict` decides.
   *
   * @throws {TasksError} When it is refused: `unknown_worker`, `invalid`,
   * `key_conflict`, `quota_exceeded` and others.
   */
  async create(task: NewTask, options: MakeOptions = {}): Promise<Task> {
    const { body } = await this.#calls.make<Task>({
      action: "create the task",
      path: ["tasks"],
      body: task,
      signal: options.signal,
    }, options.idempotencyKey);
    return body;
  }

  /**
   * Makes many tasks in one request, up to what the plan allows, which is 1,000 unless
   * it says otherwise. Each stands for itself unless `isAtomic` is true.
   *
   * @returns One outcome for each task, in their order.
   * @throws {TasksError} When the request is refused as a whole.
   */
  async createBatch(
    tasks: readonly NewTask[],
    options: MakeOptions & {
      /**
       * Whether all are made or none.
       *
       * @default {false}
       */
      readonly isAtomic?: boolean | undefined;
    } = {},
  ): Promise<readonly BatchOutcome[]> {
    const { body } = await this.#calls.make<TaskBatchResults>({
      action: "create the tasks",
      path: ["tasks", "batch"],
      body: { tasks, atomic: options.isAtomic ?? false },
      signal: options.signal,
    }, options.idempotencyKey);
    return body.results.map(({ status, task, problem }): BatchOutcome =>
      task === undefined
        ? { kind: "refused", problem: problem! }
        : { kind: "task", isNew: status === 201, task }
    );
  }

  /**
   * The tasks that the filter describes. A page may be short, or empty, and have a next
   * one; iterating goes on by itself.
   */
  list(filter: TaskFilter = {}): PagedList<TaskPart, TaskList> {
    const { signal, metadata = {}, fields, ...query } = filter;
    const labels = Object.entries(metadata).map(([name, value]) =>
      [`metadata.${name}`, value] as const
    );
    return new PagedList(async (cursor) => {
      const { body } = await this.#calls.call<TaskList>({
        action: "list tasks",
        method: "GET",
        path: ["tasks"],
        query: {
          ...query,
          ...Object.fromEntries(labels),
          fields,
          cursor,
        },
        signal,
      });
      return body;
    });
  }

  /**
   * One task.
   *
   * @throws {TasksError} `not_found` and others.
   */
  get(id: string, options: CallOptions = {}): Promise<Task> {
    return this.#one<Task>("show the task", ["tasks", id], options);
  }

  /**
   * Gives a task other values: what `changes` does not name goes back to its default.
   *
   * @throws {TasksError} When it is refused.
   */
  update(
    id: string,
    changes: TaskChanges,
    options: ChangeOptions = {},
  ): Promise<Task> {
    return this.#change(id, { method: "PUT", body: changes, options });
  }

  /**
   * Changes what `changes` names and nothing else; null takes a value out.
   *
   * @throws {TasksError} When it is refused.
   */
  patch(
    id: string,
    changes: Partial<TaskChanges>,
    options: ChangeOptions = {},
  ): Promise<Task> {
    return this.#change(id, { method: "PATCH", body: changes, options });
  }

  /**
   * Removes a task with its history.
   *
   * @throws {TasksError} When it is refused.
   */
  async remove(id: string, options: ChangeOptions = {}): Promise<void> {
    await this.#calls.call({
      action: "remove the task",
      method: "DELETE",
      path: ["tasks", id],
      headers: ifMatch(options),
      signal: options.signal,
    });
  }

  /**
   * Ends a task that has not ended; who works on it is told with its next heartbeat.
   *
   * @throws {TasksError} `wrong_state` when it has ended, and others.
   */
  cancel(
    id: string,
    options: MakeOptions & ChangeOptions & {
      /** Why, for the history. */
      readonly reason?: string | undefined;
    } = {},
  ): Promise<Task> {
    const { reason } = options;
    const body = reason === undefined ? NO_BODY : { reason };
    return this.#act(id, { verb: "cancel", body, options });
  }

  /**
   * Tries a task that has ended again.
   *
   * @throws {TasksError} When it is refused.
   */
  retry(
    id: string,
    options: MakeOptions & ChangeOptions = {},
  ): Promise<Task> {
    return this.#act(id, { verb: "retry", body: NO_BODY, options });
  }

  /**
   * Runs a task now, whatever its date.
   *
   * @throws {TasksError} When it is refused.
   */
  run(id: string, options: MakeOptions & ChangeOptions = {}): Promise<Task> {
    return this.#act(id, { verb: "run", body: NO_BODY, options });
  }

  /**
   * Holds a task back until it is resumed.
   *
   * @throws {TasksError} When it is refused.
   */
  pause(id: string, options: MakeOptions & ChangeOptions = {}): Promise<Task> {
    return this.#act(id, { verb: "pause", body: NO_BODY, options });
  }

  /**
   * Lets a task that is paused go on.
   *
   * @throws {TasksError} When it is refused.
   */
  resume(id: string, options: MakeOptions & ChangeOptions = {}): Promise<Task> {
    return this.#act(id, { verb: "resume", body: NO_BODY, options });
  }

  /** What happened to a task. */
  history(
    id: string,
    filter: HistoryFilter = {},
  ): PagedList<HistoryRecord, HistoryList> {
    const { signal, ...query } = filter;
    return new PagedList((cursor) =>
      this.#one("show the history", ["tasks", id, "history"], {
        signal,
        query: { ...query, cursor },
      })
    );
  }

  /** The attempts to do a task. */
  attempts(
    id: string,
    filter: Omit<HistoryFilter, "type" | "run"> = {},
  ): PagedList<TaskAttempt, TaskAttemptList> {
    const { signal, ...query } = filter;
    return new PagedList((cursor) =>
      this.#one("list the attempts", ["tasks", id, "attempts"], {
        signal,
        query: { ...query, cursor },
      })
    );
  }

  /**
   * Why a task does or does not run now.
   *
   * @throws {TasksError} When it is refused.
   */
  explain(id: string, options: CallOptions = {}): Promise<TaskExplanation> {
    return this.#one("explain the task", ["tasks", id, "explain"], options);
  }

  /**
   * Does one thing to many tasks. More than the service does at once goes on in the
   * background: the answer is an {@linkcode Operation} then, which
   * {@linkcode TasksClient.finished} waits for.
   *
   * @throws {TasksError} When it is refused.
   */
  async apply(
    action: BulkAction,
    options: MakeOptions = {},
  ): Promise<BulkResult | Operation> {
    const { body } = await this.#calls.make<BulkResult | Operation>({
      action: `${action.action} the tasks`,
      path: ["tasks", "actions"],
      body: action,
      signal: options.signal,
    }, options.idempotencyKey);
    return body;
  }

  /**
   * Reads the state of an operation that runs in the background.
   *
   * @throws {TasksError} When it is refused.
   */
  operation(id: string, options: CallOptions = {}): Promise<Operation> {
    return this.#one("show the operation", ["operations", id], options);
  }

  /**
   * Waits until an operation has ended.
   *
   * @throws {TasksError} When it can't be looked at.
   */
  async finished(
    operation: Operation,
    { signal = new AbortController().signal, everyMs = 500, onProgress }:
      & CallOptions
      & {
        /**
         * Milliseconds between two looks.
         *
         * @default {500}
         */
        readonly everyMs?: number | undefined;
        /**
         * Takes what each look shows.
         *
         * @default nothing does
         */
        readonly onProgress?: ((operation: Operation) => void) | undefined;
      } = {},
  ): Promise<Operation> {
    let seen = operation;
    while (seen.status === "running") {
      await pause(everyMs, { clock: this.#calls.clock, signal });
      seen = await this.operation(operation.id, { signal });
      onProgress?.(seen);
    }
    return seen;
  }

  /**
   * When a schedule would run; nothing is made.
   *
   * @throws {TasksError} When it is refused.
   */
  async previewSchedule(
    request: PreviewRequest,
    options: CallOptions = {},
  ): Promise<SchedulePreview> {
    const { body } = await this.#calls.call<SchedulePreview>({
      action: "preview the schedule",
      method: "POST",
      path: ["schedules", "preview"],
      body: request,
      isRepeatable: true,
      signal: options.signal,
    });
    return body;
  }

  /**
   * Who asks, and what they may do.
   *
   * @throws {TasksError} When it is refused.
   */
  me(options: CallOptions = {}): Promise<Me> {
    return this.#one("tell who asks", ["me"], options);
  }

  /**
   * What the tenant uses of its plan.
   *
   * @throws {TasksError} When it is refused.
   */
  usage(options: CallOptions = {}): Promise<Usage> {
    return this.#one("tell what is used", ["usage"], options);
  }

  async #one<Body>(
    action: string,
    path: readonly string[],
    options: Pick<Parameters<ServiceCalls["call"]>[0], "query" | "signal">,
  ): Promise<Body> {
    const { query, signal } = options;
    const { body } = await this.#calls.call<Body>({
      ...{ action, method: "GET", path, query, signal },
    });
    return body;
  }

  async #change(
    id: string,
    { method, body: changes, options }: {
      readonly method: "PUT" | "PATCH";
      readonly body: unknown;
      readonly options: ChangeOptions;
    },
  ): Promise<Task> {
    const { body } = await this.#calls.call<Task>({
      action: "change the task",
      method,
      path: ["tasks", id],
      body: changes,
      headers: ifMatch(options),
      signal: options.signal,
    });
    return body;
  }

  async #act(
    id: string,
    { verb, body: said, options }: {
      readonly verb: string;
      readonly body: unknown;
      readonly options: MakeOptions & ChangeOptions;
    },
  ): Promise<Task> {
    const { body } = await this.#calls.make<Task>({
      action: `${verb} the task`,
      path: ["tasks", id, verb],
      body: said,
      headers: ifMatch(options),
      signal: options.signal,
    }, options.idempotencyKey);
    return body;
  }
}

function ifMatch({ ifVersion }: ChangeOptions): Record<string, string> {
  return ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
}
