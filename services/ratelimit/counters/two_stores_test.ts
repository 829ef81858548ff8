import { assert, assertEquals, assertRejects } from "@std/assert";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "./counter_store.ts";
import { MemoryStore } from "./memory_store.ts";
import { counterStoreConformance } from "./testing/counter_store_conformance.ts";
import { pacedBatch, pacedConformance } from "./testing/paced_conformance.ts";
import {
  FailurePolicyStore,
  SplitStore,
  type StoreFailureMode,
} from "./two_stores.ts";

counterStoreConformance("split", () =>
  Promise.resolve({
    store: new SplitStore({
      perSecond: new MemoryStore(),
      other: new MemoryStore(),
    }),
    close: () => Promise.resolve(),
  }));

pacedConformance("split", (bench) => {
  const monotonicMs = (): number => bench.nowMicros / 1_000;
  return Promise.resolve({
    store: new SplitStore({
      perSecond: new MemoryStore({ monotonicMs }),
      other: new MemoryStore({ monotonicMs }),
    }),
    close: () => Promise.resolve(),
  });
});

const NOW = 1_795_219_200;

/** A store that keeps its batches and answers as told. */
class NotingStore implements CounterStore {
  readonly batches: CounterBatch[] = [];
  readonly calls: string[] = [];
  isWell = true;
  answer: (batch: CounterBatch) => CounterAnswer | Promise<CounterAnswer>;

  constructor(answer: CounterStore["apply"]) {
    this.answer = answer;
  }

  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    this.batches.push(batch);
    return this.answer(batch);
  }

  isHealthy(): boolean {
    return this.isWell;
  }

  start(): Promise<void> {
    this.calls.push("start");
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.calls.push("stop");
    return Promise.resolve();
  }
}

/**
 * Makes a store that counts from `first` on, in the order of the operations.
 */
function countingFrom(first: number): NotingStore {
  return new NotingStore(({ operations }) => ({
    kind: "counted",
    results: operations.map((_, i) => first + i),
  }));
}

function createBatch(
  windows: readonly number[],
  options: { readonly stopWhenOver?: boolean; readonly limit?: number } = {},
): CounterBatch {
  const { limit = 100, ...rest } = options;
  return {
    ...rest,
    keys: new Uint8Array(windows.length).map((_, i) => 0x61 + i),
    nowSeconds: NOW,
    operations: windows.map((windowSeconds, i) => ({
      algorithm: "fixed_window",
      keyStart: i,
      keyEnd: i + 1,
      hits: 1,
      limit,
      windowSeconds,
    })),
  };
}

Deno.test("SplitStore.apply() divides by window and answers in order, at once", () => {
  const perSecond = countingFrom(1);
  const other = countingFrom(101);
  const store = new SplitStore({ perSecond, other });
  const batch = { ...createBatch([60, 1, 3_600, 1]), domain: "d" };
  const answer = store.apply(batch);
  assertEquals(answer, { kind: "counted", results: [101, 1, 102, 2] });
  function listWindows({ batches }: NotingStore): unknown {
    return batches.map(({ operations }) =>
      operations.map(({ keyStart, windowSeconds }) => [keyStart, windowSeconds])
    );
  }
  for (const { batches: [own] } of [perSecond, other]) {
    assertEquals([own?.domain, own?.nowSeconds], ["d", NOW]);
  }
  assertEquals(listWindows(perSecond), [[[1, 1], [3, 1]]]);
  assertEquals(listWindows(other), [[[0, 60], [2, 3_600]]]);
});

Deno.test("SplitStore.apply() asks only the store that is concerned", () => {
  const perSecond = countingFrom(1);
  const other = countingFrom(101);
  const store = new SplitStore({ perSecond, other });
  const short = createBatch([1, 1], { stopWhenOver: true });
  const long = createBatch([60]);
  assertEquals(store.apply(short), { kind: "counted", results: [1, 2] });
  assertEquals(store.apply(long), { kind: "counted", results: [101] });
  assertEquals(perSecond.batches, [short]);
  assertEquals(perSecond.batches[0]!.stopWhenOver, true);
  assertEquals(other.batches, [long]);
});

Deno.test("SplitStore.apply() asks both stores before either has answered", async () => {
  const pending = Promise.withResolvers<CounterAnswer>();
  const perSecond = new NotingStore(() => pending.promise);
  const other = countingFrom(101);
  const store = new SplitStore({ perSecond, other });
  const answer = store.apply(createBatch([1, 60]));
  assert(answer instanceof Promise);
  assertEquals(other.batches.length, 1);
  pending.resolve({ kind: "counted", results: [5] });
  assertEquals(await answer, { kind: "counted", results: [5, 101] });
});

