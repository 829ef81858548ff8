// deno-fmt-ignore-file: made by a program
/**
 * What the API of the tasks service takes and gives. Made of its OpenAPI document by
 * `deno task readme`: change the service's schemas, not this file.
 *
 * @module
 */

/** Work for a date, and its progress. */
export interface Task {
  /** Starts with `tsk_`; ids sort by the time of creation. */
  readonly id: string;
  /**
   * `scheduled` has a date to come, `blocked` waits for dependencies, `waiting`
   * for a worker. `retry` failed and is tried again, `done` succeeded and runs
   * again. `complete`, `failed`, `canceled` and `expired` are ends.
   */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** The name of who does it. */
  readonly worker: string;
  /** Does not change when the worker is renamed. */
  readonly worker_id: string;
  /** The handler within the worker; `default` when absent. */
  readonly job: string;
  /** What the job is given; absent for callers who see none. */
  readonly data?: unknown;
  /** When the next attempt is due, or the last one was. */
  readonly date: string;
  /** The start from which slots of an interval are counted. */
  readonly first_date: string;
  /**
   * The IANA time zone of cron and calendar intervals; the tenant's when
   * absent.
   */
  readonly timezone: string;
  /** The schedule of further runs; null for a single run. */
  readonly repeat: {
    /**
     * The distance of the slots, counted from the first date; months and days by
     * the calendar of the time zone. ISO 8601.
     */
    readonly interval?: string | undefined;
    /**
     * Five fields, or six with seconds first, or a nickname such as @daily;
     * instead of an interval.
     */
    readonly cron?: string | undefined;
    /**
     * The dialect of the expression in `cron`: `quartz` and `eventbridge` count
     * days of the week from Sunday as 1. When absent it is `cron`, that of
     * crontab, and the answer warns if another dialect has other times.
     */
    readonly dialect?: "cron" | "quartz" | "eventbridge" | undefined;
    /** Dates in the time zone that have no slots. */
    readonly exclude?: ReadonlyArray<string> | undefined;
    /** Names of calendars whose events have no slots. */
    readonly calendars?: ReadonlyArray<string> | undefined;
    /** Repetitions after the first run; no limit when absent. */
    readonly limit?: number | undefined;
    /** The last instant at which a run may be due; no limit when absent. */
    readonly until?: string | undefined;
    /**
     * Action for slots that passed while no worker could run them; `one` when
     * absent. `one` runs once for all, `all` runs all within the window, `none`
     * runs the latest if it is on time. With `all` the mode `spawn` creates the
     * latest 10,000. With `none` its tasks expire if they do not begin on time.
     */
    readonly catch_up: "one" | "all" | "none";
    /** The maximum age of a slot for `all`; a day when absent. ISO 8601. */
    readonly catch_up_window: string;
    /**
     * How long after its date a run is still on time, so that no `catch_up`
     * misses it; the service's setting when absent. ISO 8601.
     */
    readonly on_time: string;
    /**
     * The maximum random delay of a run, which keeps its slot; none when absent,
     * and at most the distance of the slots. ISO 8601.
     */
    readonly jitter: string;
    /**
     * `same` runs this task again, `spawn` creates a task for each slot; `same`
     * when absent. Slots are missed when the plan has no room for their tasks.
     */
    readonly mode: "same" | "spawn";
    /**
     * Whether a failed run ends the schedule after its retries; when absent yes
     * for an interval, no for cron. A run by hand never does.
     */
    readonly on_failure: "stop" | "continue";
  } | null;
  /**
   * Retries of failed attempts; the rule of its job or worker when absent, none
   * when null.
   */
  readonly retry?: RetryPolicy | undefined;
  /**
   * Time limit of an attempt, a number in milliseconds; the limit of its job or
   * worker when absent.
   */
  readonly timeout: number | null;
  /**
   * How long the task is kept after its end; the time of its job, its worker or
   * the plan when absent.
   */
  readonly retain?: {
    /** For succeeded tasks; at least a minute; ISO 8601. */
    readonly succeeded?: string | undefined;
    /** For tasks that failed, expired or were canceled; ISO 8601. */
    readonly failed?: string | undefined;
  } | null | undefined;
  /**
   * The task expires if it has not started by then; never when absent. An
   * instant after its date, or a duration from its date. For a repeating task
   * the date is the first slot.
   */
  readonly expires: string | null;
  /**
   * Ids of tasks that must succeed first; in a batch also the `ref` of others.
   * The worker gets their results. An existing task accepts only tasks that are
   * older than itself or have no dependencies.
   */
  readonly dependencies: ReadonlyArray<string>;
  /**
   * Action when a dependency fails, expires or is canceled; `fail` when absent.
   * A removed dependency fails the task even with `wait`.
   */
  readonly on_dependency_failure: "fail" | "run" | "wait";
  /**
   * Higher numbers run first; 0 when absent. A step is worth a minute of
   * waiting. Among equals the earliest date runs first.
   */
  readonly priority: number;
  /** Groups of a worker take turns, and its `limits` may bound each. */
  readonly group: string | null;
  /**
   * A worker has at most one live task with a key; `on_conflict` decides about
   * further requests with it.
   */
  readonly key: string | null;
  /**
   * URL to call at the end, optionally with the outcomes to call at. The
   * worker's signing secret signs the call. The call contains data and result,
   * so only callers who may see these (`payloads`) may set it; others get 403.
   */
  readonly callback: {
    /**
     * URL that is called by POST: a public address with https, unless the
     * service's settings allow others.
     */
    readonly url: string;
    /** The ends that it is called at; all four when absent. */
    readonly on: ReadonlyArray<"complete" | "failed" | "canceled" | "expired">;
  } | null;
  /** Labels for filters of lists and bulk actions. */
  readonly tags: ReadonlyArray<string>;
  /** Named labels, for workers and for filters of lists. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether its date has passed and a worker may take it. */
  readonly due: boolean;
  /** The number of the current run, 0 for the first. */
  readonly run: number;
  /** Attempts that succeeded or failed, in all runs. */
  readonly executions: number;
  /** Attempts of the current run after the first. */
  readonly retries: number;
  /**
   * Runs after the first that the schedule caused; `repeat.limit` bounds them.
   */
  readonly repetitions: number;
  /** How the last run ended; null before one has. */
  readonly last_outcome: "succeeded" | "failed" | null;
  /** Attempts that were lost with their worker, which cost no retry. */
  readonly lost: number;
  /** Slots of the schedule that passed without a run. */
  readonly missed: number;
  /** Milliseconds by which the last attempt started late. */
  readonly lag: number | null;
  /** Milliseconds that the last attempt took. */
  readonly duration: number | null;
  /** What the last success returned; null for callers who see none. */
  readonly result: unknown;
  /** Present and true when the result exceeded 64 KiB and is cut to them. */
  readonly result_truncated?: boolean | undefined;
  /** Why the last attempt failed; null after a success. */
  readonly error: {
    /** A word for programs, such as `timed_out`. */
    readonly code: string;
    /** A message for people. */
    readonly message: string;
    /** Further details from the worker. */
    readonly detail?: unknown;
    /** The status that a push worker answered. */
    readonly http_status?: number | undefined;
    /** The id of the failed dependency. */
    readonly dependency?: string | undefined;
    /** When the attempt failed. */
    readonly at: string;
  } | null;
  /** The running attempt; null while none runs. */
  readonly attempt: {
    /** The lease that holds the task (`lse_…`). */
    readonly id: string;
    /** When a worker took the task. */
    readonly started_at: string;
    /** When the lease ends without a further heartbeat. */
    readonly expires_at: string;
    /** The worker's name for the process that has the lease; null without one. */
    readonly instance: string | null;
    /** The progress that the worker reported last. */
    readonly progress: unknown;
  } | null;
  /** The next dates of a repeating task. */
  readonly next?: ReadonlyArray<string> | undefined;
  /**
   * Earliest start of the run that a request with the key of the running task
   * asked for.
   */
  readonly again?: string | undefined;
  /**
   * The event or approval it waits for; it is `scheduled` for the end of the
   * wait.
   */
  readonly waiting_for?: Awaited | undefined;
  /** In the answer to a retry: the dependents that wait for this task again. */
  readonly revived_dependents?: {
    /** How many tasks wait again. */
    readonly count: number;
    /** The first of them. */
    readonly ids: ReadonlyArray<string>;
    /** Whether this is the complete list. */
    readonly is_complete: boolean;
  } | undefined;
  /**
   * Warnings about the schedule: `dialect` means that another program reads the
   * cron expression differently.
   */
  readonly warnings?: ReadonlyArray<{
    /** A word for programs. */
    readonly code: "dialect";
    /** Whose expression it could be as well. */
    readonly dialect: "cron" | "quartz" | "eventbridge";
    /** What is odd and what to do, for people. */
    readonly detail: string;
  }> | undefined;
  /** The creator. */
  readonly created_by: {
    /**
     * A person, a program with a key, a worker, a role of the database that has
     * enqueued the task, or the service itself.
     */
    readonly type: "user" | "key" | "worker" | "role" | "system";
    /** The id of the user, key or worker, or the name of the role. */
    readonly id: string;
  };
  /** The task whose schedule created it. */
  readonly parent?: string | undefined;
  /** When it was created. */
  readonly created_at: string;
  /** When the service or a request last changed it. */
  readonly updated_at: string;
  /** When the last attempt began; null before the first. */
  readonly started_at: string | null;
  /** When it ended; null before. */
  readonly finished_at: string | null;
  /**
   * When the ended task is removed; absent before the end, and when it is kept
   * for ever.
   */
  readonly kept_until?: string | undefined;
  /** Grows by one with each change; the entity tag is derived from it. */
  readonly version: number;
  /** Related paths of the API. */
  readonly links: {
    /** The path of the task. */
    readonly self: string;
    /** The path of its history. */
    readonly history: string;
    /** The path of its worker. */
    readonly worker: string;
  };
}

