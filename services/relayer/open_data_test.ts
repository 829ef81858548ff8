import { assertEquals } from "@std/assert";
import { removeExpired } from "./open_data.ts";
import { MemoryBlobs } from "./api/testing/memory_blobs.ts";
import { withStore } from "./store/sqlite/testing/open_store.ts";

const SETTINGS = { jobRetentionMs: 1_000, tombstoneRetentionMs: 1_000 };
/** More nonces than one step of the sweep removes. */
const NONCES = 5_000;

Deno.test("removeExpired() removes all that has expired, however much came since", async () => {
  await withStore(async (store, { clock }) => {
    const nowMs = clock.nowMs();
    const nonces = Array.from({ length: NONCES }, (_, at) => ({
      kind: "nonce" as const,
      nonce: at.toString(16).padStart(32, "0"),
      expiresAtMs: at < NONCES - 1 ? nowMs + 1 : nowMs + 1_000,
    }));
    await store.commit(nonces);
    // A row of another table, which the sweep reaches after the nonces.
    const window = { name: "k:1", minute: 1, points: 5 };
    await store.commit([{ kind: "rate", window }]);
    const { signal } = new AbortController();
    await removeExpired({ store, blobs: new MemoryBlobs() }, {
      settings: SETTINGS,
      nowMs: nowMs + 1,
      signal,
    });
    assertEquals((await store.nonces(nowMs)).length, 1);
    assertEquals(await store.rateWindows(0), []);
  });
});

Deno.test("removeExpired() ends after a step when it is to stop", async () => {
  const limits: number[] = [];
  const ending = new AbortController();
  const store = {
    deletedJobs: () => Promise.resolve([]),
    commit: () => Promise.resolve({ kind: "ok" } as const),
    sweep({ limit }: { readonly limit: number }) {
      limits.push(limit);
      if (limits.length === 3) ending.abort();
      return Promise.resolve(limit);
    },
  };
  const { signal } = ending;
  await removeExpired({ store, blobs: new MemoryBlobs() }, {
    ...{ settings: SETTINGS, nowMs: 0, signal },
  });
  assertEquals(limits.length, 3);
});
