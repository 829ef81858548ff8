/**
 * The first page: how many tasks there are in each status, what needs
 * attention, the last day, the queues, and the newest failures.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Empty,
  formatCount,
  Live,
  Section,
  Tiles,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import type { TaskStatus } from "../../domain/task.ts";
import { askAlerts } from "../alerts/alert_pages.tsx";
import { Activity, type ShownActivity } from "./activity.tsx";
import { Attention, type ShownAttention } from "./attention.tsx";
import { Queues, type ShownQueue } from "./queues.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import {
  type ShownTask,
  STATUS_TONES,
  StatusBadge,
  TaskLink,
} from "../tasks/task_parts.tsx";
import { askWebhooks } from "../webhooks/webhook_parts.tsx";

const FAILED = 10;

/** The overview as the API shows it. */
interface ShownOverview extends ShownAttention {
  readonly counts: Readonly<Record<TaskStatus, number>>;
  readonly late: number;
  readonly late_is_exact: boolean;
  readonly workers: readonly ShownQueue[];
  readonly jobs: readonly ShownQueue[];
  readonly activity: ShownActivity;
}

/** Shows the overview. */
export async function overviewPage(page: PageCall): Promise<PageAnswer> {
  const [answer, failing, webhooks, alerts] = await Promise.all([
    page.ask({ path: "/v1/overview" }),
    page.ask({
      path: "/v1/tasks",
      query: new URLSearchParams({
        status: "failed",
        sort: "date",
        order: "desc",
        limit: String(FAILED),
        fields: "status,worker,job,updated_at,error,executions",
      }),
    }),
    askWebhooks(page),
    askAlerts(page),
  ]);
  const refusal = refusalOf(answer) ?? refusalOf(failing);
  if (refusal !== undefined) return refusal;
  const overview = answer.body as ShownOverview;
  const { data } = failing.body as ShownList<ShownTask>;
  return {
    kind: "page",
    title: "Overview",
    content: (
      <Live id="overview">
        <Counts base={page.base} overview={overview} />
        <Attention
          page={page}
          overview={overview}
          webhooks={webhooks}
          alerts={alerts}
        />
        <Activity activity={overview.activity} />
        <Queues page={page} workers={overview.workers} jobs={overview.jobs} />
        <Failed page={page} tasks={data} />
      </Live>
    ),
  };
}

const SHOWN: readonly TaskStatus[] = [
  ...["running", "waiting", "retry", "scheduled", "blocked"] as const,
  ...["paused", "failed", "expired", "complete"] as const,
];

function Counts(
  { base, overview: { counts, late, late_is_exact: isExact } }: {
    readonly base: string;
    readonly overview: ShownOverview;
  },
): VNode {
  const list = (by: Readonly<Record<string, string>>): string =>
    withQuery(`${base}/tasks`, by);
  return (
    <Tiles
      tiles={[
        ...SHOWN.map((status) => ({
          name: status,
          value: formatCount(counts[status]),
          href: list({ status }),
          ...(counts[status] === 0 ? {} : { tone: STATUS_TONES[status] }),
        })),
        {
          name: "late",
          value: formatCount(late) + (isExact ? "" : "+"),
          href: list({ status: "waiting", sort: "date", order: "asc" }),
          ...(late === 0 ? {} : { tone: "bad" as const }),
        },
      ]}
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
    <Section id="failed" title="Newest failed tasks">
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
            { name: "Failed", at: ({ updated_at: at }) => at, nowMs },
            {
              name: "Error",
              cell: ({ error }) =>
                error === null ? null : `${error.code}: ${error.message}`,
            },
          ]}
        />
      )}
    </Section>
  );
}
