/**
 * Pages of a book's records.
 *
 * @module
 */

import type {
  RecordRepository,
  RecordValue,
} from "../engine/record_repository.ts";
import type { PageEntries, PageQuery } from "./record_page.ts";
import type { JsonValue } from "../../shared/schema/schema.ts";

/** How a page of a book is read. */
export interface BookPageOptions<T> {
  /** The tenant. */
  readonly tenantId: string;
  /** The parameters. */
  readonly query: PageQuery;
  /** The id behind which the page begins; a cursor's position. */
  readonly position: JsonValue | undefined;
  /** The value as the API shows it. */
  readonly view: (value: T) => unknown;
}

/** Reads a page of a tenant's records of a kind, by id. */
export async function readBookPage<T extends RecordValue>(
  book: RecordRepository<T>,
  options: BookPageOptions<T>,
): Promise<PageEntries> {
  const { tenantId, query, position, view } = options;
  const page = await book.list(tenantId, {
    limit: query.limit,
    ...(typeof position === "string" ? { afterId: position } : {}),
  });
  const last = page.values.at(-1);
  return {
    data: page.values.map(view),
    ...(page.hasMore && last !== undefined ? { next: last.id } : {}),
  };
}
