/**
 * Several relayers on one store, and an obvious model of what their recalls
 * have to find, for tests.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { NewMemory } from "../../store/rows.ts";
import type { Change } from "../../store/changes.ts";
import type { RelayerStore } from "../../store/store.ts";
import { sampleMemory } from "../../store/testing/sample_rows.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../ranking/memory_words.ts";
import { OwnerIndex } from "../owner_index.ts";
import type { RecallOutcome } from "../recall_request.ts";
import { RecallService } from "../recall_service.ts";
import { OwnerSnapshots } from "../snapshot/owner_snapshots.ts";
import { FakeBlobs } from "./fake_blobs.ts";
import { FakeVault } from "./fake_vault.ts";
import { SwitchedEmbedder } from "./memory_world.ts";

/** A relayer as far as recall needs it. */
export interface SharedRelayer {
  /** Its store, which others share. */
  readonly store: RelayerStore;
  /** Its index. */
  readonly index: OwnerIndex;
  /** Its recall. */
  readonly recall: RecallService;
  /** Recalls that are under way. */
  readonly recalls: Set<Promise<RecallOutcome>>;
}

/** What the model knows of a memory. */
interface ModelMemory {
  readonly owner: string;
  /** The namespace of its row; undefined when it has none. */
  namespace: string | undefined;
  /** Whether another one replaces it, so that nothing may find it. */
  isReplaced: boolean;
  /** Its distance to the question, which each new vector changes. */
  distance: number;
  /** How often it was changed, and how many changes are under way. */
  changes: number;
  underWay: number;
}

const WIDTH = 4;
const MODEL = "m";
const QUESTION = Float32Array.of(1, 0, 0, 0);
const VECTORS = [QUESTION, Float32Array.of(0, 1, 0, 0)] as const;
const OWNERS = ["0x01", "0x02"] as const;
const NAMESPACES = ["n", "m"] as const;

/** Relayers that remember, forget and recall at once. */
export class SharedWorld {
  /** The time of all relayers. */
  readonly clock = new FakeClock();
  /** The blobs of all relayers; none is removed, so rows alone decide. */
  readonly blobs = new FakeBlobs();
  /** The relayers. */
  readonly relayers: SharedRelayer[];
  /** How many memories recalls have found. */
  found = 0;
  #count = 0;
  /** Owners of whom a namespace is being removed. */
  readonly #clearing = new Set<string>();
  /** How many snapshots were read. */
  snapshotsRead = 0;
  readonly #random: SeededRandom;
  readonly #model = new Map<string, ModelMemory>();
  readonly #vault = new SharedVault();
  readonly #indexes: OwnerIndex[] = [];
  readonly #changed: (changes: readonly Change[]) => readonly Change[];

  /** Starts a relayer on each store. */
  constructor(
    { stores, random, changed = (changes) => changes }: {
      readonly stores: readonly RelayerStore[];
      readonly random: SeededRandom;
      /** What becomes of commits; a test puts faults in by it. */
      readonly changed?: (changes: readonly Change[]) => readonly Change[];
    },
  ) {
    this.#random = random;
    this.#changed = changed;
    this.relayers = stores.map((store) => this.start(store));
  }

  /** Starts a relayer that has nothing in memory. */
  start(store: RelayerStore): SharedRelayer {
    const { clock, blobs } = this;
    const vault = this.#vault;
    const logger = new RecordingLogger();
    const source = new OwnerSnapshots({
      ...{ store, vault, logger },
      makers: { width: WIDTH, model: MODEL, wordsVersion: 1 },
      randomBytes: (length) => this.#random.bytes(length),
      partBytes: 500,
    });
    const read = source.read.bind(source);
    source.read = async (...of) => {
      const snapshot = await read(...of);
      if (snapshot !== undefined) this.snapshotsRead++;
      return snapshot;
    };
    const index = new OwnerIndex({
      ...{ store, vault, clock, logger, shared: store },
      wanted: { width: WIDTH, model: MODEL },
      snapshots: { store, source, minMemories: 4, minChanges: 3 },
      maxBytes: this.#random.pick([1, 1e9, 1e9]),
      pageRows: 5,
    });
    const recall = new RecallService({
      ...{ store, index, vault, blobs, clock, logger },
      embedder: new SwitchedEmbedder(),
    });
    this.#indexes.push(index);
    return { store, index, recall, recalls: new Set() };
  }

