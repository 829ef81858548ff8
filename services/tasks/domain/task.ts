/**
 * The type of a task as it is stored, with its statuses.
 *
 * Times are milliseconds since the epoch. What clients wrote as JSON of any
 * shape stays text, so that no code in between depends on its content.
 *
 * @module
 */

import type { CronDialect } from "./cron_expression.ts";
import type { Actor, Retain } from "./records.ts";
import type { TaskWait } from "./wait.ts";

/** A task: the definition that its owner asked for, and its current state. */
export interface Task extends TaskDefinition, TaskState {
  /** The tenant it belongs to. */
  readonly tenantId: string;
  /** `tsk_` and 26 characters that sort by the time of creation. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** Who made it. */
  readonly createdBy: Actor;
  /** When it was made. */
  readonly createdAtMs: number;
  /** The task whose schedule made it, if one did. */
  readonly parentId: string | undefined;
}

/** The fields of a task that its owner decides. */
export interface TaskDefinition {
  /** The id of its worker. */
  readonly workerId: string;
  /** The handler's name within the worker. */
  readonly job: string;
  /** The payload as JSON text. */
  readonly dataJson: string;
  /** The IANA time zone of its schedule. */
  readonly timezone: string;
  /** How it repeats, if it does. */
  readonly repeat: RepeatRule | undefined;
  /**
   * The retry policy as the client wrote it; null means no retries, absent the
   * worker's policy.
   */
  readonly retry: unknown;
  /**
   * How long an attempt may take, in milliseconds; absent means the worker's
   * setting.
   */
  readonly timeoutMs: number | undefined;
  /** How long it is kept after its end; absent leaves that to its worker. */
  readonly retain: Retain | undefined;
  /** The instant from which on no run is started. */
  readonly expiresAtMs: number | undefined;
  /** Ids of tasks that have to succeed before this one may start. */
  readonly dependencies: readonly string[];
  /**
   * Whether a failed dependency fails the task, lets it run anyway, or makes it
   * wait until the dependency succeeds.
   */
  readonly onDependencyFailure: "fail" | "run" | "wait";
  /** From -9 to 9; higher goes first. */
  readonly priority: number;
  /**
   * The group whose tasks share the worker fairly; empty when there is no
   * group.
   */
  readonly group: string;
  /** At most one live task of a worker has this key. */
  readonly key: string | undefined;
  /** The call that is made when the task ends. */
  readonly callback: TaskCallback | undefined;
  /** Labels. */
  readonly tags: readonly string[];
  /** Named labels. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** How a task repeats. Exactly one of interval and cron is given. */
export interface RepeatRule {
  /** A duration as ISO 8601 text. */
  readonly interval?: string | undefined;
  /** A cron expression. */
  readonly cron?: string | undefined;
  /** Whose cron expression it is, if that was said. */
  readonly dialect?: CronDialect | undefined;
  /** Dates of the calendar without slots, such as `2030-01-31`. */
  readonly exclude?: readonly string[] | undefined;
  /** The names of calendars at whose times there are no slots. */
  readonly calendars?: readonly string[] | undefined;
  /** The most repetitions after the first run; no limit when absent. */
  readonly limit?: number | undefined;
  /** The last instant at which a run may be due. */
  readonly untilMs?: number | undefined;
  /** Which of the slots that have passed are run. */
  readonly catchUp: "one" | "all" | "none";
  /** The greatest age of a slot that is still run in the mode "all". */
  readonly catchUpWindowMs: number;
  /**
   * How many milliseconds after its date a run may begin and still count as on
   * time, whatever the catch-up rule; absent in tasks of earlier versions.
   */
  readonly onTimeMs?: number | undefined;
  /** The most milliseconds by which jitter delays a run. */
  readonly jitterMs: number;
  /** Whether the same task runs again or each slot makes a task of its own. */
  readonly mode: "same" | "spawn";
  /** Whether a run that failed for good ends the schedule. */
  readonly onFailure: "stop" | "continue";
}

/** A call at the end of a task. */
export interface TaskCallback {
  /** The address that is called. */
  readonly url: string;
  /** The final statuses for which the call is made. */
  readonly on: readonly ("complete" | "failed" | "canceled" | "expired")[];
}

/** The fields of a task that change as it runs. */
interface TaskState {
  /** The status. */
  readonly status: TaskStatus;
  /** The status that a paused task returns to. */
  readonly pausedFrom: TaskStatus | undefined;
  /** The date of the next attempt, or of the last one when no other follows. */
  readonly dateMs: number;
  /**
   * The date for which the task was created. The slots of its schedule are
   * counted from this date.
   */
  readonly firstDateMs: number;
  /** The slot of the schedule that the current or next run is for. */
  readonly slotMs: number;
  /**
   * Whether the current or next run is one of the schedule's repetitions, and
   * not a run started by hand. Absent before the first run's end, and in tasks
   * of earlier versions, for which the slot tells it.
   */
  readonly isRepetition: boolean | undefined;
  /**
   * The slot that waits until a run started by hand has ended; absent in other
   * runs.
   */
  readonly held: HeldSlot | undefined;
  /**
   * When the task got its present schedule, if the schedule changed after the
   * current slot was found. Slots before this instant were never planned.
   */
  readonly scheduleSinceMs: number | undefined;
  /**
   * How many milliseconds after its date the task may still start; absent means
   * at any time. Only tasks that a schedule makes have it, by its catch-up rule.
   */
  readonly startWithinMs: number | undefined;
  /** The window of requests with its key that the run is for, if there is one. */
  readonly calls: CallWindow | undefined;
  /** The run that follows the one that has begun, if it was asked for. */
  readonly again: NextRun | undefined;
  /** Whether the task's date has come, so that a worker may take it. */
  readonly isDue: boolean;
  /** The number of the current run, 0 for the first. */
  readonly run: number;
  /** The number of attempts that were started, in all runs. */
  readonly executions: number;
  /** Retries of the current run. */
  readonly retries: number;
  /** The number of runs after the first that the schedule caused. */
  readonly repetitions: number;
  /** The number of attempts whose worker was lost. */
  readonly lost: number;
  /**
   * The number of attempts lost in a row, since the last one that was not lost.
   */
  readonly lostInRow: number;
  /** The number of the schedule's slots that were missed. */
  readonly missed: number;
  /** How many milliseconds after its date the last attempt started. */
  readonly lagMs: number | undefined;
  /** How long the last attempt took, in milliseconds. */
  readonly durationMs: number | undefined;
  /** How the last run ended. */
  readonly lastOutcome: "succeeded" | "failed" | undefined;
  /** What the last success returned, as JSON text. */
  readonly resultJson: string | undefined;
  /** Whether the result was too long to be kept whole. */
  readonly isResultTruncated: boolean | undefined;
  /** Why the last attempt failed. */
  readonly error: TaskError | undefined;
  /** The running attempt; present exactly while the status is `running`. */
  readonly attempt: Attempt | undefined;
  /**
   * How the previous attempt ended, so that its worker can repeat a report and
   * get the same answer.
   */
  readonly settled: SettledAttempt | undefined;
  /** Its waits for events and approvals; absent when the run has none. */
  readonly wait: TaskWait | undefined;
  /**
   * The number of the last attempt, which grows with each attempt. Systems
   * outside can use it to refuse the effects of older attempts.
   */
  readonly fence: number;
  /** When the current run was first tried. */
  readonly firstTriedAtMs: number | undefined;
  /** The last change. */
  readonly updatedAtMs: number;
  /** The start of the last attempt. */
  readonly startedAtMs: number | undefined;
  /** When the task reached a final status. */
  readonly finishedAtMs: number | undefined;
  /** When a task that has ended is removed; absent means never. */
  readonly purgeAtMs: number | undefined;
  /** The number of the last record of its history. */
  readonly historyCount: number;
  /** The hash of the last record of its history. */
  readonly historyHash: string;
  /**
   * The last history record that was folded away; absent while no record was.
   */
  readonly historyFolded: ChainEnd | undefined;
}

/** A slot that waits until a run started by hand has ended. */
export interface HeldSlot {
  /** The slot. */
  readonly slotMs: number;
  /** The date of its run: the slot delayed by jitter, or moved by the owner. */
  readonly dateMs: number;
}

/** The window of requests with one key that a run is for. */
export type CallWindow =
  /** The run waits until requests no longer come. */
  | {
    readonly kind: "debounce";
    /** When the first of them came. */
    readonly sinceMs: number;
  }
  /** Runs are spaced by the window. */
  | {
    readonly kind: "throttle";
    /** The earliest date of the run after this one. */
    readonly untilMs: number;
  };

/**
 * The window of a task whose coming run gets another date: it moves with the
 * date.
 */
export function movedCalls(
  { calls, dateMs: fromMs }: Pick<Task, "calls" | "dateMs">,
  dateMs: number,
): CallWindow | undefined {
  const byMs = dateMs - fromMs;
  switch (calls?.kind) {
    case "debounce":
      return { ...calls, sinceMs: calls.sinceMs + byMs };
    case "throttle":
      return { ...calls, untilMs: calls.untilMs + byMs };
    case undefined:
      return undefined;
  }
}

/** A run that was asked for while another one had begun. */
export interface NextRun {
  /** Its date; it begins later when the other one has not ended by then. */
  readonly dateMs: number;
  /** The window of requests that it is for. */
  readonly calls?: CallWindow | undefined;
}

/** Why an attempt failed. */
export interface TaskError {
  /** The error's code, for programs, such as `timed_out`. */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  /** More details from the worker, as JSON text. */
  readonly detailJson?: string | undefined;
  /** The status of the worker's answer. */
  readonly httpStatus?: number | undefined;
  /** The id of the dependency that failed, if the task failed by one. */
  readonly dependency?: string | undefined;
  /** When the attempt failed. */
  readonly atMs: number;
}

/**
 * A running attempt, which is also a lease that a worker holds until it ends.
 */
export interface Attempt {
  /** `lse_`, the task's 26 characters, `_` and the fence. */
  readonly id: string;
  /**
   * SHA-256 of the lease's token in base64url; empty while only the service
   * holds it.
   */
  readonly tokenHash: string;
  /**
   * The id of the instance of the service that makes the push call; absent when
   * a worker holds the lease. When that instance is gone, the attempt is lost.
   * The name is from when each start of the only process had such an id.
   */
  readonly bootId?: string | undefined;
  /** When the attempt began. */
  readonly startedAtMs: number;
  /** When the lease ends unless it is extended. */
  readonly expiresAtMs: number;
  /** When the attempt fails with `timed_out`, extended or not. */
  readonly deadlineMs: number;
  /**
   * When the worker last sent a heartbeat or a report; absent when it has not.
   */
  readonly seenAtMs?: number | undefined;
  /**
   * By how many milliseconds a heartbeat extends the lease unless the worker
   * asks for another length.
   */
  readonly leaseMs: number;
  /** The name that the worker gave the process that holds the lease. */
  readonly instance?: string | undefined;
  /** The worker's last progress report, as JSON text. */
  readonly progressJson?: string | undefined;
  /** The last history record of progress; absent before the first. */
  readonly progressNoted?: {
    /**
     * Milliseconds from the start of the attempt to the record. It stays right
     * when the clock is set.
     */
    readonly afterMs: number;
    /** Whether the record holds the last progress report. */
    readonly isNewest: boolean;
  };
}

/** An attempt that has ended. */
export interface SettledAttempt {
  /** The id of the attempt. */
  readonly id: string;
  /** The hash of its token. */
  readonly tokenHash: string;
  /** How the attempt ended. */
  readonly outcome:
    | "completed"
    | "failed"
    | "released"
    | "waited"
    | "lost"
    | "canceled";
}

/** The statuses of tasks that have not ended. */
export const LIVE_STATUSES = [
  "scheduled",
  "blocked",
  "waiting",
  "running",
  "retry",
  "done",
  "paused",
] as const;

/**
 * The statuses of tasks that have ended. Only a request by hand changes them.
 */
export const FINAL_STATUSES = [
  "complete",
  "failed",
  "canceled",
  "expired",
] as const;

/** All statuses. */
export const TASK_STATUSES = [...LIVE_STATUSES, ...FINAL_STATUSES] as const;

/**
 * The status of a task: `scheduled` before its first date, `blocked` until its
 * dependencies are settled, `waiting` when it is due and not taken, `running`
 * while a lease holds it, `retry` after a failure with another try to come,
 * `done` after a success with a repetition to come, `paused` on request; and
 * the final ones.
 */
export type TaskStatus = typeof TASK_STATUSES[number];

/** Sums the counts of all statuses that are not final. */
export function liveCount(
  counts: Readonly<Partial<Record<TaskStatus, number>>>,
): number {
  return LIVE_STATUSES.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

/** A status of a task that has ended. */
export type FinalStatus = typeof FINAL_STATUSES[number];

/** What a task is found by that names a calendar; no id of a task has a colon. */
export function calendarLink(name: string): string {
  return `calendar:${name}`;
}

/** Tells whether a task of that status has nothing more to do. */
export function isFinal(status: TaskStatus): status is FinalStatus {
  return FINAL_STATUSES.some((final) => final === status);
}

/** The last record of a history: the end of a hash chain. */
export interface ChainEnd {
  /** The number of its records. */
  readonly count: number;
  /** The hash of its last record; empty when it has none. */
  readonly hash: string;
}

/**
 * The default values of a definition. Bodies in the database leave out fields
 * with these values, so changing one of them needs a migration.
 */
export const BLANK_DEFINITION: TaskDefinition = {
  workerId: "",
  job: "default",
  dataJson: "null",
  timezone: "UTC",
  repeat: undefined,
  retry: undefined,
  timeoutMs: undefined,
  retain: undefined,
  expiresAtMs: undefined,
  dependencies: [],
  onDependencyFailure: "fail",
  priority: 0,
  group: "",
  key: undefined,
  callback: undefined,
  tags: [],
  metadata: {},
};

/**
 * A task with default values in all its fields. Tasks are created by spreading
 * it, so that all have the same shape, which makes copying them and writing
 * them as JSON fast. For its values see {@linkcode BLANK_DEFINITION}.
 */
export const BLANK_TASK: Task = {
  tenantId: "",
  id: "",
  version: 1,
  createdBy: { type: "system", id: "system" },
  createdAtMs: 0,
  parentId: undefined,
  ...BLANK_DEFINITION,
  status: "scheduled",
  pausedFrom: undefined,
  dateMs: 0,
  firstDateMs: 0,
  slotMs: 0,
  isRepetition: undefined,
  held: undefined,
  scheduleSinceMs: undefined,
  startWithinMs: undefined,
  calls: undefined,
  again: undefined,
  isDue: true,
  run: 0,
  executions: 0,
  retries: 0,
  repetitions: 0,
  lost: 0,
  lostInRow: 0,
  missed: 0,
  lagMs: undefined,
  durationMs: undefined,
  lastOutcome: undefined,
  resultJson: undefined,
  isResultTruncated: undefined,
  error: undefined,
  attempt: undefined,
  settled: undefined,
  wait: undefined,
  fence: 0,
  firstTriedAtMs: undefined,
  updatedAtMs: 0,
  startedAtMs: undefined,
  finishedAtMs: undefined,
  purgeAtMs: undefined,
  historyCount: 0,
  historyHash: "",
  historyFolded: undefined,
};

type Draft = { -readonly [Key in keyof TaskDefinition]: TaskDefinition[Key] };

// The type of `BLANK_DEFINITION` ensures that these are all the keys.
const DEFINITION_KEYS = Object.keys(
  BLANK_DEFINITION,
) as readonly (keyof TaskDefinition)[];

/** Returns the fields that the owner of a task decides, and no others. */
export function pickDefinition(source: TaskDefinition): TaskDefinition {
  const definition: Draft = { ...BLANK_DEFINITION };
  for (const key of DEFINITION_KEYS) copy(definition, source, key);
  return definition;
}

function copy<Key extends keyof TaskDefinition>(
  to: Draft,
  from: TaskDefinition,
  key: Key,
): void {
  to[key] = from[key];
}
