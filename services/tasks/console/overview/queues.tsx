/**
 * The part of the overview that tells what waits, runs and fails by worker and
 * by job.
 *
 * @module
 */

import type { VNode } from "preact";
import { formatCount, Section } from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import { type PageCall, type Texts, withQuery } from "../parts/page.ts";
import { WORKER_COUNTS } from "../workers/worker_parts.tsx";

/** The tasks of a worker, or of a job of one. */
export type ShownQueue =
  & Texts<"worker", "late_since">
  & Partial<Texts<"job">>
  & Readonly<Record<typeof WORKER_COUNTS[number] | "late", number>>;

/** The largest queues, by worker and by job. */
export function Queues(
  { page, workers, jobs }: {
    readonly page: PageCall;
    readonly workers: readonly ShownQueue[];
    readonly jobs: readonly ShownQueue[];
  },
): VNode | null {
  if (workers.length === 0) return null;
  const columns = columnsOf(page);
  return (
    <>
      <Section id="workers" title="By worker">
        <Table label="Tasks by worker" columns={columns} rows={workers} />
      </Section>
      <Section id="jobs" title="By job">
        <Table label="Tasks by job" columns={columns} rows={jobs} />
      </Section>
    </>
  );
}

function columnsOf({ base, nowMs }: PageCall): readonly Column<ShownQueue>[] {
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
    ...WORKER_COUNTS.map((status): Column<ShownQueue> => ({
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
    { name: "Late since", at: ({ late_since: at }) => at, nowMs },
  ];
}
