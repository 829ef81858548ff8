/**
 * A client that creates and manages tasks of the tasks service.
 *
 * @module
 */

import type {
  Activity,
  BulkAction,
  BulkResult,
  HistoryList,
  HistoryRecord,
  Me,
  Operation,
  Overview,
  PreviewRequest,
  Problem,
  SchedulePreview,
  TaskAttempt,
  TaskAttemptList,
  TaskBatchResults,
  TaskChanges,
  TaskExplanation,
  TaskList,
  TaskPart,
  Usage,
} from "./api_types.ts";
import type {
  AnyJobs,
  JobName,
  JobTypes,
  NewTaskOf,
  RepeatRule,
  TaskOf,
  TaskTimes,
  Time,
} from "./job_types.ts";
import { AlertsClient } from "./alerts_client.ts";
import { CalendarsClient } from "./calendars_client.ts";
import { type EventsOptions, readEvents, type TenantEvent } from "./events.ts";
import { KeysClient } from "./keys_client.ts";
import type { PagedList } from "./pages.ts";
import { Resource } from "./resource.ts";
import {
  type CallOptions,
  type ChangeOptions,
  type MakeOptions,
  ServiceCalls,
  type TasksConnection,
} from "./service_calls.ts";
import { taskEnd, type WaitOptions } from "./task_end.ts";
import type {
  ActivityFilter,
  HistoryFilter,
  TaskFilter,
} from "./task_queries.ts";
import { checkTimes, timeText } from "./times.ts";
import { WebhooksClient } from "./webhooks_client.ts";
import { WorkersClient } from "./workers_client.ts";

/** What becomes different about a task; the rest stays. */
export type TaskChange =
  & Omit<Partial<TaskChanges>, keyof TaskTimes>
  & TaskTimes;

/** What is done to many tasks. */
export type BulkRequest = Omit<BulkAction, "filter"> & {
  /** The tasks by the conditions of lists. */
  readonly filter?:
    | Omit<NonNullable<BulkAction["filter"]>, "start" | "end">
      & Pick<TaskFilter, "start" | "end">
    | null
    | undefined;
};

/** What {@linkcode TasksClient.previewSchedule} computes. */
export type SchedulePreviewRequest =
  & Omit<PreviewRequest, "repeat" | "date" | "from">
  & {
    /** How it repeats. */
    readonly repeat: RepeatRule;
    /** The date that the task would have; now when absent. */
    readonly date?: Time | null | undefined;
    /** The first instant that counts; the date when absent. */
    readonly from?: Time | null | undefined;
  };

/** The outcome of one task of a batch. */
export type BatchOutcome<Jobs extends JobTypes<Jobs> = AnyJobs> =
  | {
    /** The task was created, or a task with its key existed. */
    readonly kind: "task";
    /** Whether the task was created by this call. */
    readonly isNew: boolean;
    /** The new task, or the one that has its key. */
    readonly task: TaskOf<Jobs, JobName<Jobs>>;
  }
  | {
    /** The service refused the task. */
    readonly kind: "refused";
    /** Why the service refused it. */
    readonly problem: Problem;
  };

/** Options of {@linkcode TasksClient.approve} and its counterpart. */
export interface DecideOptions extends MakeOptions, ChangeOptions {
  /** Why; the worker gets it, and the history keeps it. */
  readonly comment?: string | undefined;
}

const NO_BODY = {} as const;

/**
 * Creates, finds and manages tasks.
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
 *
 * @example Check data and results of jobs when the program is compiled
 * ```ts
 * import { TasksClient } from "@tercet/sdk/tasks";
 *
 * type Jobs = { mail: { data: { to: string }; result: { sent: boolean } } };
 * const tasks = new TasksClient<Jobs>({
 *   url: "https://acme.tasks.example.com",
 *   key: "dk_your_key",
 *   // A service that has done everything, so that this example runs by itself.
 *   fetch: () =>
 *     Promise.resolve(Response.json({
 *       ...{ id: "tsk_1", job: "mail", status: "complete" },
 *       ...{ result: { sent: true }, finished_at: "2027-01-01T00:00:00.000Z" },
 *     })),
 * });
 * const { id } = await tasks.create({
 *   worker: "mailer",
 *   job: "mail",
 *   data: { to: "ada@example.com" },
 *   date: new Date(Date.now() + 60_000),
 * });
 * const { result } = await tasks.wait<"mail">(id, { timeoutMs: 120_000 });
 * console.log(result?.sent); // true
 * ```
 */
