/**
 * The list of tasks: filters that the address keeps, a search by id or key, and
 * actions on the ticked tasks or on all that match.
 *
 * @module
 */

import type { VNode } from "preact";
import { formFields } from "../../../shared/console/form.tsx";
import { Empty, formatCount, Live } from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import { TASK_STATUSES } from "../../domain/task.ts";
import { ALL, linkButtons, ListPager, listQuestion } from "../parts/list.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  type Texts,
  withQuery,
} from "../parts/page.ts";
import { filterOf, isTaskId, toListQuery } from "./task_filter.ts";
import { type ShownTask, StatusBadge, TaskLink } from "./task_parts.tsx";

const FIELDS = [
  ...["status", "worker", "job", "key", "group", "date", "created_at"],
  ...["updated_at", "executions", "repeat", "error", "tags"],
].join(",");

/** Shows a page of the list. */
export async function taskListPage(page: PageCall): Promise<PageAnswer> {
  const { base, query } = page;
  const search = query.get("q")?.trim() ?? "";
  if (isTaskId(search)) return goTo(`${base}/tasks/${search}`);
  if (search !== "") return goTo(withQuery(`${base}/tasks`, { key: search }));
  const filter = filterOf(query);
  const [answer, workers] = await Promise.all([
    page.ask(listQuestion(page, "/v1/tasks", {
      ...Object.fromEntries(toListQuery(filter)),
      ...orderOf(query, filter),
      fields: FIELDS,
      count: query.has("cursor") ? "" : "true",
    })),
    workerNames(page),
  ]);
  return refusalOf(answer) ?? {
    kind: "page",
    title: "Tasks",
    actions: linkButtons(page, [["/tasks/new", "New task", "tasks:write"]]),
    content: (
      <>
        <Filters filter={filter} page={page} workers={workers} />
        <List
          page={page}
          filter={filter}
          list={answer.body as ShownList<ShownTask>}
        />
      </>
    ),
  };
}

/** The names of workers, for the filter; none where they are not shown. */
async function workerNames(page: PageCall): Promise<readonly string[]> {
  const { status, body } = await page.ask({ path: "/v1/workers", query: ALL });
  return status === 200
    ? (body as ShownList<Texts<"name">>).data.map(({ name }) => name)
    : [];
}

interface Order {
  readonly sort: "date" | "created_at";
  readonly order: "asc" | "desc";
}

/** Statuses whose first task is the one that is due next. */
const AHEAD = ["scheduled", "waiting", "retry"];

/**
 * The newest come first, unless the address says something else. Statuses,
 * workers and keys are found by date: an order by creation would look at tasks
 * of all others, too.
 */
function orderOf(query: URLSearchParams, filter: URLSearchParams): Order {
  const sort = query.get("sort");
  const isByDate = sort === "date" || sort === null && filter.size > 0;
  const order = query.get("order");
  const isAhead = isByDate &&
    (filter.has("waiting") || AHEAD.includes(filter.get("status") ?? ""));
  return {
    sort: isByDate ? "date" : "created_at",
    order: order === "asc" || order === null && isAhead ? "asc" : "desc",
  };
}

function Filters(
  { filter, page, workers }: {
    readonly filter: URLSearchParams;
    readonly page: PageCall;
    readonly workers: readonly string[];
  },
): VNode {
  const { text, choice } = formFields(filter);
  const more = ["group", "tag", "metadata", "error", "start", "end"];
  return (
    <search class="section">
      <form method="get" action={page.here}>
        <div class="filters">
          {text("q", "Id or key", {
            value: undefined,
            type: "search",
            placeholder: "tsk_… or a key",
            isSearch: true,
          })}
          {choice("status", "Status", {
            choices: [
              ["", "Any status"],
              ["active", "Active: live and not paused"],
              ["final", "Final: has ended"],
              ...TASK_STATUSES,
            ],
          })}
          {choice("waiting", "Waiting for", {
            choices: [
              ["", "Anything"],
              ["approval", "An approval"],
              ["event", "An event"],
            ],
          })}
          {text("worker", "Worker", { offers: workers })}
          {text("job", "Job")}
          <div class="row">
            <button type="submit" class="primary">Show</button>
            {filter.size === 0
              ? null
              : <a class="button" href={page.here}>All tasks</a>}
          </div>
        </div>
        <details class="more" open={more.some((name) => filter.has(name))}>
          <summary>More filters</summary>
          <div class="filters">
            {text("key", "Key")}
            {text("group", "Group")}
            {text("tag", "Tags")}
            {text("metadata", "Metadata", {
              placeholder: "plan=pro, region=eu",
            })}
            {text("error", "Error code")}
            {text("start", "From", { placeholder: "2027-01-15" })}
            {text("end", "Up to", { placeholder: "2027-01-15T08:00Z" })}
            {choice("by", "From and up to bound", {
              choices: [
                ["", "the date"],
                ["created_at", "when it was created"],
                ["finished_at", "when it ended"],
              ],
            })}
          </div>
        </details>
      </form>
    </search>
  );
}

