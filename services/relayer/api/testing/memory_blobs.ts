/**
 * A blob store, a catalogue and a vault in memory, for tests of the routes.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  type BlobCatalog,
  type BlobOutcome,
  type BlobStore,
  type CatalogEntry,
  computeBlobId,
  type MovedBlob,
} from "../../blobs/blob_store.ts";
import type { IndexEntry } from "../../vault/vault.ts";
import type { RelayerParts } from "../parts.ts";

/** Keeps blobs by the hash of their bytes. */
export class MemoryBlobs implements BlobStore {
  /** Blobs are named by the hash of their bytes. */
  readonly hasHashIds: boolean = true;
  /** Blobs by id. */
  readonly blobs = new Map<string, Uint8Array>();
  /** Thrown by the next call that writes, once. */
  nextError: Error | undefined;

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  async put(bytes: Uint8Array): Promise<string> {
    await this.#fail();
    const id = computeBlobId(bytes);
    this.blobs.set(id, bytes);
    return id;
  }

  get(blobId: string): Promise<BlobOutcome> {
    const bytes = this.blobs.get(blobId);
    return Promise.resolve(
      bytes === undefined ? { kind: "missing" } : { kind: "ok", bytes },
    );
  }

  isGone(blobId: string): Promise<boolean> {
    return Promise.resolve(!this.blobs.has(blobId));
  }

  async remove(blobId: string): Promise<boolean> {
    await this.#fail();
    this.blobs.delete(blobId);
    return true;
  }

  #fail(): Promise<void> {
    const error = this.nextError;
    this.nextError = undefined;
    return error === undefined ? Promise.resolve() : Promise.reject(error);
  }
}

/** A catalogue of blobs in memory. */
export class MemoryCatalog implements BlobCatalog {
  /** Entries by owner and memory. */
  readonly entries = new Map<string, CatalogEntry>();
  /** Thrown by the next call that writes, once. */
  nextError: Error | undefined;

  async add(entry: CatalogEntry): Promise<void> {
    await this.#fail();
    this.entries.set(formatKey(entry.owner, entry.memoryId), entry);
  }

  async move(
    owner: string,
    memoryId: string,
    { sealedIndex, ...to }: MovedBlob,
  ): Promise<void> {
    await this.#fail();
    const known = this.entries.get(formatKey(owner, memoryId));
    if (known === undefined) return;
    const entry = {
      ...{ ...known, ...to },
      sealedIndex: sealedIndex ?? known.sealedIndex,
    };
    this.entries.set(formatKey(owner, memoryId), entry);
  }

  async remove(owner: string, memoryId: string): Promise<void> {
    await this.#fail();
    this.entries.delete(formatKey(owner, memoryId));
  }

  list(): Promise<readonly CatalogEntry[]> {
    throw new TypeError("Cannot answer: no route asks for this");
  }

  findEntry(
    owner: string,
    memoryId: string,
  ): Promise<CatalogEntry | undefined> {
    return Promise.resolve(this.entries.get(formatKey(owner, memoryId)));
  }

  countHolders(blobId: string): Promise<number> {
    const holders = [...this.entries.values()].filter((entry) =>
      entry.blobId === blobId
    );
    return Promise.resolve(holders.length);
  }

  #fail(): Promise<void> {
    const error = this.nextError;
    this.nextError = undefined;
    return error === undefined ? Promise.resolve() : Promise.reject(error);
  }
}

/**
 * A vault in memory: it keeps ids of keys, and its seals only note what they
 * were given.
 */
export class MemoryVault implements
  Pick<
    RelayerParts["vault"],
    "sealIndex" | "openIndex" | "destroy" | "digest"
  > {
  /** Keys that are there, by owner and id. */
  readonly keys = new Set<string>();
  /** Thrown by the next call, once. */
  nextError: Error | undefined;

  /** Makes a key of this id exist. */
  addKey(owner: string, keyId: string): void {
    this.keys.add(formatKey(owner, keyId));
  }

  /** Returns a text of the owner and the vector's width in place of a seal. */
  sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array> {
    const text = `${owner}:${entry.vector.length}`;
    return Promise.resolve(new TextEncoder().encode(text));
  }

  /** Opens nothing. */
  openIndex(): ReturnType<RelayerParts["vault"]["openIndex"]> {
    return Promise.resolve({ kind: "failed", why: "damaged" });
  }

  /** Returns a digest that depends on the owner. */
  digest(owner: string, text: string): Promise<string> {
    const hash = createHash("sha256").update(`${owner} ${text}`);
    return Promise.resolve(hash.digest("hex"));
  }

  /** Destroys a key; returns whether it existed. */
  destroy(owner: string, keyId: string): Promise<boolean> {
    const error = this.nextError;
    this.nextError = undefined;
    return error === undefined
      ? Promise.resolve(this.keys.delete(formatKey(owner, keyId)))
      : Promise.reject(error);
  }
}

function formatKey(owner: string, id: string): string {
  return `${owner} ${id}`;
}