export class TasksClient<Jobs extends JobTypes<Jobs> = AnyJobs> {
  readonly #calls: ServiceCalls;
  readonly #tasks: Resource<TaskOf<Jobs, JobName<Jobs>>, TaskList>;
  /** Manages workers and their secrets. */
  readonly workers: WorkersClient;
  /** Manages API keys. */
  readonly keys: KeysClient;
  /** Manages calendars that schedules leave out. */
  readonly calendars: CalendarsClient;
  /** Manages webhooks, which events are sent to. */
  readonly webhooks: WebhooksClient;
  /** Manages alerts on what tasks do. */
  readonly alerts: AlertsClient;

  /**
   * Creates a client of the tenant at `url`.
   *
   * @throws {TypeError} When an option is not valid.
   */
  constructor(connection: TasksConnection) {
    this.#calls = new ServiceCalls(connection);
    this.#tasks = new Resource(this.#calls, "task");
    this.workers = new WorkersClient(this.#calls);
    this.keys = new KeysClient(this.#calls);
    this.calendars = new CalendarsClient(this.#calls);
    this.webhooks = new WebhooksClient(this.#calls);
    this.alerts = new AlertsClient(this.#calls);
  }

  /**
   * Creates a task. When a task that has not ended has the same `key`,
   * `on_conflict` decides what happens.
   *
   * @throws {TasksError} When the service refuses: `unknown_worker`, `invalid`,
   * `key_conflict`, `quota_exceeded` and others.
   * @throws {TypeError} When a `Date` is invalid.
   */
  async create<Job extends JobName<Jobs> = JobName<Jobs>>(
    task: NewTaskOf<Jobs, Job>,
    options: MakeOptions = {},
  ): Promise<TaskOf<Jobs, Job>> {
    checkTimes(task);
    return await this.#tasks.create(task, options);
  }

  /**
   * Creates many tasks in one request, up to the limit of the tenant's plan,
   * which is 1,000 unless it says otherwise. Each task succeeds or fails on its
   * own unless `isAtomic` is true. Tasks of a batch may depend on each other by
   * their `ref`.
   *
   * @returns One outcome for each task, in their order.
   * @throws {TasksError} When the service refuses the whole request.
   * @throws {TypeError} When a `Date` is invalid.
   */
  async createBatch(
    tasks: readonly {
      readonly [Job in JobName<Jobs>]: NewTaskOf<Jobs, Job>;
    }[JobName<Jobs>][],
    options: MakeOptions & {
      /**
       * Whether either all tasks are created or none.
       *
       * @default {false}
       */
      readonly isAtomic?: boolean | undefined;
    } = {},
  ): Promise<readonly BatchOutcome<Jobs>[]> {
    for (const task of tasks) checkTimes(task);
    const { results } = await this.#calls.make<TaskBatchResults>(
      "create the tasks",
      {
        path: ["tasks", "batch"],
        body: { tasks, atomic: options.isAtomic ?? false },
      },
      options,
    );
    return results.map(({ status, task, problem }): BatchOutcome<Jobs> =>
      task === undefined ? { kind: "refused", problem: problem! } : {
        kind: "task",
        isNew: status === 201,
        task: task as TaskOf<Jobs, JobName<Jobs>>,
      }
    );
  }

  /**
   * Lists the tasks that match the filter. A page may be short or empty and
   * still have a next one; iterating over the list continues by itself.
   */
  list(filter: TaskFilter = {}): PagedList<TaskPart, TaskList> {
    const { signal, metadata = {}, fields, start, end, ...query } = filter;
    const labels = Object.entries(metadata).map(([name, value]) =>
      [`metadata.${name}`, value] as const
    );
    return this.#calls.list("list tasks", {
      path: ["tasks"],
      query: {
        ...query,
        start: start && timeText(start, "start"),
        end: end && timeText(end, "end"),
        ...Object.fromEntries(labels),
        fields,
      },
      signal,
    });
  }

  /**
   * Returns one task.
   *
   * @throws {TasksError} `not_found` and others.
   */
  async get<Job extends JobName<Jobs> = JobName<Jobs>>(
    id: string,
    options: CallOptions = {},
  ): Promise<TaskOf<Jobs, Job>> {
    return await this.#tasks.get(id, options);
  }

  /**
   * Waits until a task has ended, and returns it. A task that repeats has ended
   * when no run is left. Two requests a minute are made while it waits.
   *
   * @throws {TasksError} `not_ended` when `timeoutMs` are over; `not_found` and
   * others.
   * @throws {unknown} The signal's reason, when it aborts.
   */
  async wait<Job extends JobName<Jobs> = JobName<Jobs>>(
    id: string,
    options: WaitOptions = {},
  ): Promise<TaskOf<Jobs, Job>> {
    return await taskEnd(this.#calls, id, options) as TaskOf<Jobs, Job>;
  }

  /**
   * Reads the tenant's events as they happen, for as long as they are iterated
   * over. After a break it goes on by itself where it was; where events are
   * missing then, one of the type `reset` comes first.
   *
   * @throws {TasksError} When the service refuses.
   * @throws {unknown} The signal's reason, when it aborts.
   *
   * @example
   * ```ts
   * import { TasksClient } from "@tercet/sdk/tasks";
   *
   * const tasks = new TasksClient({
   *   url: "https://acme.tasks.example.com",
   *   key: "dk_your_key",
   *   // A service that tells one event, so that this example runs by itself.
   *   fetch: () =>
   *     Promise.resolve(new Response(
   *       'id: 1\nevent: task.failed\n' +
   *         'data: {"type":"task.failed","id":"1","data":{"task":"tsk_1"}}\n\n',
   *     )),
   * });
   * for await (const { type, data } of tasks.events({ types: ["task.failed"] })) {
   *   console.log(type, data["task"]); // task.failed tsk_1
   *   break;
   * }
   * ```
   */
  events(options: EventsOptions = {}): AsyncGenerator<TenantEvent, void> {
    return readEvents(this.#calls, options);
  }

  /**
   * Changes the values of a task that `changes` names; null resets a value.
   *
   * @throws {TasksError} When the service refuses.
   */
  update(
    id: string,
    changes: TaskChange,
    options: ChangeOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#change(id, { method: "PUT", body: changes, options });
  }

  /**
   * Does the same, but merges members of objects one by one (RFC 7396).
   *
   * @throws {TasksError} When the service refuses.
   */
  patch(
    id: string,
    changes: TaskChange,
    options: ChangeOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#change(id, { method: "PATCH", body: changes, options });
  }

  /**
   * Removes a task and its history.
   *
   * @throws {TasksError} When the service refuses.
   */
  remove(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#tasks.remove(id, options);
  }

  /**
   * Cancels a task that has not ended. A worker that works on the task learns
   * of it with its next heartbeat.
   *
   * @throws {TasksError} `wrong_state` when the task has ended, and others.
   */
  cancel(
    id: string,
    options: MakeOptions & ChangeOptions & {
      /** The reason, for the task's history. */
      readonly reason?: string | undefined;
    } = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    const { reason } = options;
    const body = reason === undefined ? NO_BODY : { reason };
    return this.#tasks.act(id, { verb: "cancel", body }, options);
  }

  /**
   * Starts a task that has ended again.
   *
   * @throws {TasksError} When the service refuses.
   */
  retry(
    id: string,
    options: MakeOptions & ChangeOptions & {
      /**
       * Whether tasks that failed because this one did wait for it again; the
       * answer tells them in `revived_dependents`.
       *
       * @default {true}
       */
      readonly revivesDependents?: boolean | undefined;
    } = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    const { revivesDependents: revives = true } = options;
    const body = revives ? NO_BODY : { revive_dependents: false };
    return this.#tasks.act(id, { verb: "retry", body }, options);
  }

  /**
   * Runs a task now, whatever its date.
   *
   * @throws {TasksError} When the service refuses.
   */
  run(
    id: string,
    options: MakeOptions & ChangeOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#tasks.act(id, { verb: "run", body: NO_BODY }, options);
  }

  /**
   * Pauses a task: it does not run until it is resumed.
   *
   * @throws {TasksError} When the service refuses.
   */
  pause(
    id: string,
    options: MakeOptions & ChangeOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#tasks.act(id, { verb: "pause", body: NO_BODY }, options);
  }

  /**
   * Resumes a paused task.
   *
   * @throws {TasksError} When the service refuses.
   */
  resume(
    id: string,
    options: MakeOptions & ChangeOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#tasks.act(id, { verb: "resume", body: NO_BODY }, options);
  }

  /**
   * Sends an event to a task. A task that waits for an event of this name goes
   * on with the data, once; for another live task the event is kept until a
   * wait of its run takes it. Repeated calls need the same `idempotencyKey` to
   * be one event.
   *
   * @throws {TasksError} `wrong_state` when the task has ended or has too many
   * events already, and others.
   */
  sendEvent(
    id: string,
    event: {
      /** The name: letters, digits and `_.:-`, at most 64. */
      readonly name: string;
      /** Any JSON, up to 64 KiB; null when absent. */
      readonly data?: unknown;
    },
    options: MakeOptions & ChangeOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    const { name, data = null } = event;
    return this.#tasks.act(id, {
      verb: "events",
      action: "send the event to the task",
      body: { event: name, data },
    }, options);
  }

  /**
   * Approves what a task waits for. With the `ifVersion` of a task that was read,
   * the decision is about what that task waits for and nothing later.
   *
   * @throws {TasksError} `wrong_state` when it waits for no approval,
   * `forbidden` when the credential lacks the role, and others.
   */
  approve(
    id: string,
    options: DecideOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#decide(id, "approve", options);
  }

  /**
   * Rejects what a task waits for; the task goes on with that.
   *
   * @throws {TasksError} As {@linkcode TasksClient.approve} does.
   */
  reject(
    id: string,
    options: DecideOptions = {},
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    return this.#decide(id, "reject", options);
  }

  /** Lists the records of a task's history. */
  history(
    id: string,
    filter: HistoryFilter = {},
  ): PagedList<HistoryRecord, HistoryList> {
    const { signal, ...query } = filter;
    const path = ["tasks", id, "history"];
    return this.#calls.list("show the history", { path, query, signal });
  }

  /** Lists the attempts of a task. */
  attempts(
    id: string,
    filter: Omit<HistoryFilter, "type" | "run"> = {},
  ): PagedList<TaskAttempt, TaskAttemptList> {
    const { signal, ...query } = filter;
    const path = ["tasks", id, "attempts"];
    return this.#calls.list("list the attempts", { path, query, signal });
  }

  /**
   * Explains why a task runs now or does not.
   *
   * @throws {TasksError} When the service refuses.
   */
  async explain(
    id: string,
    { signal }: CallOptions = {},
  ): Promise<TaskExplanation> {
    const path = ["tasks", id, "explain"];
    return await this.#calls.read("explain the task", { path, signal });
  }

  /**
   * Applies one action to many tasks. When these are more than the service
   * processes at once, it continues in the background: the answer is then an
   * {@linkcode Operation}, which {@linkcode TasksClient.finished} waits for.
   *
   * @throws {TasksError} When the service refuses.
   */
  async apply(
    action: BulkRequest,
    options: MakeOptions = {},
  ): Promise<BulkResult | Operation> {
    const { start, end } = action.filter ?? {};
    if (start) timeText(start, "start");
    if (end) timeText(end, "end");
    const call = { path: ["tasks", "actions"], body: action };
    return await this.#calls.make(`${action.action} the tasks`, call, options);
  }

  /**
   * Reads the state of an operation that runs in the background.
   *
   * @throws {TasksError} When the service refuses.
   */
  async operation(
    id: string,
    { signal }: CallOptions = {},
  ): Promise<Operation> {
    const path = ["operations", id];
    return await this.#calls.read("show the operation", { path, signal });
  }

  /**
   * Waits until an operation has ended.
   *
   * @throws {TasksError} When the operation's state cannot be read.
   */
  async finished(
    operation: Operation,
    { signal, everyMs = 500, onProgress }:
      & CallOptions
      & {
        /**
         * Milliseconds between two requests for the state.
         *
         * @default {500}
         */
        readonly everyMs?: number | undefined;
        /**
         * Called with each state that is read.
         *
         * @default none
         */
        readonly onProgress?: ((operation: Operation) => void) | undefined;
      } = {},
  ): Promise<Operation> {
    let seen = operation;
    while (seen.status === "running") {
      await this.#calls.pause(everyMs, signal);
      seen = await this.operation(operation.id, { signal });
      onProgress?.(seen);
    }
    return seen;
  }

  /**
   * Returns when a schedule would run; no task is created.
   *
   * @throws {TasksError} When the service refuses.
   */
  async previewSchedule(
    request: SchedulePreviewRequest,
    options: CallOptions = {},
  ): Promise<SchedulePreview> {
    checkTimes(request);
    if (request.from) timeText(request.from, "from");
    return await this.#calls.call({
      action: "preview the schedule",
      method: "POST",
      path: ["schedules", "preview"],
      body: request,
      isRepeatable: true,
      signal: options.signal,
    });
  }

