/**
 * A client of the catalogue of blobs on a ledger that runs as a process of its
 * own.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { describeError } from "../../shared/settled.ts";
import {
  type BlobCatalog,
  BlobStoreError,
  type CatalogEntry,
  type MovedBlob,
  type NewCatalogEntry,
} from "../blobs/blob_store.ts";
import { type Fetch, getMember, postJson } from "../remote/http_call.ts";
import {
  CATALOG_ENTRY,
  CatalogMethod,
  entryJson,
  MAX_LISTED,
} from "./catalog_entry.ts";

/** Options of {@linkcode RemoteCatalog}. */
interface RemoteCatalogOptions {
  /** The URL that takes the ledger's JSON-RPC calls. */
  readonly url: string;
  /** The credential by which the ledger recognizes its relayers. */
  readonly credential: string;
  /** Sends HTTP requests, as the platform's `fetch` does. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
}

/** Timeout of a call, in milliseconds. */
const TIMEOUT_MS = 5_000;
/**
 * Most bytes of an answer: a page of entries, each with its index, and some
 * room.
 */
const MAX_ANSWER_BYTES = 16 * 1_048_576;

/**
 * Calls the ledger each time and caches nothing. A call that fails throws a
 * {@linkcode BlobStoreError}, which says whether a retry can succeed.
 */
export class RemoteCatalog implements BlobCatalog {
  readonly #options: RemoteCatalogOptions;

  /** Makes a client of a ledger's catalogue. */
  constructor(options: RemoteCatalogOptions) {
    this.#options = options;
  }

  /** Adds an entry; durable on the ledger's disk when this resolves. */
  async add(entry: NewCatalogEntry): Promise<void> {
    await this.#call(CatalogMethod.add, [entryJson(entry)]);
  }

  /** Replaces the blob in a memory's entry. */
  async move(
    owner: string,
    memoryId: string,
    to: MovedBlob,
  ): Promise<void> {
    const params = [owner, memoryId, entryJson(to)];
    await this.#call(CatalogMethod.move, params);
  }

  /** Removes an entry. */
  async remove(owner: string, memoryId: string): Promise<void> {
    await this.#call(CatalogMethod.remove, [owner, memoryId]);
  }

  /** Returns the entry of a memory; undefined when there is none. */
  async findEntry(
    owner: string,
    memoryId: string,
  ): Promise<CatalogEntry | undefined> {
    const params = [owner, memoryId];
    const result = await this.#call(CatalogMethod.findEntry, params);
    return result === null ? undefined : readEntry(result);
  }

  /** Returns how many memories, of any owner, have a blob. */
  async countHolders(blobId: string): Promise<number> {
    const result = await this.#call(CatalogMethod.countHolders, [blobId]);
    if (typeof result === "number") return result;
    throw unreadable();
  }

  /**
   * Lists the blobs of a namespace, the newest first; long lists take several
   * calls.
   */
  async list(
    owner: string,
    { namespace, limit, after }: Parameters<BlobCatalog["list"]>[1],
  ): Promise<readonly CatalogEntry[]> {
    const entries: CatalogEntry[] = [];
    while (entries.length < limit) {
      const size = Math.min(limit - entries.length, MAX_LISTED);
      const last = entries.at(-1) ?? after;
      const place = last && {
        createdAtMs: last.createdAtMs,
        memoryId: last.memoryId,
      };
      const options = { namespace, limit: size, after: place };
      const page = await this.#call(CatalogMethod.list, [owner, options]);
      if (!Array.isArray(page) || page.length > size) throw unreadable();
      entries.push(...page.map(readEntry));
      if (page.length < size) break;
    }
    return entries;
  }

  async #call(method: string, params: readonly unknown[]): Promise<unknown> {
    const { url, credential, fetch, clock } = this.#options;
    const answer = await postJson(url, {
      body: { jsonrpc: "2.0", id: 1, method, params },
      headers: { authorization: `Bearer ${credential}` },
      ...{ fetch, clock, maxBytes: MAX_ANSWER_BYTES },
      timeoutMs: TIMEOUT_MS,
      signal: undefined,
    });
    switch (answer.kind) {
      case "ok":
        break;
      case "refused":
        throw failure(
          answer.status === 401
            ? "it does not take the credential (LEDGER_CREDENTIAL)"
            : `it answers with status ${answer.status}`,
          { retryAfterMs: answer.retryAfterMs },
        );
      case "failed":
        throw failure(describeError(answer.error));
      case "late":
        throw failure(`no answer within ${TIMEOUT_MS} ms`);
      case "ended":
      case "too_large":
      case "not_json":
        throw unreadable();
    }
    const result = getMember(answer.json, "result");
    if (result !== undefined) return result;
    const error = getMember(getMember(answer.json, "error"), "message");
    throw typeof error === "string"
      ? failure(`it says ${error.slice(0, 200)}`)
      : unreadable();
  }
}

function readEntry(json: unknown): CatalogEntry {
  const entry = CATALOG_ENTRY.read(json, "", []);
  if (entry === undefined) throw unreadable();
  return entry;
}

function unreadable(): BlobStoreError {
  return failure("its answer cannot be read");
}

function failure(
  state: string,
  { retryAfterMs }: { readonly retryAfterMs?: number | undefined } = {},
): BlobStoreError {
  return new BlobStoreError(
    `Cannot use the catalogue of the ledger (LEDGER_RPC_URL): ${state}`,
    { isPassing: true, retryAfterMs },
  );
}
