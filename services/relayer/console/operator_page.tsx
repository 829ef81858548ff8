/**
 * The operator's page, on the port of the metrics: counts, queues, rates and
 * instances. It names no owner and shows nothing that is stored.
 *
 * @module
 */

import type { VNode } from "preact";
import { assetAnswer, findAsset } from "../../shared/console/assets.ts";
import { CONSOLE_HEADERS, renderPage } from "../../shared/console/layout.tsx";
import {
  Badge,
  Empty,
  FactList,
  formatLength,
  Live,
  Tiles,
  Time,
} from "../../shared/console/parts.tsx";
import { Bars } from "../../shared/console/plot.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import type { Duty, Member } from "../../shared/members.ts";
import { type Activity, STEP_MS } from "./activity_log.ts";
import {
  type MetricSamples,
  quantileOf,
  readSamples,
  sumOf,
} from "./metric_samples.ts";

/** The relayers on one store. */
interface OperatorInstances {
  /** The id of this one. */
  readonly id: string;
  readonly members: readonly Member[];
  readonly duties: readonly Duty[];
}

/** What the page is made from. */
export interface OperatorView {
  /** The metrics in the format of Prometheus. */
  readonly metrics: string;
  /** The last hour. */
  readonly activity: Activity;
  /** The relayers on this store; undefined before it is open. */
  readonly instances: OperatorInstances | undefined;
  /** The version of the program. */
  readonly version: string;
}

const BASE = "/console";

/** The parts of the page, by the ids of their headings. */
const SECTIONS = [
  ["hour", "The last hour"],
  ["requests", "Requests"],
  ["partners", "Models and blobs"],
  ["inside", "This relayer"],
  ["instances", "Instances"],
] as const;

/** Answers a request for the page, or for what it loads. */
export async function answerOperator(
  { method, target, headers }: Pick<
    HttpRequest,
    "method" | "target" | "headers"
  >,
  view: () => Promise<OperatorView>,
): Promise<HttpResponse> {
  const [path = ""] = target.split("?", 1);
  const asset = findAsset(path.replace(`${BASE}/assets/`, ""));
  if (path !== BASE && asset === undefined) {
    return { status: 404, headers: { "cache-control": "no-store" } };
  }
  if (method !== "GET" && method !== "HEAD") {
    return { status: 405, headers: { allow: "GET, HEAD" } };
  }
  return asset === undefined
    ? {
      status: 200,
      headers: CONSOLE_HEADERS,
      body: operatorHtml(await view()),
    }
    : await assetAnswer(asset, headers);
}

/** Renders the page. */
export function operatorHtml(view: OperatorView): string {
  const samples = readSamples(view.metrics);
  return renderPage({
    service: "relayer",
    place: "operator",
    title: "What the relayer does",
    base: BASE,
    path: BASE,
    links: SECTIONS.map(([id, text]) => ({ href: `#${id}`, text })),
    theme: "system",
    refreshSeconds: 10,
    content: (
      <Live id="now">
        <Now samples={samples} />
        <LastHour activity={view.activity} />
        <Requests samples={samples} />
        <Partners samples={samples} />
        <Inside samples={samples} version={view.version} />
        <Instances instances={view.instances} />
      </Live>
    ),
  });
}

function Now({ samples }: { readonly samples: MetricSamples }): VNode {
  const accepted = sumOf(samples, "relayer_jobs_accepted_total");
  const ended = sumOf(samples, "relayer_jobs_ended_total");
  const lagMs = sumOf(samples, "relayer_job_lag_seconds") * 1_000;
  const failed = sumOf(
    samples,
    "relayer_jobs_ended_total",
    ({ outcome }) => outcome !== "done",
  );
  return (
    <Tiles
      tiles={[
        {
          name: "memories",
          value: sumOf(samples, "relayer_memories"),
          href: "#inside",
        },
        {
          name: "jobs accepted and not ended",
          value: Math.max(0, accepted - ended),
          href: "#hour",
        },
        {
          name: "the oldest due job waits",
          value: formatLength(lagMs),
          href: "#hour",
          ...lagMs > 60_000 ? { tone: "warn" } : {},
        },
        {
          name: "jobs failed since the start",
          value: failed,
          href: "#hour",
          ...failed > 0 ? { tone: "bad" } : {},
        },
      ]}
    />
  );
}

function LastHour({ activity }: { readonly activity: Activity }): VNode {
  const plots = [
    ["Requests", activity.requests, false],
    ["Answers with status 500 and above", activity.failures, true],
    ["Jobs accepted", activity.accepted, false],
    ["Jobs ended", activity.ended, false],
  ] as const;
  return (
    <section class="section" aria-labelledby="hour">
      <h2 id="hour">The last hour</h2>
      <div class="grid">
        {plots.map(([label, steps, isBad]) => {
          const values = byMinute(steps);
          return (
            <figure>
              <figcaption class="dim">
                {`${label}: ${values.at(-1) ?? 0} in the last minute, ${
                  values.reduce((sum, value) => sum + value, 0)
                } in the hour`}
              </figcaption>
              <Bars
                label={`${label} by minute`}
                values={values}
                isBad={isBad}
              />
            </figure>
          );
        })}
      </div>
    </section>
  );
}

function byMinute(steps: readonly number[]): readonly number[] {
  const size = 60_000 / STEP_MS;
  return Array.from(
    { length: Math.ceil(steps.length / size) },
    (_, at) =>
      steps.slice(at * size, (at + 1) * size)
        .reduce((sum, value) => sum + value, 0),
  );
}