  /**
   * Returns whose credential the client uses, and its permissions.
   *
   * @throws {TasksError} When the service refuses.
   */
  async me({ signal }: CallOptions = {}): Promise<Me> {
    return await this.#calls.read("tell who asks", { path: ["me"], signal });
  }

  /**
   * Returns how much of its plan the tenant uses.
   *
   * @throws {TasksError} When the service refuses.
   */
  async usage({ signal }: CallOptions = {}): Promise<Usage> {
    return await this.#calls.read("tell what is used", {
      path: ["usage"],
      signal,
    });
  }

  /**
   * Returns what the tasks do and what needs attention: counts by status, worker
   * and job, late tasks, the activity of the last day, failing schedules,
   * workers that do not ask for tasks, and limits that are nearly used up. It
   * takes as long with any number of tasks.
   *
   * @throws {TasksError} When the service refuses.
   */
  async overview({ signal }: CallOptions = {}): Promise<Overview> {
    return await this.#calls.read("show the overview", {
      path: ["overview"],
      signal,
    });
  }

  /**
   * Returns what the tasks did over time: of each count a list with a number for
   * each span. By default it covers the last day, in steps of five minutes.
   *
   * @throws {TasksError} When the service refuses.
   */
  async activity(filter: ActivityFilter = {}): Promise<Activity> {
    const { signal, from, to, ...query } = filter;
    return await this.#calls.read("show the activity", {
      path: ["activity"],
      query: {
        ...query,
        from: from && timeText(from, "from"),
        to: to && timeText(to, "to"),
      },
      signal,
    });
  }

  async #change(
    id: string,
    { method, body: changes, options }: {
      readonly method: "PUT" | "PATCH";
      readonly body: TaskChange;
      readonly options: ChangeOptions;
    },
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    checkTimes(changes);
    return await this.#tasks.change(id, { method, body: changes }, options);
  }

  #decide(
    id: string,
    decision: "approve" | "reject",
    options: DecideOptions,
  ): Promise<TaskOf<Jobs, JobName<Jobs>>> {
    const { comment } = options;
    return this.#tasks.act(id, {
      verb: "approval",
      action: `${decision} what the task waits for`,
      body: { decision, comment },
    }, options);
  }
}
