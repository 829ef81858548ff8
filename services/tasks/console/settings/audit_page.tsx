/**
 * The page of the audit log.
 *
 * @module
 */

import type { VNode } from "preact";
import { Empty, Live, Time } from "../../../shared/console/parts.tsx";
import { Pager, Table } from "../../../shared/console/table.tsx";
import {
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "../parts/page.ts";
import type { ShownActor } from "../tasks/task_parts.tsx";

/** Entries of a page. */
const LIMIT = 50;

interface ShownEntry {
  readonly number: number;
  readonly at: string;
  readonly action: string;
  readonly actor: ShownActor | null;
  readonly target: unknown;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Shows a page of the log, the newest first. */
export async function auditPage(page: PageCall): Promise<PageAnswer> {
  const { base, query } = page;
  const cursor = query.get("cursor") ?? "";
  const asked = Object.entries({ limit: String(LIMIT), cursor })
    .filter(([, value]) => value !== "");
  const answer = await page.ask({
    path: "/v1/audit",
    query: new URLSearchParams(asked),
  });
  const { data, next } = answer.body as ShownList<ShownEntry>;
  const path = `${base}/audit`;
  return refusalOf(answer) ?? {
    kind: "page",
    title: "Audit log",
    content: data.length === 0
      ? (
        <Empty>
          <p>Nothing was changed yet.</p>
        </Empty>
      )
      : (
        <Live id="audit">
          <Table
            label="Audit log"
            rows={data}
            columns={[
              { name: "At", cell: ({ at }) => <Time at={at} /> },
              {
                name: "What",
                cell: ({ action }) => <span class="mono">{action}</span>,
              },
              {
                name: "Who",
                cell: ({ actor }) =>
                  actor && <Actor base={base} actor={actor} />,
              },
              {
                name: "To what",
                cell: ({ target }) => <Target base={base} target={target} />,
              },
              {
                name: "Details",
                cell: ({ detail }) => (
                  <span class="dim">{detailText(detail)}</span>
                ),
              },
            ]}
          />
          <Pager
            first={cursor === "" ? undefined : path}
            next={next === null ? undefined : withQuery(path, { cursor: next })}
          />
        </Live>
      ),
  };
}

function Actor(
  { base, actor: { type, id } }: {
    readonly base: string;
    readonly actor: ShownActor;
  },
): VNode {
  return (
    <span>
      {type === "key" ? "" : `${type} `}
      {type === "user"
        ? <a class="mono" href={`${base}/users/${id}`}>{id}</a>
        : <span class="mono">{id}</span>}
    </span>
  );
}

const PLACES: Readonly<Record<string, string>> = {
  wrk: "workers",
  usr: "users",
  tsk: "tasks",
  whk: "webhooks",
};

function Target(
  { base, target }: { readonly base: string; readonly target: unknown },
): VNode | null {
  if (target === null || target === undefined) return null;
  const text = typeof target === "string" ? target : JSON.stringify(target);
  const place = PLACES[text.slice(0, 3)];
  return place === undefined || text[3] !== "_"
    ? <span class="mono">{text}</span>
    : <a class="mono" href={`${base}/${place}/${text}`}>{text}</a>;
}

function detailText(detail: ShownEntry["detail"]): string {
  return Object.entries(detail).map(([name, value]) =>
    `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`
  ).join(", ");
}
