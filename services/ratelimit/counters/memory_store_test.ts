import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { Algorithm } from "../rules/algorithm.ts";
import type { CounterResult } from "./counter_store.ts";
import { shareCounters } from "./counter_table.ts";
import { MemoryStore, type SharedTable } from "./memory_store.ts";
import { lockMemory, SharedLock } from "./shared_lock.ts";
import { counterStoreConformance } from "./testing/counter_store_conformance.ts";
import { pacedConformance } from "./testing/paced_conformance.ts";

counterStoreConformance("memory", () =>
  Promise.resolve({
    store: new MemoryStore(),
    close: () => Promise.resolve(),
  }));

/** Returns counters that threads share, as one of the threads sees them. */
function sharedTable(maxKeys = 10_000): SharedTable {
  return {
    counters: shareCounters(maxKeys),
    lock: new SharedLock(lockMemory(), 0),
  };
}

counterStoreConformance("memory that threads share", () =>
  Promise.resolve({
    store: new MemoryStore({ shared: sharedTable() }),
    close: () => Promise.resolve(),
  }));

pacedConformance("memory that threads share", (bench) =>
  Promise.resolve({
    store: new MemoryStore({
      monotonicMs: () => bench.nowMicros / 1_000,
      shared: sharedTable(),
    }),
    close: () => Promise.resolve(),
  }), { steps: 2_000 });

pacedConformance("memory", (bench) =>
  Promise.resolve({
    store: new MemoryStore({ monotonicMs: () => bench.nowMicros / 1_000 }),
    close: () => Promise.resolve(),
  }), { steps: 2_000 });

interface Hit {
  readonly key: string;
  readonly hits?: number;
  readonly limit?: number;
  readonly windowSeconds?: number;
  readonly algorithm?: Algorithm;
  readonly nowSeconds: number;
}

const NOW = 1_795_219_200;

/** Applies one operation; returns the count after it. */
function hit(store: MemoryStore, operation: Hit): number {
  const result = touch(store, operation);
  assert(typeof result === "number");
  return result;
}

/** Applies one operation; returns the store's result. */
function touch(store: MemoryStore, operation: Hit): CounterResult {
  const keys = new TextEncoder().encode(operation.key);
  const answer = store.apply({
    keys,
    nowSeconds: operation.nowSeconds,
    operations: [{
      algorithm: operation.algorithm ?? "fixed_window",
      keyStart: 0,
      keyEnd: keys.length,
      hits: operation.hits ?? 1,
      limit: operation.limit ?? 100,
      windowSeconds: operation.windowSeconds ?? 60,
    }],
  });
  assert(answer.kind === "counted");
  return answer.results[0]!;
}

/**
 * A store with two clocks that a test moves: the time of day, and the monotonic
 * one.
 */
class TwoClocks {
  /** Milliseconds that have passed. */
  elapsedMs = 0;
  /** Milliseconds by which the time of day is ahead. */
  aheadMs = 0;
  readonly store = new MemoryStore({ monotonicMs: () => this.elapsedMs });

  /** Whole Unix seconds, by the time of day. */
  get nowSeconds(): number {
    return NOW + Math.floor((this.elapsedMs + this.aheadMs) / 1_000);
  }

  /**
   * Applies one hit; tells whether it was over the limit, and when that resets.
   */
  hit(operation: Omit<Hit, "nowSeconds">): {
    readonly isOver: boolean;
    readonly resetSeconds: number | undefined;
  } {
    const { nowSeconds } = this;
    const result = touch(this.store, { ...operation, nowSeconds });
    if (typeof result !== "number") {
      const { isOver, resetSeconds } = result;
      return { isOver, resetSeconds };
    }
    const isOver = result > (operation.limit ?? 100);
    return { isOver, resetSeconds: undefined };
  }
}

Deno.test("MemoryStore.apply() keeps windows of different lengths that begin together apart", () => {
  const store = new MemoryStore();
  const lengths = [1, 60, 3_600, 86_400, 2_592_000, 31_536_000];
  for (const windowSeconds of lengths) {
    assertEquals(hit(store, { key: "a", windowSeconds, nowSeconds: NOW }), 1);
  }
  assertEquals(store.size, lengths.length);
});

Deno.test("MemoryStore.apply() makes no counter for a look or a refund", () => {
  const store = new MemoryStore();
  hit(store, { key: "a", hits: 0, nowSeconds: NOW });
  hit(store, { key: "a", hits: -3, nowSeconds: NOW });
  assertEquals(store.size, 0);
});

Deno.test("MemoryStore.apply() keeps long keys apart whatever their length", () => {
  const store = new MemoryStore();
  // Keys of more than 247 bytes are kept as digests.
  const base = "k".repeat(246);
  for (const end of ["", "k", "kk", "kl", "kkk"]) {
    assertEquals(hit(store, { key: base + end, nowSeconds: NOW }), 1);
  }
  assertEquals(hit(store, { key: base + "kl", nowSeconds: NOW }), 2);
  assertEquals(store.size, 5);
});

Deno.test("MemoryStore.apply() uses the later window on when the clock goes back", () => {
  const clocks = new TwoClocks();
  clocks.aheadMs = 60_000;
  assertEquals(clocks.hit({ key: "a", limit: 1 }).isOver, false);
  for (const aheadMs of [59_000, 0, -3_600_000]) {
    clocks.aheadMs = aheadMs;
    assertEquals(clocks.hit({ key: "a", limit: 1 }).isOver, true);
  }
});

