import { assert, assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { countRounds } from "../../../tests/support/rounds.ts";
import { computeBlobId } from "../blobs/blob_store.ts";
import type { MovedBlob } from "../blobs/blob_store.ts";
import type { MemoryRow } from "../store/rows.ts";
import { sampleMemory } from "../store/testing/sample_rows.ts";
import { finish } from "../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "./ranking/memory_words.ts";
import { sampleContent } from "../vault/testing/open_vault.ts";
import { ThresholdWorld } from "../vault/testing/threshold_world.ts";
import { rewrapMemories, type RewrapParts } from "./rewrap.ts";

const OWNER = `0x${"a1".repeat(32)}`;
const TEXTS = ["tea", "coffee", "milk"];
/**
 * In the usual run, one of so many steps fails. A memory has eight steps, so that
 * another one of them fails for each memory.
 */
const MOST_APART = 5;

/**
 * Memories of the local vault, and what is re-wrapped with, which a test may
 * break.
 */
async function openWorld(world: ThresholdWorld) {
  const rows = new Map<string, MemoryRow>();
  const blobs = new Map<string, Uint8Array>();
  const catalog = new Map<string, MovedBlob>();
  const logger = new RecordingLogger();
  for (const [at, text] of TEXTS.entries()) {
    const id = `memory-${at}`;
    const content = sampleContent({ id, text });
    const { bytes, keyId } = await world.vault.seal(OWNER, content);
    const blobId = computeBlobId(bytes);
    const sizeBytes = bytes.length;
    blobs.set(blobId, bytes);
    const sealedIndex = await world.localVault.sealIndex(OWNER, {
      ...{ vector: Float32Array.of(1), model: "m", metadata: {} },
      words: finish(memoryWordsSteps(text)),
    });
    rows.set(id, {
      ...sampleMemory({ owner: OWNER, id, blobId, keyId, sizeBytes }),
      sealedIndex,
      updatedAtMs: 0,
      change: 0,
    });
    catalog.set(id, { blobId, sizeBytes });
  }
  let calls = 0;
  let failing = Infinity;
  const meanwhile = { beforeCommit: () => {} };
  const step = <T>(result: () => T): Promise<T> => {
    if (++calls === failing) return Promise.reject(new Error("power is off"));
    return Promise.resolve(result());
  };
  const parts: RewrapParts = {
    store: {
      memories: (_owner, ids) => step(() => ids.map((id) => rows.get(id))),
      scanMemories: ({ afterId = "", limit }) =>
        Promise.resolve(
          [...rows.values()].filter(({ id }) => id > afterId).slice(0, limit),
        ),
      commit: (changes) =>
        step(() => {
          meanwhile.beforeCommit();
          for (const change of changes) {
            assert(change.kind === "move_blob" || change.kind === "reindex");
            const row = rows.get(change.id);
            if (row === undefined) continue;
            if (change.kind === "reindex") {
              const { sealedIndex } = change;
              rows.set(change.id, { ...row, sealedIndex });
              continue;
            }
            if (row.blobId !== change.fromBlobId) continue;
            const { blobId, sizeBytes } = change;
            rows.set(change.id, { ...row, blobId, sizeBytes });
          }
          return { kind: "ok" as const };
        }),
    },
    blobs: {
      get: (blobId) => {
        const bytes = blobs.get(blobId);
        return step(() =>
          bytes === undefined ? { kind: "missing" } : { kind: "ok", bytes }
        );
      },
      put: (bytes) =>
        step(() => {
          blobs.set(computeBlobId(bytes), bytes);
          return computeBlobId(bytes);
        }),
      remove: (blobId) => step(() => blobs.delete(blobId)),
    },
    catalog: {
      move: (_owner, id, to) => step(() => void catalog.set(id, to)),
      countHolders: (blobId) =>
        step(() =>
          [...catalog.values()].filter((one) => one.blobId === blobId).length
        ),
    },
    vault: world.vault,
    dataKeys: {
      retire: async (owner, keyId) => {
        await step(() => undefined);
        await world.localVault.keys.data.retire(owner, keyId);
      },
    },
    logger,
  };
  const run = async (failsAt = Infinity) => {
    calls = 0;
    failing = failsAt;
    return await rewrapMemories(parts, {
      onProgress: () => {},
      signal: new AbortController().signal,
    });
  };
  return { rows, blobs, catalog, run, logger, meanwhile, calls: () => calls };
}

Deno.test("rewrapMemories() leaves every memory readable at whatever step it fails, and does the rest when it is run again", async () => {
  let steps = 0;
  await ThresholdWorld.with(async (world) => {
    const { run, calls } = await openWorld(world);
    assertEquals((await run()).rewrapped, TEXTS.length);
    steps = calls();
  });
  assert(steps > 10);
  // All of them with more effort.
  const every = Math.max(1, Math.floor(MOST_APART / countRounds(1)));
  for (let failsAt = 1; failsAt <= steps; failsAt += every) {
    await ThresholdWorld.with(async (world) => {
      const { rows, blobs, catalog, run } = await openWorld(world);
      const before = [...blobs.values()];
      const first = await run(failsAt);
      assertEquals([first.memories, first.failed], [TEXTS.length, 1]);
      assertEquals(await openTexts(world, { rows, blobs }), TEXTS);
      const second = await run();
      assertEquals(second.failed, 0);
      assertEquals(await openTexts(world, { rows, blobs }), TEXTS);
      for (const [id, { blobId, sealedIndex }] of rows) {
        const entry = await world.localVault.openIndex(OWNER, sealedIndex);
        assert(entry.kind === "ok" && entry.value.words === undefined);
        assertEquals([...entry.value.vector], [1]);
        assertEquals(catalog.get(id)?.blobId, blobId);
        assertEquals(catalog.get(id)?.memorySecret?.length, 32);
      }
      // Copies of the blobs from before no longer open with the local vault.
      for (const bytes of before) {
        const { kind } = await world.localVault.open(OWNER, bytes);
        assertEquals(kind, "failed", `failed at ${failsAt}`);
      }
    });
  }
});

Deno.test("rewrapMemories() leaves no blob of a memory that is deleted meanwhile", async () => {
  await ThresholdWorld.with(async (world) => {
    const { rows, blobs, catalog, run, meanwhile } = await openWorld(world);
    const [first] = rows.values();
    assert(first !== undefined);
    meanwhile.beforeCommit = () => {
      rows.delete(first.id);
      catalog.delete(first.id);
      blobs.delete(first.blobId);
    };
    await run();
    assertEquals(blobs.size, TEXTS.length - 1);
    assertEquals((await openTexts(world, { rows, blobs })).length, 2);
  });
});

Deno.test("rewrapMemories() has the catalogue name the blob of the run that was first", async () => {
  await ThresholdWorld.with(async (world) => {
    const { rows, blobs, catalog, run, meanwhile } = await openWorld(world);
    const [first] = rows.values();
    const bytes = blobs.get(first?.blobId ?? "");
    assert(first !== undefined && bytes !== undefined);
    const other = await world.vault.protect(OWNER, bytes);
    const blobId = computeBlobId(other);
    meanwhile.beforeCommit = () => {
      meanwhile.beforeCommit = () => {};
      blobs.set(blobId, other);
      rows.set(first.id, { ...first, blobId, sizeBytes: other.length });
    };
    await run();
    assertEquals(catalog.get(first.id)?.blobId, blobId);
    assertEquals(catalog.get(first.id)?.memorySecret?.length, 32);
    assertEquals(await openTexts(world, { rows, blobs }), TEXTS);
  });
});

/** The texts of all memories that can be read. */
async function openTexts(
  { vault }: ThresholdWorld,
  { rows, blobs }: {
    readonly rows: ReadonlyMap<string, MemoryRow>;
    readonly blobs: ReadonlyMap<string, Uint8Array>;
  },
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { blobId } of rows.values()) {
    const bytes = blobs.get(blobId) ?? new Uint8Array();
    const outcome = await vault.open(OWNER, bytes);
    if (outcome.kind === "ok") found.push(outcome.value.text);
  }
  return found;
}

Deno.test("rewrapMemories() tells of blobs that are gone or damaged, and leaves what clients have sealed", async () => {
  await ThresholdWorld.with(async (world) => {
    const { rows, blobs, run, logger } = await openWorld(world);
    const [first, second, third] = [...rows.values()];
    assert(first !== undefined && second !== undefined && third !== undefined);
    blobs.delete(first.blobId);
    blobs.set(second.blobId, new Uint8Array(100));
    rows.set(third.id, { ...third, keyId: undefined });
    assertEquals(await run(), {
      memories: 3,
      rewrapped: 0,
      kept: 1,
      failed: 2,
    });
    assertEquals(logger.lines.length, 2);
  });
});
