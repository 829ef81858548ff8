import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { MemoryOwner } from "../store/store.ts";
import type { IndexEntry, Opened } from "../vault/vault.ts";
import { OwnerIndex } from "./owner_index.ts";

const WIDTH = 4;
const VECTOR = Float32Array.of(1, 2, 3, 4);
const NAMESPACES = ["n", "m"];
const OWNERS = ["0x01", "0x02", "0x03"];

Deno.test("OwnerIndex finds what the store has, whatever changes while it reads", async () => {
  let evictions = 0;
  for (let seed = 0; seed < 300; seed++) {
    const random = new SeededRandom(seed);
    const world = new World({
      delay: () => ticks(random.below(12)),
      changeDelay: () => ticks(random.below(6)),
      // Room for all owners, for some, and for one at a time.
      maxBytes: random.pick([1_000_000, 40_000, 1]),
    });
    for (let number = 0; number < 20; number++) {
      const namespace = random.pick(NAMESPACES);
      world.put({ owner: random.pick(OWNERS), id: `m${number}`, namespace });
    }
    await Promise.all(
      Array.from({ length: 4 }, () => changeAndSearch(world, random)),
    );
    await world.changed();
    for (const owner of OWNERS) {
      for (const namespace of NAMESPACES) {
        assertEquals(
          await world.found(owner, namespace),
          world.stored(owner, namespace),
          `seed ${seed}`,
        );
      }
    }
    await world.index.stop();
    evictions += world.index.evictions;
  }
  assert(evictions > 300, `${evictions}`);
});

Deno.test("OwnerIndex.search() reads an owner once for all who ask meanwhile, and no other", async () => {
  const world = new World();
  world.put(...OWNERS.map((owner) => ({ owner, id: "a" })));
  const asked = Array.from({ length: 5 }, () => world.found("0x01"));
  assertEquals(await Promise.all(asked), Array(5).fill(["a"]));
  assertEquals(await world.found("0x01", "m"), []);
  assertEquals(world.scans, ["0x01"]);
  assertEquals(world.index.size, 1);
});

Deno.test("OwnerIndex.search() of an owner does not wait for others that are read", async () => {
  const gate = Promise.withResolvers<void>();
  const world = new World({
    delay: (owner) => owner === "0x01" ? gate.promise : Promise.resolve(),
  });
  world.put({ owner: "0x01", id: "a" }, { owner: "0x02", id: "b" });
  const first = world.found("0x01");
  const preloading = world.index.preload();
  assertEquals(await world.found("0x02"), ["b"]);
  gate.resolve();
  assertEquals(await first, ["a"]);
  assertEquals((await preloading)?.owners, 0);
});

Deno.test("OwnerIndex.search() ends with its signal, and the load goes on for others", async () => {
  const gate = Promise.withResolvers<void>();
  const world = new World({ delay: () => gate.promise });
  world.put({ owner: "0x01", id: "a" });
  const ending = new AbortController();
  const ended = world.found("0x01", "n", ending.signal);
  const going = world.found("0x01");
  ending.abort(new Error("late"));
  gate.resolve();
  await assertRejects(() => ended, Error, "late");
  assertEquals(await going, ["a"]);
  assertEquals(world.scans.length, 1);
});

Deno.test("OwnerIndex.search() finds what was read so far when its time is over, and all later", async () => {
  const gate = Promise.withResolvers<void>();
  const clock = new FakeClock();
  let delays = 0;
  const world = new World({
    // The second page is not read before the gate opens; reading and opening
    // the first one take five delays.
    delay: () => ++delays > 5 ? gate.promise : Promise.resolve(),
    clock,
  });
  // The rows of a page, and one more.
  world.put(...["a", "b", "c", "d"].map((id) => ({ owner: "0x01", id })));
  let early = 0;
  const search = async () =>
    (await world.index.search({
      ...{ owner: "0x01", namespace: "n", vector: VECTOR, limit: 10 },
    }, {
      pausing: NEVER_PAUSING,
      early: { afterMs: 1_000, onEarly: () => early++ },
    })).map(({ id }) => id);
  const first = search();
  await waitUntil(() => delays === 6, { what: "the second page" });
  await clock.advance(999);
  assertEquals(early, 0);
  await clock.advance(1);
  assertEquals(await first, ["a", "b", "c"]);
  assertEquals(early, 1);
  gate.resolve();
  assertEquals(await search(), ["a", "b", "c", "d"]);
  assertEquals([early, world.scans.length], [1, 1]);
});

