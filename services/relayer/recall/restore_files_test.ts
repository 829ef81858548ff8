import { removeIfThere } from "../../shared/missing_file.ts";
import { finish } from "../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "./ranking/memory_words.ts";
import { createMasterKey } from "../../shared/master_keys.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { HashedEmbedder } from "../embed/hashed_embedder.ts";
import type { NewMemory } from "../store/rows.ts";
import { SqliteStore } from "../store/sqlite/sqlite_store.ts";
import type { Change } from "../store/changes.ts";
import type { RelayerStore } from "../store/store.ts";
import { LocalVault } from "../vault/local_vault.ts";
import type { RelayerVault } from "../vault/vault.ts";
import { OwnerLoad } from "./owner_load.ts";
import type { RecallOutcome } from "./recall_request.ts";
import { RecallService } from "./recall_service.ts";
import { RestoreService } from "./restore_service.ts";
import { FakeBlobs, FakeCatalog } from "./testing/fake_blobs.ts";
import { VectorIndex } from "./vector_index.ts";

const OWNER = `0x${"0a".repeat(32)}`;
const AGENT = "ab".repeat(32);
const QUERIES = [
  "Where does Ada live?",
  "tea",
  "dogs",
  "what happens on Monday",
];

Deno.test("RestoreService.restore() makes a lost database what it was, with the files of the relayer", async () => {
  const dataFolder = await Deno.makeTempDir();
  const world = new FileWorld(dataFolder);
  try {
    await world.start();
    await world.remember("m1", "Ada lives in Rome");
    await world.remember("m2", "Ada lives in Berlin", { supersedes: "m1" });
    await world.remember("m3", "Ada likes green tea", {
      metadata: { topic: "drinks" },
    });
    await world.remember("m4", "Ada has two dogs");
    await world.remember("m5", "The meeting is on Monday");
    await world.destroy("m5");
    const before = await world.recallAll();
    const rows = await world.plainRows();
    assertNotEquals(before, await world.recallAll("0x0b"));

    await world.stop();
    for (const end of ["", "-wal", "-shm"]) {
      await removeIfThere(`${dataFolder}/relayer.db${end}`);
    }
    await world.start();
    assertEquals(world.index.size, 0);
    assertEquals((await world.plainRows()).length, 0);

    const outcome = await world.restore();
    assert(outcome.kind === "ok");
    assertEquals(outcome.restoredIds.toSorted(), ["m1", "m2", "m3", "m4"]);
    assertEquals([outcome.failed, outcome.isTruncated], [1, false]);
    assertEquals(await world.plainRows(), rows);
    assertEquals(await world.recallAll(), before);

    await world.stop();
    await world.start();
    assertEquals(world.index.size, 3);
    assertEquals(await world.recallAll(), before);
    const again = await world.restore();
    assert(again.kind === "ok");
    assertEquals([again.restoredIds, again.skipped, again.failed], [[], 4, 1]);

    // A restored memory can be deleted for good like any other.
    await world.destroy("m3");
    await world.stop();
    await removeIfThere(`${dataFolder}/relayer.db`);
    await world.start();
    const last = await world.restore();
    assert(last.kind === "ok");
    assertEquals(last.restoredIds.toSorted(), ["m1", "m2", "m4"]);
    assertEquals(last.failed, 2);
  } finally {
    await world.stop();
    await Deno.remove(dataFolder, { recursive: true });
  }
});

