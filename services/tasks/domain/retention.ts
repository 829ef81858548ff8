/**
 * How long tasks are kept after their end: what a task, its job or its worker
 * says for each outcome, the first of them that says something, and never
 * longer than the plan keeps tasks.
 *
 * @module
 */

import { parsed } from "../../shared/schema/composite.ts";
import type { Fault } from "../../shared/schema/fault.ts";
import { object, settable } from "../../shared/schema/object.ts";
import {
  type JsonSchema,
  named,
  said,
  type Schema,
  shownObject,
} from "../../shared/schema/schema.ts";
import { formatMs } from "../../shared/duration.ts";
import type { Retain } from "./records.ts";
import type { FinalStatus, Task } from "./task.ts";
import { durationMs } from "./value_schemas.ts";

/** The rules that decide how long a task is kept. */
interface RetentionRules {
  /** What the task, its job or its worker says. */
  readonly retain?: Retain | undefined;
  /** How long the plan keeps tasks, in milliseconds; forever when absent. */
  readonly retentionMs?: number | undefined;
}

/**
 * The shortest time, in milliseconds, that a task is kept. Within it a worker
 * whose report was not answered may send it again, and who waits for the result
 * finds it.
 */
export const MIN_KEPT_MS = 60_000;

/**
 * When a task that ended is removed; undefined when it is kept forever. One that
 * throttles its key stays until the end of its window, which decides about the
 * next request with the key.
 */
export function keptUntilMs(
  { status, calls }: Pick<Task, "calls"> & { readonly status: FinalStatus },
  endedMs: number,
  { retain, retentionMs = Infinity }: RetentionRules,
): number | undefined {
  const saidMs = status === "complete" ? retain?.succeededMs : retain?.failedMs;
  const keptMs = Math.min(
    saidMs === undefined ? Infinity : Math.max(saidMs, MIN_KEPT_MS),
    retentionMs,
  );
  if (keptMs === Infinity) return undefined;
  const windowEndMs = calls?.kind === "throttle" ? calls.untilMs : endedMs;
  return Math.max(endedMs + keptMs, windowEndMs);
}

/**
 * The fault of times that are longer than the plan keeps tasks, in
 * milliseconds; undefined when none is.
 */
export function retentionFault(
  { succeededMs = 0, failedMs = 0 }: Retain,
  retentionMs: number | null,
): Fault | undefined {
  if (retentionMs === null) return undefined;
  if (Math.max(succeededMs, failedMs) <= retentionMs) return undefined;
  return {
    pointer: succeededMs > retentionMs ? "/succeeded" : "/failed",
    code: "too_large",
    detail: `Cannot keep tasks so long: the plan keeps them for ${
      formatMs(retentionMs)
    }`,
  };
}

/** What the members mean, for clients and in answers. */
const KEPT = {
  succeeded: "For succeeded tasks; at least a minute",
  failed: "For tasks that failed, expired or were canceled",
};

/** How long to keep tasks, as clients write it. */
export const RETAIN: Schema<Retain> = named(
  "Retain",
  parsed(
    object({
      succeeded: settable(
        durationMs(),
        KEPT.succeeded,
      ),
      failed: settable(
        durationMs(),
        KEPT.failed,
      ),
    }),
    ({ succeeded, failed }) => ({
      kind: "ok",
      // A stored text has no members that are undefined, and is compared.
      value: {
        ...(typeof succeeded === "number" ? { succeededMs: succeeded } : {}),
        ...(typeof failed === "number" ? { failedMs: failed } : {}),
      },
    }),
  ),
  {
    description: "How long a task is kept after its end, by its outcome. The " +
      "task's own word goes before that of its job, of its worker and of the " +
      "plan, which none of them may exceed",
    examples: [{ succeeded: "P1D", failed: "P30D" }],
  },
);

/** The schema of the same in answers. */
export const RETAIN_SHOWN: JsonSchema = {
  ...shownObject({
    succeeded: said(`${KEPT.succeeded}; ISO 8601`),
    failed: said(`${KEPT.failed}; ISO 8601`),
  }, ["succeeded", "failed"]),
  type: ["object", "null"],
};

/** The same as answers show it; null when nothing is said. */
export function showRetain(
  retain: Retain | undefined,
): Readonly<Record<string, unknown>> | null {
  if (retain === undefined) return null;
  const { succeededMs, failedMs } = retain;
  return {
    succeeded: succeededMs === undefined ? undefined : formatMs(succeededMs),
    failed: failedMs === undefined ? undefined : formatMs(failedMs),
  };
}
