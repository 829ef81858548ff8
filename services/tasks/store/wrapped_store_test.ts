import { assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../shared/clock.ts";
import type { Store, Transaction, TransactionResult } from "./store.ts";
import { createMemoryStore } from "./testing/memory_store.ts";
import { creation, sampleIds, sampleTask } from "./testing/sample_tasks.ts";
import { type AroundCommit, withCommit, withReads } from "./wrapped_store.ts";

const SCOPE = { tenantId: "tnt_a", workerId: "wrk_a", limits: "none" } as const;
const OK = { kind: "ok" } as const;
const MADE_UP = { kind: "conflict", write: 0, reason: "key" } as const;

type Committing = (
  store: Store,
  transactions: readonly Transaction[],
) => Promise<readonly TransactionResult[]>;

/** The two ways by which a store commits. */
const WAYS: Readonly<Record<string, Committing>> = {
  commit: (store, transactions) => store.commit(transactions),
  claim: (store, transactions) =>
    store.claim(SCOPE, () => Promise.resolve(transactions)),
};

/** Commits two new tasks through a wrapped store, in one way. */
function open(around: AroundCommit) {
  const inner = createMemoryStore({ clock: systemClock });
  const ids = sampleIds();
  const tasks = [1, 2].map(() => sampleTask({ id: ids.next() }));
  const transactions = tasks.map((task) => ({ writes: [creation(task)] }));
  const count = async (): Promise<number> => {
    const found = await inner.tasks("tnt_a", tasks.map(({ id }) => id));
    return found.filter((task) => task !== undefined).length;
  };
  return { store: withCommit(inner, around), transactions, count };
}

for (const [way, commit] of Object.entries(WAYS)) {
  Deno.test(`withCommit() alters what ${way}() commits, and what it answers`, async () => {
    const { store, transactions, count } = open(async (given, apply) => {
      const results = await apply(given.slice(1));
      return [MADE_UP, ...results];
    });
    assertEquals(await commit(store, transactions), [MADE_UP, OK]);
    assertEquals(await count(), 1);
  });

  Deno.test(`withCommit() writes nothing of what it refuses to ${way}()`, async () => {
    const { store, transactions, count } = open(() =>
      Promise.reject(new RangeError("refused"))
    );
    await assertRejects(() => commit(store, transactions), RangeError);
    assertEquals(await count(), 0);
    const answering = open(() => Promise.resolve([MADE_UP, MADE_UP]));
    const results = await commit(answering.store, answering.transactions);
    assertEquals(results, [MADE_UP, MADE_UP]);
    assertEquals(await answering.count(), 0);
  });

  Deno.test(`withCommit() loses an answer of ${way}() that was written`, async () => {
    const { store, transactions, count } = open(async (given, apply) => {
      await apply(given);
      throw new RangeError("lost");
    });
    await assertRejects(() => commit(store, transactions), RangeError);
    assertEquals(await count(), 2);
  });
}

Deno.test("withCommit() throws what the decision of a claim throws, asks for none without transactions, and lets the next claim begin", async () => {
  let asked = 0;
  const { store, transactions } = open((given, apply) => {
    asked++;
    return apply(given);
  });
  await assertRejects(
    () => store.claim(SCOPE, () => Promise.reject(new RangeError("no"))),
    RangeError,
  );
  assertEquals(await store.claim(SCOPE, () => Promise.resolve([])), []);
  assertEquals(asked, 0);
  const claimed = await store.claim(
    SCOPE,
    () => Promise.resolve(transactions),
  );
  assertEquals([claimed, asked], [[OK, OK], 1]);
});

Deno.test("withCommit() tells the failure of a claim's commit to who stands around it", async () => {
  const inner = createMemoryStore({ clock: systemClock });
  const seen: unknown[] = [];
  const store = withCommit({
    ...inner,
    claim: async (_scope, decide) => {
      await decide(inner);
      throw new RangeError("away");
    },
  }, async (given, apply) => {
    try {
      return await apply(given);
    } catch (error) {
      seen.push(error);
      throw error;
    }
  });
  await assertRejects(
    () => store.claim(SCOPE, () => Promise.resolve([{ writes: [] }])),
    RangeError,
  );
  assertEquals(seen.length, 1);
});

Deno.test("withReads() shows the reads to claims as well", async () => {
  const store = withReads(createMemoryStore({ clock: systemClock }), {
    running: () => Promise.resolve({ all: 7, groups: new Map() }),
  });
  assertEquals((await store.running("tnt_a", "wrk_a")).all, 7);
  let seen = 0;
  await store.claim(SCOPE, async (view) => {
    seen = (await view.running("tnt_a", "wrk_a")).all;
    return [];
  });
  assertEquals(seen, 7);
});
