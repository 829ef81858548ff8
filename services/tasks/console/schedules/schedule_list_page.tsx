/**
 * The list of schedules: tasks that repeat, by their next run.
 *
 * @module
 */

import { formFields } from "../../../shared/console/form.tsx";
import { Badge, Empty, Live } from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import {
  FilterForm,
  linkButtons,
  ListPager,
  listQuestion,
} from "../parts/list.tsx";
import type { PageAnswer, PageCall, ShownList } from "../parts/page.ts";
import { type ShownTask, StatusBadge } from "../tasks/task_parts.tsx";
import {
  hasClockChange,
  previewOfTask,
  repeatOf,
  RuleText,
  slipOf,
  ZoneTime,
} from "./schedule_parts.tsx";

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
  const { query } = page;
  const worker = query.get("worker")?.trim() ?? "";
  const status = query.get("status") ?? "";
  const question = listQuestion(page, "/v1/tasks", {
    repeats: "true",
    status: status === "" ? "active,paused" : status,
    worker,
    sort: "date",
    order: status === "final" ? "desc" : "asc",
    limit: String(LIMIT),
    fields: FIELDS,
  });
  return await page.show<ShownList<ShownTask>>(question, async (list) => {
    const rows = await Promise.all(list.data.map((task) => rowOf(page, task)));
    const isWhole = list.next === null && !query.get("cursor");
    const { text, choice } = formFields(
      new URLSearchParams({ worker, status }),
    );
    return {
      kind: "page",
      title: "Schedules",
      actions: linkButtons(page, [[
        "/tasks/new",
        "New schedule",
        "tasks:write",
      ]]),
      content: (
        <>
          <FilterForm page={page}>
            {text("worker", "Worker", { isSearch: true })}
            {choice("status", "Status", {
              choices: [
                ["", "Not ended"],
                ["active", "Going on"],
                ["paused", "Paused"],
                ["final", "Ended"],
              ],
            })}
          </FilterForm>
          {rows.length === 0 && isWhole
            ? (
              <Empty>
                <p>
                  {worker === "" && status === ""
                    ? "No task repeats. One that is made with a cron " +
                      "expression or an interval shows here."
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
                <ListPager page={page} list={list} kept={{ worker, status }} />
              </>
            )}
        </>
      ),
    };
  });
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
    { name: "In", at: ({ task: { date } }) => date, nowMs },
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
