/**
 * Lists of the API as pages show them: with a filter that the address keeps,
 * from one page to the next.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { Badge, Empty, Live } from "../../../shared/console/parts.tsx";
import { type Column, Pager, Table } from "../../../shared/console/table.tsx";
import type { ApiQuestion } from "../../http/ask_api.ts";
import {
  may,
  type PageAnswer,
  type PageCall,
  type ShownList,
  withQuery,
} from "./page.ts";
import type { Scope } from "../../access/scope.ts";

/** More records than a tenant has of a kind with few. */
export const ALL = new URLSearchParams({ limit: "100" });

/** The question for a part of a list; parameters without a value are left out. */
export function listQuestion(
  { query }: PageCall,
  path: string,
  asked: Readonly<Record<string, string>> = {},
): ApiQuestion {
  const all = { limit: "50", ...asked, cursor: query.get("cursor") ?? "" };
  const given = Object.entries(all).filter(([, value]) => value !== "");
  return { path, query: new URLSearchParams(given) };
}

/** Leads to the first and the next part of the list that a page shows. */
export function ListPager(
  { page: { here, query }, list: { next }, kept = {} }: {
    readonly page: PageCall;
    readonly list: Pick<ShownList<unknown>, "next">;
    /** The parameters of the address. @default none */
    readonly kept?: Readonly<Record<string, string>>;
  },
): VNode {
  const isFirst = (query.get("cursor") ?? "") === "";
  return (
    <Pager
      first={isFirst ? undefined : withQuery(here, kept)}
      next={next === null
        ? undefined
        : withQuery(here, { ...kept, cursor: next })}
    />
  );
}

/** What a list of records has on its page. */
interface ListProps<Row> {
  /** The title of the page and of the table. */
  readonly title: string;
  /** An id that nothing else on the page has. */
  readonly id: string;
  /** What the API is asked. */
  readonly question: ApiQuestion;
  /** What stands beside the heading, as {@linkcode linkButtons} has it. */
  readonly links: Parameters<typeof linkButtons>[1];
  /** What is said of a list without records. */
  readonly empty: string;
  /** The columns of the table. */
  readonly columns: readonly Column<Row>[];
}

/** Shows a list that is kept up to date, or that it has nothing. */
export async function listPage<Row>(
  page: PageCall,
  { title, id, question, links, empty, columns }: ListProps<Row>,
): Promise<PageAnswer> {
  return await page.show<ShownList<Row>>(question, (list) => ({
    kind: "page",
    title,
    actions: linkButtons(page, links),
    content: list.data.length === 0
      ? (
        <Empty>
          <p>{empty}</p>
        </Empty>
      )
      : (
        <Live id={id}>
          <Table label={title} rows={list.data} columns={columns} />
          <ListPager page={page} list={list} />
        </Live>
      ),
  }));
}

/** The records of a kind with few; none where the reader does not see them. */
export async function askAll<T>(
  page: PageCall,
  { path, scope }: { readonly path: string; readonly scope: Scope },
): Promise<readonly T[]> {
  if (!may(page, scope)) return [];
  const { status, body } = await page.ask({ path, query: ALL });
  return status === 200 ? (body as ShownList<T>).data : [];
}

/**
 * Links that look like buttons: each with its path below that of the console,
 * its text, and the scope of the readers who have it, which are all without
 * one.
 */
export function linkButtons(
  page: PageCall,
  links: readonly (readonly [to: string, text: string, needs?: Scope])[],
): VNode {
  return (
    <>
      {links.map(([to, text, needs]) =>
        needs === undefined || may(page, needs)
          ? (
            <a
              class={to.endsWith("/new") ? "button primary" : "button"}
              href={page.base + to}
            >
              {text}
            </a>
          )
          : null
      )}
    </>
  );
}

const STATE_TONES = {
  active: "good",
  idle: "dim",
  stale: "bad",
  paused: "dim",
  invited: "calm",
  disabled: "dim",
  suspended: "warn",
  closing: "dim",
} as const;

/** The state of a worker, a user or a tenant. */
export function StateBadge(
  { status }: { readonly status: keyof typeof STATE_TONES },
): VNode {
  return (
    <Badge tone={STATE_TONES[status]} isHollow={status !== "active"}>
      {status}
    </Badge>
  );
}

/** The form of a filter, which the address keeps. */
export function FilterForm(
  { page: { here }, reset, children }: {
    readonly page: PageCall;
    /** The text of the link to the whole list. @default there is none */
    readonly reset?: string | undefined;
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <search class="section">
      <form method="get" action={here} class="filters">
        {children}
        <div class="row">
          <button type="submit" class="primary">Show</button>
          {reset === undefined
            ? null
            : <a class="button" href={here}>{reset}</a>}
        </div>
      </form>
    </search>
  );
}
