/**
 * Indexes that follow a store which they share, for tests.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { NEVER_PAUSING } from "../../../shared/slices.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import type { RelayerStore } from "../../store/store.ts";
import { ALICE, sampleMemory } from "../../store/testing/sample_rows.ts";
import type { IndexedMemory } from "../memory_index.ts";
import { OwnerIndex } from "../owner_index.ts";
import { memoryWordsSteps } from "../ranking/memory_words.ts";
import { RecallService } from "../recall_service.ts";
import { OwnerSnapshots } from "../snapshot/owner_snapshots.ts";
import { FakeBlobs } from "./fake_blobs.ts";
import { SwitchedEmbedder } from "./memory_world.ts";
import { SharedVault } from "./shared_world.ts";

const WIDTH = 4;
/** The vector of all memories, and of all questions. */
export const VECTOR: Float32Array = Float32Array.of(1, 0, 0, 0);
const WORDS = { words: finish(memoryWordsSteps("a text")) };

/** A store that several indexes share, and notes of what they ask it. */
export class FollowedWorld {
  /** The time of all indexes. */
  readonly clock = new FakeClock();
  /** What indexes have asked the store. */
  readonly calls: string[] = [];
  /** What each snapshot was begun with. */
  readonly begun: (number | undefined)[] = [];
  /** How many entries were opened. */
  opened = 0;
  /** What fails. */
  failing = "";
  /** The head that the store tells of; its own where undefined. */
  headIs: number | undefined;
  /** The store. */
  readonly store: RelayerStore;
  readonly #blobs = new FakeBlobs();
  readonly #vault = new SharedVault();
  readonly #indexes: OwnerIndex[] = [];

  /** Indexes of a store, which is started. */
  constructor(store: RelayerStore) {
    this.store = store;
  }

  /** Makes an index that has read nothing. */
  start({ isShared = true }: { readonly isShared?: boolean } = {}): OwnerIndex {
    const { store, clock } = this;
    const logger = new RecordingLogger();
    const noting = <Of extends unknown[], Answer>(
      name: string,
      method: (...of: Of) => Promise<Answer>,
    ) =>
    (...of: Of): Promise<Answer> => {
      this.calls.push(name);
      if (name !== this.failing) return method(...of);
      return Promise.reject(new Error("Cannot read: the disk is away"));
    };
    const noted = {
      head: noting(
        "head",
        (owner: string) =>
          this.headIs === undefined
            ? store.head(owner)
            : Promise.resolve(this.headIs),
      ),
      indexFeed: noting("feed", store.indexFeed),
      memories: noting("memories", store.memories),
      snapshot: noting("snapshot", store.snapshot),
      scanMemories: noting("scan", store.scanMemories),
      stats: noting("stats", store.stats),
      memoryOwners: store.memoryOwners,
    };
    const vault = {
      openIndex: (...of: Parameters<SharedVault["openIndex"]>) => {
        this.opened++;
        return this.#vault.openIndex(...of);
      },
    };
    const source = new OwnerSnapshots({
      store: {
        commit: (changes) => {
          const [change] = changes;
          if (change?.kind === "begin_snapshot") this.begun.push(change.change);
          return store.commit(changes);
        },
        snapshot: store.snapshot,
        snapshotPart: store.snapshotPart,
      },
      ...{ vault: this.#vault, logger },
      makers: { width: WIDTH, model: "m", wordsVersion: 1 },
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    });
    const index = new OwnerIndex({
      ...{ store: noted, vault, clock, logger, maxBytes: 1e9 },
      wanted: { width: WIDTH, model: "m" },
      shared: isShared ? noted : undefined,
      snapshots: { store: noted, source, minMemories: 4, minChanges: 3 },
    });
    this.#indexes.push(index);
    return index;
  }

  /** A recall by an index, and the blobs that it reads. */
  recallBy(index: Pick<OwnerIndex, "look" | "search">): {
    readonly blobs: FakeBlobs;
    readonly recall: RecallService;
  } {
    const { store, clock } = this;
    const blobs = this.#blobs;
    const recall = new RecallService({
      ...{ store, index, blobs, clock, vault: this.#vault },
      ...{ embedder: new SwitchedEmbedder(), logger: new RecordingLogger() },
    });
    return { blobs, recall };
  }

  /** Stores memories in one commit. */
  async rememberAll(count: number): Promise<void> {
    const memories = await Promise.all(
      Array.from({ length: count }, (_, at) => this.#memory(`m${at}`)),
    );
    await this.store.commit(
      memories.map((memory) => ({ kind: "new_memory", memory })),
    );
  }

  /** Stores a memory, with words that the index may be told of. */
  async remember(
    id: string,
    options?: Partial<typeof WORDS>,
  ): Promise<IndexedMemory> {
    const memory = await this.#memory(id, options);
    await this.store.commit([{ kind: "new_memory", memory }]);
    return memory;
  }

  async #memory(id: string, { words }: Partial<typeof WORDS> = WORDS) {
    const entry = { vector: VECTOR, model: "m", metadata: {}, words };
    const memory = sampleMemory({
      id,
      sealedIndex: await this.#vault.sealIndex(ALICE, entry),
    });
    const { bytes } = this.#vault.seal(ALICE, {
      ...{ id, namespace: memory.namespace, text: "a text", createdAtMs: 0 },
      ...{ agentId: "ab", importance: 0.5, metadata: {} },
    });
    this.#blobs.outcomes.set(memory.blobId, { kind: "ok", bytes });
    return { ...memory, ...entry };
  }

  /** Removes a memory. */
  async remove(id: string): Promise<void> {
    await this.store.commit([{ kind: "remove_memory", owner: ALICE, id }]);
  }

  /** The ids of all memories that a search of an index finds, in order. */
  async found(
    index: OwnerIndex,
    { text }: { readonly text?: string } = {},
  ): Promise<readonly string[]> {
    const hits = await index.search({
      ...{ owner: ALICE, namespace: "default", limit: 9_999 },
      vector: text === undefined ? VECTOR : undefined,
      fused: text === undefined
        ? undefined
        : { text, explain: false, vectorWeight: 0 },
    }, { pausing: NEVER_PAUSING });
    return hits.map(({ id }) => id).sort();
  }

  /** Waits for what indexes do in the background. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 100; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  /** Ends all indexes. */
  async stop(): Promise<void> {
    for (const index of this.#indexes) await index.stop();
  }
}