Deno.test("OwnerIndex.search() tells all who wait of a failed read, and the next one tries again", async () => {
  const world = new World();
  world.put({ owner: "0x01", id: "a" }, { owner: "0x01", id: "b" });
  world.failure = new Error("Cannot read: the disk is away");
  const asked = [world.found("0x01"), world.found("0x01")];
  for (const one of asked) await assertRejects(() => one, Error, "disk");
  assertEquals([world.index.size, world.index.bytes], [0, 0]);
  world.failure = undefined;
  assertEquals(await world.found("0x01"), ["a", "b"]);
  assertEquals(world.scans.length, 2);
});

Deno.test("OwnerIndex lets go of owners who did not recall for the longest, and reads them again", async () => {
  const world = new World({ maxBytes: 45_000 });
  for (const owner of OWNERS) {
    world.put(
      ...Array.from({ length: 8 }, (_, id) => ({ owner, id: `${id}` })),
    );
  }
  const all = world.stored("0x01", "n");
  for (const owner of ["0x01", "0x02", "0x01", "0x03", "0x01", "0x02"]) {
    assertEquals(await world.found(owner), all);
    assert(world.index.bytes <= 45_000, `${world.index.bytes}`);
  }
  assertEquals(world.scans, ["0x01", "0x02", "0x03", "0x02"]);
  assertEquals([world.index.evictions, world.index.size], [2, 16]);
  await world.index.stop();
});

Deno.test("OwnerIndex keeps the owner who recalled last, however large", async () => {
  const world = new World({ maxBytes: 1 });
  world.put({ owner: "0x01", id: "a" }, { owner: "0x02", id: "b" });
  for (let round = 0; round < 3; round++) await world.found("0x01");
  assertEquals(world.scans.length, 1);
  await world.found("0x02");
  assertEquals([world.index.size, world.index.evictions], [1, 1]);
  await world.index.stop();
});

Deno.test("OwnerIndex.add() of an owner who did not recall takes no room", async () => {
  const world = new World();
  world.remember({ owner: "0x01", id: "a" });
  assertEquals([world.index.size, world.index.bytes], [0, 0]);
  assertEquals(await world.found("0x01"), ["a"]);
  world.remember({ owner: "0x01", id: "b" });
  assertEquals(world.index.has("0x01", "b"), true);
  assertEquals(await world.found("0x01"), ["a", "b"]);
  assertEquals(world.scans.length, 1);
});

Deno.test("OwnerIndex.preload() reads all owners there is room for, and tells how far it is", async () => {
  const clock = new FakeClock();
  const world = new World({
    clock,
    maxBytes: 30_000,
    delay: async () => {
      await clock.advanceAsync(2_000);
    },
  });
  const owners = Array.from({ length: 1_200 }, (_, n) => `0x${n + 10_000}`);
  world.put(...owners.map((owner) => ({ owner, id: "a" })));
  const counts = await world.index.preload();
  const { size, bytes, evictions } = world.index;
  assert(bytes <= 30_000 && bytes > 25_000, `${bytes}`);
  assertEquals(counts, {
    ...{ loaded: size, owners: size, later: 1_200 - size },
    ...{ superseded: 0, otherEmbedder: 0, misfitOfClients: 0 },
    ...{ unreadable: 0, full: 0, due: 0 },
  });
  assertEquals(evictions, 0);
  assertEquals(world.logger.messages.at(-1), "Loaded the index");
  const [progress] = world.logger.lines;
  assertEquals(progress?.message, "Loading the index");
  assertEquals(clock.pendingTimers, 0);
  // The first owner need not be read again.
  const { length } = world.scans;
  await world.found(owners[0] ?? "");
  assertEquals(world.scans.length, length);
});

Deno.test("OwnerIndex.preload() ends with what the store throws, and owners are read as they recall", async () => {
  const world = new World();
  world.put(...OWNERS.map((owner) => ({ owner, id: "a" })));
  world.failures.add("0x02");
  await assertRejects(() => world.index.preload(), Error, "damaged");
  assertEquals([world.index.size, world.scans], [1, ["0x01", "0x02"]]);
  assertEquals(world.logger.lines, []);
  assertEquals(await world.found("0x03"), ["a"]);
  await assertRejects(() => world.found("0x02"), Error, "damaged");
  world.failures.clear();
  assertEquals(await world.found("0x02"), ["a"]);
});

