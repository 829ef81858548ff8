// deno-fmt-ignore-file: made by a program
/**
 * What the API of the tasks service takes and gives. Made of its OpenAPI document by
 * `deno task readme`: change the service's schemas, not this file.
 *
 * @module
 */

/** A task. */
export interface Task {
  /** Its id. */
  readonly id: string;
  /** Status. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** The worker's name. */
  readonly worker: string;
  /** Worker id. */
  readonly worker_id: string;
  /** The handler within the worker. */
  readonly job: string;
  /** What the job is given; absent for callers who see none. */
  readonly data?: unknown;
  /** When the next attempt is due. */
  readonly date: string;
  /** The anchor of its schedule. */
  readonly first_date: string;
  /** The IANA zone of cron and calendar intervals. */
  readonly timezone: string;
  /** How it repeats; null when it does not. */
  readonly repeat: {
    /** ISO 8601; seconds may have a fraction. */
    readonly interval?: string | undefined;
    /** Cron. */
    readonly cron?: string | undefined;
    /** Dialect. */
    readonly dialect?: "cron" | "quartz" | "eventbridge" | undefined;
    /** Exclude. */
    readonly exclude?: ReadonlyArray<string> | undefined;
    /** Calendars. */
    readonly calendars?: ReadonlyArray<string> | undefined;
    /** Limit. */
    readonly limit?: number | undefined;
    /** Until. */
    readonly until?: string | undefined;
    /** Catch up. */
    readonly catch_up: "one" | "all" | "none";
    /** ISO 8601; seconds may have a fraction. */
    readonly catch_up_window: string;
    /** ISO 8601; seconds may have a fraction. */
    readonly on_time: string;
    /** ISO 8601; seconds may have a fraction. */
    readonly jitter: string;
    /** Mode. */
    readonly mode: "same" | "spawn";
    /** On failure. */
    readonly on_failure: "stop" | "continue";
  } | null;
  /** When a failed attempt is tried again. */
  readonly retry?: RetryPolicy | undefined;
  /** Milliseconds. */
  readonly timeout: number | null;
  /** How long it is kept after its end. */
  readonly retain?: {
    /** ISO 8601. */
    readonly succeeded?: string | undefined;
    /** ISO 8601. */
    readonly failed?: string | undefined;
  } | null | undefined;
  /** When it expires if it has not started; null for never. */
  readonly expires: string | null;
  /** Ids of tasks that have to succeed before. */
  readonly dependencies: ReadonlyArray<string>;
  /** What a dependency that fails means. */
  readonly on_dependency_failure: "fail" | "run" | "wait";
  /** Higher goes first. */
  readonly priority: number;
  /** Groups of a worker take turns. */
  readonly group: string | null;
  /** A worker has one live task with a key at most. */
  readonly key: string | null;
  /** Who is called at the end. */
  readonly callback: {
    /** Url. */
    readonly url: string;
    /** On. */
    readonly on: ReadonlyArray<"complete" | "failed" | "canceled" | "expired">;
  } | null;
  /** Labels. */
  readonly tags: ReadonlyArray<string>;
  /** Named labels. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether its date has come and a worker may take it. */
  readonly due: boolean;
  /** The number of the run, 0 for the first. */
  readonly run: number;
  /** Attempts of all runs. */
  readonly executions: number;
  /** Tries of this run after its first one. */
  readonly retries: number;
  /** Runs after the first. */
  readonly repetitions: number;
  /** Last outcome. */
  readonly last_outcome: "succeeded" | "failed" | null;
  /** Attempts that were lost with their worker. */
  readonly lost: number;
  /** Slots that were passed over. */
  readonly missed: number;
  /** Milliseconds by which the last attempt started late. */
  readonly lag: number | null;
  /** Milliseconds that the last attempt took. */
  readonly duration: number | null;
  /** What the last success returned. */
  readonly result: unknown;
  /** Result truncated. */
  readonly result_truncated?: boolean | undefined;
  /** Why the last attempt failed. */
  readonly error: {
    /** A word for programs, such as `timed_out` */
    readonly code: string;
    /** For people. */
    readonly message: string;
    /** What else the worker said. */
    readonly detail?: unknown;
    /** Http status. */
    readonly http_status?: number | undefined;
    /** The id of the one that failed. */
    readonly dependency?: string | undefined;
    /** At. */
    readonly at: string;
  } | null;
  /** The attempt under way. */
  readonly attempt: {
    /** Its id. */
    readonly id: string;
    /** Started at. */
    readonly started_at: string;
    /** Expires at. */
    readonly expires_at: string;
    /** Instance. */
    readonly instance: string | null;
    /** What the worker last said of it. */
    readonly progress: unknown;
  } | null;
  /** The next dates of a task that repeats. */
  readonly next?: ReadonlyArray<string> | undefined;
  /** When the run begins, at the soonest, that was asked for by the key of a task under way. */
  readonly again?: string | undefined;
  /** In the answer to a retry: the tasks that wait for this one again, and whether these are all that failed by it. */
  readonly revived_dependents?: {
    /** Count. */
    readonly count: number;
    /** Ids. */
    readonly ids: ReadonlyArray<string>;
    /** Is complete. */
    readonly is_complete: boolean;
  } | undefined;
  /** What to look at in the schedule: `dialect` says that another program reads the cron expression otherwise. */
  readonly warnings?: ReadonlyArray<{
    /** For programs. */
    readonly code: "dialect";
    /** Dialect. */
    readonly dialect: "cron" | "quartz" | "eventbridge";
    /** Detail. */
    readonly detail: string;
  }> | undefined;
  /** Created by. */
  readonly created_by: {
    /** Type. */
    readonly type: "user" | "key" | "worker" | "system";
    /** Its id. */
    readonly id: string;
  };
  /** The task whose schedule made it. */
  readonly parent?: string | undefined;
  /** When it was made. */
  readonly created_at: string;
  /** When it was changed last. */
  readonly updated_at: string;
  /** Started at. */
  readonly started_at: string | null;
  /** Finished at. */
  readonly finished_at: string | null;
  /** When one that has ended is removed; absent before the end, and when it is kept for ever. */
  readonly kept_until?: string | undefined;
  /** Version. */
  readonly version: number;
  /** Links. */
  readonly links: {
    /** Self. */
    readonly self: string;
    /** History. */
    readonly history: string;
    /** Worker. */
    readonly worker: string;
  };
}

