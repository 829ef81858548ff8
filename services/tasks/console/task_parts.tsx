/**
 * Tasks as the API shows them, and the parts of pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, type Tone } from "../../shared/console/parts.tsx";
import type { TaskStatus } from "../domain/task.ts";

/** The failure of an attempt. */
export interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly detail?: unknown;
  readonly http_status?: number;
  readonly dependency?: string;
  readonly at: string;
}

/** Who did something. */
export interface ShownActor {
  readonly type: string;
  readonly id: string;
}

/** A task, with the fields that pages show. */
export interface ShownTask {
  readonly id: string;
  readonly status: TaskStatus;
  readonly worker: string;
  readonly worker_id: string;
  readonly job: string;
  /** Absent where the reader does not see data. */
  readonly data?: unknown;
  readonly result: unknown;
  readonly date: string;
  readonly first_date: string;
  readonly timezone: string;
  readonly repeat: unknown;
  readonly timeout: unknown;
  readonly expires: unknown;
  readonly dependencies: readonly string[];
  readonly priority: number;
  readonly group: string | null;
  readonly key: string | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly run: number;
  readonly executions: number;
  readonly retries: number;
  readonly repetitions: number;
  readonly lost: number;
  readonly missed: number;
  readonly lag: number | null;
  readonly duration: number | null;
  readonly error: ShownError | null;
  readonly attempt: {
    readonly id: string;
    readonly started_at: string;
    readonly expires_at: string;
    readonly instance: string | null;
    readonly progress: unknown;
  } | null;
  readonly created_by: ShownActor;
  readonly created_at: string;
  readonly updated_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly kept_until?: string;
  readonly parent?: string;
  readonly next?: readonly string[];
  readonly warnings?: readonly { readonly message: string }[];
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

/** A value as JSON text with indentation. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
