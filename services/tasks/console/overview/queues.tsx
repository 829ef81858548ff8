/**
 * The part of the overview that tells what waits, runs and fails by worker and
 * by job.
 *
 * @module
 */

import type { VNode } from "preact";
import { formatCount, Time } from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import { withQuery } from "../parts/page.ts";

/** The tasks of a worker, or of a job of one. */
export interface ShownQueue {
  /** The worker's name. */
  readonly worker: string;
  /** The job; absent for the whole worker. */
  readonly job?: string;
  /** Tasks that are due and not taken. */
  readonly waiting: number;
  /** Tasks under way. */
  readonly running: number;
  /** Tasks that are tried again. */
  readonly retry: number;
  /** Tasks that have failed for good. */
  readonly failed: number;
  /** Tasks that should have begun a minute ago. */
  readonly late: number;
  /** The earliest date of those. */
  readonly late_since: string | null;
}

/** The largest queues, by worker and by job. */
export function Queues(
  { workers, jobs, base, nowMs }: {
    readonly workers: readonly ShownQueue[];
    readonly jobs: readonly ShownQueue[];
    /** The path of the console. */
    readonly base: string;
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
  },
): VNode | null {
  if (workers.length === 0) return null;
  const columns = columnsOf({ base, nowMs });
  return (
    <>
      <section aria-labelledby="workers">
        <h2 id="workers">By worker</h2>
        <Table label="Tasks by worker" columns={columns} rows={workers} />
      </section>
      <section aria-labelledby="jobs">
        <h2 id="jobs">By job</h2>
        <Table label="Tasks by job" columns={columns} rows={jobs} />
      </section>
    </>
  );
}

const COUNTS = ["waiting", "running", "retry", "failed"] as const;

function columnsOf(
  { base, nowMs }: { readonly base: string; readonly nowMs: number },
): readonly Column<ShownQueue>[] {
  const list = (
    { worker, job }: ShownQueue,
    more: Readonly<Record<string, string>> = {},
  ): string => withQuery(`${base}/tasks`, { worker, job, ...more });
  return [
    {
      name: "Queue",
      cell: (queue) => (
        <a href={list(queue)}>
          {queue.job === undefined
            ? queue.worker
            : `${queue.worker} · ${queue.job}`}
        </a>
      ),
    },
    ...COUNTS.map((status): Column<ShownQueue> => ({
      name: status[0]?.toUpperCase() + status.slice(1),
      isNumber: true,
      cell: (queue) =>
        queue[status] === 0 ? 0 : (
          <a href={list(queue, { status })}>
            {formatCount(queue[status])}
          </a>
        ),
    })),
    {
      name: "Late",
      isNumber: true,
      cell: ({ late }) =>
        late === 0 ? 0 : <span class="bad">{formatCount(late)}</span>,
    },
    {
      name: "Late since",
      cell: ({ late_since: at }) => <Time at={at} nowMs={nowMs} />,
    },
  ];
}
