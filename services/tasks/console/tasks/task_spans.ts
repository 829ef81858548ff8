/**
 * The spans of a task's timeline: its attempts, and the waits between them.
 *
 * @module
 */

import type { Span } from "../../../shared/console/timeline.tsx";
import type { Texts } from "../parts/page.ts";
import type { ShownError, ShownTask } from "./task_parts.tsx";

/** An attempt as the API shows it. */
export type ShownAttempt =
  & Texts<"id" | "outcome" | "started_at", "ended_at" | "instance">
  & {
    /** The number of its run, 0 for the first. */
    readonly run: number;
    /** The last failure; null without one. */
    readonly error: ShownError | null;
  };

/** The facts of a task that its timeline needs. */
type TimedTask = Pick<
  ShownTask,
  "created_at" | "date" | "status" | "executions" | "finished_at"
>;

const TONES: Readonly<Record<string, Span["tone"]>> = {
  running: "busy",
  succeeded: "good",
  failed: "bad",
  timed_out: "bad",
  lost: "warn",
  released: "warn",
  waiting: "good",
  canceled: "warn",
};

/**
 * The spans from the task's creation, or from the first of the attempts that
 * are shown, up to its end or the present.
 */
export function spansOf(
  task: TimedTask,
  { attempts, nowMs }: {
    /** The newest attempts, in any order. */
    readonly attempts: readonly ShownAttempt[];
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
  },
): readonly Span[] {
  const inOrder = attempts.toSorted((a, b) =>
    Date.parse(a.started_at) - Date.parse(b.started_at)
  );
  const isWhole = task.executions <= attempts.length;
  const spans: Span[] = [];
  let fromMs = isWhole ? Date.parse(task.created_at) : undefined;
  let after = "created";
  const wait = (endMs: number, isOpen = false): void => {
    if (fromMs === undefined || endMs <= fromMs) return;
    spans.push({
      name: waitName(after),
      startMs: fromMs,
      endMs,
      tone: "wait",
      isOpen,
    });
  };
  const first = isWhole ? 1 : task.executions - attempts.length + 1;
  for (const [index, attempt] of inOrder.entries()) {
    const startMs = Date.parse(attempt.started_at);
    const isOpen = attempt.ended_at === null;
    const endMs = isOpen ? nowMs : Date.parse(attempt.ended_at ?? "");
    wait(startMs);
    spans.push({
      name: `Attempt ${first + index} · ${attempt.outcome}`,
      startMs,
      endMs,
      tone: TONES[attempt.outcome] ?? "busy",
      isOpen,
    });
    fromMs = isOpen ? undefined : endMs;
    after = attempt.outcome;
  }
  const endMs = task.finished_at === null
    ? nowMs
    : Date.parse(task.finished_at);
  wait(endMs, task.finished_at === null);
  return spans.length > 0 ? spans : [{
    name: waitName(after),
    startMs: Date.parse(task.created_at),
    endMs: Math.max(endMs, Date.parse(task.created_at)),
    tone: "wait",
  }];
}

/** What a wait is called, by what was before it. */
const WAITS: Readonly<Record<string, string>> = {
  created: "Waits to begin",
  succeeded: "Waits for its next run",
  waiting: "Waits for an event or a person",
};

function waitName(after: string): string {
  return WAITS[after] ?? "Waits for its next try";
}
