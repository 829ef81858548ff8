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
  Section,
} from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import type { ApiAnswer } from "../../http/ask_api.ts";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";

type ShownInstance =
  & Texts<"id" | "version" | "address" | "joined_at" | "seen_at">
  & { readonly duties: readonly string[]; readonly is_answering: boolean };

/** A tenant's tasks that have not ended, as the API shows them. */
type ShownQueue = Texts<"tenant", "domain" | "due_since"> & {
  readonly counts: Readonly<Record<string, number>>;
};

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
          <Section id="instances" title="Instances">
            <Table
              label="Instances"
              rows={(instances.body as ShownList<ShownInstance>).data}
              columns={columnsOf(page)}
            />
          </Section>
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

function columnsOf({ nowMs }: PageCall): readonly Column<ShownInstance>[] {
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
    { name: "Joined", at: ({ joined_at: at }) => at, nowMs },
    { name: "Seen", at: ({ seen_at: at }) => at, nowMs },
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
  const { data, total } = answer.body as ShownList<ShownQueue> & {
    readonly total: number;
  };
  return (
    <Section id="queues" title="Queues">
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
              { name: "Longest due", at: ({ due_since: at }) => at, nowMs },
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
    </Section>
  );
}

type ShownPlan = Texts<"id"> & {
  readonly limits: Readonly<Record<string, unknown>>;
};

/** Shows the plans side by side. */
export async function planListPage(page: PageCall): Promise<PageAnswer> {
  const question = { host: "apex", path: "/plans" } as const;
  return await page.show<ShownList<ShownPlan>>(question, ({ data: plans }) => ({
    kind: "page",
    title: "Plans",
    content: (
      <>
        <p class="dim">
          The file PLANS_FILE has the plans, and is read again when it changes.
        </p>
        <Table
          label="Plans"
          rows={[
            ...new Set(plans.flatMap(({ limits }) => Object.keys(limits))),
          ]}
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
  }));
}