/** A task, or the fields of it that were asked for. */
export type TaskPart = { readonly [Name in keyof Omit<Task, "id">]?: Task[Name] | undefined } & {
  /** Starts with `tsk_`; ids sort by the time of creation. */
  readonly id: string;
};

/** A page of a list. */
export interface TaskList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<TaskPart>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
  /**
   * How many there are, when asked; 10,000 at most, among 20,000 that are
   * looked at.
   */
  readonly count?: number | undefined;
  /** Whether that is all there are; there may be more if not. */
  readonly count_is_exact?: boolean | undefined;
}

/** A task to be made. */
export interface NewTask {
  /** The name or the id of the worker. */
  readonly worker: string;
  /** The handler within the worker; `default` when absent. */
  readonly job?: string | null | undefined;
  /** Input of the job: any JSON, up to the plan's limit; null if left out. */
  readonly data?: unknown;
  /**
   * Time of the first run; when absent now, or the first slot of a cron
   * schedule. A past date is due immediately.
   */
  readonly date?: string | null | undefined;
  /** Time from now to the first run, instead of a date. */
  readonly delay?: Duration | null | undefined;
  /**
   * The IANA time zone of cron and calendar intervals; the tenant's when
   * absent.
   */
  readonly timezone?: string | null | undefined;
  /** The schedule of further runs; null for a single run. */
  readonly repeat?: Repeat | null | undefined;
  /**
   * Retries of failed attempts; the rule of its job or worker when absent, none
   * when null.
   */
  readonly retry?: RetryPolicy | undefined;
  /**
   * Time limit of an attempt, a number in milliseconds; the limit of its job or
   * worker when absent.
   */
  readonly timeout?: DurationOrMilliseconds | null | undefined;
  /**
   * How long the task is kept after its end; the time of its job, its worker or
   * the plan when absent.
   */
  readonly retain?: Retain | null | undefined;
  /**
   * The task expires if it has not started by then; never when absent. An
   * instant after its date, or a duration from its date. For a repeating task
   * the date is the first slot.
   */
  readonly expires?: string | Duration | null | undefined;
  /**
   * Ids of tasks that must succeed first; in a batch also the `ref` of others.
   * The worker gets their results. An existing task accepts only tasks that are
   * older than itself or have no dependencies.
   */
  readonly dependencies?: ReadonlyArray<string> | null | undefined;
  /**
   * Action when a dependency fails, expires or is canceled; `fail` when absent.
   * A removed dependency fails the task even with `wait`.
   */
  readonly on_dependency_failure?: "fail" | "run" | "wait" | null | undefined;
  /**
   * Higher numbers run first; 0 when absent. A step is worth a minute of
   * waiting. Among equals the earliest date runs first.
   */
  readonly priority?: number | null | undefined;
  /** Groups of a worker take turns, and its `limits` may bound each. */
  readonly group?: string | null | undefined;
  /**
   * A worker has at most one live task with a key; `on_conflict` decides about
   * further requests with it.
   */
  readonly key?: string | null | undefined;
  /**
   * URL to call at the end, optionally with the outcomes to call at. The
   * worker's signing secret signs the call. The call contains data and result,
   * so only callers who may see these (`payloads`) may set it; others get 403.
   */
  readonly callback?: string | {
    /**
     * URL that is called by POST: a public address with https, unless the
     * service's settings allow others.
     */
    readonly url: string;
    /** The ends that it is called at; all four when absent. */
    readonly on?: ReadonlyArray<"complete" | "failed" | "canceled" | "expired"> | null | undefined;
  } | null | undefined;
  /** Labels for filters of lists and bulk actions. */
  readonly tags?: ReadonlyArray<string> | null | undefined;
  /** Named labels, for workers and for filters of lists. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /**
   * In a batch, a name for this task in `dependencies` of other tasks; it is
   * not stored.
   */
  readonly ref?: string | undefined;
  /**
   * Action when a live task has the key. `return` returns that task, `reject`
   * refuses. `replace` sets the new values and date, `keep_date` only the new
   * values. `run_after` sets the new values, and adds one more run if a run has
   * begun. A task that runs once is not replaced while it runs; a repeating
   * task keeps its date unless one is given.
   */
  readonly on_conflict?: "return" | "reject" | "replace" | "keep_date" | "run_after" | undefined;
  /**
   * Runs once when no request with the key has arrived for the window. Until
   * the task is due, each request sets the new values and moves its date to a
   * window from then. Instead of a date and `on_conflict`.
   */
  readonly debounce?: {
    /** Required time without a request with the key. */
    readonly window: Duration;
    /** Maximum time from the first request to the run. */
    readonly max_wait?: Duration | undefined;
  } | undefined;
  /**
   * Runs at most once a window. The first request with the key runs
   * immediately. The others within the window share one run at its end, with
   * the newest values. Instead of a date and `on_conflict`.
   */
  readonly throttle?: {
    /** Minimum time from one run to the next. */
    readonly window: Duration;
  } | undefined;
  /** `paused` pauses the task; the other two have no effect. */
  readonly status?: "waiting" | "scheduled" | "paused" | undefined;
}

/**
 * Given fields are changed, others stay, and null resets a field to its
 * default. Fields that the service decides may be sent back as they are.
 */
export interface TaskChanges extends Omit<NewTask, "worker" | "ref" | "on_conflict" | "debounce" | "throttle" | "status"> {
  /** The name or the id of the worker. */
  readonly worker?: string | undefined;
  /**
   * `canceled` cancels it, `paused` pauses it, `waiting` lets it go on or runs
   * it again; the status it has already changes nothing.
   */
  readonly status?: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "cancel" | "cancelled" | null | undefined;
}

/** The outcomes of the tasks of a batch. */
export interface TaskBatchResults {
  /** One for each task, in their order. */
  readonly results: ReadonlyArray<{
    /** The status of an answer to this task alone. */
    readonly status: number;
    /** As in the answer for this single task. */
    readonly task?: Task | undefined;
    /**
     * The task's id in place of the task, where `Prefer: return=minimal` asks for
     * no more.
     */
    readonly id?: string | undefined;
    /** Why it was not created. */
    readonly problem?: Problem | undefined;
  }>;
}

/** How a task repeats: by an interval or by cron. */
export interface Repeat {
  /**
   * The distance of the slots, counted from the first date; months and days by
   * the calendar of the time zone.
   */
  readonly interval?: Duration | null | undefined;
  /**
   * Five fields, or six with seconds first, or a nickname such as @daily;
   * instead of an interval.
   */
  readonly cron?: string | null | undefined;
  /**
   * The dialect of the expression in `cron`: `quartz` and `eventbridge` count
   * days of the week from Sunday as 1. When absent it is `cron`, that of
   * crontab, and the answer warns if another dialect has other times.
   */
  readonly dialect?: "cron" | "quartz" | "eventbridge" | null | undefined;
  /** Dates in the time zone that have no slots. */
  readonly exclude?: ReadonlyArray<string> | null | undefined;
  /** Names of calendars whose events have no slots. */
  readonly calendars?: ReadonlyArray<string> | null | undefined;
  /** Repetitions after the first run; no limit when absent. */
  readonly limit?: number | null | undefined;
  /** The last instant at which a run may be due; no limit when absent. */
  readonly until?: string | null | undefined;
  /**
   * Action for slots that passed while no worker could run them; `one` when
   * absent. `one` runs once for all, `all` runs all within the window, `none`
   * runs the latest if it is on time. With `all` the mode `spawn` creates the
   * latest 10,000. With `none` its tasks expire if they do not begin on time.
   */
  readonly catch_up?: "one" | "all" | "none" | null | undefined;
  /** The maximum age of a slot for `all`; a day when absent. */
  readonly catch_up_window?: Duration | null | undefined;
  /**
   * How long after its date a run is still on time, so that no `catch_up`
   * misses it; the service's setting when absent.
   */
  readonly on_time?: Duration | null | undefined;
  /**
   * The maximum random delay of a run, which keeps its slot; none when absent,
   * and at most the distance of the slots.
   */
  readonly jitter?: Duration | null | undefined;
  /**
   * `same` runs this task again, `spawn` creates a task for each slot; `same`
   * when absent. Slots are missed when the plan has no room for their tasks.
   */
  readonly mode?: "same" | "spawn" | null | undefined;
  /**
   * Whether a failed run ends the schedule after its retries; when absent yes
   * for an interval, no for cron. A run by hand never does.
   */
  readonly on_failure?: "stop" | "continue" | null | undefined;
}

/** When a failed attempt is tried again. */
export type RetryPolicy = {
  /**
   * Retries after the first attempt. When absent 3, or the number of delays in
   * a list, or no limit with a single interval.
   */
  readonly limit?: number | null | undefined;
  /**
   * The delay, the first delay, or all delays in a list; ten seconds when
   * absent.
   */
  readonly interval?: ReadonlyArray<Duration> | Duration | null | undefined;
  /**
   * The growth of the delay. When absent `list` for a list, `fixed` for an
   * interval without `factor`, `max_interval` and `jitter`, and otherwise
   * `exponential`.
   */
  readonly backoff?: "fixed" | "linear" | "exponential" | "list" | null | undefined;
  /**
   * The factor by which each delay grows, only for `exponential`; 2 when
   * absent.
   */
  readonly factor?: number | null | undefined;
  /**
   * The longest delay of a growing backoff; when absent an hour, or the
   * interval if that is longer.
   */
  readonly max_interval?: Duration | null | undefined;
  /**
   * The random shortening of a delay: none, up to half, or up to all of it.
   * When absent `equal`, and `none` for an interval without other fields.
   */
  readonly jitter?: "none" | "equal" | "full" | null | undefined;
  /**
   * How long after the first attempt of a run a retry may begin; no limit when
   * absent.
   */
  readonly for?: Duration | null | undefined;
  /**
   * Failures to retry: statuses (429), classes ("5xx"), error codes
   * ("timed_out"); when absent all retryable ones.
   */
  readonly on?: ReadonlyArray<string | number> | null | undefined;
} | null;

