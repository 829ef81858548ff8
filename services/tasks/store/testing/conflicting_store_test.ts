import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { systemClock } from "../../../shared/clock.ts";
import type { Store, Transaction, TransactionResult, Write } from "../store.ts";
import { createConflictingStore } from "./conflicting_store.ts";
import { createMemoryStore } from "./memory_store.ts";
import {
  change,
  changed,
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
} from "./sample_tasks.ts";
import { storeConformance } from "./store_conformance.ts";

storeConformance("conflicting, kept calm,", () => {
  const store = createConflictingStore(
    createMemoryStore({ clock: systemClock }),
    { random: Math.random },
  );
  return Promise.resolve({ store, close: () => store.stop() });
});

/**
 * A caller that tries again: after a conflict or a failure it reads what is
 * there, and writes again unless its write was applied.
 */
function persistent(store: Store): Store {
  async function commitOne(
    transaction: Transaction,
  ): Promise<TransactionResult> {
    for (let round = 0; round < 200; round++) {
      let result: TransactionResult | undefined;
      try {
        [result] = await store.commit([transaction]);
      } catch {
        // Whether the commit was applied is unknown.
      }
      if (result?.kind === "ok") return result;
      const [first] = transaction.writes;
      if (first?.kind !== "task") throw new Error("Only tasks are tried again");
      const there = await store.task(first.tenantId, first.id);
      if (there?.version === first.next?.version) return { kind: "ok" };
    }
    throw new Error("The transaction did not get through");
  }
  return {
    ...store,
    commit: async (transactions) => {
      const results: TransactionResult[] = [];
      for (const transaction of transactions) {
        results.push(await commitOne(transaction));
      }
      return results;
    },
  };
}

Deno.test("a caller that tries again gets through conflicts and failures", async () => {
  const random = new SeededRandom(5);
  const conflicting = createConflictingStore(
    createMemoryStore({ clock: systemClock }),
    { random: () => random.next(), conflictShare: 0.3, failureShare: 0.2 },
  );
  const store = persistent(conflicting);
  const ids = sampleIds();
  for (let count = 0; count < 50; count++) {
    let task = sampleTask({ id: ids.next() });
    await store.commit(toTransactions(creation(task)));
    for (let run = 1; run < 5; run++) {
      task = changed(task, { run });
      await store.commit(toTransactions(change(task)));
    }
    assertEquals(await store.task("tnt_a", task.id), task);
  }
  assert(conflicting.mischief.conflicts > 50);
  assert(conflicting.mischief.failures > 50);
});

Deno.test("createConflictingStore() applies nothing of what it says conflicts", async () => {
  const random = new SeededRandom(6);
  const inner = createMemoryStore({ clock: systemClock });
  const store = createConflictingStore(inner, {
    random: () => random.next(),
    conflictShare: 0.5,
  });
  const ids = sampleIds();
  const tasks = Array.from(
    { length: 200 },
    (_, index) => sampleTask({ id: ids.next(), key: `k${index}` }),
  );
  const results = await store.commit(toTransactions(...tasks.map(creation)));
  const found = await inner.tasks("tnt_a", tasks.map(({ id }) => id));
  assertEquals(
    found.map((task) => task !== undefined),
    results.map(({ kind }) => kind === "ok"),
  );
  const reasons = results.flatMap((result) =>
    result.kind === "conflict" ? [result.reason] : []
  );
  assertEquals(new Set(reasons), new Set(["version", "key"]));
});

Deno.test("createConflictingStore() leaves alone what cannot conflict", async () => {
  const store = createConflictingStore(
    createMemoryStore({ clock: systemClock }),
    { random: () => 0, conflictShare: 1 },
  );
  const audit: Write = {
    kind: "audit",
    tenantId: "tnt_a",
    entry: { atMs: 1, action: "a", text: "{}" },
  };
  assertEquals(await store.commit(toTransactions(audit)), [{ kind: "ok" }]);
  const answer: Write = {
    kind: "idempotency",
    tenantId: "tnt_a",
    key: "k",
    entry: {
      bodyHash: "b",
      status: 200,
      headers: {},
      body: "",
      expiresAtMs: 1,
    },
  };
  assertEquals(await store.commit([{ writes: [audit, answer] }]), [
    { kind: "conflict", write: 1, reason: "idempotency" },
  ]);
  const replacing: Write = { ...answer, replaces: true };
  assertEquals(await store.commit(toTransactions(replacing)), [{ kind: "ok" }]);
  assertEquals(
    (await store.audit({ tenantId: "tnt_a", limit: 9 })).length,
    1,
  );
});
