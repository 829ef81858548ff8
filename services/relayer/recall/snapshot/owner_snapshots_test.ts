import { countRounds } from "../../../../tests/support/rounds.ts";
import { assert, assertEquals } from "@std/assert";
import type { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { NEVER_PAUSING } from "../../../shared/slices.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import { HashedEmbedder } from "../../embed/hashed_embedder.ts";
import { withStore } from "../../store/sqlite/testing/open_store.ts";
import type { RelayerStore } from "../../store/store.ts";
import { ALICE, BOB, sampleMemory } from "../../store/testing/sample_rows.ts";
import { withVault } from "../../vault/testing/open_vault.ts";
import type { RelayerVault } from "../../vault/vault.ts";
import type { IndexHit } from "../memory_index.ts";
import { OwnerIndex } from "../owner_index.ts";
import { memoryWordsSteps } from "../ranking/memory_words.ts";
import { randomText } from "../testing/random_memories.ts";
import { OwnerSnapshots } from "./owner_snapshots.ts";

const EMBEDDER = new HashedEmbedder();
const { width, model } = EMBEDDER;
const LOOK_MS = 5_000;
const INTERVAL_MS = 600_000;

Deno.test("OwnerIndex finds what rows say after any changes and restarts, with snapshots and without", async () => {
  for (let seed = 1; seed <= countRounds(1); seed++) {
    await withWorld(seed, async (world) => {
      const { random } = world;
      for (let round = 0; round < 14; round++) {
        const most = random.pick([2, 5, 40]);
        for (let step = random.below(most); step >= 0; step--) {
          await world.change(random.pick([ALICE, BOB]));
        }
        if (random.chance(0.5)) await world.rest();
        if (random.chance(0.2)) await world.damage();
        if (random.chance(0.5)) await world.stop();
        await world.restart();
        // Some changes come while the snapshot is read.
        const asking = world.ask(ALICE);
        if (random.chance(0.5)) {
          for (let step = random.below(9); step >= 0; step--) {
            await world.change(ALICE);
          }
        }
        await asking;
        for (const owner of [ALICE, BOB]) await world.assertAsRows(owner);
      }
      assert(world.snapshotsRead > 5, `${world.snapshotsRead}`);
    });
  }
});

Deno.test("OwnerIndex writes a snapshot of an owner at rest, which a restart reads in place of the rows", async () => {
  await withWorld(1, async (world) => {
    for (let step = 0; step < 20; step++) await world.remember(ALICE);
    await world.ask(ALICE);
    assertEquals(await world.store.snapshot(ALICE), undefined);
    await world.rest();
    assertEquals((await world.store.snapshot(ALICE))?.parts, 2);
    assertEquals(world.written, 1);
    for await (const { name, isFile } of Deno.readDir(world.folder)) {
      if (!isFile) continue;
      const bytes = await Deno.readFile(`${world.folder}/${name}`);
      const text = new TextDecoder("latin1").decode(bytes);
      const word = ["harbour", "yesterday", "brother", "tyres"]
        .find((word) => text.includes(word));
      assertEquals(word, undefined, name);
    }
    await world.remember(ALICE);
    await world.restart();
    world.scans = 0;
    await world.assertAsRows(ALICE);
    assertEquals([world.snapshotsRead, world.scans], [1, 1]);
  });
});

Deno.test("OwnerIndex writes no snapshot while memories change, of few memories, or again within ten minutes", async () => {
  await withWorld(1, async (world) => {
    for (let step = 0; step < 3; step++) await world.remember(ALICE);
    await world.ask(ALICE);
    await world.rest();
    assertEquals(world.written, 0);
    for (let look = 0; look < 9; look++) {
      await world.remember(ALICE);
      await world.clock.advanceAsync(LOOK_MS);
    }
    assertEquals(world.written, 0);
    await world.rest();
    assertEquals(world.written, 1);
    await world.forget(ALICE);
    assertEquals(await world.store.snapshot(ALICE), undefined);
    await world.rest();
    assertEquals(world.written, 1);
    await world.clock.advanceAsync(INTERVAL_MS);
    await world.settle();
    assertEquals(world.written, 2);
    await world.clock.advanceAsync(INTERVAL_MS);
    await world.settle();
    assertEquals(world.written, 2);
  });
});

Deno.test("OwnerIndex.stop() writes the snapshots that are due", async () => {
  await withWorld(1, async (world) => {
    for (const owner of [ALICE, BOB]) {
      for (let step = 0; step < 9; step++) await world.remember(owner);
      await world.ask(owner);
    }
    await world.stop();
    for (const owner of [ALICE, BOB]) {
      assert(await world.store.snapshot(owner) !== undefined);
    }
  });
});

Deno.test("OwnerIndex writes the snapshots of others when one owner's cannot be written", async () => {
  await withWorld(1, async (world) => {
    for (const owner of [ALICE, BOB]) {
      for (let step = 0; step < 9; step++) await world.remember(owner);
      await world.ask(owner);
    }
    let failures = 0;
    world.onPart = (owner) => {
      if (owner !== ALICE) return Promise.resolve();
      failures++;
      return Promise.reject(new Error("a page is damaged"));
    };
    await world.rest();
    assert(world.logger.messages.includes(
      "Cannot write a snapshot of the index",
    ));
    assertEquals(await world.store.snapshot(ALICE), undefined);
    assert(await world.store.snapshot(BOB) !== undefined);
    // A failed snapshot is not tried again at the next look, since all of it
    // would be sealed again.
    await world.rest();
    assertEquals(failures, 1);
    await world.clock.advanceAsync(INTERVAL_MS);
    await world.settle();
    assertEquals(failures, 2);
  });
});

Deno.test("OwnerIndex gives up a snapshot while whose writing a memory changes, and leaves none of its parts", async () => {
  await withWorld(1, async (world) => {
    for (let step = 0; step < 20; step++) await world.remember(ALICE);
    await world.ask(ALICE);
    world.onPart = async () => {
      world.onPart = () => Promise.resolve();
      await world.remember(ALICE);
    };
    await world.rest();
    assertEquals(world.written, 0);
    assertEquals(await world.store.snapshot(ALICE), undefined);
    const bounds = { finishedJobsBeforeMs: 0, tombstonesBeforeMs: 0, limit: 9 };
    await world.store.sweep({ ...bounds, nowMs: 0 });
    assertEquals(
      await world.store.snapshotPart(world.names[0] ?? "", 0),
      undefined,
    );
    await world.rest();
    assertEquals(world.written, 1);
  });
});

Deno.test("OwnerIndex says so and reads rows when a part of a snapshot is damaged or gone", async () => {
  await withWorld(1, async (world) => {
    for (let step = 0; step < 20; step++) await world.remember(ALICE);
    await world.ask(ALICE);
    await world.rest();
    await world.damage();
    await world.restart();
    await world.assertAsRows(ALICE);
    const [warning] = world.logger.lines
      .filter(({ level }) => level === "warning");
    assertEquals(
      warning?.message,
      "Cannot use a snapshot of the index; building it again",
    );
    assert(String(warning?.fields["error"]).endsWith("damaged"));
  });
});

/** Has a world used on a store and a vault in folders of their own. */
async function withWorld(
  seed: number,
  use: (world: World) => Promise<void>,
): Promise<void> {
  await withStore((store, { clock, dataFolder: folder }) =>
    withVault(async (vault) => {
      const random = new SeededRandom(seed);
      const world = new World({ store, vault, clock, random, folder });
      try {
        await use(world);
      } finally {
        await world.stop();
      }
    })
  );
}

/** Memories of owners, an index that writes snapshots, and changes. */
class World {
  readonly store: RelayerStore;
  readonly clock: FakeClock;
  readonly random: SeededRandom;
  /** Where the store is. */
  readonly folder: string;
  readonly logger = new RecordingLogger();
  /** Names of the snapshots that were begun. */
  readonly names: string[] = [];
  /** Called before a part of an owner's snapshot is sealed. */
  onPart: (owner: string) => Promise<void> = () => Promise.resolve();
  /** How often rows of an owner were asked for. */
  scans = 0;
  /** How many snapshots were read whole. */
  snapshotsRead = 0;
  readonly #vault: RelayerVault;
  readonly #ids = new Map<string, string[]>();
  readonly #busy = new Set<Promise<unknown>>();
  #index: OwnerIndex;
  #count = 0;

  constructor(
    { store, vault, clock, random, folder }: {
      readonly store: RelayerStore;
      readonly vault: RelayerVault;
      readonly clock: FakeClock;
      readonly random: SeededRandom;
      readonly folder: string;
    },
  ) {
    this.store = store;
    this.folder = folder;
    this.clock = clock;
    this.random = random;
    this.#vault = vault;
    this.#index = this.#newIndex(true);
    this.#index.startSnapshots();
  }

  /** Snapshots that were written whole. */
  get written(): number {
    return this.logger.messages
      .filter((message) => message === "Wrote a snapshot of the index").length;
  }

  #newIndex(hasSnapshots: boolean): OwnerIndex {
    const { store, clock, logger } = this;
    const vault = this.#vault;
    const source = new OwnerSnapshots({
      store: {
        commit: (changes) => {
          const [change] = changes;
          if (change?.kind === "begin_snapshot") this.names.push(change.name);
          return this.#during(store.commit(changes));
        },
        snapshot: (owner) => store.snapshot(owner),
        snapshotPart: (name, part) => store.snapshotPart(name, part),
      },
      vault: {
        sealPart: (...given) =>
          this.#during(
            this.onPart(given[0]).then(() => vault.sealPart(...given)),
          ),
        openPart: (...given) => this.#during(vault.openPart(...given)),
      },
      makers: { width, model, wordsVersion: 2 },
      randomBytes: (length) => this.random.bytes(length),
      logger,
      partBytes: 5_000,
    });
    const read = source.read.bind(source);
    source.read = async (...given) => {
      const snapshot = await read(...given);
      if (snapshot !== undefined) this.snapshotsRead++;
      return snapshot;
    };
    return new OwnerIndex({
      store: {
        memoryOwners: (query) => store.memoryOwners(query),
        scanMemories: (query) => {
          if (query.afterId === undefined) this.scans++;
          return store.scanMemories(query);
        },
      },
      ...{ vault, clock, logger },
      wanted: { width, model },
      maxBytes: 1e9,
      pageRows: 7,
      snapshots: hasSnapshots
        ? { store, source, minMemories: 5, minChanges: 3 }
        : undefined,
    });
  }

  async #during<Answer>(work: Promise<Answer>): Promise<Answer> {
    this.#busy.add(work);
    try {
      return await work;
    } finally {
      this.#busy.delete(work);
    }
  }

  /** Waits for what the index has begun in the background. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 20; quiet++) {
      if (this.#busy.size > 0) quiet = 0;
      await Promise.allSettled([...this.#busy]);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  /** Lets time pass without changes, until due snapshots are written. */
  async rest(): Promise<void> {
    for (let look = 0; look < 2; look++) {
      await this.clock.advanceAsync(LOOK_MS);
      await this.settle();
    }
  }

  /**
   * Begins with a new index, as after a crash unless the last one was stopped.
   */
  async restart(): Promise<void> {
    await this.settle();
    this.#index = this.#newIndex(true);
    this.#index.startSnapshots();
  }

  async stop(): Promise<void> {
    await this.#index.stop();
  }

  /** Replaces a random part of Alice's snapshot with a damaged one. */
  async damage(): Promise<void> {
    const snapshot = await this.store.snapshot(ALICE);
    if (snapshot === undefined) return;
    const { name, parts } = snapshot;
    const sealed = await this.store.snapshotPart(name, 0);
    assert(sealed !== undefined);
    const bytes = sealed.with(sealed.length - 1, sealed.at(-1)! ^ 1);
    const part = this.random.below(parts);
    await this.store.commit([
      { kind: "snapshot_part", part: { name, part, bytes } },
    ]);
  }

  async change(owner: string): Promise<void> {
    const { random } = this;
    const ids = this.#ids.get(owner) ?? [];
    const dice = random.below(100);
    if (ids.length === 0 || dice < 75) return await this.remember(owner);
    if (dice < 85) return await this.forget(owner);
    if (dice < 97) return await this.renew(owner, random.pick(ids));
    await this.store.commit([
      { kind: "remove_namespace", owner, namespace: "m" },
    ]);
    this.#index.removeNamespace(owner, "m");
  }

  async remember(owner: string): Promise<void> {
    const { random } = this;
    const ids = this.#ids.get(owner) ?? [];
    const id = `memory ${this.#count++}`;
    const supersedes = ids.length > 0 && random.chance(0.15)
      ? random.pick(ids)
      : undefined;
    this.#ids.set(owner, [...ids, id]);
    const entry = await this.#entry(randomText(random));
    const namespace = random.pick(["n", "m"]);
    const memory = sampleMemory({
      ...{ id, owner, namespace, supersedes },
      createdAtMs: 1e12 + random.below(100),
      sealedIndex: await this.#vault.sealIndex(owner, entry),
    });
    await this.store.commit([
      { kind: "new_memory", memory },
      ...supersedes === undefined ? [] : [{
        ...{ kind: "supersede" as const, owner },
        ...{ id: supersedes, supersededBy: id },
      }],
    ]);
    this.#index.add({ ...memory, ...entry });
    if (supersedes !== undefined) this.#index.remove(owner, supersedes);
  }

  async forget(owner: string): Promise<void> {
    const id = this.random.pick(this.#ids.get(owner) ?? []);
    await this.store.commit([{ kind: "remove_memory", owner, id }]);
    this.#index.remove(owner, id);
  }

  /** Gives a memory another vector and other words, as a renewal does. */
  async renew(owner: string, id: string): Promise<void> {
    const [row] = await this.store.memories(owner, [id]);
    if (row === undefined || row.supersededBy !== undefined) return;
    const entry = await this.#entry(randomText(this.random));
    const sealedIndex = await this.#vault.sealIndex(owner, entry);
    await this.store.commit([{ kind: "reindex", owner, id, sealedIndex }]);
    this.#index.add({ ...row, ...entry });
  }

  async #entry(text: string) {
    const outcome = await EMBEDDER.embed([text]);
    const vector = outcome.kind === "ok" ? outcome.vectors[0] : undefined;
    assert(vector !== undefined);
    const words = finish(memoryWordsSteps(text));
    return { vector, model, words, metadata: { length: text.length } };
  }

  /** What the index finds of an owner, by many questions. */
  async ask(
    owner: string,
    index: OwnerIndex = this.#index,
  ): Promise<readonly (readonly IndexHit[])[]> {
    const random = new SeededRandom(7);
    const found: (readonly IndexHit[])[] = [];
    for (let round = 0; round < 8; round++) {
      const text = randomText(random);
      const { vector } = await this.#entry(text);
      const fused = { text, explain: false, vectorWeight: 0.3 };
      for (const namespace of ["n", "m"]) {
        const query = { owner, namespace, vector, limit: 30, fused };
        found.push(await index.search(query, { pausing: NEVER_PAUSING }));
      }
    }
    return found;
  }

  /** Checks that the index finds what an index finds that reads rows alone. */
  async assertAsRows(owner: string): Promise<void> {
    const rows = this.#newIndex(false);
    const [found, wanted] = [
      await this.ask(owner),
      await this.ask(owner, rows),
    ];
    assertEquals(found.map(formatHits), wanted.map(formatHits));
    await rows.stop();
  }
}

/**
 * Sorts hits, since those that rank alike may change their order in a restart.
 */
function formatHits(hits: readonly IndexHit[]): readonly string[] {
  return hits.map(({ id, distance }) => `${id} ${distance.toFixed(4)}`).sort();
}
