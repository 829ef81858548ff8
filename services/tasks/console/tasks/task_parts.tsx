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
import type { Actor } from "../../domain/records.ts";
import type { Task, TaskError, TaskStatus } from "../../domain/task.ts";
import type { PageCall, Texts } from "../parts/page.ts";

/** The failure of an attempt. */
export type ShownError =
  & Pick<TaskError, "code" | "message" | "dependency">
  & Texts<"at">
  & {
    /** Further details from the worker, such as a trace. */
    readonly detail?: unknown;
    /** The status that a push worker answered. */
    readonly http_status?: number;
  };

/** A task, with the fields that pages show. */
export type ShownTask =
  & Pick<
    Task,
    | "id"
    | "status"
    | "job"
    | "timezone"
    | "dependencies"
    | "priority"
    | "tags"
    | "metadata"
    | "run"
    | "executions"
    | "retries"
    | "repetitions"
    | "lost"
    | "missed"
    | "version"
  >
  & Texts<
    | "worker"
    | "worker_id"
    | "date"
    | "first_date"
    | "created_at"
    | "updated_at",
    "group" | "key" | "started_at" | "finished_at"
  >
  & Partial<Texts<"kept_until" | "parent">>
  & {
    /** Absent where the reader does not see data. */
    readonly data?: unknown;
    /** The result; null without one. */
    readonly result: unknown;
    /** Its schedule; null when it does not repeat. */
    readonly repeat: unknown;
    /** How long an attempt may take. */
    readonly timeout: unknown;
    /** Its retries; absent for those of its worker, null for none. */
    readonly retry?: unknown;
    /** Milliseconds from its date to its start. */
    readonly lag: number | null;
    /** Milliseconds of the last attempt. */
    readonly duration: number | null;
    /** The last failure; null without one. */
    readonly error: ShownError | null;
    /** What the worker of the running attempt reported; null without one. */
    readonly attempt: { readonly progress: unknown } | null;
    /** Its creator. */
    readonly created_by: Actor;
    /** Its next dates. */
    readonly next?: readonly string[];
    /** What it waits for without a worker. */
    readonly waiting_for?: ShownWait;
    /** What to look at in its schedule. */
    readonly warnings?: readonly Texts<"message">[];
  };

/** What a task waits for, since when, and what happens when its time is over. */
export type ShownWait =
  & Texts<"since" | "until" | "on_timeout">
  & Partial<Texts<"event" | "message">>
  & {
    /** The least role that decides, where it waits for that. */
    readonly approval?: { readonly by: string; readonly by_another: boolean };
  };

/** A page, and the task that it shows. */
export interface TaskProps {
  /** The request for the page. */
  readonly page: PageCall;
  /** The task. */
  readonly task: ShownTask;
}

/** The colours of statuses. */
export const STATUS_TONES: Readonly<Record<TaskStatus, Tone>> = {
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

const RINGS: readonly TaskStatus[] = ["scheduled", "paused", "done", "blocked"];

/** The status of a task. */
export function StatusBadge(
  { status }: { readonly status: TaskStatus },
): VNode {
  return (
    <Badge tone={STATUS_TONES[status]} isHollow={RINGS.includes(status)}>
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