/** A task, or the fields of it that were asked for. */
export interface TaskPart {
  /** Its id. */
  readonly id: string;
  /** Status. */
  readonly status?: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | undefined;
  /** The worker's name. */
  readonly worker?: string | undefined;
  /** Worker id. */
  readonly worker_id?: string | undefined;
  /** The handler within the worker. */
  readonly job?: string | undefined;
  /** What the job is given; absent for callers who see none. */
  readonly data?: unknown;
  /** When the next attempt is due. */
  readonly date?: string | undefined;
  /** The anchor of its schedule. */
  readonly first_date?: string | undefined;
  /** The IANA zone of cron and calendar intervals. */
  readonly timezone?: string | undefined;
  /** How it repeats; null when it does not. */
  readonly repeat?: {
    /** ISO 8601; seconds may have a fraction. */
    readonly interval?: string | undefined;
    /** Cron. */
    readonly cron?: string | undefined;
    /** Dialect. */
    readonly dialect?: "cron" | "quartz" | "eventbridge" | undefined;
    /** Exclude. */
    readonly exclude?: ReadonlyArray<string> | undefined;
    /** Calendars. */
    readonly calendars?: ReadonlyArray<string> | undefined;
    /** Limit. */
    readonly limit?: number | undefined;
    /** Until. */
    readonly until?: string | undefined;
    /** Catch up. */
    readonly catch_up: "one" | "all" | "none";
    /** ISO 8601; seconds may have a fraction. */
    readonly catch_up_window: string;
    /** ISO 8601; seconds may have a fraction. */
    readonly on_time: string;
    /** ISO 8601; seconds may have a fraction. */
    readonly jitter: string;
    /** Mode. */
    readonly mode: "same" | "spawn";
    /** On failure. */
    readonly on_failure: "stop" | "continue";
  } | null | undefined;
  /** When a failed attempt is tried again. */
  readonly retry?: RetryPolicy | undefined;
  /** Milliseconds. */
  readonly timeout?: number | null | undefined;
  /** How long it is kept after its end. */
  readonly retain?: {
    /** ISO 8601. */
    readonly succeeded?: string | undefined;
    /** ISO 8601. */
    readonly failed?: string | undefined;
  } | null | undefined;
  /** When it expires if it has not started; null for never. */
  readonly expires?: string | null | undefined;
  /** Ids of tasks that have to succeed before. */
  readonly dependencies?: ReadonlyArray<string> | undefined;
  /** What a dependency that fails means. */
  readonly on_dependency_failure?: "fail" | "run" | "wait" | undefined;
  /** Higher goes first. */
  readonly priority?: number | undefined;
  /** Groups of a worker take turns. */
  readonly group?: string | null | undefined;
  /** A worker has one live task with a key at most. */
  readonly key?: string | null | undefined;
  /** Who is called at the end. */
  readonly callback?: {
    /** Url. */
    readonly url: string;
    /** On. */
    readonly on: ReadonlyArray<"complete" | "failed" | "canceled" | "expired">;
  } | null | undefined;
  /** Labels. */
  readonly tags?: ReadonlyArray<string> | undefined;
  /** Named labels. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Whether its date has come and a worker may take it. */
  readonly due?: boolean | undefined;
  /** The number of the run, 0 for the first. */
  readonly run?: number | undefined;
  /** Attempts of all runs. */
  readonly executions?: number | undefined;
  /** Tries of this run after its first one. */
  readonly retries?: number | undefined;
  /** Runs after the first. */
  readonly repetitions?: number | undefined;
  /** Last outcome. */
  readonly last_outcome?: "succeeded" | "failed" | null | undefined;
  /** Attempts that were lost with their worker. */
  readonly lost?: number | undefined;
  /** Slots that were passed over. */
  readonly missed?: number | undefined;
  /** Milliseconds by which the last attempt started late. */
  readonly lag?: number | null | undefined;
  /** Milliseconds that the last attempt took. */
  readonly duration?: number | null | undefined;
  /** What the last success returned. */
  readonly result?: unknown;
  /** Result truncated. */
  readonly result_truncated?: boolean | undefined;
  /** Why the last attempt failed. */
  readonly error?: {
    /** A word for programs, such as `timed_out` */
    readonly code: string;
    /** For people. */
    readonly message: string;
    /** What else the worker said. */
    readonly detail?: unknown;
    /** Http status. */
    readonly http_status?: number | undefined;
    /** The id of the one that failed. */
    readonly dependency?: string | undefined;
    /** At. */
    readonly at: string;
  } | null | undefined;
  /** The attempt under way. */
  readonly attempt?: {
    /** Its id. */
    readonly id: string;
    /** Started at. */
    readonly started_at: string;
    /** Expires at. */
    readonly expires_at: string;
    /** Instance. */
    readonly instance: string | null;
    /** What the worker last said of it. */
    readonly progress: unknown;
  } | null | undefined;
  /** The next dates of a task that repeats. */
  readonly next?: ReadonlyArray<string> | undefined;
  /** When the run begins, at the soonest, that was asked for by the key of a task under way. */
  readonly again?: string | undefined;
  /** In the answer to a retry: the tasks that wait for this one again, and whether these are all that failed by it. */
  readonly revived_dependents?: {
    /** Count. */
    readonly count: number;
    /** Ids. */
    readonly ids: ReadonlyArray<string>;
    /** Is complete. */
    readonly is_complete: boolean;
  } | undefined;
  /** What to look at in the schedule: `dialect` says that another program reads the cron expression otherwise. */
  readonly warnings?: ReadonlyArray<{
    /** For programs. */
    readonly code: "dialect";
    /** Dialect. */
    readonly dialect: "cron" | "quartz" | "eventbridge";
    /** Detail. */
    readonly detail: string;
  }> | undefined;
  /** Created by. */
  readonly created_by?: {
    /** Type. */
    readonly type: "user" | "key" | "worker" | "system";
    /** Its id. */
    readonly id: string;
  } | undefined;
  /** The task whose schedule made it. */
  readonly parent?: string | undefined;
  /** When it was made. */
  readonly created_at?: string | undefined;
  /** When it was changed last. */
  readonly updated_at?: string | undefined;
  /** Started at. */
  readonly started_at?: string | null | undefined;
  /** Finished at. */
  readonly finished_at?: string | null | undefined;
  /** When one that has ended is removed; absent before the end, and when it is kept for ever. */
  readonly kept_until?: string | undefined;
  /** Version. */
  readonly version?: number | undefined;
  /** Links. */
  readonly links?: {
    /** Self. */
    readonly self: string;
    /** History. */
    readonly history: string;
    /** Worker. */
    readonly worker: string;
  } | undefined;
}

/** A page of tasks. */
export interface TaskList {
  /** The items of the page. */
  readonly data: ReadonlyArray<TaskPart>;
  /** The cursor of the next page, also of one that is short or empty; null on the last. */
  readonly next: string | null;
  /** How many there are, when asked; 10,000 at most, among 20,000 that are looked at. */
  readonly count?: number | undefined;
  /** Whether that is all there are; there may be more if not. */
  readonly count_is_exact?: boolean | undefined;
}

/** A task to be made. */
export interface NewTask {
  /** The name or the id of the worker. */
  readonly worker: string;
  /** The handler within the worker; "default" when absent. */
  readonly job?: string | null | undefined;
  /** What the job is given: any JSON, as much as the plan allows. */
  readonly data?: unknown;
  /** When to run first; now when absent, and what has passed is due at once. */
  readonly date?: string | null | undefined;
  /** Delay. */
  readonly delay?: Duration | null | undefined;
  /** The IANA zone of cron and calendar intervals; the tenant's when absent. */
  readonly timezone?: string | null | undefined;
  /** How it repeats; null when it does not. */
  readonly repeat?: Repeat | null | undefined;
  /** When a failed attempt is tried again; the worker's rule when absent, not at all when null. */
  readonly retry?: RetryPolicy | undefined;
  /** Timeout. */
  readonly timeout?: DurationOrMilliseconds | null | undefined;
  /** How long it is kept after its end. */
  readonly retain?: Retain | null | undefined;
  /** When it expires if it has not started; null for never. */
  readonly expires?: string | Duration | null | undefined;
  /** Ids of tasks that have to succeed before, in a batch also the `ref` of others; a task that is there already takes those that are older than itself, or wait for none themselves. Its worker gets their results. */
  readonly dependencies?: ReadonlyArray<string> | null | undefined;
  /** What a dependency that fails means. */
  readonly on_dependency_failure?: "fail" | "run" | "wait" | null | undefined;
  /** Higher goes first; a step is worth a minute of waiting. Of equal ones the first date goes first. */
  readonly priority?: number | null | undefined;
  /** Groups of a worker take turns. */
  readonly group?: string | null | undefined;
  /** A worker has one live task with a key at most. */
  readonly key?: string | null | undefined;
  /** Who is called at the end. */
  readonly callback?: string | {
    /** Url. */
    readonly url: string;
    /** On. */
    readonly on?: ReadonlyArray<"complete" | "failed" | "canceled" | "expired"> | null | undefined;
  } | null | undefined;
  /** Labels. */
  readonly tags?: ReadonlyArray<string> | null | undefined;
  /** Named labels. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /** In a batch, a name by which `dependencies` of its other tasks mean this one; it is not kept. */
  readonly ref?: string | undefined;
  /** When a live task has the key: answer with that one, refuse, give it the new values and date, the new values alone, or the new values and one more run if it has begun one. What runs once is not replaced while it runs; what repeats keeps its date unless one is given. */
  readonly on_conflict?: "return" | "reject" | "replace" | "keep_date" | "run_after" | undefined;
  /** Runs once when no request with the key has come for the window: each one gives it the new values and moves its date to a window from then on, until it is due. Instead of a date and `on_conflict` */
  readonly debounce?: {
    /** Window. */
    readonly window: Duration;
    /** How long after the first request it runs at the latest. */
    readonly max_wait?: Duration | undefined;
  } | undefined;
  /** Runs once a window at the most: the first request with the key at once, the others within the window together at its end, with the newest values. Instead of a date and `on_conflict` */
  readonly throttle?: {
    /** Window. */
    readonly window: Duration;
  } | undefined;
  /** `paused` makes it paused; the other two say what is so anyway. */
  readonly status?: "waiting" | "scheduled" | "paused" | undefined;
}

