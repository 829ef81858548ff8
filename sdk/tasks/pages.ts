/**
 * Lists that are fetched page by page.
 *
 * @module
 */

/** One page of a list. */
export interface Page<Item> {
  /** The items. */
  readonly data: readonly Item[];
  /** The cursor of the next page; null on the last. */
  readonly next: string | null;
}

/**
 * A list whose pages are fetched when they are needed. Iterate over the list
 * for its items, or over `pages()` for its pages.
 *
 * @example
 * ```ts
 * import { PagedList } from "@tercet/sdk/tasks";
 *
 * const list = new PagedList((cursor) =>
 *   Promise.resolve({ data: [cursor ?? "first"], next: cursor ? null : "second" })
 * );
 * for await (const item of list) console.log(item);
 * console.log(await list.take(1)); // [ "first" ]
 * ```
 */
export class PagedList<Item, Of extends Page<Item> = Page<Item>>
  implements AsyncIterable<Item> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Of>;

  /**
   * Creates a list. `fetchPage` returns the page of a cursor; the first page
   * has none.
   */
  constructor(fetchPage: (cursor: string | undefined) => Promise<Of>) {
    this.#fetchPage = fetchPage;
  }

  /** Iterates over the pages, from the first. */
  async *pages(): AsyncGenerator<Of, void> {
    let cursor: string | undefined;
    do {
      const page: Of = await this.#fetchPage(cursor);
      yield page;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  /** Iterates over the items, from the first. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** Returns the first `count` items, or fewer when the list is shorter. */
  async take(count: number): Promise<Item[]> {
    const items: Item[] = [];
    if (count <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= count) break;
    }
    return items;
  }
}