/**
 * How long a task is kept after its end, by its outcome. The task's own word
 * goes before that of its job, of its worker and of the plan, which none of
 * them may exceed.
 */
export interface Retain {
  /** For succeeded tasks; at least a minute. */
  readonly succeeded?: Duration | null | undefined;
  /** For tasks that failed, expired or were canceled. */
  readonly failed?: Duration | null | undefined;
}

/**
 * ISO 8601 text ("PT30S"), text with units ("1h30m"), or an object of units.
 */
export type Duration = string | {
  /** The same as `years`. */
  readonly year?: number | undefined;
  /** How many; added to the other units. */
  readonly years?: number | undefined;
  /** The same as `months`. */
  readonly month?: number | undefined;
  /** How many; added to the other units. */
  readonly months?: number | undefined;
  /** The same as `weeks`. */
  readonly week?: number | undefined;
  /** How many; added to the other units. */
  readonly weeks?: number | undefined;
  /** The same as `days`. */
  readonly day?: number | undefined;
  /** How many; added to the other units. */
  readonly days?: number | undefined;
  /** The same as `hours`. */
  readonly hour?: number | undefined;
  /** How many; added to the other units. */
  readonly hours?: number | undefined;
  /** The same as `minutes`. */
  readonly minute?: number | undefined;
  /** How many; added to the other units. */
  readonly minutes?: number | undefined;
  /** The same as `seconds`. */
  readonly second?: number | undefined;
  /** How many; added to the other units. */
  readonly seconds?: number | undefined;
  /** The same as `milliseconds`. */
  readonly millisecond?: number | undefined;
  /** How many; added to the other units. */
  readonly milliseconds?: number | undefined;
};

/**
 * ISO 8601 text ("PT30S"), text with units ("1h30m"), or an object of units,
 * or a number of milliseconds.
 */
export type DurationOrMilliseconds = string | number | {
  /** The same as `years`. */
  readonly year?: number | undefined;
  /** How many; added to the other units. */
  readonly years?: number | undefined;
  /** The same as `months`. */
  readonly month?: number | undefined;
  /** How many; added to the other units. */
  readonly months?: number | undefined;
  /** The same as `weeks`. */
  readonly week?: number | undefined;
  /** How many; added to the other units. */
  readonly weeks?: number | undefined;
  /** The same as `days`. */
  readonly day?: number | undefined;
  /** How many; added to the other units. */
  readonly days?: number | undefined;
  /** The same as `hours`. */
  readonly hour?: number | undefined;
  /** How many; added to the other units. */
  readonly hours?: number | undefined;
  /** The same as `minutes`. */
  readonly minute?: number | undefined;
  /** How many; added to the other units. */
  readonly minutes?: number | undefined;
  /** The same as `seconds`. */
  readonly second?: number | undefined;
  /** How many; added to the other units. */
  readonly seconds?: number | undefined;
  /** The same as `milliseconds`. */
  readonly millisecond?: number | undefined;
  /** How many; added to the other units. */
  readonly milliseconds?: number | undefined;
};

/** An action, and the tasks that it is applied to. */
export interface BulkAction {
  /** What is done to each of the tasks. */
  readonly action: "cancel" | "retry" | "pause" | "resume" | "delete";
  /** The tasks by their ids. */
  readonly ids?: ReadonlyArray<string> | null | undefined;
  /** The tasks by the conditions of lists. */
  readonly filter?: {
    /** Names or ids of workers; one that is not there is refused. */
    readonly worker?: ReadonlyArray<string> | string | undefined;
    /**
     * Any of these; `active` stands for all of live tasks that are not paused,
     * `final` for those of tasks that have ended.
     */
    readonly status?: ReadonlyArray<"scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "cancel" | "cancelled" | "completed" | "active" | "final"> | "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "cancel" | "cancelled" | "completed" | "active" | "final" | undefined;
    /** From then on: YYYY, YYYY-MM, YYYY-MM-DD or RFC 3339; the whole of it. */
    readonly start?: string | undefined;
    /** Up to then, as `start`; the whole of it is included. */
    readonly end?: string | undefined;
    /** The zone of years, months and days; UTC when absent. */
    readonly tz?: string | undefined;
    /** The time that start and end bound. */
    readonly by?: "date" | "created_at" | "finished_at" | undefined;
    /** The handler within the worker. */
    readonly job?: string | undefined;
    /** The group; empty for tasks without one. */
    readonly group?: string | undefined;
    /** Those that have this key, ended ones too. */
    readonly key?: string | undefined;
    /** The code of the last error. */
    readonly error?: string | undefined;
    /** Tags, all of which they have. */
    readonly tag?: ReadonlyArray<string> | string | undefined;
    /** Named labels with their values, all of which they have. */
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    /** Whether they may be taken by a worker now. */
    readonly due?: boolean | undefined;
    /** Whether they have a schedule. */
    readonly repeats?: boolean | undefined;
  } | null | undefined;
  /** Whether to write nothing and count what would be done. */
  readonly dry_run?: boolean | undefined;
  /** How many tasks at most; the oldest come first. */
  readonly limit?: number | null | undefined;
}

/** The result of a bulk action. */
export interface BulkResult {
  /** The outcome for each task. */
  readonly action: "cancel" | "retry" | "pause" | "resume" | "delete";
  /** Whether nothing was written. */
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
    /** The task. */
    readonly id: string;
    /** Why the action could not be applied, for programs. */
    readonly code: string;
    /** The same for people. */
    readonly detail: string;
  }>;
}

/** A bulk action that continues after its answer. */
export interface Operation extends BulkResult {
  /** Begins with `opr_`. */
  readonly id: string;
  /** `failed` when the service could not continue it. */
  readonly status: "running" | "done" | "failed";
  /** When it was requested. */
  readonly created_at: string;
  /** When its numbers changed last. */
  readonly updated_at: string;
  /** When it ended; null while it runs. */
  readonly finished_at: string | null;
  /** Related paths of the API. */
  readonly links: {
    /** The path of the operation. */
    readonly self: string;
  };
}

/** A page of a list. */
export interface HistoryList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<HistoryRecord>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** One thing that happened to a task; records never change. */
export interface HistoryRecord {
  /** Its place in the history, 1 for the first record. */
  readonly seq: number;
  /** When it happened. */
  readonly at: string;
  /** What happened. */
  readonly type: "created" | "updated" | "moved" | "due" | "started" | "progress" | "log" | "accepted" | "succeeded" | "failed" | "timed_out" | "lost" | "released" | "waiting" | "received" | "retrying" | "repeated" | "missed" | "slipped" | "completed" | "exhausted" | "canceled" | "expired" | "paused" | "resumed" | "unblocked" | "requeued" | "spawned" | "repaired" | "callback_sent" | "callback_failed" | "folded";
  /** The status after it. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** The number of the run it belongs to, 0 for the first. */
  readonly run: number;
  /** The attempt it belongs to. */
  readonly attempt?: string | undefined;
  /** The user, key or worker that caused it. */
  readonly actor: {
    /**
     * A person, a program with a key, a worker, a role of the database that has
     * enqueued the task, or the service itself.
     */
    readonly type: "user" | "key" | "worker" | "role" | "system";
    /** The id of the user, key or worker, or the name of the role. */
    readonly id: string;
  };
  /** The worker's name for its process. */
  readonly instance?: string | undefined;
  /** The answer to a push call. */
  readonly http?: {
    /** The HTTP status code. */
    readonly status: number;
    /** Milliseconds from the call to its answer. */
    readonly duration_ms: number;
  } | undefined;
  /** The failure of an attempt. */
  readonly error?: {
    /** A word for programs, such as `timed_out`. */
    readonly code: string;
    /** A message for people. */
    readonly message: string;
    /** Further details from the worker. */
    readonly detail?: unknown;
    /** The status that a push worker answered. */
    readonly http_status?: number | undefined;
    /** The id of the failed dependency. */
    readonly dependency?: string | undefined;
    /** When the attempt failed. */
    readonly at: string;
  } | undefined;
  /** The beginning of the result's JSON. */
  readonly result?: string | undefined;
  /**
   * The progress that the worker reported; not all that was said is in the
   * history.
   */
  readonly progress?: unknown;
  /** The changes of an `updated`. */
  readonly changes?: ReadonlyArray<{
    /** Its name in the API. */
    readonly field: string;
    /** The value before; absent when it had none. */
    readonly from?: unknown;
    /** The value after; absent when it has none. */
    readonly to?: unknown;
  }> | undefined;
  /** A log line, a reason, or what was put right, for people. */
  readonly message?: string | undefined;
  /** Slots that were missed, milliseconds of lag. */
  readonly amount?: number | undefined;
  /** When the task is due next, where this changed it. */
  readonly next_date?: string | undefined;
  /**
   * Which records were dropped: how many up to now, and the hash of the last.
   * That is the `prev` of the first one that is left.
   */
  readonly folded?: {
    /** The number of dropped records. */
    readonly count: number;
    /** That of the last one which is gone. */
    readonly hash: string;
  } | undefined;
  /** The hash of the record before. */
  readonly prev: string;
  /** SHA-256 of this record and the one before, in base64url. */
  readonly hash: string;
}