/** What is given is changed, what is not stays, and null resets a field to its default; fields that the service decides may be sent back as they are. */
export interface TaskChanges {
  /** The name or the id of the worker. */
  readonly worker?: string | undefined;
  /** The handler within the worker; "default" when absent. */
  readonly job?: string | null | undefined;
  /** What the job is given: any JSON, as much as the plan allows. */
  readonly data?: unknown;
  /** When to run first; now when absent, and what has passed is due at once. */
  readonly date?: string | null | undefined;
  /** Delay. */
  readonly delay?: Duration | null | undefined;
  /** The IANA zone of cron and calendar intervals; the tenant's when absent. */
  readonly timezone?: string | null | undefined;
  /** How it repeats; null when it does not. */
  readonly repeat?: Repeat | null | undefined;
  /** When a failed attempt is tried again; the worker's rule when absent, not at all when null. */
  readonly retry?: RetryPolicy | undefined;
  /** Timeout. */
  readonly timeout?: DurationOrMilliseconds | null | undefined;
  /** How long it is kept after its end. */
  readonly retain?: Retain | null | undefined;
  /** When it expires if it has not started; null for never. */
  readonly expires?: string | Duration | null | undefined;
  /** Ids of tasks that have to succeed before, in a batch also the `ref` of others; a task that is there already takes those that are older than itself, or wait for none themselves. Its worker gets their results. */
  readonly dependencies?: ReadonlyArray<string> | null | undefined;
  /** What a dependency that fails means. */
  readonly on_dependency_failure?: "fail" | "run" | "wait" | null | undefined;
  /** Higher goes first; a step is worth a minute of waiting. Of equal ones the first date goes first. */
  readonly priority?: number | null | undefined;
  /** Groups of a worker take turns. */
  readonly group?: string | null | undefined;
  /** A worker has one live task with a key at most. */
  readonly key?: string | null | undefined;
  /** Who is called at the end. */
  readonly callback?: string | {
    /** Url. */
    readonly url: string;
    /** On. */
    readonly on?: ReadonlyArray<"complete" | "failed" | "canceled" | "expired"> | null | undefined;
  } | null | undefined;
  /** Labels. */
  readonly tags?: ReadonlyArray<string> | null | undefined;
  /** Named labels. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /** Status. */
  readonly status?: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "cancel" | "cancelled" | null | undefined;
}

/** What became of the tasks of a batch. */
export interface TaskBatchResults {
  /** One for each task, in their order. */
  readonly results: ReadonlyArray<{
    /** The status of an answer to this task alone. */
    readonly status: number;
    /** Task. */
    readonly task?: Task | undefined;
    /** The task's id in place of the task, where `Prefer: return=minimal` asks for no more. */
    readonly id?: string | undefined;
    /** Problem. */
    readonly problem?: Problem | undefined;
  }>;
}

/** How a task repeats: by an interval or by cron. */
export interface Repeat {
  /** Interval. */
  readonly interval?: Duration | null | undefined;
  /** Five fields, or six with seconds first, or a nickname such as @daily; instead of an interval. */
  readonly cron?: string | null | undefined;
  /** Dialect. */
  readonly dialect?: "cron" | "quartz" | "eventbridge" | null | undefined;
  /** Dates in the time zone that have no slots. */
  readonly exclude?: ReadonlyArray<string> | null | undefined;
  /** Names of calendars at whose times there are no slots. */
  readonly calendars?: ReadonlyArray<string> | null | undefined;
  /** Repetitions after the first run; no bound when absent. */
  readonly limit?: number | null | undefined;
  /** The last instant at which a run may be due. */
  readonly until?: string | null | undefined;
  /** Catch up. */
  readonly catch_up?: "one" | "all" | "none" | null | undefined;
  /** Catch up window. */
  readonly catch_up_window?: Duration | null | undefined;
  /** On time. */
  readonly on_time?: Duration | null | undefined;
  /** Jitter. */
  readonly jitter?: Duration | null | undefined;
  /** Mode. */
  readonly mode?: "same" | "spawn" | null | undefined;
  /** On failure. */
  readonly on_failure?: "stop" | "continue" | null | undefined;
}

/** When a failed attempt is tried again. */
export type RetryPolicy = {
  /** Retries after the first try; absent means for ever where an interval is given. */
  readonly limit?: number | null | undefined;
  /** Interval. */
  readonly interval?: ReadonlyArray<Duration> | Duration | null | undefined;
  /** Backoff. */
  readonly backoff?: "fixed" | "linear" | "exponential" | "list" | null | undefined;
  /** Factor. */
  readonly factor?: number | null | undefined;
  /** Max interval. */
  readonly max_interval?: Duration | null | undefined;
  /** Jitter. */
  readonly jitter?: "none" | "equal" | "full" | null | undefined;
  /** For. */
  readonly for?: Duration | null | undefined;
  /** What is retried: statuses (429), classes ("5xx"), error codes ("timed_out"); absent means everything retryable. */
  readonly on?: ReadonlyArray<string | number> | null | undefined;
} | null;

/** How long a task is kept after its end, by its outcome. The task's own word goes before that of its job, of its worker and of the plan, which none of them may exceed. */
export interface Retain {
  /** Succeeded. */
  readonly succeeded?: Duration | null | undefined;
  /** Failed. */
  readonly failed?: Duration | null | undefined;
}

/** ISO 8601 text ("PT30S"), text with units ("1h30m"), or an object of units. */
export type Duration = string | {
  /** Year. */
  readonly year?: number | undefined;
  /** Years. */
  readonly years?: number | undefined;
  /** Month. */
  readonly month?: number | undefined;
  /** Months. */
  readonly months?: number | undefined;
  /** Week. */
  readonly week?: number | undefined;
  /** Weeks. */
  readonly weeks?: number | undefined;
  /** Day. */
  readonly day?: number | undefined;
  /** Days. */
  readonly days?: number | undefined;
  /** Hour. */
  readonly hour?: number | undefined;
  /** Hours. */
  readonly hours?: number | undefined;
  /** Minute. */
  readonly minute?: number | undefined;
  /** Minutes. */
  readonly minutes?: number | undefined;
  /** Second. */
  readonly second?: number | undefined;
  /** Seconds. */
  readonly seconds?: number | undefined;
  /** Millisecond. */
  readonly millisecond?: number | undefined;
  /** Milliseconds. */
  readonly milliseconds?: number | undefined;
};

