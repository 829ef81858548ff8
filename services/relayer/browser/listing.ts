/**
 * Reads all memories of an owner, as far as one page of a browser can show
 * them, and finds those that a reader wants.
 *
 * @module
 */

import type { Mem, MemoryEntry } from "../../../mod.ts";

/** The memories that were read. */
export interface Listing {
  /** The memories, those that changed last first. */
  readonly memories: readonly MemoryEntry[];
  /** Whether there are more, which were written or changed later. */
  readonly isCut: boolean;
}

/** What a reader wants to see; empty texts want everything. */
export interface MemoryFilter {
  /** The namespace. */
  readonly namespace: string;
  /** The status. */
  readonly status: string;
  /** Part of an id of the memory or its blob. */
  readonly id: string;
  /** The first day of the writing, `2026-07-01`. */
  readonly from: string;
  /** The last day of the writing. */
  readonly until: string;
}

const PAGE_ENTRIES = 500;
const MAX_PAGES = 20;
const ONE_DAY_MS = 86_400_000;

/**
 * Reads the list page by page, at most 10,000 entries.
 *
 * @throws {MemError} When the relayer cannot be reached or refuses.
 */
export async function readListing(
  mem: Pick<Mem, "listMemories">,
): Promise<Listing> {
  const found = new Map<string, MemoryEntry>();
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await mem.listMemories({ limit: PAGE_ENTRIES, cursor });
    for (const entry of page.memories) found.set(entry.memory_id, entry);
    for (const { memory_id } of page.deleted) found.delete(memory_id);
    cursor = page.next_cursor ?? undefined;
    if (!page.has_more || cursor === undefined) return listing(found, false);
  }
  return listing(found, true);
}

/** Returns the memories that fit a filter. */
export function filterMemories(
  memories: readonly MemoryEntry[],
  { namespace, status, id, from, until }: MemoryFilter,
): readonly MemoryEntry[] {
  const fromMs = from === "" ? -Infinity : localDayMs(from);
  const untilMs = until === "" ? Infinity : localDayMs(until) + ONE_DAY_MS;
  return memories.filter((entry) => {
    const atMs = Date.parse(entry.created_at);
    return (namespace === "" || entry.namespace_id === namespace) &&
      (status === "" || entry.status === status) &&
      (entry.memory_id.includes(id) || entry.blob_id.includes(id)) &&
      atMs >= fromMs && atMs < untilMs;
  });
}

/** The beginning of a day in the reader's zone; NaN, which fits nothing. */
function localDayMs(day: string): number {
  return new Date(`${day}T00:00:00`).getTime();
}

function listing(
  found: ReadonlyMap<string, MemoryEntry>,
  isCut: boolean,
): Listing {
  return { memories: [...found.values()].reverse(), isCut };
}