function Requests({ samples }: { readonly samples: MetricSamples }): VNode {
  const total = "relayer_http_requests_total";
  const routes = labelsOf(samples, total, "route");
  return (
    <section class="section" aria-labelledby="requests">
      <h2 id="requests">Requests since the start</h2>
      {routes.length === 0 ? <Empty>There were none.</Empty> : (
        <Table
          label="Requests by route"
          rows={routes}
          columns={[
            { name: "Route", cell: (route) => route },
            ...(["2", "4", "5"] as const).map((first) => ({
              name: `${first}xx`,
              isNumber: true,
              cell: (route: string) =>
                sumOf(
                  samples,
                  total,
                  (labels) =>
                    labels["route"] === route &&
                    labels["status"]?.[0] === first,
                ),
            })),
            ...[0.5, 0.99].map((share) => ({
              name: `${share * 100} % within`,
              isNumber: true,
              cell: (route: string) =>
                formatBound(
                  quantileOf(samples, "relayer_http_request_duration_seconds", {
                    share,
                    fits: (labels) => labels["route"] === route,
                  }),
                ),
            })),
          ]}
        />
      )}
    </section>
  );
}

function Partners({ samples }: { readonly samples: MetricSamples }): VNode {
  const rows = (["model", "blob"] as const).flatMap((kind) =>
    labelsOf(samples, `relayer_${kind}_calls_total`, "operation")
      .map((operation) => ({ kind, operation }))
  );
  const count = (
    { kind, operation }: typeof rows[number],
    isOk: boolean,
  ): number =>
    sumOf(
      samples,
      `relayer_${kind}_calls_total`,
      (labels) =>
        labels["operation"] === operation &&
        (labels["outcome"] === "ok") === isOk,
    );
  return (
    <section class="section" aria-labelledby="partners">
      <h2 id="partners">Calls of models and blob stores</h2>
      {rows.length === 0 ? <Empty>There were none.</Empty> : (
        <Table
          label="Calls by operation"
          rows={rows}
          columns={[
            {
              name: "Operation",
              cell: ({ kind, operation }) => `${kind}: ${operation}`,
            },
            { name: "Done", isNumber: true, cell: (row) => count(row, true) },
            {
              name: "Failed",
              isNumber: true,
              cell: (row) => count(row, false),
            },
            {
              name: "99 % within",
              isNumber: true,
              cell: ({ kind, operation }) =>
                formatBound(
                  quantileOf(
                    samples,
                    `relayer_${kind}_call_duration_seconds`,
                    {
                      share: 0.99,
                      fits: (labels) => labels["operation"] === operation,
                    },
                  ),
                ),
            },
          ]}
        />
      )}
    </section>
  );
}

function Inside(
  { samples, version }: {
    readonly samples: MetricSamples;
    readonly version: string;
  },
): VNode {
  const one = (name: string): number => sumOf(samples, name);
  const mebibytes = (name: string): string =>
    `${(one(name) / 1_048_576).toFixed(1)} MiB`;
  const outdated = sumOf(
    samples,
    "relayer_index_renewal_memories",
    ({ state }) => state === "waiting" || state === "unchecked",
  );
  const startMs = one("process_start_time_seconds") * 1_000;
  return (
    <section class="section" aria-labelledby="inside">
      <h2 id="inside">This relayer</h2>
      <FactList
        facts={[
          [
            "Writes",
            one("relayer_write_ready") === 1
              ? <Badge tone="good">are taken</Badge>
              : <Badge tone="bad">get 503</Badge>,
          ],
          ["Version", version],
          ["Started", <Time at={new Date(startMs).toISOString()} />],
          ["Memory", mebibytes("process_resident_memory_bytes")],
          [
            "Index",
            `${one("relayer_index_memories")} memories in ${
              mebibytes("relayer_index_bytes")
            }; owners left memory ${
              one("relayer_index_evictions_total")
            } times`,
          ],
          ["Entries to check or renew", outdated],
          [
            "Commits",
            `${one("relayer_store_commits_total")}; 99 % within ${
              formatBound(
                quantileOf(samples, "relayer_store_commit_duration_seconds", {
                  share: 0.99,
                }),
              )
            }`,
          ],
          [
            "Timers are late by",
            formatBound(
              quantileOf(samples, "process_event_loop_lag_seconds", {
                share: 0.99,
              }),
            ),
          ],
        ]}
      />
    </section>
  );
}

function Instances(
  { instances }: { readonly instances: OperatorInstances | undefined },
): VNode {
  const { id: own, members = [], duties = [] } = instances ?? {};
  return (
    <section class="section" aria-labelledby="instances">
      <h2 id="instances">Instances</h2>
      <Table
        label="Instances on this store"
        rows={members}
        columns={[
          {
            name: "Instance",
            cell: ({ id }) => id === own ? `${id} (this one)` : id,
          },
          { name: "Address", cell: ({ address }) => address },
          { name: "Version", cell: ({ version }) => version },
          {
            name: "Since",
            cell: ({ joinedAtMs }) => (
              <Time at={new Date(joinedAtMs).toISOString()} />
            ),
          },
          {
            name: "Does for all",
            cell: ({ id }) =>
              duties.filter(({ holder }) => holder === id)
                .map(({ name }) => name).join(", "),
          },
        ]}
      />
    </section>
  );
}

function labelsOf(
  samples: MetricSamples,
  name: string,
  label: string,
): readonly string[] {
  const values = (samples.get(name) ?? []).map(({ labels }) =>
    labels[label] ?? ""
  );
  return [...new Set(values)].sort();
}

/** A bound of a histogram of seconds. */
function formatBound(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  return seconds === Infinity ? "longer" : formatLength(seconds * 1_000);
}