/** ISO 8601 text ("PT30S"), text with units ("1h30m"), or an object of units, or a number of milliseconds. */
export type DurationOrMilliseconds = string | number | {
  /** Year. */
  readonly year?: number | undefined;
  /** Years. */
  readonly years?: number | undefined;
  /** Month. */
  readonly month?: number | undefined;
  /** Months. */
  readonly months?: number | undefined;
  /** Week. */
  readonly week?: number | undefined;
  /** Weeks. */
  readonly weeks?: number | undefined;
  /** Day. */
  readonly day?: number | undefined;
  /** Days. */
  readonly days?: number | undefined;
  /** Hour. */
  readonly hour?: number | undefined;
  /** Hours. */
  readonly hours?: number | undefined;
  /** Minute. */
  readonly minute?: number | undefined;
  /** Minutes. */
  readonly minutes?: number | undefined;
  /** Second. */
  readonly second?: number | undefined;
  /** Seconds. */
  readonly seconds?: number | undefined;
  /** Millisecond. */
  readonly millisecond?: number | undefined;
  /** Milliseconds. */
  readonly milliseconds?: number | undefined;
};

/** An action, and the tasks that it is applied to. */
export interface BulkAction {
  /** Action. */
  readonly action: "cancel" | "retry" | "pause" | "resume" | "delete";
  /** The tasks by their ids. */
  readonly ids?: ReadonlyArray<string> | null | undefined;
  /** The tasks by the conditions of lists. */
  readonly filter?: {
    /** Worker. */
    readonly worker?: ReadonlyArray<string> | string | undefined;
    /** Status. */
    readonly status?: ReadonlyArray<"scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "cancel" | "cancelled" | "completed" | "active" | "final"> | "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "cancel" | "cancelled" | "completed" | "active" | "final" | undefined;
    /** From then on: YYYY, YYYY-MM, YYYY-MM-DD or RFC 3339; the whole of it. */
    readonly start?: string | undefined;
    /** Up to then, as `start`; the whole of it is included. */
    readonly end?: string | undefined;
    /** The zone of years, months and days; UTC when absent. */
    readonly tz?: string | undefined;
    /** The time that start and end bound. */
    readonly by?: "date" | "created_at" | "finished_at" | undefined;
    /** The job. */
    readonly job?: string | undefined;
    /** The group; empty for tasks without one. */
    readonly group?: string | undefined;
    /** The key. */
    readonly key?: string | undefined;
    /** The code of the last error. */
    readonly error?: string | undefined;
    /** Tag. */
    readonly tag?: ReadonlyArray<string> | string | undefined;
    /** Named labels. */
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    /** Due. */
    readonly due?: boolean | undefined;
  } | null | undefined;
  /** Whether to write nothing and count what would be done. */
  readonly dry_run?: boolean | undefined;
  /** How many tasks at most; the oldest come first. */
  readonly limit?: number | null | undefined;
}

/** What was done to many tasks. */
export interface BulkResult {
  /** Action. */
  readonly action: "cancel" | "retry" | "pause" | "resume" | "delete";
  /** Dry run. */
  readonly dry_run: boolean;
  /** Tasks that were looked at. */
  readonly matched: number;
  /** Tasks that were changed, or would be. */
  readonly changed: number;
  /** Tasks that needed no change. */
  readonly unchanged: number;
  /** Tasks that the action could not be applied to. */
  readonly failed: number;
  /** The first of these. */
  readonly errors: ReadonlyArray<{
    /** Its id. */
    readonly id: string;
    /** For programs. */
    readonly code: string;
    /** Detail. */
    readonly detail: string;
  }>;
}

/** What goes on with many tasks. */
export interface Operation {
  /** Its id. */
  readonly id: string;
  /** Status. */
  readonly status: "running" | "done" | "failed";
  /** Action. */
  readonly action: "cancel" | "retry" | "pause" | "resume" | "delete";
  /** Dry run. */
  readonly dry_run: boolean;
  /** Tasks that were looked at. */
  readonly matched: number;
  /** Tasks that were changed, or would be. */
  readonly changed: number;
  /** Tasks that needed no change. */
  readonly unchanged: number;
  /** Tasks that the action could not be applied to. */
  readonly failed: number;
  /** The first of these. */
  readonly errors: ReadonlyArray<{
    /** Its id. */
    readonly id: string;
    /** For programs. */
    readonly code: string;
    /** Detail. */
    readonly detail: string;
  }>;
  /** When it was made. */
  readonly created_at: string;
  /** When it was changed last. */
  readonly updated_at: string;
  /** Finished at. */
  readonly finished_at: string | null;
  /** Links. */
  readonly links: {
    /** Self. */
    readonly self: string;
  };
}

/** A page of a task's history. */
export interface HistoryList {
  /** The items of the page. */
  readonly data: ReadonlyArray<HistoryRecord>;
  /** The cursor of the next page; null on the last. */
  readonly next: string | null;
}

/** One thing that happened to a task. */
export interface HistoryRecord {
  /** Seq. */
  readonly seq: number;
  /** At. */
  readonly at: string;
  /** Type. */
  readonly type: "created" | "updated" | "moved" | "due" | "started" | "progress" | "log" | "accepted" | "succeeded" | "failed" | "timed_out" | "lost" | "released" | "retrying" | "repeated" | "missed" | "slipped" | "completed" | "exhausted" | "canceled" | "expired" | "paused" | "resumed" | "unblocked" | "requeued" | "spawned" | "repaired" | "callback_sent" | "callback_failed" | "folded";
  /** The status after it. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** Run. */
  readonly run: number;
  /** The attempt it belongs to. */
  readonly attempt?: string | undefined;
  /** Actor. */
  readonly actor: {
    /** Type. */
    readonly type: "user" | "key" | "worker" | "system";
    /** Its id. */
    readonly id: string;
  };
  /** The worker's name for its process. */
  readonly instance?: string | undefined;
  /** The answer to a push call. */
  readonly http?: {
    /** Status. */
    readonly status: number;
    /** Duration ms. */
    readonly duration_ms: number;
  } | undefined;
  /** Error. */
  readonly error?: {
    /** A word for programs, such as `timed_out` */
    readonly code: string;
    /** For people. */
    readonly message: string;
    /** What else the worker said. */
    readonly detail?: unknown;
    /** Http status. */
    readonly http_status?: number | undefined;
    /** The id of the one that failed. */
    readonly dependency?: string | undefined;
    /** At. */
    readonly at: string;
  } | undefined;
  /** The beginning of the result's JSON. */
  readonly result?: string | undefined;
  /** What the worker said of its progress; not all that was said is in the history. */
  readonly progress?: unknown;
  /** Changes. */
  readonly changes?: ReadonlyArray<{
    /** Field. */
    readonly field: string;
    /** From. */
    readonly from?: unknown;
    /** To. */
    readonly to?: unknown;
  }> | undefined;
  /** For people. */
  readonly message?: string | undefined;
  /** Slots that were missed, milliseconds of lag. */
  readonly amount?: number | undefined;
  /** Next date. */
  readonly next_date?: string | undefined;
  /** Which records were dropped: how many up to now, and the hash of the last, which is the `prev` of the first one that is left. */
  readonly folded?: {
    /** Count. */
    readonly count: number;
    /** Hash. */
    readonly hash: string;
  } | undefined;
  /** The hash of the record before. */
  readonly prev: string;
  /** Hash. */
  readonly hash: string;
  /** What the hash covers, with `proof` */
  readonly text?: string | undefined;
}

/** A page of a task's attempts. */
export interface TaskAttemptList {
  /** The items of the page. */
  readonly data: ReadonlyArray<TaskAttempt>;
  /** The cursor of the next page; null on the last. */
  readonly next: string | null;
}

