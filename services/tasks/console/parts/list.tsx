/**
 * Lists of the API as pages show them: with a filter that the address keeps,
 * from one page to the next.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { Empty, Live } from "../../../shared/console/parts.tsx";
import { type Column, Pager, Table } from "../../../shared/console/table.tsx";
import type { ApiQuestion } from "../../http/ask_api.ts";
import { may, type PageCall, type ShownList, withQuery } from "./page.ts";
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
  readonly page: PageCall;
  /** An id that nothing else on the page has. */
  readonly id: string;
  /** What the list shows, for people who hear the page. */
  readonly label: string;
  readonly list: ShownList<Row>;
  readonly columns: readonly Column<Row>[];
  /** What is said of a list without records. */
  readonly empty: ComponentChildren;
}

/** A list that is kept up to date, or what is said where it has nothing. */
export function LiveList<Row>(
  { page, id, label, list, columns, empty }: ListProps<Row>,
): VNode {
  return list.data.length === 0
    ? (
      <Empty>
        <p>{empty}</p>
      </Empty>
    )
    : (
      <Live id={id}>
        <Table label={label} rows={list.data} columns={columns} />
        <ListPager page={page} list={list} />
      </Live>
    );
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

/** A link that looks like a button, for readers with a scope. */
export function LinkButton(
  { page, to, needs, kind, children }: {
    readonly page: PageCall;
    /** The path below that of the console. */
    readonly to: string;
    /** The scope. @default each reader has the link */
    readonly needs?: Scope;
    /** How it looks. @default as other buttons */
    readonly kind?: "primary";
    readonly children: ComponentChildren;
  },
): VNode | null {
  if (needs !== undefined && !may(page, needs)) return null;
  const look = kind === undefined ? "button" : `button ${kind}`;
  return <a class={look} href={page.base + to}>{children}</a>;
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
