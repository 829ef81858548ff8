import { assert, assertEquals } from "@std/assert";
import { counterStoreConformance } from "./counter_store_conformance.ts";
import { MAX_PLAIN_KEY_BYTES } from "./counter_key.ts";
import { createMemoryStore, type MemoryStore } from "./memory_store.ts";

counterStoreConformance("memory", () =>
  Promise.resolve({
    store: createMemoryStore(),
    close: () => Promise.resolve(),
  }));

interface Hit {
  readonly key: string;
  readonly hits?: number;
  readonly limit?: number;
  readonly windowSeconds?: number;
  readonly nowSeconds: number;
}

const NOW = 1_795_219_200;

/** One operation; the count after it. */
function hit(store: MemoryStore, operation: Hit): number {
  const keys = new TextEncoder().encode(operation.key);
  const answer = store.apply({
    keys,
    nowSeconds: operation.nowSeconds,
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: keys.length,
      hits: operation.hits ?? 1,
      limit: operation.limit ?? 100,
      windowSeconds: operation.windowSeconds ?? 60,
    }],
  });
  assert(answer.kind === "counted");
  const [count] = answer.results;
  assert(typeof count === "number");
  return count;
}

Deno.test("MemoryStore.apply() keeps windows of different lengths that begin together apart", () => {
  const store = createMemoryStore();
  const lengths = [1, 60, 3_600, 86_400, 2 ** 32 + 60, 2 ** 33 + 60];
  for (const windowSeconds of lengths) {
    assertEquals(hit(store, { key: "a", windowSeconds, nowSeconds: NOW }), 1);
  }
  assertEquals(store.size, lengths.length);
});

Deno.test("MemoryStore.apply() makes no counter for a look or a refund", () => {
  const store = createMemoryStore();
  hit(store, { key: "a", hits: 0, nowSeconds: NOW });
  hit(store, { key: "a", hits: -3, nowSeconds: NOW });
  assertEquals(store.size, 0);
});

Deno.test("MemoryStore.apply() keeps long keys apart whatever their length", () => {
  const store = createMemoryStore();
  const base = "k".repeat(MAX_PLAIN_KEY_BYTES - 1);
  for (const end of ["", "k", "kk", "kl", "kkk"]) {
    assertEquals(hit(store, { key: base + end, nowSeconds: NOW }), 1);
  }
  assertEquals(hit(store, { key: base + "kl", nowSeconds: NOW }), 2);
  assertEquals(store.size, 5);
});

Deno.test("MemoryStore.apply() uses the later window on when the clock goes back", () => {
  const store = createMemoryStore();
  hit(store, { key: "a", hits: 5, nowSeconds: NOW - 1 });
  assertEquals(hit(store, { key: "a", nowSeconds: NOW }), 1);
  assertEquals(hit(store, { key: "a", nowSeconds: NOW - 1 }), 2);
  assertEquals(hit(store, { key: "a", nowSeconds: NOW - 3_600 }), 3);
  assertEquals(hit(store, { key: "a", nowSeconds: NOW + 1 }), 4);
});

Deno.test("MemoryStore.apply() drops a window more than a day ahead", () => {
  const store = createMemoryStore();
  hit(store, { key: "a", hits: 5, nowSeconds: NOW + 10 * 365 * 86_400 });
  assertEquals(hit(store, { key: "a", nowSeconds: NOW }), 1);
});

Deno.test("MemoryStore.apply() sweeps counters of past windows as it goes", () => {
  const store = createMemoryStore();
  for (let i = 0; i < 1_000; i++) {
    hit(store, { key: `past ${i}`, windowSeconds: 1, nowSeconds: NOW });
  }
  assertEquals(store.size, 1_000);
  for (let i = 0; i < 600; i++) {
    hit(store, { key: "one", windowSeconds: 3_600, nowSeconds: NOW + 1 });
  }
  assertEquals(store.size, 1);
});

