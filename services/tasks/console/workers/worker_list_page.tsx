/**
 * The list of workers.
 *
 * @module
 */

import {
  Empty,
  formatCount,
  Live,
  Time,
} from "../../../shared/console/parts.tsx";
import { type Column, Pager, Table } from "../../../shared/console/table.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import { type ShownWorker, WorkerBadge } from "./worker_parts.tsx";

/** Workers of a page. */
const LIMIT = 50;

/** Shows a page of the list. */
export async function workerListPage(page: PageCall): Promise<PageAnswer> {
  const { base, query } = page;
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({ limit: String(LIMIT), cursor })
    .filter(([, value]) => value !== "");
  const answer = await page.ask({
    path: "/v1/workers",
    query: new URLSearchParams(asked),
  });
  const { data, next } = answer.body as ShownList<ShownWorker>;
  const path = `${base}/workers`;
  return refusalOf(answer) ?? {
    kind: "page",
    title: "Workers",
    actions: may(page, "workers:write")
      ? <a class="button primary" href={`${path}/new`}>New worker</a>
      : null,
    content: data.length === 0
      ? (
        <Empty>
          <p>There are no workers yet. Tasks need one that does them.</p>
        </Empty>
      )
      : (
        <Live id="workers">
          <Table label="Workers" rows={data} columns={columnsOf(page)} />
          <Pager
            first={cursor === "" ? undefined : path}
            next={next === null ? undefined : withQuery(path, { cursor: next })}
          />
        </Live>
      ),
  };
}

function columnsOf({ base, nowMs }: PageCall): readonly Column<ShownWorker>[] {
  const count = (
    name: string,
    status: keyof ShownWorker["counts"],
  ): Column<ShownWorker> => ({
    name,
    isNumber: true,
    cell: ({ name, counts: { [status]: count } }) =>
      count === 0
        ? "0"
        : (
          <a href={withQuery(`${base}/tasks`, { worker: name, status })}>
            {formatCount(count)}
          </a>
        ),
  });
  return [
    {
      name: "Worker",
      cell: ({ id, name }) => <a href={`${base}/workers/${id}`}>{name}</a>,
    },
    { name: "Status", cell: ({ status }) => <WorkerBadge status={status} /> },
    { name: "Kind", cell: ({ kind }) => kind },
    {
      name: "Last asked",
      cell: ({ kind, last_seen_at: at }) =>
        kind === "push"
          ? <span class="dim">is called</span>
          : at === null
          ? <span class="dim">not yet</span>
          : <Time at={at} nowMs={nowMs} />,
    },
    {
      name: "Instances",
      isNumber: true,
      cell: ({ kind, instances }) => kind === "push" ? null : instances.length,
    },
    count("Waiting", "waiting"),
    count("Running", "running"),
    count("Retry", "retry"),
    count("Failed", "failed"),
  ];
}
