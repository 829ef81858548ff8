import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { finish } from "../concurrency/testing/finish.ts";
import { withStore } from "../store/sqlite/testing/open_store.ts";
import type { RelayerStore } from "../store/store.ts";
import { ALICE, sampleMemory } from "../store/testing/sample_rows.ts";
import { OwnerIndex } from "./owner_index.ts";
import { memoryWordsSteps } from "./ranking/memory_words.ts";
import { RecallService } from "./recall_service.ts";
import { OwnerSnapshots } from "./snapshot/owner_snapshots.ts";
import { FakeBlobs } from "./testing/fake_blobs.ts";
import { SwitchedEmbedder } from "./testing/memory_world.ts";
import { SharedVault } from "./testing/shared_world.ts";

const WIDTH = 4;
const VECTOR = Float32Array.of(1, 0, 0, 0);
const LOOK_MS = 5_000;
const WORDS = { words: finish(memoryWordsSteps("a text")) };

Deno.test("OwnerIndex.search() asks the store for one number and no more when nothing has changed", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a");
    assertEquals(await world.found(one), ["a"]);
    world.calls.length = 0;
    for (let round = 0; round < 3; round++) {
      assertEquals(await world.found(one), ["a"]);
    }
    assertEquals(world.calls, ["head", "head", "head"]);
  });
});

Deno.test("OwnerIndex.search() of one instance asks the store for nothing", async () => {
  await withWorld(async (world) => {
    await world.remember("a");
    const alone = world.start({ isShared: false });
    assertEquals(await world.found(alone), ["a"]);
    world.calls.length = 0;
    assertEquals(await world.found(alone), ["a"]);
    assertEquals(world.calls, []);
  });
});

Deno.test("OwnerIndex opens no entry of what its own instance has written", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    const other = world.start();
    for (const index of [one, other]) await world.found(index);
    const memory = await world.remember("a");
    one.add(memory);
    world.opened = 0;
    assertEquals(await world.found(one), ["a"]);
    assertEquals(world.opened, 0);
    assertEquals(await world.found(other), ["a"]);
    assertEquals(world.opened, 1);
  });
});

Deno.test("OwnerIndex does not find a memory that another instance has removed before its own one told of it", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.found(one);
    const memory = await world.remember("a");
    await world.remove("a");
    assertEquals(await world.found(one), []);
    one.add(memory);
    assertEquals(await world.found(one), []);
    one.remove(ALICE, "a");
    await world.remember("a");
    assertEquals(await world.found(one), ["a"]);
    one.remove(ALICE, "a");
    one.removeNamespace(ALICE, "default");
    assertEquals(await world.found(one), ["a"]);
  });
});

Deno.test("OwnerIndex finds the words of its instance alone where the store has none", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a", {});
    assertEquals(await world.found(one, { text: "harbour" }), []);
    const [row] = await world.store.memories(ALICE, ["a"]);
    assert(row !== undefined);
    const words = finish(memoryWordsSteps("the harbour of yesterday"));
    one.add({ ...row, metadata: {}, vector: VECTOR, words });
    assertEquals(await world.found(one, { text: "harbour" }), ["a"]);
  });
});

Deno.test("OwnerIndex follows at once what it has written a lot of, before anybody asks", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.found(one);
    for (let count = 0; count < 64; count++) {
      one.add(await world.remember(`m${count}`));
    }
    await world.settle();
    assertEquals(one.size, 64);
  });
});

Deno.test("OwnerIndex reads an owner anew when removals are no longer known, and while a search runs it does not", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.rememberAll(2_000);
    assertEquals((await world.found(one)).length, 2_000);
    await world.remove("m0");
    await world.store.sweep({
      ...{ nowMs: 0, finishedJobsBeforeMs: 0, limit: 9 },
      tombstonesBeforeMs: Number.MAX_SAFE_INTEGER,
    });
    const gate = Promise.withResolvers<void>();
    const pausing = { pause: () => gate.promise };
    const slow = one.search(
      { owner: ALICE, namespace: "default", vector: VECTOR, limit: 9_999 },
      { pausing, look: { head: Promise.resolve(0), least: 0 } },
    );
    world.calls.length = 0;
    const asked = world.found(one);
    await world.settle();
    assertEquals(world.calls, ["head", "feed"]);
    gate.resolve();
    assertEquals((await slow).length, 2_000);
    assertEquals((await asked).length, 1_999);
    assert(world.calls.includes("scan"));
  });
});

Deno.test("OwnerIndex reads an owner anew when the store is that of an earlier time", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a");
    assertEquals(await world.found(one), ["a"]);
    world.calls.length = 0;
    world.headIs = 1;
    assertEquals(await world.found(one), ["a"]);
    assert(world.calls.includes("scan"));
  });
});

