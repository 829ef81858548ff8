/**
 * The page of a worker: how it is, its instances, tasks, definition and secrets.
 *
 * @module
 */

import type { VNode } from "preact";
import { PostForm } from "../../../shared/console/form.tsx";
import {
  FactList,
  formatCount,
  formatLength,
  Live,
  Note,
  Section,
  Tiles,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { prettyJson } from "../parts/form.tsx";
import { LinkButton } from "../parts/list.tsx";
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
  type ShownWorker,
  WORKER_COUNTS,
  WorkerBadge,
  WorkerSentence,
} from "./worker_parts.tsx";

/** Shows a worker. */
export async function workerPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  return await page.show<ShownWorker>(
    { path: pathOf("workers", page) },
    async (worker) => {
      const secrets = may(page, "secrets:read")
        ? await askSecrets(page, worker.id)
        : undefined;
      const isWriter = may(page, "workers:write");
      const here = `/workers/${worker.id}`;
      return {
        kind: "page",
        title: `Worker ${worker.name}`,
        heading: <span>{worker.name}</span>,
        actions: (
          <>
            {worker.kind === "push"
              ? (
                <LinkButton
                  page={page}
                  to={`${here}/test`}
                  needs="workers:write"
                >
                  Test call
                </LinkButton>
              )
              : null}
            <LinkButton page={page} to={`${here}/edit`} needs="workers:write">
              Edit
            </LinkButton>
          </>
        ),
        content: (
          <>
            <Live id="worker">
              <Note tone={worker.status === "stale" ? "bad" : "busy"}>
                <p class="lead">
                  <WorkerBadge status={worker.status} />{" "}
                  <WorkerSentence worker={worker} nowMs={nowMs} />
                </p>
              </Note>
              <Counts worker={worker} base={base} />
              {worker.kind === "push"
                ? null
                : <Instances worker={worker} nowMs={nowMs} />}
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
  { worker: { name, counts }, base }: {
    readonly worker: ShownWorker;
    readonly base: string;
  },
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
  { worker: { instances }, nowMs }: {
    readonly worker: ShownWorker;
    readonly nowMs: number;
  },
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

function Actions(
  { page, worker: { paused } }: {
    readonly page: PageCall;
    readonly worker: ShownWorker;
  },
): VNode {
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

function Definition({ worker }: { readonly worker: ShownWorker }): VNode {
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
            Object.entries(headers).map(([name, value]) => (
              <div>
                <code>{`${name}: ${value}`}</code>
              </div>
            )),
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