Deno.test("MemoryStore.apply() forgets a window of the future when its length has passed", () => {
  for (const windowSeconds of [1, 60, 3_600, 86_400, 2_592_000]) {
    const clocks = new TwoClocks();
    const used = { key: "a", limit: 3, windowSeconds };
    clocks.aheadMs = 20 * windowSeconds * 1_000;
    clocks.hit({ ...used, hits: 4 });
    clocks.aheadMs = 0;
    clocks.elapsedMs = windowSeconds * 1_000 - 1;
    assertEquals(clocks.hit(used), {
      isOver: true,
      resetSeconds: 1,
    });
    clocks.elapsedMs += 1;
    assertEquals(clocks.hit(used).isOver, false);
  }
});

Deno.test("MemoryStore.apply() frees the memory of windows of the future", () => {
  const clocks = new TwoClocks();
  clocks.aheadMs = 86_400_000;
  for (let i = 0; i < 100; i++) clocks.hit({ key: `ahead ${i}` });
  clocks.aheadMs = 0;
  clocks.elapsedMs = 60_000;
  for (let i = 0; i < 100; i++) clocks.hit({ key: "one" });
  assertEquals(clocks.store.size, 1);
});

Deno.test("MemoryStore.apply() refuses only what the last window's length of real time has used up, however the clock walks", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new SeededRandom(seed);
    const clocks = new TwoClocks();
    const limit = 5;
    const windowSeconds = random.pick([1, 60, 3_600]);
    const taken: number[] = [];
    for (let step = 0; step < 2_000; step++) {
      clocks.elapsedMs += random.below(windowSeconds * 300);
      if (random.chance(0.05)) {
        clocks.aheadMs += (random.next() - 0.5) * 10 ** (3 + random.below(9));
      }
      const { isOver } = clocks.hit({ key: "a", limit, windowSeconds });
      const sinceMs = clocks.elapsedMs - windowSeconds * 1_000;
      const recent = taken.filter((atMs) => atMs > sinceMs).length;
      assert(
        !isOver || recent >= limit,
        `seed ${seed}, step ${step}: refused after ${recent} of ${limit}`,
      );
      taken.push(clocks.elapsedMs);
    }
  }
});

Deno.test("MemoryStore.apply() sweeps counters of past windows as it goes", () => {
  const store = new MemoryStore();
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
  const store = new MemoryStore();
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
  const store = new MemoryStore({ maxKeys: 10 });
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
  const store = new MemoryStore({ maxKeys, seed: 1 });
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
    const store = new MemoryStore({
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
    // Counters that are kept go on counting.
    assertEquals(hit(store, { key: "over 1", nowSeconds: NOW + 59 }), 102);
  });
}

for (const algorithm of ["sliding_window", "token_bucket"] as const) {
  const what = algorithm.replace("_", " ");

  Deno.test(`MemoryStore.apply() never replaces a ${what} with half its limit or more, nor keeps one that is whole`, () => {
    let nowMs = 0;
    const maxKeys = 300;
    const store = new MemoryStore({
      maxKeys,
      seed: 1,
      monotonicMs: () => nowMs,
    });
    const hit = (key: string, hits = 1): CounterResult =>
      touch(store, { key, hits, algorithm, nowSeconds: NOW });
    for (let i = 0; i < 200; i++) hit(`near ${i}`, 50 + i % 50);
    for (let i = 0; i < 20_000; i++) hit(`made up ${i}`);
    assertEquals(store.size, maxKeys);
    for (let i = 0; i < 200; i++) {
      const seen = hit(`near ${i}`, 0);
      assert(typeof seen === "object" && seen.remaining === 50 - i % 50);
    }
    nowMs = 62_000;
    for (let i = 0; i < maxKeys; i++) hit("one");
    assertEquals(store.size, 1);
  });

  Deno.test(`MemoryStore.apply() makes no ${what} for a look, a refund or what is refused`, () => {
    const store = new MemoryStore();
    for (const hits of [0, -3, 101]) {
      touch(store, { key: "a", hits, algorithm, nowSeconds: NOW });
    }
    assertEquals(store.size, 0);
  });

  for (const onFull of ["allow", "refuse"] as const) {
    Deno.test(`MemoryStore.apply() answers for a ${what} as told when no counter may go: ${onFull}`, () => {
      const store = new MemoryStore({ maxKeys: 2, onFull });
      for (const key of ["a", "b"]) {
        hit(store, { key, hits: 101, nowSeconds: NOW });
      }
      for (let time = 1; time <= 3; time++) {
        const seen = touch(store, {
          key: "new",
          hits: 2,
          algorithm,
          nowSeconds: NOW,
        });
        assert(typeof seen === "object");
        assertEquals(
          [seen.isOver, seen.remaining],
          onFull === "allow" ? [false, 98] : [true, 0],
        );
        assert(seen.resetSeconds >= 1, "told to ask again at once");
        assertEquals(store.fullTotal, time);
      }
      assertEquals(store.size, 2);
    });
  }
}

Deno.test("MemoryStore.apply() tells of a full store once a minute", () => {
  const told: number[] = [];
  const store = new MemoryStore({
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
  const store = new MemoryStore();
  hit(store, { key: "a", nowSeconds: NOW });
  await store.stop();
  assertEquals(store.size, 0);
  assertEquals(hit(store, { key: "a", nowSeconds: NOW }), 1);
});
