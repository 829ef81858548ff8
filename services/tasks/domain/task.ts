/**
 * A task as the service keeps it.
 *
 * Times are milliseconds since the epoch. What clients wrote as JSON of any
 * shape stays text, so that nothing reads it on the way.
 *
 * @module
 */

import type { Actor } from "./records.ts";

/** A task: what its owner asked for, and what has become of it. */
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

/** What the owner of a task decides. */
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
   * The retry policy as the client wrote it; null means none, absent the
   * worker's.
   */
  readonly retry: unknown;
  /** How long an attempt may take; absent means the worker's time. */
  readonly timeoutMs: number | undefined;
  /** No run is started from this instant on. */
  readonly expiresAtMs: number | undefined;
  /** Ids of tasks that have to succeed before. */
  readonly dependencies: readonly string[];
  /** What a failed dependency means. */
  readonly onDependencyFailure: "fail" | "run" | "wait";
  /** From -9 to 9; higher goes first. */
  readonly priority: number;
  /** The group whose tasks share fairly; empty when there is none. */
  readonly group: string;
  /** At most one live task of a worker has this key. */
  readonly key: string | undefined;
  /** Who is called at the end. */
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
  /** Most repetitions after the first run; no bound when absent. */
  readonly limit?: number | undefined;
  /** The last instant at which a run may be due. */
  readonly untilMs?: number | undefined;
  /** What becomes of slots that passed. */
  readonly catchUp: "one" | "all" | "none";
  /** How old a slot may be to be run in the mode "all". */
  readonly catchUpWindowMs: number;
  /** Most milliseconds by which chance delays a run. */
  readonly jitterMs: number;
  /** Whether the same task runs again or each slot makes a task of its own. */
  readonly mode: "same" | "spawn";
  /** Whether a run that failed for good ends the schedule. */
  readonly onFailure: "stop" | "continue";
}

/** A call at the end of a task. */
export interface TaskCallback {
  /** Where to. */
  readonly url: string;
  /** At which ends. */
  readonly on: readonly ("complete" | "failed" | "canceled" | "expired")[];
}

/** What has become of a task. */
interface TaskState {
  /** The status. */
  readonly status: TaskStatus;
  /** Where a paused task goes on. */
  readonly pausedFrom: TaskStatus | undefined;
  /** When the next attempt is due, or the last one was. */
  readonly dateMs: number;
  /** The anchor of its schedule: the date it was made for. */
  readonly firstDateMs: number;
  /** The slot of the schedule that the current or next run is for. */
  readonly slotMs: number;
  /**
   * Whether the current or next run is one of the schedule's repetitions, and
   * not one by hand. Absent before the first run's end, and in tasks of earlier
   * versions, where it shows by the slot.
   */
  readonly isRepetition: boolean | undefined;
  /** What the schedule waits for behind a run by hand; absent in other runs. */
  readonly held: HeldSlot | undefined;
  /**
   * Since when the task has its schedule, where that has changed since its slot
   * was found; slots of before were never planned.
   */
  readonly scheduleSinceMs: number | undefined;
  /** Whether the date has come, so that a worker may take it. */
  readonly isDue: boolean;
  /** The number of the current run, 0 for the first. */
  readonly run: number;
  /** Attempts that were made, by all runs. */
  readonly executions: number;
  /** Retries of the current run. */
  readonly retries: number;
  /** Runs after the first that were made by the schedule. */
  readonly repetitions: number;
  /** Attempts that were lost with their worker. */
  readonly lost: number;
  /** Attempts that were lost since one was not. */
  readonly lostInRow: number;
  /** Slots of the schedule that were passed over. */
  readonly missed: number;
  /** How late the last attempt started. */
  readonly lagMs: number | undefined;
  /** How long the last attempt took. */
  readonly durationMs: number | undefined;
  /** What became of the last run. */
  readonly lastOutcome: "succeeded" | "failed" | undefined;
  /** What the last success returned, as JSON text. */
  readonly resultJson: string | undefined;
  /** Whether the result was too long to be kept whole. */
  readonly isResultTruncated: boolean | undefined;
  /** Why the last attempt failed. */
  readonly error: TaskError | undefined;
  /** The attempt under way; present exactly while the status is `running`. */
  readonly attempt: Attempt | undefined;
  /** How the attempt before ended, so that its worker may say it twice. */
  readonly settled: SettledAttempt | undefined;
  /** The number of the last attempt; it grows with each. */
  readonly fence: number;
  /** When the current run was first tried. */
  readonly firstTriedAtMs: number | undefined;
  /** The last change. */
  readonly updatedAtMs: number;
  /** The start of the last attempt. */
  readonly startedAtMs: number | undefined;
  /** When it reached a final status. */
  readonly finishedAtMs: number | undefined;
  /** When a task that has ended is removed; absent means never. */
  readonly purgeAtMs: number | undefined;
  /** The number of the last record of its history. */
  readonly historyCount: number;
  /** The hash of the last record of its history. */
  readonly historyHash: string;
  /** The last record that was folded away; absent while all are there. */
  readonly historyFolded: ChainEnd | undefined;
}