/** One attempt to do a task. */
export interface TaskAttempt {
  /** Its id. */
  readonly id: string;
  /** Run. */
  readonly run: number;
  /** Outcome. */
  readonly outcome: "running" | "succeeded" | "failed" | "timed_out" | "lost" | "released" | "canceled";
  /** Started at. */
  readonly started_at: string;
  /** Ended at. */
  readonly ended_at: string | null;
  /** Milliseconds. */
  readonly duration: number | null;
  /** Instance. */
  readonly instance: string | null;
  /** Http. */
  readonly http: {
    /** Status. */
    readonly status: number;
    /** Duration ms. */
    readonly duration_ms: number;
  } | null;
  /** Error. */
  readonly error: {
    /** A word for programs, such as `timed_out` */
    readonly code: string;
    /** For people. */
    readonly message: string;
    /** What else the worker said. */
    readonly detail?: unknown;
    /** Http status. */
    readonly http_status?: number | undefined;
    /** The id of the one that failed. */
    readonly dependency?: string | undefined;
    /** At. */
    readonly at: string;
  } | null;
}

/** Why a task does or does not run now. */
export interface TaskExplanation {
  /** The id of the task. */
  readonly task: string;
  /** Status. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** What holds it back, or that nothing does. */
  readonly hindrances: ReadonlyArray<{
    /** A word for programs, such as `not_due`, `excluded`, `worker_paused`, `blocked`, `rate_limit`, `next_in_line` */
    readonly code: string;
    /** For people. */
    readonly message: string;
    /** When it ends by itself. */
    readonly until: string | null;
  }>;
  /** When all of it has ended by itself, if it does. */
  readonly earliest: string | null;
}

/** A schedule, as a task would have it. */
export interface PreviewRequest {
  /** How it repeats; null when it does not. */
  readonly repeat: Repeat;
  /** The IANA zone of cron and calendar intervals; the tenant's when absent. */
  readonly timezone?: string | null | undefined;
  /** The date that the task would have; when absent now, or `from` if that has passed. */
  readonly date?: string | null | undefined;
  /** The first instant that counts, in the past as well; the date when absent. */
  readonly from?: string | null | undefined;
  /** How many times. */
  readonly count?: number | undefined;
}

/** When a schedule would run. */
export interface SchedulePreview {
  /** The IANA zone of cron and calendar intervals. */
  readonly timezone: string;
  /** The items of the page. */
  readonly data: ReadonlyArray<{
    /** At. */
    readonly at: string;
    /** What the zone's clock shows then. */
    readonly local: string;
    /** Such as `+02:00` */
    readonly offset: string;
    /** The clock skips the time that was meant; shows it twice and it runs once; the month lacks the day; the time has passed and, as `catch_up` and its window have it, does not run. */
    readonly warnings: ReadonlyArray<"gap_moved" | "overlap_once" | "month_short" | "missed_by_limit">;
  }>;
  /** The times between them that the schedule leaves out, the first ones if there are many. */
  readonly excluded: ReadonlyArray<{
    /** At. */
    readonly at: string;
    /** Local. */
    readonly local: string;
    /** Offset. */
    readonly offset: string;
    /** The calendar; null for a date of `exclude` */
    readonly calendar: string | null;
  }>;
  /** What to look at in the schedule: `dialect` says that another program reads the cron expression otherwise. */
  readonly warnings: ReadonlyArray<{
    /** For programs. */
    readonly code: "dialect";
    /** Dialect. */
    readonly dialect: "cron" | "quartz" | "eventbridge";
    /** Detail. */
    readonly detail: string;
  }>;
  /** Whether the schedule ends with these. */
  readonly is_complete: boolean;
}

/** Times at which schedules have no slots. */
export interface Calendar {
  /** Its name. */
  readonly name: string;
  /** How many events it has. */
  readonly events: number;
  /** How many spans of time they cover, each time of a rule counted. */
  readonly spans: number;
  /** When it was made. */
  readonly created_at: string;
  /** When its file was last replaced. */
  readonly updated_at: string;
  /** Version. */
  readonly version: number;
  /** Its file, in the answer about this calendar alone. */
  readonly ical?: string | undefined;
  /** How many tasks have another date now, in the answer to PUT. */
  readonly tasks_moved?: number | undefined;
}

