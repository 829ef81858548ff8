/**
 * The blobs that an export has and an import writes: those of a data folder or of
 * a schema.
 *
 * @module
 */

import type { Pool } from "../../shared/postgres/pool.ts";
import { quote } from "../../shared/quote.ts";
import {
  type BlobOutcome,
  type BlobStore,
  computeBlobId,
} from "../blobs/blob_store.ts";

/** Blobs whose ids are known. */
export interface MovedBlobs {
  /** Reads and writes them. */
  readonly store: Pick<BlobStore, "get" | "put">;
  /** Yields the ids of all blobs. */
  ids(): AsyncIterable<string>;
}

/** How many blobs are read at a time; each has at most 8 MiB. */
const PARALLEL = 8;
/** How many ids are read together. */
const PAGE = 1_000;

/** The ids of the blobs in a folder, which need not exist. */
export async function* folderBlobIds(
  folder: string,
): AsyncGenerator<string> {
  for (const first of await namesIn(folder, /^[0-9a-f]{2}$/)) {
    for (const rest of await namesIn(`${folder}/${first}`, /^[0-9a-f]{62}$/)) {
      yield toId(Uint8Array.fromHex(first + rest));
    }
  }
}

async function namesIn(
  folder: string,
  form: RegExp,
): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (form.test(name)) names.push(name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return names.sort();
}

/** The ids of the blobs in a schema. */
export async function* schemaBlobIds(pool: Pool): AsyncGenerator<string> {
  let after: Uint8Array = new Uint8Array();
  while (true) {
    const rows = await pool.query<{ blob: Uint8Array }>(
      "SELECT blob FROM blob_parts WHERE blob > $1::bytea AND part = 0 " +
        `ORDER BY blob LIMIT ${PAGE}`,
      [after],
    );
    for (const { blob } of rows) yield toId(blob);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.blob;
  }
}

function toId(hash: Uint8Array): string {
  return hash.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** A blob that was read. */
interface ReadBlob {
  /** Its id. */
  readonly id: string;
  /** Its bytes; undefined when they were changed, so that none can open it. */
  readonly bytes: Uint8Array | undefined;
}

/**
 * Yields all blobs, in the order of their ids.
 *
 * @throws {Error} when one cannot be read now
 */
export async function* readBlobs(
  { store, ids }: MovedBlobs,
): AsyncGenerator<ReadBlob> {
  let waiting: string[] = [];
  const read = async (): Promise<readonly ReadBlob[]> => {
    const group = waiting;
    waiting = [];
    return await Promise.all(
      group.map(async (id) => ({
        id,
        bytes: toBytes(id, await store.get(id)),
      })),
    );
  };
  for await (const id of ids()) {
    waiting.push(id);
    if (waiting.length === PARALLEL) yield* await read();
  }
  yield* await read();
}

function toBytes(id: string, outcome: BlobOutcome): Uint8Array | undefined {
  if (outcome.kind === "ok") return outcome.bytes;
  if (outcome.kind === "missing") return undefined;
  throw new Error(`Cannot read the blob ${quote(id)}: ${outcome.reason}`);
}

/**
 * Writes a blob unless it is there, and reads it again: what is read is checked
 * against its id.
 *
 * @throws {Error} when it cannot be written, or its bytes are not those of its
 * id
 */
export async function writeBlob(
  { store }: MovedBlobs,
  { id, bytes }: { readonly id: string; readonly bytes: Uint8Array },
): Promise<void> {
  if ((await store.get(id)).kind === "ok") return;
  if (computeBlobId(bytes) !== id) {
    throw new Error(`Cannot import the blob ${quote(id)}: it was changed`);
  }
  await store.put(bytes);
  const { kind } = await store.get(id);
  if (kind === "ok") return;
  throw new Error(`Cannot import the blob ${quote(id)}: it is ${kind}`);
}
