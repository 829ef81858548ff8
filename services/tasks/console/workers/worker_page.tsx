/**
 * The page of a worker: how it is, its instances, tasks, definition and secrets.
 *
 * @module
 */

import type { VNode } from "preact";
import { CsrfField } from "../../../shared/console/layout.tsx";
import {
  FactList,
  formatCount,
  formatLength,
  Live,
  Note,
  Tiles,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  withQuery,
} from "../parts/page.ts";
import { durationWords, prettyJson } from "../tasks/task_parts.tsx";
import { askSecrets, WorkerSecrets } from "./worker_secrets.tsx";
import {
  type ShownWorker,
  WorkerBadge,
  WorkerSentence,
} from "./worker_parts.tsx";

/** Shows a worker. */
export async function workerPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const answer = await page.ask({ path: workerPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const worker = answer.body as ShownWorker;
  const secrets = may(page, "secrets:read")
    ? await askSecrets(page, worker.id)
    : undefined;
  const isWriter = may(page, "workers:write");
  const here = `${base}/workers/${worker.id}`;
  return {
    kind: "page",
    title: `Worker ${worker.name}`,
    heading: <span>{worker.name}</span>,
    actions: isWriter
      ? (
        <>
          {worker.kind === "push"
            ? <a class="button" href={`${here}/test`}>Test call</a>
            : null}
          <a class="button" href={`${here}/edit`}>Edit</a>
        </>
      )
      : null,
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
          {secrets === undefined
            ? null
            : <WorkerSecrets page={page} worker={worker} secrets={secrets} />}
        </div>
      </>
    ),
  };
}

/** The path of the API of the worker that a page is of. */
export function workerPath({ params: { id = "" } }: PageCall): string {
  return `/v1/workers/${encodeURIComponent(id)}`;
}

function Counts(
  { worker: { name, counts }, base }: {
    readonly worker: ShownWorker;
    readonly base: string;
  },
): VNode {
  return (
    <Tiles
      tiles={(["waiting", "running", "retry", "failed"] as const).map(
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
    <section aria-labelledby="instances">
      <h2 id="instances">Instances</h2>
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
              {
                name: "Last asked",
                cell: ({ last_seen_at: at }) => <Time at={at} nowMs={nowMs} />,
              },
            ]}
          />
        )}
    </section>
  );
}

function Actions(
  { page, worker }: { readonly page: PageCall; readonly worker: ShownWorker },
): VNode {
  const { base, csrf } = page;
  return (
    <section aria-label="Actions">
      <form
        method="post"
        action={`${base}/workers/${worker.id}`}
        class="row"
      >
        <CsrfField csrf={csrf} />
        {worker.paused
          ? <button type="submit" name="action" value="resume">Resume</button>
          : <button type="submit" name="action" value="pause">Pause</button>}
        <button
          type="submit"
          name="action"
          value="remove"
          class="danger"
          data-confirm="Remove this worker with its secrets and credentials?"
        >
          Remove
        </button>
        <button
          type="submit"
          name="action"
          value="remove-all"
          class="danger"
          data-confirm="Cancel all live tasks of this worker and remove it?"
        >
          Remove and cancel its tasks
        </button>
      </form>
    </section>
  );
}

function Definition({ worker }: { readonly worker: ShownWorker }): VNode {
  const { jobs, limits, headers, retry } = worker;
  return (
    <section aria-labelledby="definition">
      <h2 id="definition">Definition</h2>
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
          [
            "Limits",
            limits === null ? null : <code>{prettyJson(limits)}</code>,
          ],
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
    </section>
  );
}

/** Does what a button of a worker's page says. */
export async function actOnWorker(page: PageCall): Promise<PageAnswer> {
  const { base, form } = page;
  const path = workerPath(page);
  const action = form.get("action") ?? "";
  if (action === "remove" || action === "remove-all") {
    const answer = await page.ask({
      method: "DELETE",
      path,
      ...(action === "remove"
        ? {}
        : { query: new URLSearchParams({ cancel: "true" }) }),
    });
    return refusalOf(answer) ??
      { kind: "redirect", to: `${base}/workers?done=removed` };
  }
  const answer = await page.ask({
    method: "POST",
    path: `${path}/${encodeURIComponent(action)}`,
  });
  const [here = ""] = page.path.split("?", 1);
  return refusalOf(answer) ??
    { kind: "redirect", to: `${here}?done=worker_${action}` };
}
