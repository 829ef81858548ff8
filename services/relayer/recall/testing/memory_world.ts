/**
 * The parts that recall and restore work with, made of fakes, and a way to add
 * memories.
 *
 * @module
 */

import { finish } from "../../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../ranking/memory_words.ts";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type { Embedder, EmbedOutcome } from "../../embed/embedder.ts";
import type { WorkOptions } from "../../concurrency/bounded_work.ts";
import { HashedEmbedder } from "../../embed/hashed_embedder.ts";
import type { Metadata } from "../../vault/vault.ts";
import { RecallService } from "../recall_service.ts";
import { RestoreService } from "../restore_service.ts";
import { VectorIndex } from "../vector_index.ts";
import { FakeBlobs, FakeCatalog } from "./fake_blobs.ts";
import { FakeStore } from "./fake_store.ts";
import { FakeVault } from "./fake_vault.ts";

/** What a test remembers. */
export interface WorldMemory {
  /** Its id. */
  readonly id: string;
  /** Its text. */
  readonly text: string;
  /** @default {"n"} */
  readonly namespace?: string;
  /** @default {OWNER} */
  readonly owner?: string;
  /** @default the present */
  readonly createdAtMs?: number;
  /** @default {0.5} */
  readonly importance?: number;
  /** @default {{}} */
  readonly metadata?: Metadata;
  /** @default none */
  readonly supersedes?: string;
}

/** Whose memories they are. */
export const OWNER = "0x0a";

/** Everything recall needs, in memory. */
export class MemoryWorld {
  /** The time. */
  readonly clock = new FakeClock();
  /** What was logged. */
  readonly logger = new RecordingLogger();
  /** Rows. */
  readonly store = new FakeStore();
  /** Keys. */
  readonly vault = new FakeVault();
  /** Blobs. */
  readonly blobs = new FakeBlobs();
  /** Which blobs there are. */
  readonly catalog = new FakeCatalog();
  /** Vectors; a test may put another one in its place. */
  readonly embedder = new SwitchedEmbedder();
  /** The index; a test may lose it. */
  index = new VectorIndex(this.embedder.width);

  /** A recall over all that. */
  recall(): RecallService {
    return new RecallService(this);
  }

  /** A restorer over all that. */
  restorer(): RestoreService {
    return new RestoreService({ ...this, packageId: "0xee" });
  }

  /**
   * Adds a memory as a job does: blob, row, index entry and catalogue entry.
   */
  async remember(memory: WorldMemory): Promise<void> {
    const { id, text, owner = OWNER, namespace = "n", supersedes } = memory;
    const { importance = 0.5, metadata = {} } = memory;
    const { createdAtMs = this.clock.nowMs() } = memory;
    const replaced = supersedes === undefined ? {} : { supersedes };
    const agentId = "ab".repeat(32);
    const sealed = this.vault.seal(owner, {
      ...{ id, namespace, text, createdAtMs, agentId, importance, metadata },
      ...replaced,
    });
    const blobId = `blob-${id}`;
    this.blobs.outcomes.set(blobId, { kind: "ok", bytes: sealed.bytes });
    const [vector] = await this.embedder.embedTexts([text]);
    if (vector === undefined) throw new TypeError("there is no vector");
    const words = finish(memoryWordsSteps(text));
    const row = {
      ...{ id, owner, namespace, blobId, createdAtMs, agentId, importance },
      ...replaced,
      sizeBytes: sealed.bytes.length,
      packageId: "0xee",
      keyId: sealed.keyId,
      sealedIndex: await this.vault.sealIndex(owner, {
        vector,
        model: this.embedder.model,
        ...{ metadata, words },
      }),
    };
    await this.store.commit([
      { kind: "new_memory", memory: row },
      ...(supersedes === undefined ? [] : [
        {
          kind: "supersede",
          owner,
          id: supersedes,
          supersededBy: id,
        } as const,
      ]),
    ]);
    this.index.add({ ...row, metadata, vector, words });
    if (supersedes !== undefined) this.index.remove(owner, supersedes);
    await this.catalog.add({
      ...{ blobId, owner, namespace, createdAtMs, agentId, memoryId: id },
      ...replaced,
      sizeBytes: sealed.bytes.length,
    });
  }

  /** Puts another vector into a row, as of another embedder. */
  async reseal(
    id: string,
    entry: { readonly vector: Float32Array; readonly model: string },
  ): Promise<void> {
    const sealedIndex = await this.vault.sealIndex(OWNER, {
      ...entry,
      metadata: {},
    });
    await this.store.commit([
      { kind: "reindex", owner: OWNER, id, sealedIndex },
    ]);
  }

  /** Loses rows and index, and keeps blobs, catalogue and keys. */
  loseIndex(): void {
    this.store.rows.clear();
    this.index = new VectorIndex(this.embedder.width);
  }
}

/** The built-in embedder, which a test can stop. */
export class SwitchedEmbedder implements Embedder {
  readonly #embedder = new HashedEmbedder();
  /** How wide its vectors are. */
  readonly width: number = this.#embedder.width;
  /** Its name; a test may give it another one. */
  model: string = this.#embedder.model;
  /** The failure that it answers with instead of vectors, where one is set. */
  failure: Extract<EmbedOutcome, { kind: "unavailable" }> | undefined;
  /** Called before it answers. */
  onEmbed: (signal?: AbortSignal) => void | Promise<void> = () => {};

  /** Vectors, or the failure. */
  async embed(
    texts: readonly string[],
    options: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    await this.onEmbed(options.signal);
    return this.failure ?? await this.#embedder.embed(texts, options);
  }

  /** Vectors of texts, even while a failure is set. */
  async embedTexts(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const outcome = await this.#embedder.embed(texts);
    return outcome.kind === "ok" ? outcome.vectors : [];
  }
}
