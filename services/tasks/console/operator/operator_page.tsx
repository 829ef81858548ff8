/**
 * The operator's pages of the service itself: its instances, its store and its
 * plans.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  formatCount,
  Live,
  Note,
  Time,
} from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import type { ApiAnswer } from "../../http/ask_api.ts";
import { type PageAnswer, type PageCall, refusalOf } from "../parts/page.ts";

interface ShownInstance {
  readonly id: string;
  readonly epoch: number;
  readonly version: string;
  readonly address: string;
  readonly joined_at: string;
  readonly seen_at: string;
  readonly duties: readonly string[];
  readonly is_answering: boolean;
}

/** A tenant's tasks that have not ended, as the API shows them. */
interface ShownQueue {
  readonly tenant: string;
  readonly domain: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly due_since: string | null;
}

/** Shows whether the service is well, and what it has to do. */
export async function operatorPage(page: PageCall): Promise<PageAnswer> {
  const [instances, ready, queues] = await Promise.all([
    page.ask({ host: "accounts_admin", path: "/v1/instances" }),
    page.ask({ host: "accounts_admin", path: "/readyz" }),
    page.ask({ host: "accounts_admin", path: "/v1/queues" }),
  ]);
  const refusal = refusalOf(instances) ?? refusalOf(queues);
  if (refusal !== undefined) return refusal;
  return {
    kind: "page",
    title: "Overview",
    content: (
      <>
        <Live id="operator">
          <Health answer={ready} />
          <section aria-labelledby="instances">
            <h2 id="instances">Instances</h2>
            <Table
              label="Instances"
              rows={(instances.body as {
                readonly data: readonly ShownInstance[];
              }).data}
              columns={instanceColumns(page)}
            />
          </section>
        </Live>
        <Queues page={page} answer={queues} />
      </>
    ),
  };
}

interface ShownReadiness {
  readonly durability?: string;
  readonly detail?: string;
  readonly checks?: Readonly<
    Record<string, { readonly ready: boolean; readonly detail?: string }>
  >;
}

function Health({ answer }: { readonly answer: ApiAnswer }): VNode {
  const { durability, detail, checks = {} } = answer.body as ShownReadiness;
  const isReady = answer.status < 400;
  return (
    <Note tone={isReady ? "good" : "bad"}>
      <p class="lead">
        <Badge tone={isReady ? "good" : "bad"}>
          {isReady ? "ready" : "not ready"}
        </Badge>{" "}
        {detail ?? "The service takes requests."}
        {durability === undefined ? null : ` Durability: ${durability}.`}
      </p>
      <ul>
        {Object.entries(checks).map(([name, { ready, detail }]) => (
          <li>
            {`${name}: ${ready ? "works" : "does not work"}`}
            {detail === undefined ? "" : `, ${detail}`}
          </li>
        ))}
      </ul>
    </Note>
  );
}

function instanceColumns(
  { nowMs }: PageCall,
): readonly Column<ShownInstance>[] {
  return [
    {
      name: "Instance",
      cell: ({ id, is_answering: isThis }) => (
        <span>
          <span class="mono">{id}</span>{" "}
          {isThis ? <span class="dim">shows this page</span> : null}
        </span>
      ),
    },
    { name: "Address", cell: ({ address }) => address },
    { name: "Version", cell: ({ version }) => version },
    {
      name: "Joined",
      cell: ({ joined_at: at }) => <Time at={at} nowMs={nowMs} />,
    },
    { name: "Seen", cell: ({ seen_at: at }) => <Time at={at} nowMs={nowMs} /> },
    { name: "Duties", cell: ({ duties }) => duties.join(", ") },
  ];
}

const SHOWN = ["waiting", "scheduled", "running", "retry", "blocked", "paused"];

function Queues(
  { page: { base, nowMs }, answer }: {
    readonly page: PageCall;
    readonly answer: ApiAnswer;
  },
): VNode {
  const { data, total } = answer.body as {
    readonly data: readonly ShownQueue[];
    readonly total: number;
  };
  return (
    <section aria-labelledby="queues">
      <h2 id="queues">Queues</h2>
      {data.length === 0 ? <p class="dim">No tenant has a live task.</p> : (
        <>
          <Table
            label="Queues of tenants"
            rows={data}
            columns={[
              {
                name: "Tenant",
                cell: ({ tenant, domain }) => (
                  <a href={`${base}/tenants/${domain ?? tenant}`}>
                    {domain ?? tenant}
                  </a>
                ),
              },
              ...SHOWN.map((status): Column<ShownQueue> => ({
                name: status,
                isNumber: true,
                cell: ({ counts }) => formatCount(counts[status] ?? 0),
              })),
              {
                name: "Longest due",
                cell: ({ due_since: at }) =>
                  at === null ? null : <Time at={at} nowMs={nowMs} />,
              },
            ]}
          />
          {total > data.length
            ? (
              <p class="dim">
                {`The longest ${data.length} of ${formatCount(total)}.`}
              </p>
            )
            : null}
        </>
      )}
    </section>
  );
}

interface ShownPlan {
  readonly id: string;
  readonly limits: Readonly<Record<string, unknown>>;
}

/** Shows the plans side by side. */
export async function planListPage(page: PageCall): Promise<PageAnswer> {
  const answer = await page.ask({ host: "apex", path: "/plans" });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data: plans } = answer.body as {
    readonly data: readonly ShownPlan[];
  };
  const names = [
    ...new Set(plans.flatMap(({ limits }) => Object.keys(limits))),
  ];
  return {
    kind: "page",
    title: "Plans",
    content: (
      <>
        <p class="dim">
          The file PLANS_FILE has the plans, and is read again when it changes.
        </p>
        <Table
          label="Plans"
          rows={names}
          columns={[
            { name: "Limit", cell: (name) => name.replaceAll("_", " ") },
            ...plans.map(({ id, limits }): Column<string> => ({
              name: id,
              cell: (name) => {
                const value = limits[name] ?? null;
                return value === null
                  ? <span class="dim">none</span>
                  : typeof value === "number"
                  ? formatCount(value)
                  : String(value);
              },
            })),
          ]}
        />
      </>
    ),
  };
}
