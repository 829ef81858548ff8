/**
 * The list of schedules: tasks that repeat, by their next run.
 *
 * @module
 */

import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../../shared/console/form.tsx";
import { Badge, Empty, Live, Time } from "../../../shared/console/parts.tsx";
import { type Column, Pager, Table } from "../../../shared/console/table.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import {
  hasClockChange,
  previewOfTask,
  repeatOf,
  RuleText,
  slipOf,
  ZoneTime,
} from "./schedule_parts.tsx";
import { type ShownTask, StatusBadge } from "../tasks/task_parts.tsx";

/** Schedules of a page, and the times of each that are looked at. */
const LIMIT = 25;
const TIMES = 14;

const FIELDS = [
  ...["status", "worker", "job", "key", "date", "first_date", "timezone"],
  ...["repeat", "missed", "lag", "duration", "error", "repetitions"],
].join(",");

/** A schedule with what is to be known of its next times. */
interface Row {
  readonly task: ShownTask;
  readonly clockChanges: boolean;
  readonly slip: string | undefined;
}

/** Shows a page of the list. */
export async function scheduleListPage(page: PageCall): Promise<PageAnswer> {
  const { base, query } = page;
  const worker = query.get("worker")?.trim() ?? "";
  const status = query.get("status") ?? "";
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({
    repeats: "true",
    status: status === "" ? "active,paused" : status,
    worker,
    cursor,
    sort: "date",
    order: status === "final" ? "desc" : "asc",
    limit: String(LIMIT),
    fields: FIELDS,
  }).filter(([, value]) => value !== "");
  const answer = await page.ask({
    path: "/v1/tasks",
    query: new URLSearchParams(asked),
  });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data, next } = answer.body as ShownList<ShownTask>;
  const rows = await Promise.all(data.map((task) => rowOf(page, task)));
  const path = `${base}/schedules`;
  const isWriter = may(page, "tasks:write");
  return {
    kind: "page",
    title: "Schedules",
    actions: isWriter
      ? <a class="button primary" href={`${base}/tasks/new`}>New schedule</a>
      : null,
    content: (
      <>
        <Filters path={path} worker={worker} status={status} />
        {rows.length === 0 && next === null && cursor === ""
          ? (
            <Empty>
              <p>
                {worker === "" && status === ""
                  ? "No task repeats. One that is made with a cron expression " +
                    "or an interval shows here."
                  : "No schedule matches."}
              </p>
            </Empty>
          )
          : (
            <>
              <Live id="schedules">
                <Table
                  label="Schedules"
                  rows={rows}
                  columns={columnsOf(page)}
                />
              </Live>
              <Pager
                first={cursor === ""
                  ? undefined
                  : withQuery(path, { worker, status })}
                next={next === null
                  ? undefined
                  : withQuery(path, { worker, status, cursor: next })}
              />
            </>
          )}
      </>
    ),
  };
}

async function rowOf(page: PageCall, task: ShownTask): Promise<Row> {
  const preview = await previewOfTask(page, task, TIMES);
  return {
    task,
    clockChanges: preview !== undefined && hasClockChange(preview),
    slip: slipOf(
      { ...task, next: preview?.data.map(({ at }) => at) ?? [] },
      page.nowMs,
    ),
  };
}

function Filters(
  { path, worker, status }: {
    readonly path: string;
    readonly worker: string;
    readonly status: string;
  },
): VNode {
  return (
    <search class="section">
      <form method="get" action={path} class="filters">
        <TextField name="worker" label="Worker" value={worker} isSearch />
        <ChoiceField
          name="status"
          label="Status"
          value={status}
          choices={[
            ["", "Not ended"],
            ["active", "Going on"],
            ["paused", "Paused"],
            ["final", "Ended"],
          ]}
        />
        <div class="row">
          <button type="submit" class="primary">Show</button>
        </div>
      </form>
    </search>
  );
}

function columnsOf({ base, nowMs }: PageCall): readonly Column<Row>[] {
  return [
    {
      name: "Schedule",
      cell: ({ task: { id, worker, job, key } }) => (
        <span>
          <a href={`${base}/schedules/${id}`}>{`${worker} · ${job}`}</a>
          {key === null ? null : <span class="dim">{` ${key}`}</span>}
        </span>
      ),
    },
    {
      name: "Status",
      cell: ({ task: { status } }) => <StatusBadge status={status} />,
    },
    {
      name: "Repeats",
      cell: ({ task }) => {
        const repeat = repeatOf(task);
        return repeat === undefined ? null : <RuleText repeat={repeat} />;
      },
    },
    {
      name: "Next run",
      cell: ({ task: { date, timezone } }) => (
        <span>
          <ZoneTime at={date} timezone={timezone} />{" "}
          <span class="dim">{timezone}</span>
        </span>
      ),
    },
    {
      name: "In",
      cell: ({ task: { date } }) => <Time at={date} nowMs={nowMs} />,
    },
    {
      name: "Look at",
      cell: ({ task: { missed, error }, clockChanges, slip }) => {
        const notes = [
          error === null
            ? null
            : <Badge tone="bad">{`Failed: ${error.code}`}</Badge>,
          slip === undefined ? null : (
            <span title={slip}>
              <Badge tone="warn">Slips</Badge>
            </span>
          ),
          missed === 0 ? null : <Badge tone="warn">{`${missed} missed`}</Badge>,
          clockChanges
            ? <Badge tone="calm" isHollow>Clock change ahead</Badge>
            : null,
        ].filter((note) => note !== null);
        return notes.length === 0 ? null : <span class="row">{notes}</span>;
      },
    },
  ];
}
