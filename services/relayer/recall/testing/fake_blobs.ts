/**
 * Blobs and their catalogue in memory, for tests of recall.
 *
 * @module
 */

import type {
  BlobCallOptions,
  BlobCatalog,
  BlobOutcome,
  CatalogEntry,
  NewCatalogEntry,
} from "../../blobs/blob_store.ts";

/** Keeps blobs under names that a test gives them. */
export class FakeBlobs {
  /**
   * The outcome of getting a blob, by its id; a blob that is not here is
   * missing.
   */
  readonly outcomes = new Map<string, BlobOutcome>();
  /** Blobs that are known to be gone. */
  readonly gone = new Set<string>();
  /** Most blobs that were got at the same time. */
  mostAtOnce = 0;
  /** How often blobs were got. */
  gets = 0;
  /** Called while a blob is got. */
  onGet: (blobId: string, signal?: AbortSignal) => void | Promise<void> =
    () => {};
  #atOnce = 0;

  /** Gets a blob. */
  async get(
    blobId: string,
    options: BlobCallOptions = {},
  ): Promise<BlobOutcome> {
    this.gets++;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
    try {
      await this.onGet(blobId, options.signal);
    } finally {
      this.#atOnce--;
    }
    return this.outcomes.get(blobId) ?? { kind: "missing" };
  }

  /** Whether a test has put the blob into {@linkcode FakeBlobs.gone}. */
  isGone(blobId: string): Promise<boolean> {
    return Promise.resolve(this.gone.has(blobId));
  }
}

/** A catalogue in memory. */
export class FakeCatalog
  implements Pick<BlobCatalog, "add" | "remove" | "list" | "findEntry"> {
  /** All entries. */
  readonly entries: NewCatalogEntry[] = [];
  /**
   * The ids of memories that replaced others, by owner and id of the replaced.
   */
  readonly replacements = new Map<string, string>();

  /** Notes a blob. */
  add(entry: NewCatalogEntry): Promise<void> {
    const { owner, memoryId, supersedes } = entry;
    this.entries.push(entry);
    if (supersedes !== undefined) {
      this.replacements.set(`${owner}/${supersedes}`, memoryId);
    }
    return Promise.resolve();
  }

  /** Forgets a blob. */
  remove(owner: string, memoryId: string): Promise<void> {
    const at = this.entries.findIndex((entry) =>
      entry.owner === owner && entry.memoryId === memoryId
    );
    if (at >= 0) this.entries.splice(at, 1);
    return Promise.resolve();
  }

  /** What is noted of a memory. */
  findEntry(
    owner: string,
    memoryId: string,
  ): Promise<CatalogEntry | undefined> {
    const found = this.entries.find((entry) =>
      entry.owner === owner && entry.memoryId === memoryId
    );
    return Promise.resolve(found && this.#withReplacement(found));
  }

  /** Blobs of a namespace, the newest first. */
  list(
    owner: string,
    options: Parameters<BlobCatalog["list"]>[1],
  ): Promise<readonly CatalogEntry[]> {
    const { namespace, limit, after } = options;
    const ordered = this.entries
      .filter((entry) => entry.owner === owner && entry.namespace === namespace)
      .map((entry) => this.#withReplacement(entry))
      .sort(newestFirst);
    const from = after === undefined
      ? 0
      : ordered.findIndex((entry) => newestFirst(entry, after) > 0);
    if (from < 0) return Promise.resolve([]);
    return Promise.resolve(ordered.slice(from, from + limit));
  }

  #withReplacement(entry: NewCatalogEntry): CatalogEntry {
    const { owner, memoryId } = entry;
    const supersededBy = this.replacements.get(`${owner}/${memoryId}`);
    return supersededBy === undefined ? entry : { ...entry, supersededBy };
  }
}

type Position = Pick<CatalogEntry, "createdAtMs" | "memoryId">;

function newestFirst(left: Position, right: Position): number {
  if (left.createdAtMs !== right.createdAtMs) {
    return right.createdAtMs - left.createdAtMs;
  }
  if (left.memoryId === right.memoryId) return 0;
  return left.memoryId < right.memoryId ? 1 : -1;
}
