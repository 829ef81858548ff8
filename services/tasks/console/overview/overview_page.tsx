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
  formatLength,
  Live,
  Section,
  Tiles,
  Time,
} from "../../../shared/console/parts.tsx";
import { Bars, Sparkline } from "../../../shared/console/plot.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import type { TaskStatus } from "../../domain/task.ts";
import { askAlerts } from "../alerts/alert_pages.tsx";
import { Attention, type ShownAttention } from "./attention.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  type Texts,
  withQuery,
} from "../parts/page.ts";
import {
  type ShownTask,
  STATUS_TONES,
  StatusBadge,
  TaskLink,
} from "../tasks/task_parts.tsx";
import { countColumns, type WORKER_COUNTS } from "../workers/worker_parts.tsx";
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
  const path = `${base}/tasks`;
  return (
    <Tiles
      tiles={[
        ...SHOWN.map((status) => ({
          name: status,
          value: formatCount(counts[status]),
          href: withQuery(path, { status }),
          ...(counts[status] === 0 ? {} : { tone: STATUS_TONES[status] }),
        })),
        {
          name: "late",
          value: formatCount(late) + (isExact ? "" : "+"),
          href: `${path}?status=waiting&sort=date&order=asc`,
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

/** What tasks did over time, in spans from one instant to another. */
type ShownActivity =
  & Texts<"from" | "to">
  & Readonly<
    // The lag is in milliseconds, of all tasks that began.
    Record<"completed" | "failed" | "started" | "lag_sum", readonly number[]>
  >;

/** Plots throughput, failures and lag. */
function Activity({ activity }: { readonly activity: ShownActivity }): VNode {
  const { completed, failed, started, lag_sum: lagSums, from, to } = activity;
  const lags = lagSums.map((sum, index) =>
    sum / Math.max(1, started[index] ?? 0)
  );
  const sumOf = (values: readonly number[]): string =>
    formatCount(values.reduce((sum, value) => sum + value, 0));
  const isIdle = started.every((value) => value === 0);
  return (
    <Section id="activity" title="Last 24 hours">
      <div class="grid thirds">
        <figure>
          <figcaption>{`Completed: ${sumOf(completed)}`}</figcaption>
          <Bars label="Completed tasks in 5 minutes" values={completed} />
        </figure>
        <figure>
          <figcaption>{`Failed attempts: ${sumOf(failed)}`}</figcaption>
          <Bars label="Failed attempts in 5 minutes" values={failed} isBad />
        </figure>
        <figure>
          <figcaption>
            {isIdle
              ? "Lag: nothing was started"
              : `Average lag: at most ${formatLength(Math.max(...lags))}`}
          </figcaption>
          <Sparkline
            label="Average lag in 5 minutes"
            values={lags}
            format={formatLength}
          />
        </figure>
      </div>
      <p class="dim">
        From <Time at={from} /> to <Time at={to} />
      </p>
    </Section>
  );
}

/** The tasks of a worker, or of a job of one. */
type ShownQueue =
  & Texts<"worker", "late_since">
  & Partial<Texts<"job">>
  & Readonly<Record<typeof WORKER_COUNTS[number] | "late", number>>;

/** The largest queues, by worker and by job. */
function Queues(
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

function columnsOf(page: PageCall): readonly Column<ShownQueue>[] {
  const { base, nowMs } = page;
  return [
    {
      name: "Queue",
      cell: ({ worker, job }) => (
        <a href={withQuery(`${base}/tasks`, { worker, job })}>
          {job === undefined ? worker : `${worker} · ${job}`}
        </a>
      ),
    },
    ...countColumns<ShownQueue>(page, ({ worker, job, ...counts }) => ({
      counts,
      of: { worker, job },
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
