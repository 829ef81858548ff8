/**
 * The first page: how many tasks there are in each status, what fails, and what
 * is due.
 *
 * @module
 */

import type { VNode } from "preact";
import { Empty, Live, Tiles, Time } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { TaskStatus } from "../domain/task.ts";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "./page.ts";
import {
  type ShownTask,
  StatusBadge,
  TaskLink,
  toneOf,
} from "./task_parts.tsx";

const FAILED = 10;

/** Shows the overview. */
export async function overviewPage(page: PageCall): Promise<PageAnswer> {
  const failing = await page.ask({
    path: "/v1/tasks",
    query: new URLSearchParams({
      status: "failed",
      sort: "created_at",
      order: "desc",
      limit: String(FAILED),
      fields: "status,worker,job,updated_at,error,executions",
    }),
  });
  const refusal = refusalOf(failing);
  if (refusal !== undefined) return refusal;
  const counts = await countByStatus(page);
  const { data } = failing.body as ShownList<ShownTask>;
  return {
    kind: "page",
    title: "Overview",
    content: (
      <Live id="overview">
        <Counts page={page} counts={counts} />
        <Failed page={page} tasks={data} />
      </Live>
    ),
  };
}

const SHOWN: readonly TaskStatus[] = [
  ...["running", "waiting", "retry", "scheduled", "blocked"] as const,
  ...["paused", "failed", "expired", "complete"] as const,
];

interface Count {
  readonly status: TaskStatus;
  readonly text: string;
}

async function countByStatus(page: PageCall): Promise<readonly Count[]> {
  return await Promise.all(SHOWN.map(async (status) => {
    const { body } = await page.ask({
      path: "/v1/tasks",
      query: new URLSearchParams({
        status,
        count: "true",
        limit: "1",
        fields: "status",
      }),
    });
    const { count = 0, count_is_exact: isExact = true } = body as ShownList<
      unknown
    >;
    return { status, text: count.toLocaleString("en") + (isExact ? "" : "+") };
  }));
}

function Counts(
  { page: { base }, counts }: {
    readonly page: PageCall;
    readonly counts: readonly Count[];
  },
): VNode {
  return (
    <Tiles
      tiles={counts.map(({ status, text }) => ({
        name: status,
        value: text,
        href: withQuery(`${base}/tasks`, { status }),
        ...(text === "0" ? {} : { tone: toneOf(status) }),
      }))}
    />
  );
}

function Failed(
  { page: { base, nowMs }, tasks }: {
    readonly page: PageCall;
    readonly tasks: readonly ShownTask[];
  },
): VNode {
  return (
    <section aria-labelledby="failed">
      <h2 id="failed">Newest failed tasks</h2>
      {tasks.length === 0 ? <Empty>No task has failed.</Empty> : (
        <Table
          label="Newest failed tasks"
          rows={tasks}
          columns={[
            {
              name: "Task",
              cell: ({ id }) => <TaskLink base={base} id={id} />,
            },
            {
              name: "Status",
              cell: ({ status }) => <StatusBadge status={status} />,
            },
            {
              name: "Worker · job",
              cell: ({ worker, job }) => `${worker} · ${job}`,
            },
            {
              name: "Failed",
              cell: ({ updated_at: at }) => <Time at={at} nowMs={nowMs} />,
            },
            {
              name: "Error",
              cell: ({ error }) =>
                error === null ? null : `${error.code}: ${error.message}`,
            },
          ]}
        />
      )}
    </section>
  );
}
