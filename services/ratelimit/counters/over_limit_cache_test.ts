import { assert, assertEquals } from "@std/assert";
import type { Algorithm } from "../rules/algorithm.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { StatsRegistry } from "../stats/registry.ts";
import type { CounterBatch, CounterResult } from "./counter_store.ts";
import { MemoryStore } from "./memory_store.ts";
import { OverLimitCache } from "./over_limit_cache.ts";

interface Hit {
  readonly key: string;
  readonly hits?: number;
  readonly limit?: number;
  readonly algorithm?: Algorithm;
}

const MINUTE_START = 1_000_000_020;

function createBatch(
  hits: readonly Hit[],
  options: { readonly at?: number; readonly stopWhenOver?: boolean } = {},
): CounterBatch {
  const encoder = new TextEncoder();
  let length = 0;
  const operations = hits.map((hit) => {
    const { key, hits = 1, limit = 1, algorithm = "fixed_window" } = hit;
    const keyStart = length;
    length += encoder.encode(key).length;
    return {
      algorithm,
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
  /** Milliseconds of the monotonic clock. */
  elapsedMs = 0;
  readonly cache: OverLimitCache;
  readonly #registry = new StatsRegistry();
  readonly #memory = new MemoryStore({ monotonicMs: () => this.elapsedMs });

  constructor(
    options: {
      readonly maxBytes?: number;
      readonly maxAgeSeconds?: number;
      readonly isAsync?: boolean;
    } = {},
  ) {
    this.cache = new OverLimitCache({
      store: {
        apply: (batch) => {
          this.batches.push(batch);
          const answer = this.#memory.apply(batch);
          return options.isAsync === true ? Promise.resolve(answer) : answer;
        },
        isHealthy: () => true,
        start: () => Promise.resolve(),
        stop: () => Promise.resolve(),
      },
      maxBytes: options.maxBytes ?? 524_288,
      maxAgeSeconds: options.maxAgeSeconds ?? 60,
      stats: this.#registry,
      monotonicMs: () => this.elapsedMs,
    });
  }

  /** Returns what the store answers without the cache. */
  withoutCache(hits: readonly Hit[]): readonly CounterResult[] {
    const answer = this.#memory.apply(createBatch(hits));
    if (answer.kind === "unavailable") throw new Error(answer.reason);
    return answer.results;
  }

  /** Returns the statistics of the cache. */
  figures(): Record<string, number> {
    return Object.fromEntries(
      this.#registry.snapshot().map((stat) => [
        stat.name.replace("ratelimit.localcache.", ""),
        stat.kind === "gauge" ? stat.value : NaN,
      ]),
    );
  }

  async hit(
    hits: readonly Hit[],
    options: Parameters<typeof createBatch>[1] = {},
  ): Promise<readonly CounterResult[]> {
    this.elapsedMs = Math.max(this.elapsedMs, (options?.at ?? 0) * 1_000);
    const answer = await this.cache.apply(createBatch(hits, options));
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
  const batch = createBatch([{ key: "aaaa", hits: 2 }]);
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

Deno.test("OverLimitCache tells how often it knew a counter, and why it forgot others", async () => {
  const bench = new Bench({ maxBytes: 500, maxAgeSeconds: 3_600 });
  const over = (key: string, at: number) =>
    bench.hit([{ key, hits: 2 }], { at });
  await over("a", 0);
  await over("a", 1);
  assertEquals(bench.figures(), {
    entryCount: 1,
    evacuateCount: 0,
    expiredCount: 0,
    hitCount: 1,
    lookupCount: 2,
    missCount: 1,
    overwriteCount: 0,
  });
  await over("a", 60);
  const { expiredCount, entryCount } = bench.figures();
  assertEquals({ expiredCount, entryCount }, {
    expiredCount: 1,
    entryCount: 1,
  });
  // The remembered count is too low for this limit: the store's count replaces
  // it.
  await bench.hit([{ key: "a", hits: 9, limit: 5 }], { at: 61 });
  assertEquals(bench.figures().overwriteCount, 1);
  for (const key of ["b", "c", "d", "e", "f", "g"]) await over(key, 61);
  const last = bench.figures();
  assertEquals(last.lookupCount, last.hitCount! + last.missCount!);
  assertEquals(last.entryCount, bench.cache.size);
  assertEquals(last.evacuateCount, 7 - bench.cache.size);
});

for (const algorithm of ["sliding_window", "token_bucket"] as const) {
  const what = algorithm.replace("_", " ");

  Deno.test(`OverLimitCache.apply() refuses for a ${what} until the moment that the store told`, async () => {
    const bench = new Bench();
    const hit = { key: "a", algorithm };
    await bench.hit([hit]);
    bench.elapsedMs = 10_000.4;
    const [told] = await bench.hit([hit]);
    assert(typeof told === "object" && told.isFromCache === undefined);
    const asked = bench.batches.length;
    for (const ms of [10_001, 30_000, 59_998]) {
      bench.elapsedMs = ms;
      const [known] = await bench.hit([hit, { ...hit, hits: 0 }]);
      assert(typeof known === "object" && known.isFromCache === true);
      // The whole seconds of the answer last at least until the hit passes.
      assert(ms + 1_000 * known.resetSeconds >= 60_000);
      assert(ms + 1_000 * known.resetSeconds < 61_100);
    }
    assertEquals(bench.batches.length, asked);
    bench.elapsedMs = 60_001;
    const [later] = await bench.hit([hit]);
    assert(typeof later === "object" && !later.isOver);
  });

  Deno.test(`OverLimitCache.apply() asks again for a ${what} with another limit, with more hits and after a refund`, async () => {
    const bench = new Bench();
    const hit = { key: "a", algorithm };
    await bench.hit([hit]);
    await bench.hit([hit]);
    const asked = bench.batches.length;
    await bench.hit([hit]);
    assertEquals(bench.batches.length, asked);
    const [more] = await bench.hit([{ ...hit, hits: 2 }]);
    assert(typeof more === "object" && more.isOver);
    const [wider] = await bench.hit([{ ...hit, limit: 3 }]);
    assert(typeof wider === "object" && !wider.isOver);
    await bench.hit([{ ...hit, limit: 3, hits: -3 }]);
    const [back] = await bench.hit([hit]);
    assert(typeof back === "object" && !back.isOver);
    assertEquals(bench.batches.length, asked + 4);
  });

  Deno.test(`OverLimitCache.apply() remembers no ${what} whose wait is over with the answer`, async () => {
    const bench = new Bench();
    const hit = { key: "a", algorithm, limit: 2 };
    await bench.hit([{ ...hit, hits: 2 }]);
    bench.elapsedMs = algorithm === "sliding_window" ? 60_000.5 : 29_999.5;
    const [over] = await bench.hit([hit]);
    assert(typeof over === "object" && over.isOver && over.waitMs === 0);
    assertEquals(bench.cache.size, 0);
  });

  Deno.test(`OverLimitCache.apply() never refuses for a ${what} what the store would admit, whatever is asked`, async () => {
    const random = new SeededRandom(7);
    const bench = new Bench({ isAsync: true });
    const bare = new Bench();
    let refused = 0;
    for (let step = 0; step < 3_000; step++) {
      bench.elapsedMs += random.below(random.pick([1, 900, 4_000])) / 3;
      bare.elapsedMs = bench.elapsedMs;
      const hit = {
        key: random.pick(["a", "b"]),
        algorithm,
        limit: 20,
        hits: random.pick([-1, 0, 1, 1, 1, 3]),
      };
      const [cached] = await bench.hit([hit]);
      const [plain] = bare.withoutCache([hit]);
      assert(typeof cached === "object" && typeof plain === "object");
      assertEquals(cached.isOver, plain.isOver, `step ${step}`);
      assertEquals(cached.remaining, plain.remaining, `step ${step}`);
      if (cached.isFromCache === true) refused++;
    }
    assert(refused > 50, `${refused} from the cache`);
  });
}
