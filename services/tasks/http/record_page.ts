/**
 * Pages of lists: their parameters, their shape, and where the next one begins.
 *
 * @module
 */

import { list, nullable } from "../../shared/schema/composite.ts";
import {
  described,
  exampleOf,
  type JsonValue,
  named,
  type Schema,
} from "../../shared/schema/schema.ts";
import {
  type DefaultField,
  object,
  optional,
  type OptionalField,
  withDefault,
} from "../../shared/schema/object.ts";
import { integerText } from "../../shared/schema/query_values.ts";
import { text } from "../../shared/schema/values.ts";
import { type Answer, json } from "./answer.ts";
import type { CallContext } from "./call.ts";
import { badCursor, type Cursors } from "./cursor.ts";
import { nextPageLink } from "./page_link.ts";

/** Most entries of a page. */
export const MAX_PAGE = 200;

/** The parameters that every list has. */
export const PAGE_FIELDS: {
  readonly limit: DefaultField<number>;
  readonly cursor: OptionalField<string>;
} = {
  limit: withDefault(
    described(integerText({ minimum: 1, maximum: MAX_PAGE }), "Most entries"),
    50,
  ),
  cursor: optional(described(
    text({ minLength: 1, maxLength: 2_048 }),
    "Where the page begins: `next` of the page before",
  )),
};

/** What every query of a list reads. */
export interface PageQuery {
  /** Most entries of the page. */
  readonly limit: number;
  /** Where it begins. */
  readonly cursor?: string;
}

/** The shape of a page, as a component of that name. */
export function pageShape<T>(
  name: string,
  item: Schema<T>,
): Schema<{ readonly data: readonly T[]; readonly next: string | null }> {
  const example = exampleOf(item);
  return named(
    name,
    described(
      object({
        data: list(item, { maxItems: MAX_PAGE }),
        next: described(
          nullable(text({ maxLength: 2_048 })),
          "The cursor of the next page; null at the end",
        ),
      }),
      example === undefined
        ? {}
        : { examples: [{ data: [example], next: null }] },
    ),
  );
}

/** Entries of a page. */
export interface PageEntries {
  /** The entries as the API shows them. */
  readonly data: readonly unknown[];
  /** Where the next page begins; absent at the end. */
  readonly next?: JsonValue;
}

/** How a page is read. */
export interface PageOptions {
  /** Seals the places where pages go on. */
  readonly cursors: Cursors;
  /** Whose list it is. */
  readonly tenantId: string;
  /** What else tells the list from others. */
  readonly filter: string;
  /** The parameters. */
  readonly query: PageQuery;
  /** The address of the list. */
  readonly url: string;
  /** Reads the entries behind a position, `undefined` for the first page. */
  readonly read: (
    position: JsonValue | undefined,
  ) => Promise<PageEntries>;
}

/** Answers a page of a list. */
export async function answerPage(
  { rawQuery }: Pick<CallContext, "rawQuery">,
  options: PageOptions,
): Promise<Answer> {
  const { cursors, tenantId, filter, query, url, read } = options;
  const scope = { tenantId, filter };
  let position: JsonValue | undefined;
  if (query.cursor !== undefined) {
    const opened = cursors.open(scope, query.cursor);
    if (opened.kind === "bad_cursor") return badCursor();
    position = opened.position;
  }
  const { data, next } = await read(position);
  if (next === undefined) return json({ data, next: null });
  const cursor = cursors.seal(scope, next);
  return json({ data, next: cursor }, {
    headers: { link: nextPageLink({ url, rawQuery, cursor }) },
  });
}
