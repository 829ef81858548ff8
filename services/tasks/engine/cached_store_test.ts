import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { TaskQuery } from "../store/queries.ts";
import type { Store, Transaction, TransactionResult } from "../store/store.ts";
import { cachedStore } from "./cached_store.ts";

type PassedOn = Exclude<keyof Store, "commit">;

const LIST: TaskQuery = {
  tenantId: "tnt_a",
  by: "date",
  sort: "date",
  order: "asc",
  limit: 3,
};

/** A call of every method that goes to the store; the compiler misses none. */
const CALLS: { readonly [Name in PassedOn]: Parameters<Store[Name]> } = {
  start: [],
  stop: [],
  check: [],
  task: ["tnt_a", "tsk_1"],
  tasks: ["tnt_a", ["tsk_1", "tsk_2"]],
  taskByKey: [{ tenantId: "tnt_a", workerId: "wrk_1", key: "k" }],
  listTasks: [LIST],
  history: [{ tenantId: "tnt_a", taskId: "tsk_1", order: "asc", limit: 4 }],
  dependents: [{
    tenantId: "tnt_a",
    ids: ["tsk_1"],
    limit: 5,
    afterId: "tsk_0",
  }],
  candidates: [[{ tenantId: "tnt_a", workerId: "wrk_1", limit: 6 }]],
  workersWithDueTasks: [{ limit: 7 }],
  waking: [8, 9],
  nextWakeMs: [],
  running: ["tnt_a", "wrk_1"],
  scan: [{ status: "running", limit: 10 }],
  counts: [{ tenantId: "tnt_a", workerId: "wrk_11" }],
  proveCounts: [],
  record: ["key", "tnt_a", "dk_1"],
  recordByAlias: ["worker", "tnt_a", "mailer"],
  records: [{ kind: "key", tenantId: "tnt_a", limit: 12 }],
  idempotency: ["tnt_a", "key", 13],
  usage: ["tnt_a", "2027-01"],
  audit: [{ tenantId: "tnt_a", limit: 14, before: 15 }],
  sweep: [16, 17],
};

const NAMES = Object.keys(CALLS) as readonly PassedOn[];

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly self: unknown;
}

/** A store that writes down what it is asked and always answers the same. */
function recordingStore(
  answer: unknown,
): { readonly store: Store; readonly calls: Call[] } {
  const calls: Call[] = [];
  const names: readonly string[] = [...NAMES, "commit"];
  const store = Object.fromEntries(names.map((name) => [
    name,
    function (this: unknown, ...args: readonly unknown[]): unknown {
      calls.push({ name, args, self: this });
      return answer;
    },
  ]));
  return { store: store as unknown as Store, calls };
}

const NO_CACHE = {
  commit: (): Promise<never> => Promise.reject(new Error("It was committed")),
};

function call(store: Store, name: PassedOn): unknown {
  return Reflect.apply(store[name], store, CALLS[name]);
}

for (const name of NAMES) {
  Deno.test(`cachedStore() passes ${name}() on with its arguments and its answer`, () => {
    const answer = Promise.resolve(name);
    const { store, calls } = recordingStore(answer);
    assertStrictEquals(call(cachedStore(store, NO_CACHE), name), answer);
    assertEquals(calls.map((it) => it.name), [name]);
    assertEquals(calls[0]?.args, [...CALLS[name]]);
    // Stores are classes: they need to be called as what they are.
    assertStrictEquals(calls[0]?.self, store);
  });
}

Deno.test("cachedStore() lets commits go through the cache and nowhere else", async () => {
  const { store, calls } = recordingStore(undefined);
  const seen: unknown[] = [];
  const results: readonly TransactionResult[] = [{ kind: "ok" }];
  const cache = {
    commit(this: unknown, transactions: readonly Transaction[]) {
      seen.push(transactions, this);
      return Promise.resolve(results);
    },
  };
  const transactions: readonly Transaction[] = [{ writes: [] }];
  assertStrictEquals(
    await cachedStore(store, cache).commit(transactions),
    results,
  );
  assertStrictEquals(seen[0], transactions);
  assertStrictEquals(seen[1], cache);
  assertEquals(calls, []);
});

Deno.test("cachedStore() passes failures on", async () => {
  const failure = Promise.reject(new Error("disk full"));
  const { store } = recordingStore(failure);
  const cached = cachedStore(store, { commit: store.commit });
  await assertRejects(() => cached.commit([]), Error, "disk full");
  await assertRejects(() => cached.task("tnt_a", "tsk_1"), Error, "disk full");
});