Deno.test("SplitStore.apply() is unavailable when either store is, and says why", async () => {
  const well = countingFrom(1);
  const atOnce = new NotingStore(() => ({
    kind: "unavailable",
    reason: "away",
  }));
  const later = new NotingStore(() =>
    Promise.resolve({ kind: "unavailable", reason: "away" })
  );
  for (const ill of [atOnce, later]) {
    for (const stopWhenOver of [false, true]) {
      for (
        const stores of [
          { perSecond: ill, other: well },
          { perSecond: well, other: ill },
        ]
      ) {
        const batch = createBatch([1, 60], { stopWhenOver });
        assertEquals(await new SplitStore(stores).apply(batch), {
          kind: "unavailable",
          reason: "away",
          // A look came first, which counts nothing.
          ...(stopWhenOver ? {} : { mayHaveCounted: true }),
        });
      }
    }
  }
});

Deno.test("SplitStore.apply() tells of hits that may be on the counters of either store", async () => {
  const away = new NotingStore(() => ({ kind: "unavailable", reason: "away" }));
  const hung = new NotingStore(() => ({
    kind: "unavailable",
    reason: "hung",
    mayHaveCounted: true,
  }));
  const well = countingFrom(1);
  const [short, long] = createBatch([1, 60]).operations;
  const look = {
    ...createBatch([1, 60]),
    operations: [short!, { ...long!, hits: 0 }],
  };
  const cases = [
    [{ perSecond: away, other: away }, createBatch([1, 60]), "away", false],
    [{ perSecond: away, other: hung }, createBatch([1, 60]), "away", true],
    [{ perSecond: hung, other: well }, createBatch([1, 60]), "hung", true],
    [{ perSecond: away, other: well }, look, "away", false],
  ] as const;
  for (const [stores, batch, reason, mayHaveCounted] of cases) {
    assertEquals(await new SplitStore(stores).apply(batch), {
      kind: "unavailable",
      reason,
      ...(mayHaveCounted ? { mayHaveCounted } : {}),
    });
  }
});

Deno.test("SplitStore.apply() stops one store's counters when the other's go over", async () => {
  for (const isLater of [false, true]) {
    const stores = [new MemoryStore(), new MemoryStore()].map((memory) =>
      new NotingStore((batch) => {
        const answer = memory.apply(batch);
        return isLater ? Promise.resolve(answer) : answer;
      })
    );
    const store = new SplitStore({
      perSecond: stores[0]!,
      other: stores[1]!,
    });
    const batch = createBatch([1, 60], { stopWhenOver: true, limit: 1 });
    // The caller may use the batch again as soon as it has the answer's
    // promise.
    const keys = batch.keys.slice();
    const first = store.apply({ ...batch, keys });
    keys.fill(0x7a);
    assertEquals(first instanceof Promise, isLater);
    assertEquals(await first, { kind: "counted", results: [1, 1] });
    const [operation] = batch.operations;
    await store.apply({ ...batch, operations: [operation!] });
    await store.apply({
      ...batch,
      operations: [batch.operations[0]!, { ...batch.operations[1]!, limit: 9 }],
    });
    const last = await store.apply(createBatch([1, 60]));
    assertEquals(last, { kind: "counted", results: [4, 2] });
  }
});

Deno.test("SplitStore.apply() goes by what remains of a verdict", () => {
  const other = new NotingStore(({ operations }) => ({
    kind: "counted",
    results: operations.map(({ hits }) => ({
      isOver: true,
      hitsOver: hits,
      remaining: 0,
      resetSeconds: 1,
    })),
  }));
  const perSecond = new MemoryStore();
  const store = new SplitStore({ perSecond, other });
  store.apply(createBatch([1, 60], { stopWhenOver: true }));
  assertEquals(perSecond.size, 0);
});

Deno.test("SplitStore.apply() stops one store's bucket for the other's window, and the other way round", () => {
  const store = new SplitStore({
    perSecond: new MemoryStore({ monotonicMs: () => 0 }),
    other: new MemoryStore({ monotonicMs: () => 0 }),
  });
  const ask = (hits: number): unknown => {
    const answer = store.apply({
      ...pacedBatch([
        { algorithm: "token_bucket", key: "b_", windowSeconds: 1, hits },
        { algorithm: "sliding_window", key: "s_", limit: 7, hits },
      ], NOW),
      stopWhenOver: true,
    });
    assert(!(answer instanceof Promise) && answer.kind === "counted");
    return answer.results.map((result) =>
      typeof result === "object" && [result.isOver, result.remaining]
    );
  };
  assertEquals(ask(4), [[false, 1], [false, 3]]);
  assertEquals(ask(2), [[true, 1], [false, 3]]);
  assertEquals(ask(1), [[false, 0], [false, 2]]);
});

Deno.test("SplitStore is healthy while both stores are, and starts and stops both", async () => {
  const perSecond = countingFrom(1);
  const other = countingFrom(1);
  const store = new SplitStore({ perSecond, other });
  await store.start();
  for (const one of [perSecond, other]) {
    assertEquals(store.isHealthy(), true);
    one.isWell = false;
    assertEquals(store.isHealthy(), false);
    one.isWell = true;
  }
  await store.stop();
  perSecond.stop = () => Promise.reject(new Error("stuck"));
  await assertRejects(() => store.stop(), Error, "stuck");
  assertEquals(perSecond.calls, ["start", "stop"]);
  assertEquals(other.calls, ["start", "stop", "stop"]);
});