function List(
  { page, filter, list }: {
    readonly page: PageCall;
    readonly filter: URLSearchParams;
    readonly list: ShownList<ShownTask>;
  },
): VNode {
  const { query, base } = page;
  const path = `${base}/tasks`;
  const here = Object.fromEntries(filter);
  const order = orderOf(query, filter);
  const mayChange = may(page, "tasks:write");
  if (list.data.length === 0 && list.next === null) {
    return (
      <Empty>
        {filter.size === 0
          ? (
            <p>
              There are no tasks yet. The first one that is created shows here.
            </p>
          )
          : (
            <p>
              No task matches. <a href={path}>Show all tasks</a>
            </p>
          )}
      </Empty>
    );
  }
  const table = (
    <>
      <Live id="tasks">
        <Table
          label="Tasks"
          columns={columnsOf(page, { here, order })}
          rows={list.data}
          pick={mayChange ? ({ id }) => [id, id] : undefined}
        />
      </Live>
      <ListPager page={page} list={list} kept={{ ...here, ...order }} />
    </>
  );
  const { count, count_is_exact: isExact = true } = list;
  return (
    <>
      {count === undefined ? null : (
        <p class="dim">
          {`${isExact ? "" : "More than "}${formatCount(count)} ${
            count === 1 ? "task" : "tasks"
          }, `}
          {order.sort === "date" ? "by date" : "by creation"}
        </p>
      )}
      {mayChange
        ? (
          <form method="get" action={`${path}/bulk`}>
            <input type="hidden" name="filter" value={filter.toString()} />
            <BulkBar filter={filter} />
            {table}
          </form>
        )
        : table}
    </>
  );
}

/** The actions on many tasks, by their names in the API. */
export const BULK_ACTIONS: readonly (readonly [string, string])[] = [
  ["retry", "Retry"],
  ["cancel", "Cancel"],
  ["pause", "Pause"],
  ["resume", "Resume"],
  ["run", "Run now"],
];

function BulkBar({ filter }: { readonly filter: URLSearchParams }): VNode {
  return (
    <div class="row section">
      <label for="action" class="dim">Action</label>
      <div>
        <select name="action" id="action">
          {BULK_ACTIONS.map(([name, text]) => (
            <option value={name}>{text}</option>
          ))}
        </select>
      </div>
      <button type="submit" name="on" value="ids">Preview for ticked</button>
      {
        // Bulk actions have no such condition.
        filter.size === 0 || filter.has("waiting")
          ? null
          : (
            <button type="submit" name="on" value="filter">
              Preview for all that match
            </button>
          )
      }
    </div>
  );
}

function columnsOf(
  { base, nowMs }: PageCall,
  { here, order }: {
    readonly here: Readonly<Record<string, string>>;
    readonly order: Order;
  },
): readonly Column<ShownTask>[] {
  const sorting = (sort: Order["sort"]): Partial<Column<ShownTask>> => {
    const isSorted = order.sort === sort;
    const next = isSorted && order.order === "desc" ? "asc" : "desc";
    return {
      sortHref: withQuery(`${base}/tasks`, { ...here, sort, order: next }),
      sorted: isSorted
        ? order.order === "asc" ? "ascending" : "descending"
        : undefined,
    };
  };
  return [
    { name: "Task", cell: (task) => <Name base={base} task={task} /> },
    { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
    {
      name: "Worker · job",
      cell: ({ worker, job }) => <span>{`${worker} · ${job}`}</span>,
    },
    { ...{ name: "Date", at: ({ date }) => date, nowMs }, ...sorting("date") },
    {
      name: "Created",
      at: ({ created_at: at }) => at,
      nowMs,
      ...sorting("created_at"),
    },
    {
      name: "Attempts",
      cell: ({ executions }) => executions || null,
      isNumber: true,
    },
    {
      name: "Last error",
      cell: ({ error }) =>
        error === null
          ? null
          : <span class="bad" title={error.message}>{error.code}</span>,
    },
  ];
}

/** The key of a task says more than its id, and its tags say more yet. */
function Name(
  { base, task: { id, key, tags } }: {
    readonly base: string;
    readonly task: ShownTask;
  },
): VNode {
  return (
    <span>
      {key === null
        ? <TaskLink base={base} id={id} />
        : <a href={`${base}/tasks/${id}`} title={id}>{key}</a>}
      {tags.map((tag) => (
        <>
          {" "}
          <a class="tag" href={withQuery(`${base}/tasks`, { tag })}>{tag}</a>
        </>
      ))}
    </span>
  );
}

/** The address of the list with a filter that a form has kept. */
export function listPath(base: string, filter: URLSearchParams): string {
  return withQuery(`${base}/tasks`, Object.fromEntries(filterOf(filter)));
}
