import { assert, assertEquals } from "@std/assert";
import { MemoryStore } from "./memory_store.ts";
import { SharedLock } from "./shared_lock.ts";
import {
  releaseStores,
  sharedOptions,
  shareStores,
  type StoreSharing,
} from "./shared_stores.ts";

const NOW = 1_795_219_200;

function sharing(thread: number, stores: StoreSharing["stores"]): StoreSharing {
  return { stores, thread, monotonicMs: () => 0 };
}

function hit(store: MemoryStore): number {
  const keys = new TextEncoder().encode("a");
  const answer = store.apply({
    keys,
    nowSeconds: NOW,
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: keys.length,
      hits: 1,
      limit: 100,
      windowSeconds: 60,
    }],
  });
  assert(answer.kind === "counted");
  assert(typeof answer.results[0] === "number");
  return answer.results[0];
}

Deno.test("shareStores() makes memory for the counters that the settings need", () => {
  const made = (isInMemory: boolean, hasCandidate: boolean) =>
    Object.entries(shareStores({ maxKeys: 1_000, isInMemory, hasCandidate }))
      .filter(([, store]) => store !== undefined).map(([name]) => name);
  assertEquals(made(true, false), ["counters"]);
  assertEquals(made(true, true), ["counters", "candidate"]);
  assertEquals(made(false, true), ["local"]);
});

Deno.test("MemoryStore.apply() counts what another thread has counted when they share counters", () => {
  const stores = shareStores({
    maxKeys: 1_000,
    isInMemory: true,
    hasCandidate: false,
  });
  const [main, other] = [0, 1].map((thread) =>
    new MemoryStore(sharedOptions("counters", sharing(thread, stores)))
  );
  assertEquals([hit(main!), hit(other!), hit(main!)], [1, 2, 3]);
  // A thread that stops leaves the counters to the others.
  main!.stop();
  assertEquals(hit(other!), 4);
});

Deno.test("releaseStores() forgets counters only when the thread ended while it counted", () => {
  const stores = shareStores({
    maxKeys: 1_000,
    isInMemory: true,
    hasCandidate: false,
  });
  const store = new MemoryStore(sharedOptions("counters", sharing(0, stores)));
  hit(store);
  assertEquals(releaseStores(stores, 1), false);
  assertEquals(hit(store), 2);
  new SharedLock(stores.counters!.lock, 1).acquire();
  assertEquals(releaseStores(stores, 1), true);
  assertEquals(hit(store), 1);
});