  /** Ends all relayers. */
  async stop(): Promise<void> {
    for (const index of this.#indexes) await index.stop();
  }

  /** Makes a random change or recall at a random relayer. */
  async act(): Promise<void> {
    const random = this.#random;
    const at = random.below(this.relayers.length);
    const relayer = this.relayers[at]!;
    const owner = random.pick(OWNERS);
    const choice = random.below(100);
    if (choice < 40) return await this.checkRecall(relayer, owner);
    if (choice < 65) return await this.remember(relayer, owner);
    if (choice < 78) return await this.remove(relayer, owner);
    if (choice < 90) return await this.reindex(relayer, owner);
    if (choice < 94) return await this.removeNamespace(relayer, owner);
    const isPreloaded = random.chance(0.5);
    await this.replace(at, { isPreloaded, isCrash: random.chance(0.4) });
  }

  /** Starts a relayer in the place of another one, and ends that one. */
  async replace(
    at: number,
    { isPreloaded = false, isCrash = false }: {
      /**
       * Whether the new one reads all owners before the other one ends.
       *
       * @default {false}
       */
      readonly isPreloaded?: boolean;
      /**
       * Whether the other one ends without writing snapshots.
       *
       * @default {false}
       */
      readonly isCrash?: boolean;
    } = {},
  ): Promise<SharedRelayer> {
    const relayer = this.relayers[at]!;
    const next = this.start(relayer.store);
    this.relayers[at] = next;
    if (isPreloaded) await next.index.preload();
    if (isCrash) return next;
    await Promise.allSettled(relayer.recalls);
    await relayer.index.stop();
    return next;
  }

  /**
   * Recalls, and checks all memories that nothing has changed meanwhile: they
   * are found exactly where they have to be, by their last vector.
   */
  async checkRecall(
    { recall, recalls }: SharedRelayer,
    owner: string,
  ): Promise<void> {
    const namespace = this.#random.pick(NAMESPACES);
    const before = new Map(
      [...this.#model].flatMap(([id, memory]) =>
        memory.owner === owner && memory.underWay === 0
          ? [[id, memory.changes]]
          : []
      ),
    );
    const request = { owner, namespace, query: QUESTION, limit: 100 };
    const recalling = recall.recall({
      ...request,
      ordering: { kind: "relevance" },
    });
    recalls.add(recalling);
    const outcome = await recalling.finally(() => recalls.delete(recalling));
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    const steady = (id: string): boolean =>
      before.get(id) === this.#model.get(id)?.changes;
    const found = outcome.memories.filter(({ id }) => steady(id))
      .map(({ id, distance }) => `${id} ${distance}`);
    const expected = [...this.#model].flatMap(([id, memory]) =>
      memory.owner === owner && memory.namespace === namespace &&
        !memory.isReplaced && steady(id)
        ? [`${id} ${memory.distance}`]
        : []
    );
    assertEquals(found.sort(), expected.sort());
    this.found += found.length;
  }

  /** Stores a memory, a new one or one that was removed, maybe for another. */
  async remember(relayer: SharedRelayer, owner: string): Promise<void> {
    const random = this.#random;
    const entry = this.#entry();
    const sealedIndex = await this.#vault.sealIndex(owner, entry);
    if (this.#clearing.has(owner)) return;
    const gone = this.#pick(owner, ({ namespace }) => namespace === undefined);
    const again = random.chance(0.3) ? gone : undefined;
    const id = again ?? `${owner}-${this.#count++}`;
    const replaced = random.chance(0.2)
      ? this.#pick(owner, isCurrent)
      : undefined;
    const namespace = random.pick(NAMESPACES);
    const memory: NewMemory = sampleMemory({
      ...{ id, owner, namespace, supersedes: replaced },
      blobId: `blob of ${id} in ${namespace}`,
      sealedIndex,
    });
    this.#putBlob(memory);
    const changes: Change[] = [{ kind: "new_memory", memory }];
    if (replaced !== undefined) {
      const supersededBy = id;
      changes.push({ kind: "supersede", owner, id: replaced, supersededBy });
    }
    const ids = replaced === undefined ? [id] : [id, replaced];
    await this.#during({ owner, ids }, async () => {
      await relayer.store.commit(this.#changed(changes));
      Object.assign(this.#model.get(id)!, {
        namespace,
        distance: entry.distance,
        isReplaced: false,
      });
      if (replaced !== undefined) this.#model.get(replaced)!.isReplaced = true;
    });
    await this.#delay();
    if (replaced !== undefined) relayer.index.remove(owner, replaced);
    relayer.index.add({ ...memory, ...entry });
  }