const AWAY: CounterAnswer = { kind: "unavailable", reason: "it is away" };

class Bench {
  readonly failures: StoreFailureMode[] = [];
  maybeCounted = 0;
  away: CounterAnswer = AWAY;
  readonly policy: FailurePolicyStore;
  isAway = true;
  readonly #memory = new MemoryStore();

  constructor(options: { readonly isAsync?: boolean } = {}) {
    const store: CounterStore = {
      apply: (batch) => {
        const answer = this.isAway ? this.away : this.#memory.apply(batch);
        return options.isAsync === true ? Promise.resolve(answer) : answer;
      },
      isHealthy: () => !this.isAway,
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    };
    this.policy = new FailurePolicyStore({
      store,
      local: new MemoryStore(),
      mode: "error",
      byDomain: new Map([
        ["open", "allow"],
        ["closed", "deny"],
        ["here", "local"],
      ]),
      onFailure: (mode, { mayHaveCounted }) => {
        this.failures.push(mode);
        if (mayHaveCounted) this.maybeCounted++;
      },
    });
  }

  hit(domain: string): CounterAnswer | Promise<CounterAnswer> {
    return this.policy.apply(domainBatch(domain));
  }
}

function domainBatch(domain: string): CounterBatch {
  return {
    domain,
    keys: new TextEncoder().encode("key"),
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: 3,
      hits: 2,
      limit: 3,
      windowSeconds: 60,
    }],
    nowSeconds: 1_000_000_030,
  };
}

Deno.test("FailurePolicyStore.apply() hands on what the store answers", () => {
  const bench = new Bench();
  bench.isAway = false;
  assertEquals(bench.hit("open"), { kind: "counted", results: [2] });
  assertEquals(bench.failures, []);
});

Deno.test("FailurePolicyStore.apply() tells the caller when the domain has no mode of its own", () => {
  const bench = new Bench();
  assertEquals(bench.hit("any"), AWAY);
  assertEquals(bench.failures, ["error"]);
});

Deno.test("FailurePolicyStore.apply() lets pass, refuses or counts here as the domain asks", () => {
  const bench = new Bench();
  const verdict = { remaining: 0, resetSeconds: 50 };
  assertEquals(bench.hit("open"), {
    kind: "counted",
    results: [{ ...verdict, isOver: false, hitsOver: 0, remaining: 3 }],
  });
  assertEquals(bench.hit("closed"), {
    kind: "counted",
    results: [{ ...verdict, isOver: true, hitsOver: 2 }],
  });
  assertEquals(bench.hit("here"), { kind: "counted", results: [2] });
  assertEquals(bench.hit("here"), { kind: "counted", results: [4] });
  assertEquals(bench.failures, ["allow", "deny", "local", "local"]);
});

Deno.test("FailurePolicyStore.apply() stands in for a bucket, and counts in one here", () => {
  const bench = new Bench();
  const apply = (domain: string, hits: number): unknown => {
    const touch = { algorithm: "token_bucket", burst: 9, hits } as const;
    const answer = bench.policy.apply({ ...pacedBatch([touch], NOW), domain });
    assert(!(answer instanceof Promise) && answer.kind === "counted");
    const [result] = answer.results;
    return typeof result === "object" && [result.isOver, result.remaining];
  };
  assertEquals(apply("open", 20), [false, 9]);
  assertEquals(apply("closed", 1), [true, 0]);
  assertEquals(apply("here", 9), [false, 0]);
  assertEquals(apply("here", 9), [true, 0]);
});

Deno.test("FailurePolicyStore.apply() tells of calls that may have counted", () => {
  const bench = new Bench();
  bench.hit("any");
  assertEquals(bench.maybeCounted, 0);
  bench.away = { ...AWAY, mayHaveCounted: true };
  bench.hit("any");
  bench.hit("open");
  assertEquals([bench.failures.length, bench.maybeCounted], [3, 2]);
});

Deno.test("FailurePolicyStore.apply() goes back to the store when it is there again", () => {
  const bench = new Bench();
  bench.hit("here");
  bench.isAway = false;
  assertEquals(bench.hit("here"), { kind: "counted", results: [2] });
});

Deno.test("FailurePolicyStore.apply() counts the right key when the batch is written over meanwhile", async () => {
  const bench = new Bench({ isAsync: true });
  const batch = domainBatch("here");
  const pending = bench.policy.apply(batch);
  batch.keys.fill(0);
  await pending;
  assertEquals(await bench.hit("here"), { kind: "counted", results: [4] });
});

Deno.test("FailurePolicyStore.isHealthy() is the store's", () => {
  const bench = new Bench();
  assertEquals(bench.policy.isHealthy(), false);
  bench.isAway = false;
  assertEquals(bench.policy.isHealthy(), true);
});