/** A page of a list. */
export interface TaskAttemptList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<TaskAttempt>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** One try of a task by a worker. */
export interface TaskAttempt {
  /** The lease that held the task (`lse_…`). */
  readonly id: string;
  /** The number of its run, 0 for the first. */
  readonly run: number;
  /**
   * How it ended; `lost` when its worker fell silent, `released` when the
   * worker gave it back, `waiting` when it ended with a wait.
   */
  readonly outcome: "running" | "succeeded" | "failed" | "timed_out" | "lost" | "released" | "waiting" | "canceled";
  /** When a worker took the task. */
  readonly started_at: string;
  /** When it ended; null while it runs. */
  readonly ended_at: string | null;
  /** Milliseconds. */
  readonly duration: number | null;
  /** The worker's name for the process that has the lease; null without one. */
  readonly instance: string | null;
  /** The answer to a push call. */
  readonly http: {
    /** The HTTP status code. */
    readonly status: number;
    /** Milliseconds from the call to its answer. */
    readonly duration_ms: number;
  } | null;
  /** Its failure; null without one. */
  readonly error: {
    /** A word for programs, such as `timed_out`. */
    readonly code: string;
    /** A message for people. */
    readonly message: string;
    /** Further details from the worker. */
    readonly detail?: unknown;
    /** The status that a push worker answered. */
    readonly http_status?: number | undefined;
    /** The id of the failed dependency. */
    readonly dependency?: string | undefined;
    /** When the attempt failed. */
    readonly at: string;
  } | null;
}

/** Why a task is or is not run now. */
export interface TaskExplanation {
  /** The id of the task. */
  readonly task: string;
  /** That of the task now. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
  /** The reasons for waiting, or none. */
  readonly hindrances: ReadonlyArray<{
    /**
     * A word for programs, such as `not_due`, `excluded`, `worker_paused`,
     * `blocked`, `rate_limit`, `next_in_line`.
     */
    readonly code: string;
    /** The same for people. */
    readonly message: string;
    /** When it ends by itself. */
    readonly until: string | null;
  }>;
  /** When all of it has ended by itself, if it does. */
  readonly earliest: string | null;
}

/** A schedule, as a task would have it. */
export interface PreviewRequest {
  /** How a task repeats: by an interval or by cron. */
  readonly repeat: Repeat;
  /**
   * The IANA time zone of cron and calendar intervals; the tenant's when
   * absent.
   */
  readonly timezone?: string | null | undefined;
  /**
   * The date that the task would have; when absent now, or `from` if that has
   * passed.
   */
  readonly date?: string | null | undefined;
  /**
   * The first instant that counts, in the past as well; the date when absent.
   */
  readonly from?: string | null | undefined;
  /** How many times of the schedule to show. */
  readonly count?: number | undefined;
}

/** The next times of a schedule. */
export interface SchedulePreview {
  /** The IANA zone that the schedule was read in. */
  readonly timezone: string;
  /** The times of the schedule, in order. */
  readonly data: ReadonlyArray<{
    /** The instant, in UTC. */
    readonly at: string;
    /** The local time in the zone. */
    readonly local: string;
    /** Such as `+02:00`. */
    readonly offset: string;
    /**
     * `gap_moved`: the clock skips the time that was meant. `overlap_once`: it
     * shows the time twice, and the run is the first of them. `month_short`: the
     * month lacks the day. `missed_by_limit`: the time has passed and, as
     * `catch_up` and its window have it, does not run.
     */
    readonly warnings: ReadonlyArray<"gap_moved" | "overlap_once" | "month_short" | "missed_by_limit">;
  }>;
  /**
   * The times between them that the schedule leaves out, the first ones if
   * there are many.
   */
  readonly excluded: ReadonlyArray<{
    /** The instant, in UTC. */
    readonly at: string;
    /** The local time in the zone. */
    readonly local: string;
    /** Such as `+02:00`. */
    readonly offset: string;
    /** The calendar; null for a date of `exclude`. */
    readonly calendar: string | null;
  }>;
  /**
   * Warnings about the schedule: `dialect` means that another program reads the
   * cron expression differently.
   */
  readonly warnings: ReadonlyArray<{
    /** A word for programs. */
    readonly code: "dialect";
    /** Whose expression it could be as well. */
    readonly dialect: "cron" | "quartz" | "eventbridge";
    /** What is odd and what to do, for people. */
    readonly detail: string;
  }>;
  /** Whether the schedule ends with these. */
  readonly is_complete: boolean;
}

/** Times at which the schedules that name it have no slots. */
export interface Calendar {
  /** What `repeat.calendars` calls it. */
  readonly name: string;
  /** How many events it has. */
  readonly events: number;
  /** How many spans of time they cover, each time of a rule counted. */
  readonly spans: number;
  /** When it was created. */
  readonly created_at: string;
  /** When its file was last replaced. */
  readonly updated_at: string;
  /** Grows by one with each change. */
  readonly version: number;
  /** Its file, in the answer about this calendar alone. */
  readonly ical?: string | undefined;
  /** How many tasks have another date now, in the answer to PUT. */
  readonly tasks_moved?: number | undefined;
}

/** A page of a list. */
export interface CalendarList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<Calendar>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** A worker that does tasks, and the way tasks reach it. */
export interface TaskWorker {
  /** Begins with `wrk_`. */
  readonly id: string;
  /** Unique whatever the case. */
  readonly name: string;
  /** `push` with a `url`: the service calls it; `pull`: it asks for tasks. */
  readonly kind: "push" | "pull";
  /** Where to call it; path and query may hold `{{secrets.NAME}}`. */
  readonly url?: string | null | undefined;
  /** How it is called. */
  readonly method: "POST" | "PUT" | "PATCH";
  /** Headers of its calls; values may hold `{{secrets.NAME}}`. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The jobs it has: names, or an object of what each has of its own; null
   * takes any job.
   */
  readonly jobs?: ReadonlyArray<string> | Readonly<Record<string, {
    /** Where to call for this job; the worker's address when absent. */
    readonly url?: string | null | undefined;
    /** How long an attempt may take; the worker's time when absent. */
    readonly timeout?: DurationOrMilliseconds | null | undefined;
    /**
     * When a failed attempt is tried again; the worker's rule when absent, not at
     * all when null.
     */
    readonly retry?: RetryPolicy | undefined;
    /**
     * How long tasks are kept after their end; as the worker says when absent.
     */
    readonly retain?: Retain | null | undefined;
  }>> | null | undefined;
  /** Most tasks under way at once; 0 for as many as the plan allows. */
  readonly concurrency: number;
  /**
   * Limits on its tasks besides `concurrency`: starts in a time, and tasks of a
   * group at once; nothing when absent.
   */
  readonly limits?: {
    /** Maximum number of starts in a `period`; no limit when absent. */
    readonly rate?: number | null | undefined;
    /** The period of `rate`; a second when absent. */
    readonly period?: Duration | null | undefined;
    /**
     * The starts that `rate` limits: all of the worker, or those of each group;
     * `worker` when absent.
     */
    readonly per?: "worker" | "group" | null | undefined;
    /** Maximum number of running tasks of a group; no limit when absent. */
    readonly group_concurrency?: number | null | undefined;
    /**
     * The tasks of a group that count: those of this worker, or those of all
     * workers with `tenant`; each worker has its own limit.
     */
    readonly group_scope?: "worker" | "tenant" | null | undefined;
  } | null | undefined;
  /**
   * How long an attempt may take, one that is answered with 202 and a
   * `task-lease` included: no lease is longer.
   */
  readonly timeout: DurationOrMilliseconds;
  /** How long a lease lasts unless asked otherwise. */
  readonly lease: Duration;
  /**
   * The policy of tasks without one; null means no retries, `{}` the service's
   * policy.
   */
  readonly retry?: RetryPolicy | undefined;
  /**
   * How long its tasks are kept after their end, unless they or their job say
   * otherwise; as the plan says when absent. It holds for tasks that end from
   * now on.
   */
  readonly retain?: Retain | null | undefined;
  /** Lost attempts in a row after which the next one is a failure. */
  readonly max_lost: number;
  /** Whether it is given nothing. */
  readonly paused: boolean;
  /** Whether calls are signed with a key pair as well. */
  readonly asymmetric: boolean;
  /** The public half of the key pair (`whpk_…`). */
  readonly public_key: string | null;
  /**
   * The new secret that signs its calls and those at the end of its tasks
   * (`whsec_…`). It is shown once: in the answer that made it, and not when
   * that is given again.
   */
  readonly signing_secret: string | null;
  /** Since when it is given nothing; null while it is. */
  readonly paused_at: string | null;
  /** Who paused it: `type:id`. */
  readonly paused_by: string | null;
  /**
   * `active`: has tasks under way or asked for some within the last minute.
   * `stale`: did not ask for a minute though it had before or tasks wait.
   * `idle`: nothing to do. `paused`: is given nothing.
   */
  readonly status: "idle" | "active" | "stale" | "paused";
  /** When it last asked for tasks, since the service was started. */
  readonly last_seen_at: string | null;
  /** Its processes, as they call themselves, since the service was started. */
  readonly instances: ReadonlyArray<{
    /** What the process calls itself (`instance`). */
    readonly name: string;
    /** When it last asked for tasks. */
    readonly last_seen_at: string;
  }>;
  /** How many tasks it has. */
  readonly counts: {
    /** Those that are due and not taken. */
    readonly waiting: number;
    /** Those under way. */
    readonly running: number;
    /** Those that failed and are tried again. */
    readonly retry: number;
    /** Those that have failed for good. */
    readonly failed: number;
  };
  /** When it was created. */
  readonly created_at: string;
  /** When its definition changed last. */
  readonly updated_at: string;
  /** Grows by one with each change of its definition. */
  readonly version: number;
  /** Related paths of the API: itself, its secrets, its tasks. */
  readonly links: Readonly<Record<string, string>>;
}