  /** Removes a memory. */
  async remove(relayer: SharedRelayer, owner: string): Promise<void> {
    const id = this.#pick(owner, () => true);
    if (id === undefined) return;
    await this.#during({ owner, ids: [id] }, async () => {
      await relayer.store.commit(
        this.#changed([{ kind: "remove_memory", owner, id }]),
      );
      this.#model.get(id)!.namespace = undefined;
    });
    await this.#delay();
    relayer.index.remove(owner, id);
  }

  /** Gives a memory another vector. */
  async reindex(relayer: SharedRelayer, owner: string): Promise<void> {
    const entry = this.#entry();
    const sealedIndex = await this.#vault.sealIndex(owner, entry);
    const id = this.#pick(owner, isCurrent);
    if (id === undefined) return;
    await this.#during({ owner, ids: [id] }, async () => {
      await relayer.store.commit(
        this.#changed([{ kind: "reindex", owner, id, sealedIndex }]),
      );
      this.#model.get(id)!.distance = entry.distance;
    });
    await this.#delay();
    const [row] = await relayer.store.memories(owner, [id]);
    if (row === undefined || row.supersededBy !== undefined) return;
    relayer.index.add({ ...row, ...entry, sealedIndex });
  }

  /** Removes a namespace. */
  async removeNamespace(relayer: SharedRelayer, owner: string): Promise<void> {
    const namespace = this.#random.pick(NAMESPACES);
    const ids = [...this.#model].flatMap(([id, memory]) =>
      memory.owner === owner ? [id] : []
    );
    // Nothing else of the owner may change: it is not known what comes first.
    if (ids.some((id) => this.#model.get(id)!.underWay > 0)) return;
    this.#clearing.add(owner);
    await this.#during({ owner, ids }, async () => {
      await relayer.store.commit(
        this.#changed([{ kind: "remove_namespace", owner, namespace }]),
      );
      for (const id of ids) {
        const memory = this.#model.get(id)!;
        if (memory.namespace === namespace) memory.namespace = undefined;
      }
    });
    this.#clearing.delete(owner);
    await this.#delay();
    relayer.index.removeNamespace(owner, namespace);
  }

  /** A memory of an owner that nobody changes now. */
  #pick(
    owner: string,
    accepts: (memory: ModelMemory) => boolean,
  ): string | undefined {
    const ids = [...this.#model].flatMap(([id, memory]) =>
      memory.owner === owner && memory.underWay === 0 && accepts(memory)
        ? [id]
        : []
    );
    return ids.length === 0 ? undefined : this.#random.pick(ids);
  }

  async #during(
    { owner, ids }: { readonly owner: string; readonly ids: readonly string[] },
    work: () => Promise<void>,
  ): Promise<void> {
    const memories = ids.map((id) => {
      const fresh: ModelMemory = {
        ...{ owner, namespace: undefined, isReplaced: false, distance: 0 },
        ...{ changes: 0, underWay: 0 },
      };
      const memory = this.#model.get(id) ?? fresh;
      this.#model.set(id, memory);
      return memory;
    });
    for (const memory of memories) {
      memory.changes++;
      memory.underWay++;
    }
    await work();
    for (const memory of memories) memory.underWay--;
  }

  /** What a relayer does between its commit and telling its index. */
  async #delay(): Promise<void> {
    for (let left = this.#random.below(4); left > 0; left--) {
      await this.#random.pick(this.relayers).store.head(OWNERS[0]);
    }
  }

  #entry() {
    const distance = this.#random.below(2);
    return {
      distance,
      vector: VECTORS[distance]!,
      model: MODEL,
      metadata: {},
      words: finish(memoryWordsSteps("a text")),
    };
  }

  #putBlob({ id, owner, namespace, blobId }: NewMemory): void {
    const { bytes } = this.#vault.seal(owner, {
      ...{ id, namespace, text: `text of ${id}`, createdAtMs: 0 },
      ...{ agentId: "ab", importance: 0.5, metadata: {} },
    });
    this.blobs.outcomes.set(blobId, { kind: "ok", bytes });
  }
}

/** Whether recalls have to find a memory. */
function isCurrent({ namespace, isReplaced }: ModelMemory): boolean {
  return namespace !== undefined && !isReplaced;
}

/** Keeps parts of snapshots as they are. */
export class SharedVault extends FakeVault {
  sealPart(
    ...[_, bytes]: [string, Uint8Array<ArrayBuffer>]
  ): Promise<Uint8Array> {
    return Promise.resolve(bytes.slice());
  }

  openPart(
    ...[_, bytes]: [string, Uint8Array]
  ): Promise<{ readonly kind: "ok"; readonly value: Uint8Array }> {
    return Promise.resolve({ kind: "ok", value: bytes.slice() });
  }
}
