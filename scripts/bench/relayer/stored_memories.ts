/**
 * Fills a data folder or a database with many memories in the form the relayer
 * stores them, but without requests and jobs, and without waiting for the disk
 * after each file.
 *
 * @module
 */

import { finish } from "../../../services/relayer/concurrency/testing/finish.ts";
import {
  blobPath,
  computeBlobId,
} from "../../../services/relayer/blobs/blob_store.ts";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import { vectorTextSteps } from "../../../services/relayer/embed/words.ts";
import { JobIds } from "../../../services/relayer/jobs/job_sealer.ts";
import { openStorage } from "../../../services/relayer/open_storage.ts";
import { openLocalVault } from "../../../services/relayer/open_vault.ts";
import { memoryWordsSteps } from "../../../services/relayer/recall/ranking/memory_words.ts";
import {
  blobPlace,
  relayerSettings,
} from "../../../services/relayer/settings.ts";
import type { NewMemory } from "../../../services/relayer/store/rows.ts";
import type { LocalVault } from "../../../services/relayer/vault/local_vault.ts";
import { systemClock } from "../../../services/shared/clock.ts";
import type { Logger } from "../../../services/shared/logger.ts";
import { readSettings } from "../../../services/shared/settings.ts";

/** The memories that are written for one owner. */
export interface StoredMemories {
  /** The owner's address. */
  readonly owner: string;
  /** Number of memories. */
  readonly count: number;
  /** Returns the text of a memory by its number, from 0. */
  readonly createText: (number: number) => string;
}

const NAMESPACE = "default";
const AGENT = "ab".repeat(32);
const IMPORTANCE = 0.5;
const BATCH = 500;

/**
 * Writes the memories of several owners to where the settings of a relayer say
 * that is not running; the relayer finds and decrypts them like any others.
 *
 * @throws {Error} When the folder has no account yet.
 */
export async function storeMemories(
  env: Readonly<Record<string, string>>,
  all: readonly StoredMemories[],
): Promise<void> {
  const read = readSettings(relayerSettings, (name) => env[name]);
  if (read.kind === "invalid") throw new Error(read.problems.join());
  const settings = read.values;
  const tools = { clock: systemClock, logger: SILENT };
  const { store, blobs, openRows, close } = await openStorage(settings, tools);
  const vault = openLocalVault(settings, { ...tools, openRows });
  try {
    await vault.start();
    const writer = new MemoryWriter(
      vault,
      blobPlace(settings) === "folder"
        ? (bytes) => writeBlob(settings.dataDir, bytes)
        : (bytes) => blobs.put(bytes),
    );
    for (const { owner, count, createText } of all) {
      for (let from = 0; from < count; from += BATCH) {
        const texts = Array.from(
          { length: Math.min(BATCH, count - from) },
          (_, at) => createText(from + at),
        );
        const memories = await writer.write(owner, texts);
        await store.commit(
          memories.map((memory) => ({ kind: "new_memory", memory })),
        );
      }
    }
  } finally {
    await vault.stop();
    await close();
  }
}

/** Encrypts texts and writes their blobs. */
class MemoryWriter {
  readonly #vault: LocalVault;
  readonly #writeBlob: (bytes: Uint8Array) => Promise<string>;
  readonly #embedder = new HashedEmbedder();
  readonly #ids = new JobIds({
    clock: systemClock,
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  });

  constructor(
    vault: LocalVault,
    writeBlob: (bytes: Uint8Array) => Promise<string>,
  ) {
    this.#vault = vault;
    this.#writeBlob = writeBlob;
  }

  async write(
    owner: string,
    texts: readonly string[],
  ): Promise<readonly NewMemory[]> {
    const made = await this.#embedder.embed(
      texts.map((text) => finish(vectorTextSteps(text))),
    );
    if (made.kind !== "ok") throw new Error(made.reason);
    return await Promise.all(texts.map((text, at) => {
      const vector = made.vectors[at];
      if (vector === undefined) throw new Error("Cannot store: no vector");
      return this.#one(owner, { text, vector });
    }));
  }

  async #one(
    owner: string,
    { text, vector }: { readonly text: string; readonly vector: Float32Array },
  ): Promise<NewMemory> {
    const content = {
      id: this.#ids.next(),
      namespace: NAMESPACE,
      createdAtMs: systemClock.nowMs(),
      agentId: AGENT,
      importance: IMPORTANCE,
    };
    const { bytes, keyId } = await this.#vault.seal(owner, {
      ...{ ...content, text, metadata: {} },
    });
    const blobId = await this.#writeBlob(bytes);
    const sealedIndex = await this.#vault.sealIndex(owner, {
      ...{ vector, model: this.#embedder.model, metadata: {} },
      words: finish(memoryWordsSteps(text)),
    });
    return {
      ...{ ...content, owner, blobId, sizeBytes: bytes.length },
      ...{ packageId: null, keyId, sealedIndex },
    };
  }
}

/** Writes a blob as a file, without waiting for the disk. */
async function writeBlob(dataDir: string, bytes: Uint8Array): Promise<string> {
  const blobId = computeBlobId(bytes);
  const path = blobPath(blobId);
  if (path === undefined) throw new Error(`Cannot store blob "${blobId}"`);
  const folder = `${dataDir}/blobs/${path.folder}`;
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  await Deno.writeFile(`${folder}/${path.name}`, bytes, { mode: 0o600 });
  return blobId;
}

const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
