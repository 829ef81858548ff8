/**
 * The list of workers.
 *
 * @module
 */

import { formatCount, Time } from "../../../shared/console/parts.tsx";
import type { Column } from "../../../shared/console/table.tsx";
import { LinkButton, listQuestion, LiveList } from "../parts/list.tsx";
import {
  type PageAnswer,
  type PageCall,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import {
  type ShownWorker,
  WORKER_COUNTS,
  WorkerBadge,
} from "./worker_parts.tsx";

/** Shows a page of the list. */
export async function workerListPage(page: PageCall): Promise<PageAnswer> {
  const question = listQuestion(page, "/v1/workers");
  return await page.show<ShownList<ShownWorker>>(question, (list) => ({
    kind: "page",
    title: "Workers",
    actions: (
      <LinkButton
        page={page}
        to="/workers/new"
        needs="workers:write"
        kind="primary"
      >
        New worker
      </LinkButton>
    ),
    content: (
      <LiveList
        page={page}
        id="workers"
        label="Workers"
        list={list}
        empty="There are no workers yet. Tasks need one that does them."
        columns={columnsOf(page)}
      />
    ),
  }));
}

function columnsOf({ base, nowMs }: PageCall): readonly Column<ShownWorker>[] {
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
    ...WORKER_COUNTS.map((status): Column<ShownWorker> => ({
      name: status[0]?.toUpperCase() + status.slice(1),
      isNumber: true,
      cell: ({ name, counts: { [status]: count } }) =>
        count === 0
          ? "0"
          : (
            <a href={withQuery(`${base}/tasks`, { worker: name, status })}>
              {formatCount(count)}
            </a>
          ),
    })),
  ];
}