Deno.test("OwnerIndex tells of memories that recall does not find, of all owners at once", async () => {
  const world = new World();
  world.put(...OWNERS.map((owner) => ({ owner, id: "a" })));
  world.model = "older";
  await world.index.preload();
  const told = () =>
    world.logger.lines.filter(({ level }) => level === "warning")
      .map(({ fields }) => [fields["owner"], fields["memories"]]);
  assertEquals(told(), [[undefined, 3]]);
  const late = new World();
  late.put({ owner: "0x01", id: "a" });
  late.model = "older";
  assertEquals(await late.found("0x01"), []);
  const [line] = late.logger.lines;
  assertEquals(line?.fields["owner"], "0x01");
});

Deno.test("OwnerIndex.stop() ends loads and searches that wait for them", async () => {
  const gate = Promise.withResolvers<void>();
  const world = new World({ delay: () => gate.promise });
  world.put(...OWNERS.map((owner) => ({ owner, id: "a" })));
  const preloading = world.index.preload();
  const waiting = world.found("0x03");
  await ticks(10);
  const stopped = world.index.stop();
  gate.resolve();
  await stopped;
  assertEquals(await preloading, undefined);
  await assertRejects(() => waiting, Error, "has stopped");
  await assertRejects(() => world.found("0x02"), Error, "has stopped");
});

/**
 * Makes changes and searches one after the other, as requests of all owners do.
 */
async function changeAndSearch(
  world: World,
  random: SeededRandom,
): Promise<void> {
  for (let step = 0; step < 8; step++) {
    const owner = random.pick(OWNERS);
    const namespace = random.pick(NAMESPACES);
    const id = `m${random.below(24)}`;
    const choice = random.next();
    if (choice < 0.35) await searchSteady(world, { owner, namespace });
    else if (choice < 0.7) world.remember({ owner, id, namespace });
    else if (choice < 0.95) world.forget(owner, id);
    else world.forgetNamespace(owner, namespace);
    await ticks(random.below(4));
  }
}

/**
 * Searches, and checks that memories which do not change meanwhile are found
 * exactly when the store has them.
 */
async function searchSteady(
  world: World,
  { owner, namespace }: { readonly owner: string; readonly namespace: string },
): Promise<void> {
  const before = new Map(world.changes);
  for (const key of world.pending.keys()) before.delete(key);
  const stored = world.stored(owner, namespace);
  const found = await world.found(owner, namespace);
  const steady = (id: string): boolean =>
    before.get(`${owner}/${id}`) === world.changes.get(`${owner}/${id}`);
  assertEquals(found.filter(steady), stored.filter(steady));
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}

interface WorldMemory {
  readonly owner: string;
  readonly id: string;
  readonly namespace?: string;
}

Deno.test("OwnerIndex.removeNamespace() gives others their turn while the room of many memories is given back", async () => {
  let pauses = 0;
  const turn = { pause: () => void pauses++ };
  const turns = {
    begin: () => ({ kind: "ok", turn }),
  } as unknown as Pick<FairTurns, "begin">;
  const world = new World({ turns });
  await world.found("0x01");
  for (let number = 0; number < 10_000; number++) {
    world.remember({ owner: "0x01", id: `m${number}` });
  }
  world.remember({ owner: "0x01", id: "other", namespace: "m" });
  assertEquals(pauses, 0);
  world.forgetNamespace("0x01", "n");
  assertEquals(world.index.size, 1);
  assertEquals(await world.found("0x01"), []);
  await world.index.stop();
  assert(pauses > 8, `${pauses}`);
});

/** A store whose answers take some time, and an index over it. */
class World {
  readonly logger = new RecordingLogger();
  readonly rows = new Map<string, MemoryRow>();
  /** Owners whose rows were asked for from the beginning. */
  readonly scans: string[] = [];
  readonly index: OwnerIndex;
  /** How often each memory was changed. */
  readonly changes = new Map<string, number>();
  /** How many changes of each memory the index was not told of yet. */
  readonly pending = new Map<string, number>();
  /** The model that made the vectors. */
  model = "m";
  /** What reading rows fails with. */
  failure: Error | undefined;
  /** Owners whose rows cannot be read. */
  readonly failures = new Set<string>();
  readonly #delay: (owner: string) => Promise<void>;
  readonly #changeDelay: (() => Promise<void>) | undefined;
  #changed = Promise.resolve();

  constructor(
    {
      delay = () => Promise.resolve(),
      changeDelay,
      maxBytes = 1_000_000,
      clock,
      turns,
    }: {
      readonly delay?: (owner: string) => Promise<void>;
      /**
       * How long after the store the index is changed; at once unless given.
       */
      readonly changeDelay?: () => Promise<void>;
      readonly maxBytes?: number;
      readonly clock?: FakeClock;
      readonly turns?: Pick<FairTurns, "begin">;
    } = {},
  ) {
    this.#delay = delay;
    this.#changeDelay = changeDelay;
    this.index = new OwnerIndex({
      store: this,
      vault: this,
      wanted: { width: WIDTH, model: "m" },
      maxBytes,
      logger: this.logger,
      clock: clock ?? new FakeClock(),
      turns,
      pageRows: 3,
    });
  }