Deno.test("OwnerIndex.search() tells of a store that fails, and the next one finds everything", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.remember("a");
    await world.found(one);
    await world.remember("b");
    for (const name of ["head", "feed"]) {
      world.failing = name;
      await assertRejects(() => world.found(one), Error, "the disk is away");
    }
    world.failing = "";
    assertEquals(await world.found(one), ["a", "b"]);
  });
});

Deno.test("OwnerIndex writes no snapshot that another instance has written, and reads that one", async () => {
  await withWorld(async (world) => {
    const [one, other] = [world.start(), world.start()];
    for (let count = 0; count < 6; count++) await world.remember(`m${count}`);
    for (const index of [one, other]) {
      await world.found(index);
      index.startSnapshots();
      await world.clock.advanceAsync(LOOK_MS / 2);
    }
    for (let look = 0; look < 4; look++) {
      await world.clock.advanceAsync(LOOK_MS);
      await world.settle();
    }
    assertEquals(world.begun.length, 1);
    assertEquals(world.begun[0], await world.store.head(ALICE));
    world.calls.length = 0;
    assertEquals((await world.found(world.start())).length, 6);
    assertEquals(world.calls.includes("scan"), false);
  });
});

Deno.test("OwnerIndex reads another instance's snapshot where it has more than some thousand changes", async () => {
  await withWorld(async (world) => {
    const one = world.start();
    await world.found(one);
    await world.rememberAll(5_100);
    const other = world.start();
    await world.found(other);
    await other.stop();
    assertEquals(world.begun.length, 1);
    world.calls.length = 0;
    world.opened = 0;
    await world.found(one);
    assertEquals(one.size, 5_100);
    assert(world.calls.includes("snapshot"));
    assert(world.opened < 5_000, `${world.opened}`);
  });
});

Deno.test("RecallService leaves out a memory that another instance removes while its blob is read", async () => {
  await withWorld(async (world) => {
    const index = world.start();
    await world.remember("a");
    await world.remember("b");
    const { blobs, recall } = world.recallBy(index);
    const ask = async () => {
      const outcome = await recall.recall({
        ...{ owner: ALICE, namespace: "default", query: VECTOR, limit: 9 },
        ordering: { kind: "relevance" },
      });
      assert(outcome.kind === "ok");
      return [outcome.memories.map(({ id }) => id).sort(), outcome.dropped];
    };
    assertEquals(await ask(), [["a", "b"], 0]);
    blobs.onGet = async () => {
      blobs.onGet = () => {};
      await world.remove("a");
    };
    assertEquals(await ask(), [["b"], 1]);
    assertEquals(await ask(), [["b"], 0]);
  });
});

Deno.test("RecallService.find() leaves out a memory that another instance removes after the search", async () => {
  await withWorld(async (world) => {
    const index = world.start();
    await world.remember("a");
    await world.remember("b");
    const { recall } = world.recallBy({
      look: (owner) => index.look(owner),
      async search(...of) {
        const hits = await index.search(...of);
        await world.remove("a");
        return hits;
      },
    });
    const outcome = await recall.find({
      ...{ owner: ALICE, namespace: "default", query: VECTOR, limit: 9 },
      ordering: { kind: "relevance" },
    });
    assert(outcome.kind === "ok");
    assertEquals(outcome.memories.map(({ id }) => id), ["b"]);
  });
});

async function withWorld(use: (world: World) => Promise<void>): Promise<void> {
  await withStore(async (store) => {
    const world = new World(store);
    try {
      await use(world);
    } finally {
      await world.stop();
    }
  });
}

/** A store that several indexes share, and notes of what they ask it. */
class World {
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
  readonly store: RelayerStore;
  readonly #blobs = new FakeBlobs();
  readonly #vault = new SharedVault();
  readonly #indexes: OwnerIndex[] = [];

  constructor(store: RelayerStore) {
    this.store = store;
  }

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

  recallBy(index: Pick<OwnerIndex, "look" | "search">) {
    const { store, clock } = this;
    const blobs = this.#blobs;
    const recall = new RecallService({
      ...{ store, index, blobs, clock, vault: this.#vault },
      ...{ embedder: new SwitchedEmbedder(), logger: new RecordingLogger() },
    });
    return { blobs, recall };
  }

  async rememberAll(count: number): Promise<void> {
    const memories = await Promise.all(
      Array.from({ length: count }, (_, at) => this.#memory(`m${at}`)),
    );
    await this.store.commit(
      memories.map((memory) => ({ kind: "new_memory", memory })),
    );
  }

  async remember(id: string, options?: Partial<typeof WORDS>) {
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

  async remove(id: string): Promise<void> {
    await this.store.commit([{ kind: "remove_memory", owner: ALICE, id }]);
  }

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

  async stop(): Promise<void> {
    for (const index of this.#indexes) await index.stop();
  }
}