Deno.test("MemoryStore.apply() needs no more memory than two windows' keys when keys never come back", () => {
  const store = createMemoryStore();
  let most = 0;
  for (let second = 0; second < 50; second++) {
    for (let i = 0; i < 200; i++) {
      hit(store, {
        key: `${second} ${i}`,
        windowSeconds: 1,
        nowSeconds: NOW + second,
      });
      most = Math.max(most, store.size);
    }
  }
  assert(most <= 400, `${most} counters at most`);
});

Deno.test("MemoryStore.apply() replaces counters of past windows first when full", () => {
  const store = createMemoryStore({ maxKeys: 10 });
  for (let i = 0; i < 5; i++) {
    hit(store, { key: `near ${i}`, hits: 90, nowSeconds: NOW });
    hit(store, { key: `past ${i}`, windowSeconds: 1, nowSeconds: NOW });
  }
  for (let i = 0; i < 5; i++) {
    hit(store, { key: `far ${i}`, hits: 90, nowSeconds: NOW + 1 });
  }
  assertEquals(store.size, 10);
  for (let i = 0; i < 5; i++) {
    const nowSeconds = NOW + 1;
    assertEquals(hit(store, { key: `near ${i}`, hits: 0, nowSeconds }), 90);
    assertEquals(hit(store, { key: `far ${i}`, hits: 0, nowSeconds }), 90);
  }
  assertEquals(store.fullTotal, 0);
});

Deno.test("MemoryStore.apply() never replaces a counter with half its limit or more", () => {
  const maxKeys = 300;
  const store = createMemoryStore({ maxKeys, seed: 1 });
  for (let i = 0; i < 200; i++) {
    hit(store, { key: `near ${i}`, hits: 50 + i % 60, nowSeconds: NOW });
  }
  for (let i = 0; i < 20_000; i++) {
    hit(store, { key: `made up ${i}`, nowSeconds: NOW });
  }
  assertEquals(store.size, maxKeys);
  for (let i = 0; i < 200; i++) {
    assertEquals(
      hit(store, { key: `near ${i}`, hits: 0, nowSeconds: NOW }),
      50 + i % 60,
    );
  }
});

for (const onFull of ["allow", "refuse"] as const) {
  Deno.test(`MemoryStore.apply() answers as told when no counter may go: ${onFull}`, () => {
    const told: number[] = [];
    const store = createMemoryStore({
      maxKeys: 3,
      onFull,
      onBound: (total) => told.push(total),
    });
    for (let i = 0; i < 3; i++) {
      hit(store, { key: `over ${i}`, hits: 101, nowSeconds: NOW });
    }
    const expected = onFull === "allow" ? 2 : 102;
    for (const nowSeconds of [NOW, NOW, NOW + 59]) {
      assertEquals(hit(store, { key: "new", hits: 2, nowSeconds }), expected);
    }
    assertEquals(told, [1]);
    assertEquals(store.size, 3);
    assertEquals(store.fullTotal, 3);
    // Counters that are kept count on.
    assertEquals(hit(store, { key: "over 1", nowSeconds: NOW + 59 }), 102);
  });
}

Deno.test("MemoryStore.apply() tells of a full store once a minute", () => {
  const told: number[] = [];
  const store = createMemoryStore({
    maxKeys: 1,
    onBound: (total) => told.push(total),
  });
  const windowSeconds = 86_400;
  hit(store, { key: "over", hits: 200, windowSeconds, nowSeconds: NOW });
  for (let second = 0; second < 150; second++) {
    hit(store, { key: "new", windowSeconds, nowSeconds: NOW + second });
  }
  assertEquals(told, [1, 61, 121]);
});

Deno.test("MemoryStore.stop() forgets the counters", async () => {
  const store = createMemoryStore();
  hit(store, { key: "a", nowSeconds: NOW });
  await store.stop();
  assertEquals(store.size, 0);
  assertEquals(hit(store, { key: "a", nowSeconds: NOW }), 1);
});
