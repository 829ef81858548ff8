/**
 * The pages of workers: the list, and each with how it is, its instances, tasks,
 * definition and secrets.
 *
 * @module
 */

import type { VNode } from "preact";
import { PostForm } from "../../../shared/console/form.tsx";
import {
  FactList,
  formatCount,
  formatLength,
  lines,
  Live,
  Note,
  Section,
  Tiles,
  Time,
} from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import { prettyJson } from "../parts/form.tsx";
import {
  linkButtons,
  listPage,
  listQuestion,
  StateBadge,
} from "../parts/list.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  withQuery,
} from "../parts/page.ts";
import { durationWords } from "../tasks/task_parts.tsx";
import { askSecrets, WorkerSecrets } from "./worker_secrets.tsx";
import {
  countColumns,
  type ShownWorker,
  WORKER_COUNTS,
  type WorkerProps,
  WorkerSentence,
} from "./worker_parts.tsx";

/** Shows a page of the list. */
export async function workerListPage(page: PageCall): Promise<PageAnswer> {
  return await listPage<ShownWorker>(page, {
    title: "Workers",
    id: "workers",
    question: listQuestion(page, "/v1/workers"),
    links: [["/workers/new", "New worker", "workers:write"]],
    empty: "There are no workers yet. Tasks need one that does them.",
    columns: columnsOf(page),
  });
}

function columnsOf(page: PageCall): readonly Column<ShownWorker>[] {
  const { base, nowMs } = page;
  return [
    {
      name: "Worker",
      cell: ({ id, name }) => <a href={`${base}/workers/${id}`}>{name}</a>,
    },
    { name: "Status", cell: ({ status }) => <StateBadge status={status} /> },
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
    ...countColumns<ShownWorker>(page, ({ name, counts }) => ({
      counts,
      of: { worker: name },
    })),
  ];
}

/** Shows a worker. */
export async function workerPage(page: PageCall): Promise<PageAnswer> {
  return await page.show<ShownWorker>(
    { path: pathOf("workers", page) },
    async (worker) => {
      const secrets = await askSecrets({ page, worker });
      const isWriter = may(page, "workers:write");
      const here = `/workers/${worker.id}`;
      return {
        kind: "page",
        title: `Worker ${worker.name}`,
        heading: <span>{worker.name}</span>,
        actions: linkButtons(page, [
          ...worker.kind === "push"
            ? [[`${here}/test`, "Test call", "workers:write"] as const]
            : [],
          [`${here}/edit`, "Edit", "workers:write"],
        ]),
        content: (
          <>
            <Live id="worker">
              <Note tone={worker.status === "stale" ? "bad" : "busy"}>
                <p class="lead">
                  <StateBadge status={worker.status} />{" "}
                  <WorkerSentence page={page} worker={worker} />
                </p>
              </Note>
              <Counts page={page} worker={worker} />
              {worker.kind === "push"
                ? null
                : <Instances page={page} worker={worker} />}
            </Live>
            {isWriter ? <Actions page={page} worker={worker} /> : null}
            <div class="grid">
              <Definition worker={worker} />
              {secrets === undefined ? null : (
                <WorkerSecrets
                  page={page}
                  worker={worker}
                  secrets={secrets}
                />
              )}
            </div>
          </>
        ),
      };
    },
  );
}

function Counts(
  { page: { base }, worker: { name, counts } }: WorkerProps,
): VNode {
  return (
    <Tiles
      tiles={WORKER_COUNTS.map(
        (status) => ({
          name: status,
          value: formatCount(counts[status]),
          href: withQuery(`${base}/tasks`, { worker: name, status }),
          ...(status === "failed" && counts.failed > 0
            ? { tone: "bad" as const }
            : {}),
        }),
      )}
    />
  );
}

function Instances(
  { page: { nowMs }, worker: { instances } }: WorkerProps,
): VNode {
  return (
    <Section id="instances" title="Instances">
      {instances.length === 0
        ? (
          <p class="dim">
            No process has asked for tasks since the service was started.
          </p>
        )
        : (
          <Table
            label="Instances"
            rows={instances}
            columns={[
              {
                name: "Instance",
                cell: ({ name }) => <span class="mono">{name}</span>,
              },
              { name: "Last asked", at: ({ last_seen_at: at }) => at, nowMs },
            ]}
          />
        )}
    </Section>
  );
}

function Actions({ page, worker: { paused } }: WorkerProps): VNode {
  return (
    <section aria-label="Actions">
      <PostForm
        page={page}
        kind="row"
        buttons={[
          paused
            ? { value: "resume", text: "Resume" }
            : { value: "pause", text: "Pause" },
          {
            value: "remove",
            text: "Remove",
            question: "Remove this worker with its secrets and credentials?",
          },
          {
            value: "remove-all",
            text: "Remove and cancel its tasks",
            question: "Cancel all live tasks of this worker and remove it?",
          },
        ]}
      />
    </section>
  );
}

function Definition({ worker }: Pick<WorkerProps, "worker">): VNode {
  const { jobs, limits, headers, retry } = worker;
  return (
    <Section id="definition" title="Definition">
      <FactList
        facts={[
          ["Id", <span class="mono">{worker.id}</span>],
          [
            "Kind",
            worker.kind === "push" ? "push: it is called" : "pull: it asks",
          ],
          [
            "URL",
            worker.url && <code>{`${worker.method} ${worker.url}`}</code>,
          ],
          [
            "Headers",
            lines(
              Object.entries(headers),
              ([name, value]) => <code>{`${name}: ${value}`}</code>,
            ),
          ],
          ["Jobs", jobs === null ? "any" : Object.keys(jobs).join(", ")],
          [
            "At once",
            worker.concurrency === 0
              ? "as many as the plan allows"
              : worker.concurrency,
          ],
          ["Limits", limits && <code>{prettyJson(limits)}</code>],
          ["Attempt", formatLength(worker.timeout)],
          ["Lease", durationWords(worker.lease)],
          [
            "Retries",
            retry === undefined
              ? null
              : retry === null
              ? "none"
              : <code>{prettyJson(retry)}</code>,
          ],
          ["Lost in a row", `${worker.max_lost} at most`],
          ["Public key", worker.public_key && <code>{worker.public_key}</code>],
          ["Created", <Time at={worker.created_at} />],
          ["Changed", <Time at={worker.updated_at} />],
        ]}
      />
    </Section>
  );
}

/** Does what a button of a worker's page says. */
export async function actOnWorker(page: PageCall): Promise<PageAnswer> {
  const { base, form } = page;
  const path = pathOf("workers", page);
  const action = form.get("action") ?? "";
  if (action === "remove" || action === "remove-all") {
    const answer = await page.ask({
      method: "DELETE",
      path,
      ...(action === "remove"
        ? {}
        : { query: new URLSearchParams({ cancel: "true" }) }),
    });
    return refusalOf(answer) ?? goTo(`${base}/workers`, "removed");
  }
  const answer = await page.ask({
    method: "POST",
    path: `${path}/${encodeURIComponent(action)}`,
  });
  return refusalOf(answer) ?? goTo(page.here, `worker_${action}`);
}