/** A slot that waits until a run by hand has ended. */
export interface HeldSlot {
  /** The slot. */
  readonly slotMs: number;
  /** When it was to run: delayed by chance, or moved by the owner. */
  readonly dateMs: number;
}

/** Why an attempt failed. */
export interface TaskError {
  /** A word for programs, such as `timed_out`. */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  /** What else the worker said, as JSON text. */
  readonly detailJson?: string | undefined;
  /** The status of the worker's answer. */
  readonly httpStatus?: number | undefined;
  /** When. */
  readonly atMs: number;
}

/** An attempt under way, which is a lease that ends. */
export interface Attempt {
  /** `lse_`, the task's 26 characters, `_` and the fence. */
  readonly id: string;
  /**
   * SHA-256 of the lease's token in base64url; empty while only the service
   * holds it.
   */
  readonly tokenHash: string;
  /**
   * The start of the server that makes the push call; absent when a worker
   * holds the lease. Of another start the attempt is lost.
   */
  readonly bootId?: string | undefined;
  /** When it began. */
  readonly startedAtMs: number;
  /** When the lease ends unless it is extended. */
  readonly expiresAtMs: number;
  /** When the attempt fails with `timed_out`, extended or not. */
  readonly deadlineMs: number;
  /** When its worker last gave a sign of life; absent when it has not. */
  readonly seenAtMs?: number | undefined;
  /** By how much a heartbeat extends it unless it says so. */
  readonly leaseMs: number;
  /** The worker's name for the process that has it. */
  readonly instance?: string | undefined;
  /** What the worker last said of its progress, as JSON text. */
  readonly progressJson?: string | undefined;
  /** The last record of progress in the history; absent before the first. */
  readonly progressNoted?: {
    /**
     * How long after the beginning of the attempt, which a clock that is set
     * takes with it.
     */
    readonly afterMs: number;
    /** Whether it tells of what was said last. */
    readonly isNewest: boolean;
  };
}

/** An attempt that has ended. */
export interface SettledAttempt {
  /** Its id. */
  readonly id: string;
  /** The hash of its token. */
  readonly tokenHash: string;
  /** How it ended. */
  readonly outcome: "completed" | "failed" | "released" | "lost" | "canceled";
}

/** The statuses that a task still does something in. */
export const LIVE_STATUSES = [
  "scheduled",
  "blocked",
  "waiting",
  "running",
  "retry",
  "done",
  "paused",
] as const;

/** The statuses that a task leaves by hand alone. */
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

/** How many of counted tasks are live. */
export function liveCount(
  counts: Readonly<Partial<Record<TaskStatus, number>>>,
): number {
  return LIVE_STATUSES.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

/** A status that a task leaves by hand alone. */
export type FinalStatus = typeof FINAL_STATUSES[number];

/** Tells whether a task of that status has nothing more to do. */
export function isFinal(status: TaskStatus): status is FinalStatus {
  return FINAL_STATUSES.some((final) => final === status);
}

/** The end of a chain. */
export interface ChainEnd {
  /** The number of its records. */
  readonly count: number;
  /** The hash of its last record; empty when it has none. */
  readonly hash: string;
}

/**
 * A definition of which nothing is said. Bodies in the database leave out fields
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
 * A task of which nothing is said, with all its fields: tasks are made by
 * spreading it, so that all have one shape, which makes copying them and writing
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

// The compiler has checked that these are the keys, all of them and no others.
const DEFINITION_KEYS = Object.keys(
  BLANK_DEFINITION,
) as readonly (keyof TaskDefinition)[];

/** Returns the fields that the owner of a task decides, and no others. */
export function definitionOf(source: TaskDefinition): TaskDefinition {
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