/** A page of calendars. */
export interface CalendarList {
  /** The items of the page. */
  readonly data: ReadonlyArray<Calendar>;
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** Who does tasks, and how they get there. */
export interface TaskWorker {
  /** Its id. */
  readonly id: string;
  /** Unique whatever the case. */
  readonly name: string;
  /** `push` with a `url`: the service calls it; `pull`: it asks for tasks. */
  readonly kind: "push" | "pull";
  /** Where to call it; path and query may hold `{{secrets.NAME}}` */
  readonly url?: string | null | undefined;
  /** Method. */
  readonly method: "POST" | "PUT" | "PATCH";
  /** Headers of its calls; values may hold `{{secrets.NAME}}` */
  readonly headers: Readonly<Record<string, string>>;
  /** The jobs it has: names, or an object of what each has of its own; null takes any job. */
  readonly jobs?: ReadonlyArray<string> | Readonly<Record<string, {
    /** Url. */
    readonly url?: string | null | undefined;
    /** Timeout. */
    readonly timeout?: DurationOrMilliseconds | null | undefined;
    /** When a failed attempt is tried again. */
    readonly retry?: RetryPolicy | undefined;
    /** How long it is kept after its end. */
    readonly retain?: Retain | null | undefined;
  }>> | null | undefined;
  /** Most tasks under way at once; 0 for as many as the plan allows. */
  readonly concurrency: number;
  /** At most `rate` starts in a `period` (PT1S), `per` worker or group; `group_concurrency` tasks of a group at once, at this worker or, by `group_scope`, at several together. */
  readonly limits?: {
    /** Rate. */
    readonly rate?: number | null | undefined;
    /** Period. */
    readonly period?: Duration | null | undefined;
    /** Per. */
    readonly per?: "worker" | "group" | null | undefined;
    /** Group concurrency. */
    readonly group_concurrency?: number | null | undefined;
    /** Group scope. */
    readonly group_scope?: "worker" | "tenant" | null | undefined;
  } | null | undefined;
  /** How long an attempt may take, one that is answered with 202 and a `task-lease` included: no lease is longer. */
  readonly timeout: DurationOrMilliseconds;
  /** How long a lease lasts unless asked otherwise. */
  readonly lease: Duration;
  /** The policy of tasks without one; null means no retries, `{}` the service's policy. */
  readonly retry?: RetryPolicy | undefined;
  /** How long it is kept after its end. */
  readonly retain?: Retain | null | undefined;
  /** Lost attempts in a row after which the next one is a failure. */
  readonly max_lost: number;
  /** Whether it is given nothing. */
  readonly paused: boolean;
  /** Whether calls are signed with a key pair as well. */
  readonly asymmetric: boolean;
  /** The public half of the key pair (`whpk_…`). */
  readonly public_key: string | null;
  /** The new secret that signs its calls and those at the end of its tasks (`whsec_…`), shown once: in the answer that made it, and not when that is given again. */
  readonly signing_secret: string | null;
  /** Paused at. */
  readonly paused_at: string | null;
  /** Who paused it: `type:id` */
  readonly paused_by: string | null;
  /** `active`: has tasks under way or asked for some within the last minute; `stale`: did not ask for a minute though it had before or tasks wait; `idle`: nothing to do; `paused`: is given nothing. */
  readonly status: "idle" | "active" | "stale" | "paused";
  /** When it last asked for tasks, since the service was started. */
  readonly last_seen_at: string | null;
  /** Its processes, as they call themselves, since the service was started. */
  readonly instances: ReadonlyArray<{
    /** Name. */
    readonly name: string;
    /** Last seen at. */
    readonly last_seen_at: string;
  }>;
  /** How many tasks it has. */
  readonly counts: {
    /** Waiting. */
    readonly waiting: number;
    /** Running. */
    readonly running: number;
    /** When a failed attempt is tried again. */
    readonly retry: number;
    /** Failed. */
    readonly failed: number;
  };
  /** When it was made. */
  readonly created_at: string;
  /** When it was changed last. */
  readonly updated_at: string;
  /** Version. */
  readonly version: number;
  /** Links. */
  readonly links: Readonly<Record<string, string>>;
}

/** Who does tasks, and how they get there. */
export interface NewWorker {
  /** Unique whatever the case. */
  readonly name: string;
  /** Where to call it; path and query may hold `{{secrets.NAME}}` */
  readonly url?: string | null | undefined;
  /** Method. */
  readonly method?: "POST" | "PUT" | "PATCH" | undefined;
  /** Headers of its calls; values may hold `{{secrets.NAME}}` */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The jobs it has: names, or an object of what each has of its own; null takes any job. */
  readonly jobs?: ReadonlyArray<string> | Readonly<Record<string, {
    /** Url. */
    readonly url?: string | null | undefined;
    /** Timeout. */
    readonly timeout?: DurationOrMilliseconds | null | undefined;
    /** When a failed attempt is tried again. */
    readonly retry?: RetryPolicy | undefined;
    /** How long it is kept after its end. */
    readonly retain?: Retain | null | undefined;
  }>> | null | undefined;
  /** Most tasks under way at once; 0 for as many as the plan allows. */
  readonly concurrency?: number | undefined;
  /** At most `rate` starts in a `period` (PT1S), `per` worker or group; `group_concurrency` tasks of a group at once, at this worker or, by `group_scope`, at several together. */
  readonly limits?: {
    /** Rate. */
    readonly rate?: number | null | undefined;
    /** Period. */
    readonly period?: Duration | null | undefined;
    /** Per. */
    readonly per?: "worker" | "group" | null | undefined;
    /** Group concurrency. */
    readonly group_concurrency?: number | null | undefined;
    /** Group scope. */
    readonly group_scope?: "worker" | "tenant" | null | undefined;
  } | null | undefined;
  /** How long an attempt may take, one that is answered with 202 and a `task-lease` included: no lease is longer. */
  readonly timeout?: DurationOrMilliseconds | undefined;
  /** How long a lease lasts unless asked otherwise. */
  readonly lease?: Duration | undefined;
  /** The policy of tasks without one; null means no retries, `{}` the service's policy. */
  readonly retry?: RetryPolicy | undefined;
  /** How long it is kept after its end. */
  readonly retain?: Retain | null | undefined;
  /** Lost attempts in a row after which the next one is a failure. */
  readonly max_lost?: number | undefined;
  /** Whether it is given nothing. */
  readonly paused?: boolean | undefined;
  /** Whether calls are signed with a key pair as well. */
  readonly asymmetric?: boolean | undefined;
}

/** A worker as it is to be from now on. */
export interface WorkerChanges {
  /** Unique whatever the case. */
  readonly name?: string | undefined;
  /** Url. */
  readonly url?: string | null | undefined;
  /** Method. */
  readonly method?: "POST" | "PUT" | "PATCH" | null | undefined;
  /** Headers of its calls; values may hold `{{secrets.NAME}}` */
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** Jobs. */
  readonly jobs?: ReadonlyArray<string> | Readonly<Record<string, {
    /** Url. */
    readonly url?: string | null | undefined;
    /** Timeout. */
    readonly timeout?: DurationOrMilliseconds | null | undefined;
    /** When a failed attempt is tried again. */
    readonly retry?: RetryPolicy | undefined;
    /** How long it is kept after its end. */
    readonly retain?: Retain | null | undefined;
  }>> | null | null | undefined;
  /** Most tasks under way at once; 0 for as many as the plan allows. */
  readonly concurrency?: number | null | undefined;
  /** Limits. */
  readonly limits?: {
    /** Rate. */
    readonly rate?: number | null | undefined;
    /** Period. */
    readonly period?: Duration | null | undefined;
    /** Per. */
    readonly per?: "worker" | "group" | null | undefined;
    /** Group concurrency. */
    readonly group_concurrency?: number | null | undefined;
    /** Group scope. */
    readonly group_scope?: "worker" | "tenant" | null | undefined;
  } | null | null | undefined;
  /** Timeout. */
  readonly timeout?: DurationOrMilliseconds | null | undefined;
  /** Lease. */
  readonly lease?: Duration | null | undefined;
  /** When a failed attempt is tried again. */
  readonly retry?: RetryPolicy | null | undefined;
  /** How long it is kept after its end. */
  readonly retain?: Retain | null | undefined;
  /** Lost attempts in a row after which the next one is a failure. */
  readonly max_lost?: number | null | undefined;
  /** Whether it is given nothing. */
  readonly paused?: boolean | null | undefined;
  /** Whether calls are signed with a key pair as well. */
  readonly asymmetric?: boolean | null | undefined;
}

/** A page of workers. */
export interface WorkerPage {
  /** The items of the page. */
  readonly data: ReadonlyArray<TaskWorker>;
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** How a worker is tried. */
export interface WorkerTest {
  /** The handler within the worker. */
  readonly job?: string | undefined;
  /** What the job is given. */
  readonly data?: unknown;
  /** How long the call may take. */
  readonly timeout?: DurationOrMilliseconds | undefined;
}

/** What a worker that was tried answered. */
export interface WorkerTestResult {
  /** Call. */
  readonly call: {
    /** Method. */
    readonly method: "POST" | "PUT" | "PATCH";
    /** With its references. */
    readonly url: string;
    /** The `webhook-id` of the call. */
    readonly id: string | null;
    /** How many keys it was signed with. */
    readonly signatures: number;
  };
  /** What it would have meant for a task. */
  readonly outcome: "succeeded" | "accepted" | "failed";
  /** Milliseconds. */
  readonly duration: number | null;
  /** Answer. */
  readonly answer: {
    /** Status. */
    readonly status: number;
    /** Headers. */
    readonly headers: Readonly<Record<string, string>>;
    /** As text, without the worker's secrets. */
    readonly body: string;
    /** Truncated. */
    readonly truncated: boolean;
  } | null;
  /** Error. */
  readonly error: {
    /** For programs. */
    readonly code: string;
    /** For people. */
    readonly message: string;
  } | null;
}

/** Values by name, or what is to be made: a credential (also without a body), a new signing secret. */
export type NewSecrets = {
  /** Name. */
  readonly name: string;
  /** Value. */
  readonly value: string;
} | {
  /** Secrets. */
  readonly secrets: Readonly<Record<string, string>>;
} | {
  /** Type. */
  readonly type?: "credential" | undefined;
  /** Name. */
  readonly name?: string | null | undefined;
  /** Expires at. */
  readonly expires_at?: string | null | undefined;
  /** Whether leases taken with it may carry the worker's secrets. */
  readonly secrets?: boolean | null | undefined;
} | {
  /** Type. */
  readonly type: "signing";
};

/** Secrets that were kept or made. */
export type AddedSecrets = {
  /** Type. */
  readonly type: "value";
  /** Secrets. */
  readonly secrets: ReadonlyArray<{
    /** Type. */
    readonly type: "value";
    /** Name. */
    readonly name: string;
    /** Version. */
    readonly version: number;
    /** When it was made. */
    readonly created_at: string;
    /** When it was changed last. */
    readonly updated_at: string;
  }>;
} | {
  /** Type. */
  readonly type: "credential";
  /** Its id. */
  readonly id: string;
  /** Name. */
  readonly name: string | null;
  /** Whether leases taken with it may carry the worker's secrets. */
  readonly secrets: boolean;
  /** When it was made. */
  readonly created_at: string;
  /** Expires at. */
  readonly expires_at: string | null;
  /** Last used at. */
  readonly last_used_at: string | null;
  /** The user name: `<tenant>:<id>` */
  readonly key: string;
  /** The password, and the bearer token. Shown this once; null when the answer is given again. */
  readonly secret: string | null;
} | {
  /** Type. */
  readonly type: "signing";
  /** Number. */
  readonly number: number;
  /** Expires at. */
  readonly expires_at: string | null;
  /** Shown this once; null when the answer is given again. */
  readonly secret: string | null;
  /** Earlier secrets that sign alongside, and until when. */
  readonly replaced: ReadonlyArray<{
    /** Type. */
    readonly type: "signing";
    /** Number. */
    readonly number: number;
    /** Expires at. */
    readonly expires_at: string | null;
  }>;
};

/** A worker's secrets, without their values. */
export interface SecretList {
  /** The items of the page. */
  readonly data: ReadonlyArray<{
    /** Type. */
    readonly type: "value";
    /** Name. */
    readonly name: string;
    /** Version. */
    readonly version: number;
    /** When it was made. */
    readonly created_at: string;
    /** When it was changed last. */
    readonly updated_at: string;
  } | {
    /** Type. */
    readonly type: "credential";
    /** Its id. */
    readonly id: string;
    /** Name. */
    readonly name: string | null;
    /** Whether leases taken with it may carry the worker's secrets. */
    readonly secrets: boolean;
    /** When it was made. */
    readonly created_at: string;
    /** Expires at. */
    readonly expires_at: string | null;
    /** Last used at. */
    readonly last_used_at: string | null;
  } | {
    /** Type. */
    readonly type: "signing";
    /** Number. */
    readonly number: number;
    /** Expires at. */
    readonly expires_at: string | null;
  }>;
  /** The cursor of the next page; null on the last. */
  readonly next: null;
}

/** A key for programs. */
export interface ApiKey {
  /** Its id, which begins with `dk_` */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** What it may do, by a role; this or `scopes` */
  readonly role?: "viewer" | "member" | "admin" | "owner" | null | undefined;
  /** What it may do, one by one; `workers:*` stands for all of workers. */
  readonly scopes?: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read" | "tasks:*" | "workers:*" | "leases:*" | "secrets:*" | "users:*" | "keys:*" | "account:*" | "audit:*"> | null | undefined;
  /** Where it may be used from, as addresses or CIDR; from everywhere when empty. */
  readonly networks: ReadonlyArray<string>;
  /** Whether it sees the data and results of tasks; as you do unless given. */
  readonly payloads?: boolean | undefined;
  /** The user it ends with. */
  readonly made_by: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** When it stops working; never when null. */
  readonly expires_at?: string | null | undefined;
  /** When it was last used, to the minute. */
  readonly last_used_at: string | null;
}

/** A key for programs. */
export interface NewApiKey {
  /** Its name for people. */
  readonly name?: string | undefined;
  /** What it may do, by a role; this or `scopes` */
  readonly role?: "viewer" | "member" | "admin" | "owner" | null | undefined;
  /** What it may do, one by one; `workers:*` stands for all of workers. */
  readonly scopes?: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read" | "tasks:*" | "workers:*" | "leases:*" | "secrets:*" | "users:*" | "keys:*" | "account:*" | "audit:*"> | null | undefined;
  /** Where it may be used from, as addresses or CIDR; from everywhere when empty. */
  readonly networks?: ReadonlyArray<string> | undefined;
  /** Whether it sees the data and results of tasks; as you do unless given. */
  readonly payloads?: boolean | undefined;
  /** When it stops working; never when null. */
  readonly expires_at?: string | null | undefined;
}

/** A page of API keys. */
export interface ApiKeyList {
  /** The items of the page. */
  readonly data: ReadonlyArray<ApiKey>;
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** An API key that was made, with its secret. */
export interface MadeApiKey {
  /** Its id, which begins with `dk_` */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** What it may do, by a role; this or `scopes` */
  readonly role?: "viewer" | "member" | "admin" | "owner" | null | undefined;
  /** What it may do, one by one; `workers:*` stands for all of workers. */
  readonly scopes?: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read" | "tasks:*" | "workers:*" | "leases:*" | "secrets:*" | "users:*" | "keys:*" | "account:*" | "audit:*"> | null | undefined;
  /** Where it may be used from, as addresses or CIDR; from everywhere when empty. */
  readonly networks: ReadonlyArray<string>;
  /** Whether it sees the data and results of tasks; as you do unless given. */
  readonly payloads?: boolean | undefined;
  /** The user it ends with. */
  readonly made_by: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** When it stops working; never when null. */
  readonly expires_at?: string | null | undefined;
  /** When it was last used, to the minute. */
  readonly last_used_at: string | null;
  /** The key itself, shown this once; null in an answer that is given again for an Idempotency-Key. */
  readonly key: string | null;
}

/** How an API key is replaced. */
export interface KeyRotation {
  /** How long the old key goes on working; a week at most. */
  readonly overlap?: Duration | undefined;
}

/** Who calls. */
export interface Me {
  /** A person with a token, or a program with a key. */
  readonly type: "user" | "key";
  /** The id of the user or the key. */
  readonly id: string;
  /** All that the caller may do. */
  readonly scopes: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read">;
  /** Whether the caller sees the data and results of tasks. */
  readonly payloads: boolean;
  /** Tenant. */
  readonly tenant: {
    /** Its id. */
    readonly id: string;
    /** Domain. */
    readonly domain: string;
  };
  /** The person, or who made the key; null where there is none. */
  readonly user: User | null;
  /** The key; null for a person. */
  readonly key: ApiKey | null;
}

/** What the tenant uses of its plan. */
export interface Usage {
  /** The id of the plan whose limits hold. */
  readonly plan: string;
  /** The month of UTC that executions are counted in. */
  readonly period: string;
  /** Use. */
  readonly use: {
    /** Active tasks. */
    readonly active_tasks: Use;
    /** Executions per month. */
    readonly executions_per_month: Use;
    /** Workers. */
    readonly workers: Use;
    /** Users. */
    readonly users: Use;
    /** Keys. */
    readonly keys: Use;
  };
  /** All limits of the plan. */
  readonly limits: PlanLimits;
}

/** How much is used of how much. */
export interface Use {
  /** What the plan allows; null for no limit. */
  readonly limit: number | null;
  /** Used. */
  readonly used: number;
  /** Whether `used` is all of it; counting stops somewhere beyond the limit. */
  readonly is_exact: boolean;
}

/** What a worker asks for. */
export interface LeaseWish {
  /** Most tasks; there may be fewer, however many wait. */
  readonly max?: number | undefined;
  /** How long to wait for the first task. */
  readonly wait?: Duration | undefined;
  /** Only tasks of these jobs. */
  readonly jobs?: ReadonlyArray<string> | undefined;
  /** How long the leases last; the worker's time if absent. */
  readonly lease?: Duration | undefined;
  /** The worker's name for its process. */
  readonly instance?: string | undefined;
  /** Whether the leases include the worker's secrets. */
  readonly secrets?: boolean | undefined;
}

/** What a worker is given. */
export interface Leases {
  /** Leases. */
  readonly leases: ReadonlyArray<{
    /** Its id (`lse_…`). */
    readonly id: string;
    /** What proves that it is yours; send it as bearer. */
    readonly token: string;
    /** Grows with every attempt of the task; give it to your own store to refuse what comes from an earlier one. */
    readonly fence: number;
    /** Run. */
    readonly run: number;
    /** Which try of the run it is. */
    readonly attempt: number;
    /** Expires at. */
    readonly expires_at: string;
    /** Task. */
    readonly task: TaskPart;
    /** The dependencies of a task that has some, in its order, with results of 256 KiB together. */
    readonly dependencies?: ReadonlyArray<DependencyResult> | undefined;
    /** Secrets. */
    readonly secrets?: Readonly<Record<string, string>> | undefined;
  }>;
}

/** What a dependency of the task has come to. */
export interface DependencyResult {
  /** Its id. */
  readonly id: string;
  /** Its status; `removed` when it is gone. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "removed";
  /** What its last success returned; null for nothing. */
  readonly result: unknown;
  /** Whether the result is only the beginning of it. */
  readonly result_truncated?: boolean | undefined;
  /** Whether it is left out, since those before it take all the room there is; read the task itself then. */
  readonly result_omitted?: boolean | undefined;
}

/** What the holder of a lease says of it. */
export type LeaseWord = {
  /** The lease. */
  readonly id: string;
  /** Its token. */
  readonly token: string;
  /** Action. */
  readonly action: "complete";
  /** The result; only the first 64 KiB are kept. */
  readonly result?: unknown;
} | {
  /** The lease. */
  readonly id: string;
  /** Its token. */
  readonly token: string;
  /** Action. */
  readonly action: "fail";
  /** Why; a message, or more than that. */
  readonly error?: string | {
    /** A code for programs, which `retry.on` may name. */
    readonly code?: string | undefined;
    /** For people. */
    readonly message: string;
    /** More details. */
    readonly detail?: unknown;
  } | undefined;
  /** False when another try is useless. */
  readonly retry?: boolean | undefined;
  /** The next try comes no sooner than this from now. */
  readonly retry_after?: Duration | undefined;
} | {
  /** The lease. */
  readonly id: string;
  /** Its token. */
  readonly token: string;
  /** Action. */
  readonly action: "heartbeat";
  /** How long the lease is to last from now; its own time if absent, and never longer than the attempt may take. */
  readonly extend?: Duration | undefined;
  /** How far the work is; the task's attempt has the last progress that was reported, and the history not all of it. */
  readonly progress?: unknown;
} | {
  /** The lease. */
  readonly id: string;
  /** Its token. */
  readonly token: string;
  /** Action. */
  readonly action: "release";
  /** How long the task is held back; not at all if absent. */
  readonly delay?: Duration | undefined;
  /** Why, for the history. */
  readonly reason?: string | undefined;
} | {
  /** The lease. */
  readonly id: string;
  /** Its token. */
  readonly token: string;
  /** Action. */
  readonly action: "log";
  /** Lines for the history; the first 1,000 characters of each are kept. */
  readonly lines: ReadonlyArray<string>;
};

/** What the holder of leases says of them. */
export interface LeaseBatch {
  /** Leases. */
  readonly leases: ReadonlyArray<LeaseWord>;
}

/** What became of what was said of leases. */
export interface LeaseResults {
  /** Results. */
  readonly results: ReadonlyArray<{
    /** The status it would have alone. */
    readonly status: number;
    /** Lease. */
    readonly lease?: LeaseState | undefined;
    /** Problem. */
    readonly problem?: Problem | undefined;
  }>;
}

/** How a lease and its task are. */
export interface LeaseState {
  /** The lease. */
  readonly id: string;
  /** The id of its task. */
  readonly task: string;
  /** The status of the task. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** When the task is due next; null when it runs or has ended. */
  readonly date: string | null;
  /** When the lease ends; null when it has. */
  readonly expires_at: string | null;
  /** Whether the task was canceled; stop the work then. */
  readonly canceled: boolean;
  /** Whether the same was reported before, so nothing was changed. */
  readonly repeated: boolean;
}

/** Tasks to be made together. */
export interface TaskBatch {
  /** The tasks; the plan says how many there may be. */
  readonly tasks: ReadonlyArray<NewTask>;
  /** Whether all are created or none. */
  readonly atomic?: boolean | undefined;
}

/** A person who acts for the tenant. */
export interface User {
  /** Its id, which begins with `usr_` */
  readonly id: string;
  /** The address; unique in the tenant whatever the case of its letters. */
  readonly email: string;
  /** The person's name. */
  readonly name: string;
  /** What the person may do: each role may all that those before it may. */
  readonly role: "viewer" | "member" | "admin" | "owner";
  /** `invited` becomes `active` when the person next logs in; `disabled` is let in no more. */
  readonly status: "invited" | "active" | "disabled";
  /** Whether the person sees the data and results of tasks; as you do unless given. */
  readonly payloads?: boolean | undefined;
  /** Who the person is at the identity provider, once that is known. */
  readonly idp_subject: string | null;
  /** When the person was added. */
  readonly created_at: string;
  /** The last change. */
  readonly updated_at: string;
  /** When the person last acted, to the minute. */
  readonly last_seen_at: string | null;
}

/** The limits of a plan; null is no limit. */
export interface PlanLimits {
  /** Requests in a second, on average; ten tasks of a batch or a bulk action, or 10 ms of the service's time, count as one. */
  readonly requests_per_second: number | null;
  /** Tasks that are not final. */
  readonly active_tasks: number | null;
  /** Attempts in a calendar month of UTC. */
  readonly executions_per_month: number | null;
  /** Workers. */
  readonly workers: number | null;
  /** Users. */
  readonly users: number | null;
  /** API keys. */
  readonly keys: number | null;
  /** Bytes of a task's data as JSON text. */
  readonly payload_bytes: number;
  /** Tasks of one batch. */
  readonly batch_size: number;
  /** How far ahead a date may lie. */
  readonly max_delay: Duration | null;
  /** The shortest spacing of a schedule. */
  readonly min_interval: Duration;
  /** Tasks of a worker under way at once. */
  readonly concurrency: number | null;
  /** Days a task is kept after its end. */
  readonly retention_days: number | null;
  /** Days an entry of the audit log is kept. */
  readonly audit_retention_days: number | null;
  /** Records of a task's history; the oldest of more are folded into one. */
  readonly history_per_task: number | null;
}

/** A problem (RFC 9457). */
export interface Problem {
  /** Type. */
  readonly type: string;
  /** Title. */
  readonly title: string;
  /** Status. */
  readonly status: number;
  /** Detail. */
  readonly detail?: string | undefined;
  /** Instance. */
  readonly instance: string;
  /** For programs. */
  readonly code: "bad_request" | "malformed_json" | "bad_host" | "bad_header" | "missing_credentials" | "invalid_credentials" | "token_expired" | "forbidden" | "tenant_suspended" | "quota_exceeded" | "not_found" | "tenant_not_found" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "domain_taken" | "name_taken" | "email_taken" | "key_conflict" | "last_owner" | "worker_in_use" | "calendar_in_use" | "lease_gone" | "wrong_state" | "idempotency_in_progress" | "precondition_failed" | "too_large" | "uri_too_long" | "unsupported_media_type" | "expectation_failed" | "invalid" | "read_only" | "unknown_worker" | "bad_cron" | "never_fires" | "bad_timezone" | "bad_cursor" | "idempotency_key_reused" | "rate_limited" | "request_header_fields_too_large" | "internal" | "not_implemented" | "overloaded" | "not_ready" | "stopping" | "store_unavailable" | "secrets_unavailable" | "http_version_not_supported";
  /** Request id. */
  readonly request_id: string;
  /** Errors. */
  readonly errors?: ReadonlyArray<ProblemFault> | undefined;
  /** Seconds after which to try again. */
  readonly retry_after?: number | undefined;
}

/** One fault of a request. */
export interface ProblemFault {
  /** The place in the body, a JSON pointer (RFC 6901). */
  readonly pointer?: string | undefined;
  /** The parameter of the query. */
  readonly parameter?: string | undefined;
  /** The kind of fault. */
  readonly code: string;
  /** What is wrong. */
  readonly detail: string;
}
