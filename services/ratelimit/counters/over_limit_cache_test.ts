import { assert, assertEquals } from "@std/assert";
import { StatsRegistry } from "../stats/registry.ts";
import type { CounterBatch, CounterResult } from "./counter_store.ts";
import { MemoryStore } from "./memory_store.ts";
import { OverLimitCache } from "./over_limit_cache.ts";

interface Hit {
  readonly key: string;
  readonly hits?: number;
  readonly limit?: number;
}

const MINUTE_START = 1_000_000_020;

function batchOf(
  hits: readonly Hit[],
  options: { readonly at?: number; readonly stopWhenOver?: boolean } = {},
): CounterBatch {
  const encoder = new TextEncoder();
  let length = 0;
  const operations = hits.map(({ key, hits = 1, limit = 1 }) => {
    const keyStart = length;
    length += encoder.encode(key).length;
    return {
      algorithm: "fixed_window" as const,
      keyStart,
      keyEnd: length,
      hits,
      limit,
      windowSeconds: 60,
    };
  });
  return {
    keys: encoder.encode(hits.map(({ key }) => key).join("")),
    operations,
    nowSeconds: MINUTE_START + (options.at ?? 0),
    stopWhenOver: options.stopWhenOver ?? false,
  };
}

class Bench {
  readonly batches: CounterBatch[] = [];
  /** By the monotonic clock. */
  elapsedMs = 0;
  readonly cache: OverLimitCache;

  constructor(
    options: {
      readonly maxBytes?: number;
      readonly maxAgeSeconds?: number;
      readonly isAsync?: boolean;
    } = {},
  ) {
    const memory = new MemoryStore({ monotonicMs: () => this.elapsedMs });
    this.cache = new OverLimitCache({
      store: {
        apply: (batch) => {
          this.batches.push(batch);
          const answer = memory.apply(batch);
          return options.isAsync === true ? Promise.resolve(answer) : answer;
        },
        isHealthy: () => true,
        start: () => Promise.resolve(),
        stop: () => Promise.resolve(),
      },
      maxBytes: options.maxBytes ?? 524_288,
      maxAgeSeconds: options.maxAgeSeconds ?? 60,
      stats: new StatsRegistry(),
      monotonicMs: () => this.elapsedMs,
    });
  }

  async hit(
    hits: readonly Hit[],
    options: Parameters<typeof batchOf>[1] = {},
  ): Promise<readonly CounterResult[]> {
    this.elapsedMs = Math.max(this.elapsedMs, (options?.at ?? 0) * 1_000);
    const answer = await this.cache.apply(batchOf(hits, options));
    if (answer.kind === "unavailable") throw new Error(answer.reason);
    return answer.results;
  }
}

function cached(hitsOver: number, resetSeconds = 60): CounterResult {
  return {
    isOver: true,
    hitsOver,
    remaining: 0,
    resetSeconds,
    isFromCache: true,
  };
}

Deno.test("OverLimitCache.apply() answers without the store when a counter is known to be over", async () => {
  const bench = new Bench();
  assertEquals(await bench.hit([{ key: "a" }]), [1]);
  assertEquals(await bench.hit([{ key: "a" }]), [2]);
  assertEquals(await bench.hit([{ key: "a", hits: 3 }]), [cached(3)]);
  assertEquals(await bench.hit([{ key: "a", hits: 0 }]), [cached(0)]);
  assertEquals(bench.batches.length, 2);
});

Deno.test("OverLimitCache.apply() asks for the other counters of the call and keeps the order", async () => {
  const bench = new Bench();
  await bench.hit([{ key: "b", hits: 2 }]);
  const results = await bench.hit([{ key: "a" }, { key: "b" }, { key: "c" }]);
  assertEquals(results, [1, cached(1), 1]);
  assertEquals(bench.batches.at(-1)!.operations.length, 2);
});

Deno.test("OverLimitCache.apply() forgets a counter at the end of its window", async () => {
  const bench = new Bench({ maxAgeSeconds: 3_600 });
  await bench.hit([{ key: "a", hits: 2 }]);
  assertEquals(await bench.hit([{ key: "a" }], { at: 59 }), [cached(1, 1)]);
  assertEquals(await bench.hit([{ key: "a" }], { at: 60 }), [1]);
});

Deno.test("OverLimitCache.apply() asks again after maxAgeSeconds, for hits that others gave back", async () => {
  const bench = new Bench({ maxAgeSeconds: 5 });
  await bench.hit([{ key: "a", hits: 2 }]);
  assertEquals(await bench.hit([{ key: "a" }], { at: 4 }), [cached(1, 56)]);
  assertEquals(await bench.hit([{ key: "a" }], { at: 5 }), [3]);
});

Deno.test("OverLimitCache.apply() asks the store when the clock has gone back to another window", async () => {
  const bench = new Bench({ maxAgeSeconds: 3_600 });
  const ahead = 365 * 86_400;
  bench.elapsedMs = ahead * 1_000;
  await bench.hit([{ key: "a", hits: 2 }], { at: ahead });
  assertEquals(await bench.hit([{ key: "a" }], { at: ahead }), [cached(1)]);
  await bench.hit([{ key: "a" }]);
  assertEquals(bench.batches.length, 2);
});

Deno.test("OverLimitCache.apply() remembers for maxAgeSeconds of real time when the clock has gone back", async () => {
  const bench = new Bench({ maxAgeSeconds: 5 });
  await bench.hit([{ key: "a", hits: 2 }], { at: 40 });
  bench.elapsedMs += 4_999;
  assertEquals(await bench.hit([{ key: "a" }], { at: 10 }), [cached(1, 50)]);
  bench.elapsedMs += 1;
  assertEquals(await bench.hit([{ key: "a" }], { at: 10 }), [3]);
});

Deno.test("OverLimitCache.apply() sees hits given back through it at once", async () => {
  const bench = new Bench();
  await bench.hit([{ key: "a", hits: 2 }]);
  assertEquals(await bench.hit([{ key: "a", hits: -2 }]), [0]);
  assertEquals(await bench.hit([{ key: "a" }]), [1]);
});

Deno.test("OverLimitCache.apply() makes the others look only when one is over and that stops them", async () => {
  const bench = new Bench();
  await bench.hit([{ key: "a", hits: 2 }]);
  await bench.hit([{ key: "b" }]);
  const options = { stopWhenOver: true };
  const results = await bench.hit([{ key: "a" }, { key: "b" }], options);
  assertEquals(results, [cached(1), 1]);
});

Deno.test("OverLimitCache.apply() remembers the right counter when the keys are written over meanwhile", async () => {
  const bench = new Bench({ isAsync: true });
  const batch = batchOf([{ key: "aaaa", hits: 2 }]);
  const pending = bench.cache.apply(batch);
  batch.keys.fill(0x62);
  await pending;
  assertEquals(await bench.hit([{ key: "bbbb" }]), [1]);
  assertEquals(await bench.hit([{ key: "aaaa" }]), [cached(1)]);
});

Deno.test("OverLimitCache.apply() stays within its memory when many counters are over", async () => {
  const bench = new Bench({ maxBytes: 10_000 });
  for (let client = 0; client < 1_000; client++) {
    await bench.hit([{ key: `client_${client}`, hits: 2 }]);
    assert(bench.cache.size <= 10_000 / 64);
  }
  assert(bench.cache.size > 50);
  assertEquals(await bench.hit([{ key: "client_999" }]), [cached(1)]);
});
