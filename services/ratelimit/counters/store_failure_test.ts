import { assertEquals } from "@std/assert";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "./counter_store.ts";
import { MemoryStore } from "./memory_store.ts";
import { FailurePolicyStore, type StoreFailureMode } from "./store_failure.ts";

const AWAY: CounterAnswer = { kind: "unavailable", reason: "it is away" };

class Bench {
  readonly failures: StoreFailureMode[] = [];
  readonly policy: FailurePolicyStore;
  isAway = true;
  readonly #memory = new MemoryStore();

  constructor(options: { readonly isAsync?: boolean } = {}) {
    const store: CounterStore = {
      apply: (batch) => {
        const answer = this.isAway ? AWAY : this.#memory.apply(batch);
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
      onFailure: (mode) => this.failures.push(mode),
    });
  }

  hit(domain: string): CounterAnswer | Promise<CounterAnswer> {
    return this.policy.apply(batchOf(domain));
  }
}

function batchOf(domain: string): CounterBatch {
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

Deno.test("FailurePolicyStore.apply() goes back to the store when it is there again", () => {
  const bench = new Bench();
  bench.hit("here");
  bench.isAway = false;
  assertEquals(bench.hit("here"), { kind: "counted", results: [2] });
});

Deno.test("FailurePolicyStore.apply() counts the right key when the batch is written over meanwhile", async () => {
  const bench = new Bench({ isAsync: true });
  const batch = batchOf("here");
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