/** A worker, as it is made. */
export type NewWorker = { readonly [Name in keyof Pick<TaskWorker, "method" | "headers" | "concurrency" | "timeout" | "lease" | "max_lost" | "paused" | "asymmetric" | "url" | "jobs" | "limits" | "retry" | "retain">]?: TaskWorker[Name] | undefined } & {
  /** Unique whatever the case. */
  readonly name: string;
};

/**
 * Given fields are changed, others stay, and null resets a field to its
 * default.
 */
export type WorkerChanges = { readonly [Name in keyof Pick<TaskWorker, "method" | "headers" | "jobs" | "concurrency" | "limits" | "timeout" | "lease" | "retry" | "max_lost" | "paused" | "asymmetric" | "url" | "retain">]?: TaskWorker[Name] | null | undefined } & {
  /** Unique whatever the case. */
  readonly name?: string | undefined;
};

/** A page of a list. */
export interface WorkerPage {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<TaskWorker>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** A call that tries a push worker, without a task. */
export interface WorkerTest {
  /** The handler that is tried; its own `url` is called if it has one. */
  readonly job?: string | undefined;
  /** What the call gives it, as a task would. */
  readonly data?: unknown;
  /** How long the call may take. */
  readonly timeout?: DurationOrMilliseconds | undefined;
}

/** How a worker answered when it was tried. */
export interface WorkerTestResult {
  /** What was sent. */
  readonly call: {
    /** How the worker was called. */
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
  /** What the worker answered; null when nothing came. */
  readonly answer: {
    /** The HTTP status code. */
    readonly status: number;
    /** Those that tell how it is taken. */
    readonly headers: Readonly<Record<string, string>>;
    /** As text, without the worker's secrets. */
    readonly body: string;
    /** Whether `body` is only its beginning. */
    readonly truncated: boolean;
  } | null;
  /** What a task would have failed by; null when it would not have. */
  readonly error: {
    /** A word for programs, such as `timed_out`. */
    readonly code: string;
    /** A message for people. */
    readonly message: string;
  } | null;
}

/**
 * Values by name, or what is to be made: a credential (also without a body),
 * a new signing secret.
 */
export type NewSecrets = {
  /** The name in `{{secrets.NAME}}`. */
  readonly name: string;
  /** The secret value; it is never shown. */
  readonly value: string;
} | {
  /** Values by name, all or none of which are kept. */
  readonly secrets: Readonly<Record<string, string>>;
} | {
  /** What is to be made. */
  readonly type?: "credential" | undefined;
  /** The display name; none when absent. */
  readonly name?: string | null | undefined;
  /** When it stops working; never when absent. */
  readonly expires_at?: string | null | undefined;
  /** Whether leases taken with it may carry the worker's secrets. */
  readonly secrets?: boolean | null | undefined;
} | {
  /** What is to be made. */
  readonly type: "signing";
};

/** The stored or created secrets. */
export type AddedSecrets = {
  /** What it is: a value that calls and leases carry. */
  readonly type: "value";
  /** Those that were set, without their values. */
  readonly secrets: ReadonlyArray<{
    /** What it is: a value that calls and leases carry. */
    readonly type: "value";
    /** The name in `{{secrets.NAME}}`. */
    readonly name: string;
    /** Grows by one each time the value is replaced. */
    readonly version: number;
    /** When the first value was set. */
    readonly created_at: string;
    /** When the value was set last. */
    readonly updated_at: string;
  }>;
} | {
  /** What it is: what a pull worker logs in with. */
  readonly type: "credential";
  /** The public part (`wk_…`). */
  readonly id: string;
  /** What people call it; null for nothing. */
  readonly name: string | null;
  /** Whether leases taken with it may carry the worker's secrets. */
  readonly secrets: boolean;
  /** When it was created. */
  readonly created_at: string;
  /** When it stops working; null for never. */
  readonly expires_at: string | null;
  /** When a worker last logged in with it; null for never. */
  readonly last_used_at: string | null;
  /** The user name: `<tenant>:<id>`. */
  readonly key: string;
  /**
   * The password, and the bearer token. Shown this once; null when the answer
   * is given again.
   */
  readonly secret: string | null;
} | {
  /** What it is: what calls are signed with. */
  readonly type: "signing";
  /** The latest has the highest. */
  readonly number: number;
  /** Until when it signs beside a newer one; null for the latest. */
  readonly expires_at: string | null;
  /** Shown this once; null when the answer is given again. */
  readonly secret: string | null;
  /** Earlier secrets that sign alongside, and until when. */
  readonly replaced: ReadonlyArray<{
    /** What it is: what calls are signed with. */
    readonly type: "signing";
    /** The latest has the highest. */
    readonly number: number;
    /** Until when it signs beside a newer one; null for the latest. */
    readonly expires_at: string | null;
  }>;
};

/** A worker's secrets, without their values. */
export interface SecretList {
  /** All of them: values, credentials, signing secrets. */
  readonly data: ReadonlyArray<{
    /** What it is: a value that calls and leases carry. */
    readonly type: "value";
    /** The name in `{{secrets.NAME}}`. */
    readonly name: string;
    /** Grows by one each time the value is replaced. */
    readonly version: number;
    /** When the first value was set. */
    readonly created_at: string;
    /** When the value was set last. */
    readonly updated_at: string;
  } | {
    /** What it is: what a pull worker logs in with. */
    readonly type: "credential";
    /** The public part (`wk_…`). */
    readonly id: string;
    /** What people call it; null for nothing. */
    readonly name: string | null;
    /** Whether leases taken with it may carry the worker's secrets. */
    readonly secrets: boolean;
    /** When it was created. */
    readonly created_at: string;
    /** When it stops working; null for never. */
    readonly expires_at: string | null;
    /** When a worker last logged in with it; null for never. */
    readonly last_used_at: string | null;
  } | {
    /** What it is: what calls are signed with. */
    readonly type: "signing";
    /** The latest has the highest. */
    readonly number: number;
    /** Until when it signs beside a newer one; null for the latest. */
    readonly expires_at: string | null;
  }>;
  /** Always null: there is one page. */
  readonly next: null;
}

/** A key for programs. */
export interface ApiKey {
  /** Its id, which begins with `dk_`. */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** What it may do, by a role; this or `scopes`. */
  readonly role?: "viewer" | "member" | "admin" | "owner" | null | undefined;
  /** What it may do, one by one; `workers:*` stands for all of workers. */
  readonly scopes?: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read" | "webhooks:read" | "webhooks:write" | "tasks:*" | "workers:*" | "leases:*" | "secrets:*" | "users:*" | "keys:*" | "account:*" | "audit:*" | "webhooks:*"> | null | undefined;
  /**
   * Where it may be used from, as addresses or CIDR; from everywhere when
   * empty.
   */
  readonly networks: ReadonlyArray<string>;
  /** Whether it sees the data and results of tasks; as you do unless given. */
  readonly payloads?: boolean | undefined;
  /** The user it ends with. */
  readonly made_by: string | null;
  /** When it was created. */
  readonly created_at: string;
  /** When it stops working; never when null. */
  readonly expires_at?: string | null | undefined;
  /** When it was last used, to the minute. */
  readonly last_used_at: string | null;
}

/** An API key, as it is asked for. */
export interface NewApiKey {
  /** Its name for people. */
  readonly name?: string | undefined;
  /** What it may do, by a role; this or `scopes`. */
  readonly role?: "viewer" | "member" | "admin" | "owner" | null | undefined;
  /** What it may do, one by one; `workers:*` stands for all of workers. */
  readonly scopes?: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read" | "webhooks:read" | "webhooks:write" | "tasks:*" | "workers:*" | "leases:*" | "secrets:*" | "users:*" | "keys:*" | "account:*" | "audit:*" | "webhooks:*"> | null | undefined;
  /**
   * Where it may be used from, as addresses or CIDR; from everywhere when
   * empty.
   */
  readonly networks?: ReadonlyArray<string> | undefined;
  /** Whether it sees the data and results of tasks; as you do unless given. */
  readonly payloads?: boolean | undefined;
  /** When it stops working; never when null. */
  readonly expires_at?: string | null | undefined;
}

/** A page of a list. */
export interface ApiKeyList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<ApiKey>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** A new key, with the key itself. */
export interface MadeApiKey extends ApiKey {
  /**
   * The key itself, shown this once; null in an answer that is given again for
   * an Idempotency-Key.
   */
  readonly key: string | null;
}

/** How a key is replaced by a new one. */
export interface KeyRotation {
  /** How long the old key goes on working; a week at most. */
  readonly overlap?: Duration | undefined;
}

/** An address that events are sent to. */
export interface Webhook {
  /** Its id, which begins with `whk_`. */
  readonly id: string;
  /** Where events are sent, by POST. */
  readonly url: string;
  /** What it is called. */
  readonly name: string;
  /**
   * The types of events that are sent; `task.*` stands for all that begin so.
   */
  readonly types: ReadonlyArray<string>;
  /** Only events of this worker and its tasks: an id or a name. */
  readonly worker?: string | null | undefined;
  /** Only events of tasks of this job. */
  readonly job?: string | null | undefined;
  /** Only events of tasks of this group. */
  readonly group?: string | null | undefined;
  /**
   * Whether events are sent. One that is enabled again gets what happens from
   * then on.
   */
  readonly enabled: boolean;
  /** When it was created. */
  readonly created_at: string;
  /**
   * Why the service has disabled it: it answered 410, or each call of the last
   * 5 days has failed.
   */
  readonly disabled_reason: "gone" | "failing" | null;
  /** Since when it is disabled. */
  readonly disabled_at: string | null;
  /** Since when each call has failed; null while it answers. */
  readonly failing_since: string | null;
  /**
   * How many deliveries are under way. At 1000 further events wait in the log,
   * which has those of a day.
   */
  readonly open_deliveries: number;
  /** When events were last gone from the log before there was room for them. */
  readonly missed_at: string | null;
  /**
   * The secret that signs its calls (`whsec_…`), shown once: in the answer that
   * made it.
   */
  readonly signing_secret: string | null;
  /** When it was last changed. */
  readonly updated_at: string;
  /** Grows by one with each change of its definition. */
  readonly version: number;
}

/** A webhook, as it is made. */
export type NewWebhook = { readonly [Name in keyof Pick<Webhook, "name" | "types" | "enabled" | "worker" | "job" | "group">]?: Webhook[Name] | undefined } & {
  /** Where events are sent, by POST. */
  readonly url: string;
};

/** Given fields are changed, others stay, and null resets to the default. */
export type WebhookChanges = { readonly [Name in keyof Pick<Webhook, "name" | "types" | "enabled" | "worker" | "job" | "group">]?: Webhook[Name] | null | undefined } & {
  /** Where events are sent, by POST. */
  readonly url?: string | undefined;
};

/** A page of a list. */
export interface WebhookList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<Webhook>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** How a receiver answered when it was tested. */
export interface WebhookTestResult {
  /** The `webhook-id` of the call. */
  readonly id: string;
  /** How many secrets it was signed with. */
  readonly signatures: number;
  /** Whether an event would have been taken. */
  readonly outcome: "delivered" | "failed";
  /** Milliseconds. */
  readonly duration: number | null;
  /** What the receiver answered; null when nothing came. */
  readonly answer: {
    /** The HTTP status code. */
    readonly status: number;
    /** Its beginning. */
    readonly body: string;
    /** Whether `body` is only its beginning. */
    readonly truncated: boolean;
  } | null;
  /** Why it failed; null when it did not. */
  readonly error: {
    /** A word for programs, such as `timed_out`. */
    readonly code: string;
    /** A message for people. */
    readonly message: string;
  } | null;
}

/** An event that a webhook is sent. */
export interface WebhookDelivery {
  /** Its id, which begins with `dlv_`. */
  readonly id: string;
  /** The id of the webhook, or of the alert. */
  readonly webhook: string;
  /** The `id` of the event and of the call. */
  readonly event: string;
  /** The type of the event. */
  readonly type: string;
  /** The task, worker or alert that it is about. */
  readonly task: string | null;
  /**
   * `pending`: waits for its turn, or for the end of the delivery before it
   * about the same task; `retrying`: failed, and is sent again.
   */
  readonly status: "pending" | "sending" | "retrying" | "delivered" | "failed";
  /** How often it was sent. */
  readonly attempts: number;
  /** When it was made. */
  readonly created_at: string;
  /** When it is sent again. */
  readonly next_at: string | null;
  /** When it was taken or given up; null while it is under way. */
  readonly ended_at: string | null;
  /** Why it last failed; null when it did not. */
  readonly error: {
    /** A word for programs, such as `timed_out`. */
    readonly code: string;
    /** A message for people. */
    readonly message: string;
  } | null;
}

/** An event that a webhook is sent, with what came back. */
export interface WebhookDeliveryDetail extends WebhookDelivery {
  /** The body that is sent. */
  readonly request: string;
  /** The beginning of the body that came back last; null without one. */
  readonly answer: string | null;
  /** Each try. */
  readonly log: ReadonlyArray<TaskAttempt>;
}

/** A page of a list. */
export interface WebhookDeliveryList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<WebhookDelivery>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** A condition on what tasks do that is told when it comes true. */
export interface Alert {
  /** Its id, which begins with `alr_`. */
  readonly id: string;
  /** What messages call it. */
  readonly name: string;
  /** When it is raised. */
  readonly when: {
    /**
     * Raises the alert when there were more than `over` of these `within` a time.
     */
    readonly count?: "created" | "started" | "succeeded" | "failed" | "lost" | "completed" | "missed" | undefined;
    /** How many are no reason; 0 when absent. */
    readonly over?: number | undefined;
    /** A minute to a day, with `count`. */
    readonly within?: Duration | null | undefined;
    /** Raises the alert when there were none of these `for` a time. */
    readonly nothing?: "created" | "started" | "succeeded" | "failed" | "lost" | "completed" | "missed" | undefined;
    /** A minute to a day, with `nothing`. */
    readonly for?: Duration | null | undefined;
    /** Only tasks of this worker: an id or a name. */
    readonly worker?: string | null | undefined;
    /** Only tasks of this job of the `worker`. */
    readonly job?: string | null | undefined;
  };
  /**
   * Where it is told that it is raised or over; a change replaces it as a
   * whole, but keeps `authorization` while it has the same `url`.
   */
  readonly send: {
    /** Where messages are sent, by POST. */
    readonly url: string;
    /**
     * The form of messages: an event of Standard Webhooks, or the JSON that
     * incoming webhooks of Slack or Discord take, or JSON with `from`, `to`,
     * `subject` and `text`, as e-mail gateways take.
     */
    readonly template: "standard" | "slack" | "discord" | "email";
    /** Who e-mails are from. */
    readonly from?: string | null | undefined;
    /** Who e-mails are to. */
    readonly to?: string | null | undefined;
    /** The value of the header Authorization; sealed, and never shown. */
    readonly authorization?: string | null | undefined;
    /** Whether calls have the header Authorization. */
    readonly has_authorization: boolean;
  };
  /** How long after it was raised it is not raised again. */
  readonly quiet: Duration;
  /** Whether it is judged. */
  readonly enabled: boolean;
  /** When it was created. */
  readonly created_at: string;
  /** `when` in words. */
  readonly condition: string;
  /** Since when it is raised; null when it is not. */
  readonly raised_at: string | null;
  /** When it was last raised. */
  readonly last_raised_at: string | null;
  /**
   * The secret that signs messages of the template `standard` (`whsec_…`),
   * shown once: in the answer that made it.
   */
  readonly signing_secret: string | null;
  /** When it was last changed. */
  readonly updated_at: string;
  /** Grows by one with each change of its definition. */
  readonly version: number;
}

/** An alert, as it is made. */
export interface NewAlert {
  /** What messages call it. */
  readonly name?: string | undefined;
  /** When it is raised. */
  readonly when: {
    /**
     * Raises the alert when there were more than `over` of these `within` a time.
     */
    readonly count?: "created" | "started" | "succeeded" | "failed" | "lost" | "completed" | "missed" | undefined;
    /** How many are no reason; 0 when absent. */
    readonly over?: number | undefined;
    /** A minute to a day, with `count`. */
    readonly within?: Duration | null | undefined;
    /** Raises the alert when there were none of these `for` a time. */
    readonly nothing?: "created" | "started" | "succeeded" | "failed" | "lost" | "completed" | "missed" | undefined;
    /** A minute to a day, with `nothing`. */
    readonly for?: Duration | null | undefined;
    /** Only tasks of this worker: an id or a name. */
    readonly worker?: string | null | undefined;
    /** Only tasks of this job of the `worker`. */
    readonly job?: string | null | undefined;
  };
  /**
   * Where it is told that it is raised or over; a change replaces it as a
   * whole, but keeps `authorization` while it has the same `url`.
   */
  readonly send: {
    /** Where messages are sent, by POST. */
    readonly url: string;
    /**
     * The form of messages: an event of Standard Webhooks, or the JSON that
     * incoming webhooks of Slack or Discord take, or JSON with `from`, `to`,
     * `subject` and `text`, as e-mail gateways take.
     */
    readonly template?: "standard" | "slack" | "discord" | "email" | undefined;
    /** Who e-mails are from. */
    readonly from?: string | null | undefined;
    /** Who e-mails are to. */
    readonly to?: string | null | undefined;
    /** The value of the header Authorization; sealed, and never shown. */
    readonly authorization?: string | null | undefined;
  };
  /** How long after it was raised it is not raised again. */
  readonly quiet?: Duration | undefined;
  /** Whether it is judged. */
  readonly enabled?: boolean | undefined;
}

/** Given fields are changed, others stay, and null resets to the default. */
export interface AlertChanges {
  /** What messages call it. */
  readonly name?: string | null | undefined;
  /** When it is raised. */
  readonly when?: {
    /**
     * Raises the alert when there were more than `over` of these `within` a time.
     */
    readonly count?: "created" | "started" | "succeeded" | "failed" | "lost" | "completed" | "missed" | undefined;
    /** How many are no reason; 0 when absent. */
    readonly over?: number | undefined;
    /** A minute to a day, with `count`. */
    readonly within?: Duration | null | undefined;
    /** Raises the alert when there were none of these `for` a time. */
    readonly nothing?: "created" | "started" | "succeeded" | "failed" | "lost" | "completed" | "missed" | undefined;
    /** A minute to a day, with `nothing`. */
    readonly for?: Duration | null | undefined;
    /** Only tasks of this worker: an id or a name. */
    readonly worker?: string | null | undefined;
    /** Only tasks of this job of the `worker`. */
    readonly job?: string | null | undefined;
  } | undefined;
  /**
   * Where it is told that it is raised or over; a change replaces it as a
   * whole, but keeps `authorization` while it has the same `url`.
   */
  readonly send?: {
    /** Where messages are sent, by POST. */
    readonly url: string;
    /**
     * The form of messages: an event of Standard Webhooks, or the JSON that
     * incoming webhooks of Slack or Discord take, or JSON with `from`, `to`,
     * `subject` and `text`, as e-mail gateways take.
     */
    readonly template?: "standard" | "slack" | "discord" | "email" | undefined;
    /** Who e-mails are from. */
    readonly from?: string | null | undefined;
    /** Who e-mails are to. */
    readonly to?: string | null | undefined;
    /** The value of the header Authorization; sealed, and never shown. */
    readonly authorization?: string | null | undefined;
  } | undefined;
  /** How long after it was raised it is not raised again. */
  readonly quiet?: Duration | null | undefined;
  /** Whether it is judged. */
  readonly enabled?: boolean | null | undefined;
}

/** A page of a list. */
export interface AlertList {
  /** What is on the page, in the order of the list. */
  readonly data: ReadonlyArray<Alert>;
  /**
   * The `cursor` of the next page, also after one that is short or empty; null
   * at the end.
   */
  readonly next: string | null;
}

/** Who calls. */
export interface Me {
  /** A person with a token, or a program with a key. */
  readonly type: "user" | "key";
  /** The id of the user or the key. */
  readonly id: string;
  /** All that the caller may do. */
  readonly scopes: ReadonlyArray<"tasks:read" | "tasks:write" | "workers:read" | "workers:write" | "leases:write" | "secrets:read" | "secrets:write" | "users:read" | "users:write" | "keys:read" | "keys:write" | "account:read" | "account:write" | "audit:read" | "webhooks:read" | "webhooks:write">;
  /** Whether the caller sees the data and results of tasks. */
  readonly payloads: boolean;
  /** Whose tasks the caller sees. */
  readonly tenant: {
    /** Begins with `ten_`. */
    readonly id: string;
    /** The label of its host name. */
    readonly domain: string;
  };
  /** The person, or who made the key; null where there is none. */
  readonly user: User | null;
  /** The key; null for a person. */
  readonly key: ApiKey | null;
}

/** A tenant's usage of its plan. */
export interface Usage {
  /** The id of the plan whose limits hold. */
  readonly plan: string;
  /** The month of UTC that executions are counted in. */
  readonly period: string;
  /** Each limit that bounds a number of things, and that number. */
  readonly use: {
    /** Tasks that are not final. */
    readonly active_tasks: Use;
    /** Attempts in the `period`. */
    readonly executions_per_month: Use;
    /** Workers that there are. */
    readonly workers: Use;
    /** Users that there are. */
    readonly users: Use;
    /** API keys that there are. */
    readonly keys: Use;
  };
  /** All limits of the plan. */
  readonly limits: PlanLimits;
}

/** What the tasks do, and what needs attention. */
export interface Overview {
  /** When it was read. */
  readonly at: string;
  /** How many tasks are in each status. */
  readonly counts: {
    /** How many are `scheduled`. */
    readonly scheduled: number;
    /** How many are `blocked`. */
    readonly blocked: number;
    /** How many are `waiting`. */
    readonly waiting: number;
    /** How many are `running`. */
    readonly running: number;
    /** How many are `retry`. */
    readonly retry: number;
    /** How many are `done`. */
    readonly done: number;
    /** How many are `paused`. */
    readonly paused: number;
    /** How many are `complete`. */
    readonly complete: number;
    /** How many are `failed`. */
    readonly failed: number;
    /** How many are `canceled`. */
    readonly canceled: number;
    /** How many are `expired`. */
    readonly expired: number;
  };
  /** Tasks that should have begun a minute ago. */
  readonly late: number;
  /** Whether `late` is all of them. */
  readonly late_is_exact: boolean;
  /** The earliest date of those. */
  readonly late_since: string | null;
  /** The workers with the most tasks, the most first. */
  readonly workers: ReadonlyArray<{
    /** Its name; the id when it was removed. */
    readonly worker: string;
    /** Begins with `wrk_`; stays when it is renamed. */
    readonly worker_id: string;
    /** Tasks that are due and not taken. */
    readonly waiting: number;
    /** Tasks under way. */
    readonly running: number;
    /** Tasks that failed and are tried again. */
    readonly retry: number;
    /** Tasks that have failed for good. */
    readonly failed: number;
    /** Tasks that should have begun a minute ago. */
    readonly late: number;
    /** Whether `late` is all of them. */
    readonly late_is_exact: boolean;
    /** The earliest date of those. */
    readonly late_since: string | null;
  }>;
  /** The jobs with the most tasks, the most first. */
  readonly jobs: ReadonlyArray<{
    /** Its name; the id when it was removed. */
    readonly worker: string;
    /** Begins with `wrk_`; stays when it is renamed. */
    readonly worker_id: string;
    /** The handler within the worker. */
    readonly job: string;
    /** Tasks that are due and not taken. */
    readonly waiting: number;
    /** Tasks under way. */
    readonly running: number;
    /** Tasks that failed and are tried again. */
    readonly retry: number;
    /** Tasks that have failed for good. */
    readonly failed: number;
    /** Tasks that should have begun a minute ago. */
    readonly late: number;
    /** Whether `late` is all of them. */
    readonly late_is_exact: boolean;
    /** The earliest date of those. */
    readonly late_since: string | null;
  }>;
  /** Tasks that wait for the approval of a person. */
  readonly approvals: number;
  /** Whether `approvals` is all of them. */
  readonly approvals_is_exact: boolean;
  /** The last 24 hours in steps of 5 minutes. */
  readonly activity: Activity;
  /** Tasks that repeat and whose last run failed, the latest failure first. */
  readonly failing_schedules: ReadonlyArray<{
    /** The id of the task. */
    readonly id: string;
    /** Its name; the id when it was removed. */
    readonly worker: string;
    /** Begins with `wrk_`; stays when it is renamed. */
    readonly worker_id: string;
    /** The handler within the worker. */
    readonly job: string;
    /** By which its owner knows it. */
    readonly key: string | null;
    /** `failed` if it has ended by that. */
    readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired";
    /** When its last run failed. */
    readonly failed_at: string;
    /** Why. */
    readonly error: {
      /** A word for programs, such as `timed_out`. */
      readonly code: string;
      /** A message for people. */
      readonly message: string;
      /** Further details from the worker. */
      readonly detail?: unknown;
      /** The status that a push worker answered. */
      readonly http_status?: number | undefined;
      /** The id of the failed dependency. */
      readonly dependency?: string | undefined;
      /** When the attempt failed. */
      readonly at: string;
    } | null;
    /** When it runs next. */
    readonly next: string | null;
  }>;
  /**
   * Pull workers that have asked for nothing for a minute although tasks are
   * late.
   */
  readonly silent_workers: ReadonlyArray<{
    /** Its name; the id when it was removed. */
    readonly worker: string;
    /** Begins with `wrk_`; stays when it is renamed. */
    readonly worker_id: string;
    /** Tasks that should have begun a minute ago. */
    readonly late: number;
    /** Whether `late` is all of them. */
    readonly late_is_exact: boolean;
    /** The earliest date of those. */
    readonly late_since: string | null;
    /** When it last asked for them, since the service was started. */
    readonly last_seen_at: string | null;
  }>;
  /** Jobs with late tasks of which no process of the worker asks for any. */
  readonly unasked_jobs: ReadonlyArray<{
    /** Its name; the id when it was removed. */
    readonly worker: string;
    /** Begins with `wrk_`; stays when it is renamed. */
    readonly worker_id: string;
    /** The handler within the worker. */
    readonly job: string;
    /** Tasks that should have begun a minute ago. */
    readonly late: number;
    /** Whether `late` is all of them. */
    readonly late_is_exact: boolean;
    /** The earliest date of those. */
    readonly late_since: string | null;
    /** When it last asked for them, since the service was started. */
    readonly last_seen_at: string | null;
  }>;
  /**
   * Limits of the plan of which 80 % or more are used; null for a caller who
   * may not read the usage.
   */
  readonly near_limits: ReadonlyArray<{
    /** Which limit of the plan. */
    readonly limit: "active_tasks" | "executions_per_month" | "workers" | "users" | "keys";
    /** What the plan allows. */
    readonly allowed: number;
    /** How much of it is used. */
    readonly used: number;
  }> | null;
}

/**
 * Counts of tasks over time: each is a list with a number for each span, the
 * earliest first.
 */
export interface Activity {
  /** When the first span begins. */
  readonly from: string;
  /** When the last span ends; it may still go on. */
  readonly to: string;
  /** How long each span is. */
  readonly step: "PT1M" | "PT5M" | "PT1H";
  /** Tasks that were made. */
  readonly created: ReadonlyArray<number>;
  /** Attempts that began. */
  readonly started: ReadonlyArray<number>;
  /** Attempts that succeeded. */
  readonly succeeded: ReadonlyArray<number>;
  /** Attempts that failed. */
  readonly failed: ReadonlyArray<number>;
  /** Attempts that were lost with their worker. */
  readonly lost: ReadonlyArray<number>;
  /** Tasks that ended as `complete`. */
  readonly completed: ReadonlyArray<number>;
  /** Slots of schedules that were missed. */
  readonly missed: ReadonlyArray<number>;
  /**
   * How many milliseconds after their dates attempts began, in sum; divided by
   * `started`, the average.
   */
  readonly lag_sum: ReadonlyArray<number>;
  /** The largest of these. */
  readonly lag_max: ReadonlyArray<number>;
  /** How many milliseconds the attempts took that ended, in sum. */
  readonly duration_sum: ReadonlyArray<number>;
}

/** The used part of the plan. */
export interface Use {
  /** What the plan allows; null for no limit. */
  readonly limit: number | null;
  /** How many there are. */
  readonly used: number;
  /** Whether `used` is all of it; counting stops somewhere beyond the limit. */
  readonly is_exact: boolean;
}

/** A worker's request for tasks. */
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

/** Tasks that are the worker's until their leases end. */
export interface Leases {
  /** One for each leased task. */
  readonly leases: ReadonlyArray<{
    /** Its id (`lse_…`). */
    readonly id: string;
    /** What proves that it is yours; send it as bearer. */
    readonly token: string;
    /**
     * Grows with every attempt of the task; give it to your own store to refuse
     * what comes from an earlier one.
     */
    readonly fence: number;
    /** The number of the task's run, 0 for the first. */
    readonly run: number;
    /** Which try of the run it is. */
    readonly attempt: number;
    /** When others may take the task unless a heartbeat extends the lease. */
    readonly expires_at: string;
    /** What is to be done. */
    readonly task: TaskPart;
    /**
     * The dependencies of a task that has some, in its order, with results of 256
     * KiB together.
     */
    readonly dependencies?: ReadonlyArray<DependencyResult> | undefined;
    /** The worker's secrets by name, where they were asked for. */
    readonly secrets?: Readonly<Record<string, string>> | undefined;
    /** The end of the wait before it, if there was one. */
    readonly resumed?: Resumed | undefined;
    /** What the last `wait_for` of the run saved. */
    readonly state?: unknown;
  }>;
}

/** The state of a dependency of the task. */
export interface DependencyResult {
  /** The task that this one depends on. */
  readonly id: string;
  /** Its status; `removed` when it is gone. */
  readonly status: "scheduled" | "blocked" | "waiting" | "running" | "retry" | "done" | "paused" | "complete" | "failed" | "canceled" | "expired" | "removed";
  /** The result of its last success; null for none. */
  readonly result: unknown;
  /** Whether the result is only the beginning of it. */
  readonly result_truncated?: boolean | undefined;
  /**
   * Whether it is left out, since those before it take all the room there is;
   * read the task itself then.
   */
  readonly result_omitted?: boolean | undefined;
}

/** The end of a task's wait before this attempt. */
export interface Resumed {
  /**
   * The end of the wait: an event, a decision, its timeout, or a caller who ran
   * the task.
   */
  readonly kind: "event" | "approval" | "timeout" | "run";
  /** Whether the time was over. */
  readonly timed_out: boolean;
  /** The event's name. */
  readonly event?: string | undefined;
  /** The event's data; absent for who sees no payloads. */
  readonly data?: unknown;
  /** The decision. */
  readonly approved?: boolean | undefined;
  /** What the person said to it. */
  readonly comment?: string | undefined;
  /** Who sent the event, decided or ran the task. */
  readonly actor?: {
    /**
     * A person, a program with a key, a worker, a role of the database that has
     * enqueued the task, or the service itself.
     */
    readonly type: "user" | "key" | "worker" | "role" | "system";
    /** The id of the user, key or worker, or the name of the role. */
    readonly id: string;
  } | undefined;
  /** When that was. */
  readonly at: string;
}

/** What a task waits for without a worker. */
export interface Awaited {
  /** The event's name. */
  readonly event?: string | undefined;
  /** Whose decision it is. */
  readonly approval?: {
    /** The least role. */
    readonly by: "member" | "admin" | "owner";
    /** Whether the task's creator may not decide. */
    readonly by_another: boolean;
  } | undefined;
  /** What people are asked or told. */
  readonly message?: string | undefined;
  /** When the wait began. */
  readonly since: string;
  /** When its time is over. */
  readonly until: string;
  /** What happens then. */
  readonly on_timeout: "resume" | "fail";
}

/** What a task waits for after an attempt, without a worker. */
export interface WaitFor {
  /** The name of the event to wait for; give this or `approval`. */
  readonly event?: string | undefined;
  /** The decision of a person to wait for. */
  readonly approval?: {
    /** The least role of who decides. */
    readonly by?: "member" | "admin" | "owner" | undefined;
    /**
     * Whether the person who created the task may not decide, by their own name
     * or by a key that they made.
     */
    readonly by_another?: boolean | undefined;
  } | undefined;
  /** How long to wait. */
  readonly timeout?: Duration | undefined;
  /**
   * After that time: `resume` begins another attempt, whose `resumed` says
   * `timed_out`; `fail` ends the run as failed, without retries.
   */
  readonly on_timeout?: "resume" | "fail" | undefined;
  /** What people are asked or told. All who see the task see it. */
  readonly message?: string | undefined;
  /**
   * Any JSON up to 64 KiB that the next attempts get; what was saved before
   * stays if absent.
   */
  readonly state?: unknown;
}

/** A report about a lease, with what proves that the lease is yours. */
export type LeaseWord = {
  /** The lease. */
  readonly id: string;
  /** What came with the lease. */
  readonly token: string;
  /** What the report says. */
  readonly action: "complete";
  /** The result; only the first 64 KiB are kept. */
  readonly result?: unknown;
} | {
  /** The lease. */
  readonly id: string;
  /** What came with the lease. */
  readonly token: string;
  /** What the report says. */
  readonly action: "fail";
  /** Why; a message, or more than that. */
  readonly error?: string | {
    /** A code for programs, which `retry.on` may name. */
    readonly code?: string | undefined;
    /** A message for people. */
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
  /** What came with the lease. */
  readonly token: string;
  /** What the report says. */
  readonly action: "heartbeat";
  /**
   * How long the lease is to last from now; its own time if absent, and never
   * longer than the attempt may take.
   */
  readonly extend?: Duration | undefined;
  /**
   * How far the work is; the task's attempt has the last progress that was
   * reported, and the history not all of it.
   */
  readonly progress?: unknown;
} | {
  /** The lease. */
  readonly id: string;
  /** What came with the lease. */
  readonly token: string;
  /** What the report says. */
  readonly action: "release";
  /** How long the task is held back; not at all if absent. */
  readonly delay?: Duration | undefined;
  /** Why, for the history. */
  readonly reason?: string | undefined;
} | {
  /** The lease. */
  readonly id: string;
  /** What came with the lease. */
  readonly token: string;
  /** What the report says. */
  readonly action: "wait";
  /** The event or the approval to wait for. */
  readonly wait_for: WaitFor;
} | {
  /** The lease. */
  readonly id: string;
  /** What came with the lease. */
  readonly token: string;
  /** What the report says. */
  readonly action: "log";
  /** Lines for the history; the first 1,000 characters of each are kept. */
  readonly lines: ReadonlyArray<string>;
};

/** Reports about many leases, each of which stands for itself. */
export interface LeaseBatch {
  /** The reports, each about one lease. */
  readonly leases: ReadonlyArray<LeaseWord>;
}

/** The outcomes of reports about leases. */
export interface LeaseResults {
  /** One for each report, in their order. */
  readonly results: ReadonlyArray<{
    /** The status it would have alone. */
    readonly status: number;
    /** How the lease is after the report. */
    readonly lease?: LeaseState | undefined;
    /** Why the report was refused. */
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

/** Tasks that are made in one request. */
export interface TaskBatch {
  /** The tasks; the plan says how many there may be. */
  readonly tasks: ReadonlyArray<NewTask>;
  /** Whether all are created or none; without it each stands for itself. */
  readonly atomic?: boolean | undefined;
}

/** A person who acts for the tenant. */
export interface User {
  /** Its id, which begins with `usr_`. */
  readonly id: string;
  /** The address; unique in the tenant whatever the case of its letters. */
  readonly email: string;
  /** The person's name. */
  readonly name: string;
  /** What the person may do: each role may all that those before it may. */
  readonly role: "viewer" | "member" | "admin" | "owner";
  /**
   * `invited` becomes `active` when the person next logs in; `disabled` is let
   * in no more.
   */
  readonly status: "invited" | "active" | "disabled";
  /**
   * Whether the person sees the data and results of tasks; as you do unless
   * given.
   */
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
  /**
   * Requests in a second, on average; ten tasks of a batch or a bulk action, or
   * 10 ms of the service's time, count as one.
   */
  readonly requests_per_second: number | null;
  /** Tasks that are not final. */
  readonly active_tasks: number | null;
  /** Attempts in a calendar month of UTC. */
  readonly executions_per_month: number | null;
  /** Workers that there are. */
  readonly workers: number | null;
  /** Users that there are. */
  readonly users: number | null;
  /** API keys that there are. */
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
  /** How long people use the console before they sign in again. */
  readonly session: Duration;
  /** Records of a task's history; the oldest of more are folded into one. */
  readonly history_per_task: number | null;
}

/** A problem (RFC 9457). */
export interface Problem {
  /** The page about this kind of problem. */
  readonly type: string;
  /** The kind of problem, for people. */
  readonly title: string;
  /** That of the HTTP answer. */
  readonly status: number;
  /** What is wrong this time and what to do, for people. */
  readonly detail?: string | undefined;
  /** The path that stands for this request. */
  readonly instance: string;
  /** The kind of problem, for programs. */
  readonly code: "bad_request" | "malformed_json" | "bad_host" | "bad_header" | "missing_credentials" | "invalid_credentials" | "token_expired" | "forbidden" | "tenant_suspended" | "quota_exceeded" | "not_found" | "tenant_not_found" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "domain_taken" | "name_taken" | "email_taken" | "key_conflict" | "last_owner" | "worker_in_use" | "calendar_in_use" | "lease_gone" | "wrong_state" | "idempotency_in_progress" | "precondition_failed" | "too_large" | "uri_too_long" | "unsupported_media_type" | "expectation_failed" | "invalid" | "read_only" | "unknown_worker" | "bad_cron" | "never_fires" | "bad_timezone" | "bad_cursor" | "idempotency_key_reused" | "rate_limited" | "request_header_fields_too_large" | "internal" | "not_implemented" | "overloaded" | "not_ready" | "stopping" | "store_unavailable" | "secrets_unavailable" | "http_version_not_supported";
  /** By what the service's log knows the request. */
  readonly request_id: string;
  /** The faults of the request, the first of many. */
  readonly errors?: ReadonlyArray<ProblemFault> | undefined;
  /** Seconds after which to try again. */
  readonly retry_after?: number | undefined;
}

/** One fault of a request, and where it is. */
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