/** The relayer's own store and vault, with blobs and catalogue in memory. */
class FileWorld {
  readonly #clock = new FakeClock();
  readonly #logger = new RecordingLogger();
  readonly #embedder = new HashedEmbedder();
  readonly #blobs = new FakeBlobs();
  readonly #catalog = new FakeCatalog();
  readonly #store: RelayerStore;
  readonly #vault: RelayerVault;
  index = new VectorIndex(this.#embedder.width);

  constructor(dataFolder: string) {
    const options = { dataFolder, clock: this.#clock, logger: this.#logger };
    this.#store = new SqliteStore(options);
    const masterKeys = [
      createMasterKey(Uint8Array.from({ length: 32 }, (_, at) => at)),
    ];
    this.#vault = new LocalVault({ ...options, masterKeys });
  }

  async start(): Promise<void> {
    await this.#store.start();
    await this.#vault.start();
    this.index = new VectorIndex(this.#embedder.width);
    const { width, model } = this.#embedder;
    const load = new OwnerLoad(OWNER, {
      ...this.#parts(),
      wanted: { width, model },
    });
    await load.run({
      pausing: NEVER_PAUSING,
      signal: new AbortController().signal,
    });
  }

  async stop(): Promise<void> {
    await this.#store.stop();
    await this.#vault.stop();
  }

  async remember(
    id: string,
    text: string,
    options: {
      readonly supersedes?: string;
      readonly metadata?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<void> {
    const { metadata = {}, supersedes } = options;
    this.#clock.advance(1_000);
    const createdAtMs = this.#clock.nowMs();
    const common = {
      ...{ id, namespace: "n", createdAtMs, agentId: AGENT, importance: 0.5 },
      ...(supersedes === undefined ? {} : { supersedes }),
    };
    const { bytes, keyId } = await this.#vault.seal(OWNER, {
      ...common,
      text,
      metadata,
    });
    const embedded = await this.#embedder.embed([text]);
    const vector = embedded.kind === "ok" ? embedded.vectors[0] : undefined;
    assert(vector !== undefined);
    const words = finish(memoryWordsSteps(text));
    const blobId = `blob-${id}`;
    const sizeBytes = bytes.length;
    const memory: NewMemory = {
      ...{ ...common, owner: OWNER, blobId, sizeBytes, keyId },
      packageId: "0xee",
      sealedIndex: await this.#vault.sealIndex(OWNER, {
        vector,
        model: this.#embedder.model,
        ...{ metadata, words },
      }),
    };
    const changes: Change[] = [{ kind: "new_memory", memory }];
    if (supersedes !== undefined) {
      changes.push({
        kind: "supersede",
        owner: OWNER,
        id: supersedes,
        supersededBy: id,
      });
      this.index.remove(OWNER, supersedes);
    }
    await this.#store.commit(changes);
    this.index.add({ ...memory, metadata, vector, words });
    this.#blobs.outcomes.set(blobId, { kind: "ok", bytes });
    await this.#catalog.add({
      ...{ blobId, owner: OWNER, namespace: "n", memoryId: id },
      ...{ createdAtMs, agentId: AGENT, sizeBytes },
      ...(supersedes === undefined ? {} : { supersedes }),
    });
  }

  /** Deletes a memory for good; its blob stays, as with stores that cannot. */
  async destroy(id: string): Promise<void> {
    const [row] = await this.#store.memories(OWNER, [id]);
    assert(row?.keyId !== undefined);
    await this.#vault.destroy(OWNER, row.keyId);
    await this.#store.commit([{ kind: "remove_memory", owner: OWNER, id }]);
    this.index.remove(OWNER, id);
  }

  restore() {
    return new RestoreService({
      ...this.#parts(),
      packageId: "0xee",
    }).restore(OWNER, { namespace: "n", limit: 100 });
  }

  /**
   * What recall gives for all queries, by text, by filter and the newest first.
   */
  recallAll(owner = OWNER): Promise<readonly RecallOutcome[]> {
    const service = new RecallService(this.#parts());
    const request = { owner, namespace: "n", limit: 10 };
    const relevance = { kind: "relevance" } as const;
    return Promise.all([
      ...QUERIES.map((query) =>
        service.recall({ ...request, query, ordering: relevance })
      ),
      service.recall({
        ...request,
        query: "Ada",
        ordering: { kind: "recent" },
      }),
      service.recall({
        ...request,
        query: "Ada",
        ordering: relevance,
        filter: { topic: "drinks" },
      }),
    ]);
  }

  /** Rows without what changes with each writing and sealing. */
  async plainRows(): Promise<readonly unknown[]> {
    const rows = await this.#store.scanMemories({ limit: 100 });
    return await Promise.all(rows.map(async (row) => {
      const { change: _, updatedAtMs: __, sealedIndex, ...rest } = row;
      return {
        ...rest,
        index: await this.#vault.openIndex(OWNER, sealedIndex),
      };
    }));
  }

  #parts() {
    return {
      store: this.#store,
      vault: this.#vault,
      blobs: this.#blobs,
      catalog: this.#catalog,
      embedder: this.#embedder,
      index: this.index,
      clock: this.#clock,
      logger: this.#logger,
    };
  }
}
