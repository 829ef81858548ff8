/**
 * Workers as the API shows them, and the parts of pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import type { WorkerDefinition } from "../../domain/records.ts";
import type { Column } from "../../../shared/console/table.tsx";
import { type PageCall, type Texts, withQuery } from "../parts/page.ts";
import { formatCount, Time } from "../../../shared/console/parts.tsx";

/** The statuses of tasks that are counted for each worker. */
export const WORKER_COUNTS = ["waiting", "running", "retry", "failed"] as const;

/** A worker, with the fields that pages show. */
export type ShownWorker =
  & Pick<
    WorkerDefinition,
    "id" | "name" | "kind" | "method" | "headers" | "concurrency" | "version"
  >
  & Texts<
    "lease" | "created_at" | "updated_at",
    "url" | "public_key" | "paused_at" | "paused_by" | "last_seen_at"
  >
  & {
    /** Its jobs, each with what it has of its own; null for any. */
    readonly jobs:
      | Readonly<Record<string, Readonly<Record<string, unknown>>>>
      | null;
    /** Limits besides; null for no others. */
    readonly limits: Readonly<Record<string, unknown>> | null;
    /** How long an attempt may take, in milliseconds. */
    readonly timeout: number;
    /** Its retries; absent for those of the service, null for none. */
    readonly retry?: unknown;
    /** Lost attempts in a row after which the next one is a failure. */
    readonly max_lost: number;
    /** Whether it is given nothing. */
    readonly paused: boolean;
    /** Whether its calls are signed with a key pair too. */
    readonly asymmetric: boolean;
    /** The secret of its calls; in the answer that made it alone. */
    readonly signing_secret?: string | null;
    /** How it is now. */
    readonly status: "idle" | "active" | "stale" | "paused";
    /** Its processes, and when each last asked for tasks. */
    readonly instances: readonly Texts<"name" | "last_seen_at">[];
    /** How many tasks it has in each status. */
    readonly counts: Readonly<Record<typeof WORKER_COUNTS[number], number>>;
  };

/**
 * The columns of how many tasks there are in each status, which lead to them.
 *
 * @param countsOf Has the counts of a row, and the parameters that find them.
 */
export function countColumns<Row>(
  { base }: PageCall,
  countsOf: (row: Row) => {
    readonly counts: ShownWorker["counts"];
    readonly of: Parameters<typeof withQuery>[1];
  },
): readonly Column<Row>[] {
  return WORKER_COUNTS.map((status) => ({
    name: status[0]?.toUpperCase() + status.slice(1),
    isNumber: true,
    cell(row) {
      const { counts: { [status]: count }, of } = countsOf(row);
      const href = withQuery(`${base}/tasks`, { ...of, status });
      return count === 0 ? 0 : <a href={href}>{formatCount(count)}</a>;
    },
  }));
}

/** A page, and the worker that it shows. */
export interface WorkerProps {
  /** The request for the page. */
  readonly page: PageCall;
  /** The worker. */
  readonly worker: ShownWorker;
}

/** Says in a sentence how a worker is. */
export function WorkerSentence({ page, worker }: WorkerProps): VNode {
  const { status, kind, counts, last_seen_at: seenAt, url } = worker;
  if (status === "paused") {
    return (
      <span>
        It is given nothing since <Time at={worker.paused_at} />, by{" "}
        <code>{worker.paused_by}</code>; {counts.waiting} tasks wait.
      </span>
    );
  }
  if (kind === "push") {
    return (
      <span>
        The service calls it at <code>{url}</code>; {counts.running}{" "}
        calls are under way.
      </span>
    );
  }
  return seenAt === null
    ? (
      <span>
        It has asked for nothing since the service was started; {counts.waiting}
        {" "}
        tasks wait.
      </span>
    )
    : (
      <span>
        It asked for tasks <Time at={seenAt} nowMs={page.nowMs} />;{" "}
        {counts.waiting} wait.
      </span>
    );
}