  /** Waits until the index was told of all changes of the store. */
  async changed(): Promise<void> {
    await this.#changed;
  }

  #change(
    { owner, ids }: { readonly owner: string; readonly ids: readonly string[] },
    work: () => void,
  ): void {
    const delay = this.#changeDelay;
    if (delay === undefined) return work();
    const keys = ids.map((id) => `${owner}/${id}`);
    for (const key of keys) {
      this.changes.set(key, (this.changes.get(key) ?? 0) + 1);
      this.pending.set(key, (this.pending.get(key) ?? 0) + 1);
    }
    // The index is changed in the order of the store's changes.
    this.#changed = this.#changed.then(delay).then(() => {
      work();
      for (const key of keys) {
        const left = (this.pending.get(key) ?? 0) - 1;
        if (left === 0) this.pending.delete(key);
        else this.pending.set(key, left);
      }
    });
  }

  put(...memories: readonly WorldMemory[]): void {
    for (const { owner, id, namespace = "n" } of memories) {
      this.rows.set(`${owner}/${id}`, createRow({ owner, id, namespace }));
    }
  }

  remember(memory: Required<WorldMemory> | WorldMemory): void {
    const { owner, id, namespace = "n" } = memory;
    // A memory that has a row is not written again.
    if (this.rows.has(`${owner}/${id}`)) return;
    this.put(memory);
    const row = createRow({ owner, id, namespace });
    this.#change(
      { owner, ids: [id] },
      () => this.index.add({ ...row, metadata: {}, vector: VECTOR }),
    );
  }

  forget(owner: string, id: string): void {
    this.rows.delete(`${owner}/${id}`);
    this.#change({ owner, ids: [id] }, () => this.index.remove(owner, id));
  }

  forgetNamespace(owner: string, namespace: string): void {
    const ids = this.stored(owner, namespace);
    for (const id of ids) this.rows.delete(`${owner}/${id}`);
    this.#change(
      { owner, ids },
      () => this.index.removeNamespace(owner, namespace),
    );
  }

  stored(owner: string, namespace: string): readonly string[] {
    return [...this.rows.values()]
      .filter((row) => row.owner === owner && row.namespace === namespace)
      .map(({ id }) => id).sort();
  }

  async found(
    owner: string,
    namespace = "n",
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const hits = await this.index.search(
      { owner, namespace, vector: VECTOR, limit: 100 },
      { pausing: NEVER_PAUSING, signal },
    );
    return hits.map(({ id }) => id).sort();
  }

  async scanMemories(
    { limit, afterId = "", owner = "" }: {
      readonly limit: number;
      readonly afterId?: string | undefined;
      readonly owner?: string | undefined;
    },
  ): Promise<readonly MemoryRow[]> {
    if (afterId === "") this.scans.push(owner);
    await this.#delay(owner);
    if (this.failure !== undefined) throw this.failure;
    if (this.failures.has(owner)) throw new Error("Cannot read: it is damaged");
    const page = [...this.rows.values()]
      .filter((row) => row.owner === owner && row.id > afterId)
      .sort((left, right) => left.id < right.id ? -1 : 1)
      .slice(0, limit);
    await this.#delay(owner);
    return page;
  }

  memoryOwners(
    { limit, after = "" }: {
      readonly limit: number;
      readonly after?: string | undefined;
    },
  ): Promise<readonly MemoryOwner[]> {
    const counts = new Map<string, number>();
    for (const { owner } of this.rows.values()) {
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    const owners = [...counts].filter(([owner]) => owner > after).sort();
    return Promise.resolve(
      owners.slice(0, limit).map(([owner, memories]) => ({ owner, memories })),
    );
  }

  async openIndex(owner: string): Promise<Opened<IndexEntry>> {
    await this.#delay(owner);
    const { model } = this;
    return { kind: "ok", value: { vector: VECTOR, model, metadata: {} } };
  }
}

function createRow(
  { owner, id, namespace }: Required<WorldMemory>,
): MemoryRow {
  return {
    ...{ owner, id, namespace, blobId: `blob-${id}`, sizeBytes: 100 },
    ...{ createdAtMs: 0, agentId: "agent", packageId: "0xee", importance: 0.5 },
    sealedIndex: new Uint8Array(),
    updatedAtMs: 0,
    change: 0,
  };
}
