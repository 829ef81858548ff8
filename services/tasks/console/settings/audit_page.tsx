/**
 * The page of the audit log.
 *
 * @module
 */

import type { VNode } from "preact";
import type { Actor } from "../../domain/records.ts";
import { listPage, listQuestion } from "../parts/list.tsx";
import type { PageAnswer, PageCall, Texts } from "../parts/page.ts";

type ShownEntry = Texts<"at" | "action"> & {
  readonly actor: Actor | null;
  readonly target: unknown;
  readonly detail: Readonly<Record<string, unknown>>;
};

/** Shows a page of the log, the newest first. */
export async function auditPage(page: PageCall): Promise<PageAnswer> {
  const { base } = page;
  return await listPage<ShownEntry>(page, {
    title: "Audit log",
    id: "audit",
    question: listQuestion(page, "/v1/audit"),
    links: [],
    empty: "Nothing was changed yet.",
    columns: [
      { name: "At", at: ({ at }) => at },
      {
        name: "What",
        cell: ({ action }) => <span class="mono">{action}</span>,
      },
      {
        name: "Who",
        cell: ({ actor }) => actor && <ActorLink base={base} actor={actor} />,
      },
      {
        name: "To what",
        cell: ({ target }) => <Target base={base} target={target} />,
      },
      {
        name: "Details",
        cell: ({ detail }) => <span class="dim">{detailText(detail)}</span>,
      },
    ],
  });
}

function ActorLink(
  { base, actor: { type, id } }: {
    readonly base: string;
    readonly actor: Actor;
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
