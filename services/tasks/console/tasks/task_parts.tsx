/**
 * Tasks as the API shows them, and the parts of pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  formatLength,
  type Tone,
} from "../../../shared/console/parts.tsx";
import { exactMs, parseDuration } from "../../../shared/duration.ts";
import type { TaskStatus } from "../../domain/task.ts";

/** The failure of an attempt. */
export interface ShownError {
  /** For programs, such as `timed_out`. */
  readonly code: string;
  /** For people. */
  readonly message: string;
  /** Further details from the worker, such as a trace. */
  readonly detail?: unknown;
  /** The status that a push worker answered. */
  readonly http_status?: number;
  /** The dependency that failed. */
  readonly dependency?: string;
  /** When, in RFC 3339. */
  readonly at: string;
}

/** Who did something. */
export interface ShownActor {
  /** The kind, such as `key`. */
  readonly type: string;
  /** The id of the user, key or worker. */
  readonly id: string;
}

/** A task, with the fields that pages show. */
export interface ShownTask {
  /** Its id. */
  readonly id: string;
  /** Its status. */
  readonly status: TaskStatus;
  /** The worker's name. */
  readonly worker: string;
  /** The worker's id. */
  readonly worker_id: string;
  /** The handler within the worker. */
  readonly job: string;
  /** Absent where the reader does not see data. */
  readonly data?: unknown;
  /** The result; null without one. */
  readonly result: unknown;
  /** When it is due. */
  readonly date: string;
  /** Its first date. */
  readonly first_date: string;
  /** The zone of its dates. */
  readonly timezone: string;
  /** Its schedule; null when it does not repeat. */
  readonly repeat: unknown;
  /** How long an attempt may take. */
  readonly timeout: unknown;
  /** Its retries; absent for those of its worker, null for none. */
  readonly retry?: unknown;
  /** When it is given up. */
  readonly expires: unknown;
  /** The ids of the tasks that it waits for. */
  readonly dependencies: readonly string[];
  /** Higher ones come first. */
  readonly priority: number;
  /** Its group; null without one. */
  readonly group: string | null;
  /** Its key; null without one. */
  readonly key: string | null;
  /** Its tags. */
  readonly tags: readonly string[];
  /** Its labels. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The number of its run, 0 for the first. */
  readonly run: number;
  /** Attempts so far. */
  readonly executions: number;
  /** Attempts after a failure. */
  readonly retries: number;
  /** Runs after the first. */
  readonly repetitions: number;
  /** Attempts whose worker fell silent. */
  readonly lost: number;
  /** Dates without a run. */
  readonly missed: number;
  /** Milliseconds from its date to its start. */
  readonly lag: number | null;
  /** Milliseconds of the last attempt. */
  readonly duration: number | null;
  /** The last failure; null without one. */
  readonly error: ShownError | null;
  /** The running attempt; null while none runs. */
  readonly attempt: {
    /** Its id. */
    readonly id: string;
    /** When the attempt began. */
    readonly started_at: string;
    /** When the lease ends. */
    readonly expires_at: string;
    /** The worker's name for its process. */
    readonly instance: string | null;
    /** What the worker reported last. */
    readonly progress: unknown;
  } | null;
  /** Its creator. */
  readonly created_by: ShownActor;
  /** When it was created. */
  readonly created_at: string;
  /** When it changed last. */
  readonly updated_at: string;
  /** When the attempt began. */
  readonly started_at: string | null;
  /** When it ended; null while it is live. */
  readonly finished_at: string | null;
  /** When it is removed. */
  readonly kept_until?: string;
  /** The task that has made it. */
  readonly parent?: string;
  /** Its next dates. */
  readonly next?: readonly string[];
  /** What it waits for without a worker. */
  readonly waiting_for?: ShownWait;
  /** Grows with each change. */
  readonly version: number;
  /** What to look at in its schedule. */
  readonly warnings?: readonly { readonly message: string }[];
}

/** What a task waits for. */
export interface ShownWait {
  /** The event's name. */
  readonly event?: string;
  /** Whose decision it is. */
  readonly approval?: {
    /** The least role. */
    readonly by: string;
    /** Whether the task's creator may not decide. */
    readonly by_another: boolean;
  };
  /** What people are asked or told. */
  readonly message?: string;
  /** When the wait began. */
  readonly since: string;
  /** When its time is over. */
  readonly until: string;
  /** What happens then. */
  readonly on_timeout: string;
}

const TONES: Readonly<Record<TaskStatus, Tone>> = {
  waiting: "calm",
  scheduled: "dim",
  blocked: "warn",
  running: "busy",
  retry: "warn",
  done: "good",
  paused: "dim",
  complete: "good",
  failed: "bad",
  canceled: "dim",
  expired: "bad",
};

/** The colour of a status. */
export function toneOf(status: TaskStatus): Tone {
  return TONES[status];
}

const RINGS: readonly TaskStatus[] = ["scheduled", "paused", "done", "blocked"];

/** The status of a task. */
export function StatusBadge(
  { status }: { readonly status: TaskStatus },
): VNode {
  return (
    <Badge tone={TONES[status]} isHollow={RINGS.includes(status)}>
      {status}
    </Badge>
  );
}

/** A link to a task. */
export function TaskLink(
  { base, id }: { readonly base: string; readonly id: string },
): VNode {
  return (
    <a class="mono" href={`${base}/tasks/${encodeURIComponent(id)}`}>{id}</a>
  );
}

/**
 * A duration of ISO 8601 in words, such as `6 h`; the text itself where words
 * would not say all of it, or months make its length vary.
 */
export function durationWords(text: string): string {
  const read = parseDuration(text);
  const ms = read.kind === "ok" ? exactMs(read.duration) : undefined;
  const units = text.replaceAll(/[^A-Z]|[PT]/g, "").length;
  return ms === undefined || units > 2 ? text : formatLength(ms);
}

/** A value as JSON text with indentation. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
