import { assert, assertEquals, assertRejects } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { systemClock } from "../../../shared/clock.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import type { Task } from "../../domain/task.ts";
import { NO_ACTIVITY } from "../kept_counts.ts";
import type { Notice } from "../instances.ts";
import type {
  ClaimScope,
  Store,
  StoredRecord,
  TransactionResult,
  Write,
} from "../store.ts";
import {
  change,
  changed,
  creation,
  SAMPLE_MS,
  sampleAttempt,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import {
  newStore,
  openSubject,
  type PostgresSubject,
  TEST_SERVER,
} from "./testing/postgres_subject.ts";

const TENANT = "tnt_a";
const WORKER = { tenantId: TENANT, workerId: "wrk_a" };

/** Registers a test with several stores on one schema. */
function storesTest(
  name: string,
  run: (subject: PostgresSubject) => Promise<void>,
): void {
  serviceTest(["postgres"], {
    name,
    fn: async () => {
      const subject = await openSubject();
      try {
        await run(subject);
      } finally {
        await subject.close();
      }
    },
  });
}

storesTest(
  "of the same creation at several stores one wins, whatever is taken",
  async ({ store, another }) => {
    const stores = [store, await another(), await another()];
    const ids = sampleIds();
    for (let round = 0; round < 5; round++) {
      const same = sampleTask({ id: ids.next() });
      await demandOneWinner(stores, () => creation(same), "version");
      await demandOneWinner(
        stores,
        () => creation(sampleTask({ id: ids.next(), key: `k${round}` })),
        "key",
      );
      await demandOneWinner(stores, () => answer(`k${round}`), "idempotency");
      await demandOneWinner(
        stores,
        () => recordWrite({ id: ids.next(), alias: `a${round}` }),
        "alias",
      );
      await demandOneWinner(
        stores,
        () => recordWrite({ id: `r${round}` }),
        "version",
      );
    }
    assertEquals(await store.counts({ tenantId: TENANT }), { waiting: 10 });
    assertEquals(await store.proveCounts(), 0);
  },
);

storesTest(
  "a change is refused at one store after another one's",
  async ({ store, another }) => {
    const other = await another();
    const task = sampleTask({ id: sampleIds().next(), key: "k" });
    await commitAll(store, creation(task));
    const read = await demandTask(other, task.id);
    await commitAll(store, change(changed(task, { dataJson: "[1]" })));
    assertEquals(
      await other.commit(toTransactions(change(changed(read, { run: 1 })))),
      [{ kind: "conflict", write: 0, reason: "version" }],
    );
    // What was read is not sent again, and must still be what the database has.
    const fresh = await demandTask(other, task.id);
    const next = changed(fresh, { run: 2 });
    await commitAll(other, change(next));
    assertEquals(await store.task(TENANT, task.id), next);
    assertEquals((await store.task(TENANT, task.id))?.dataJson, "[1]");
  },
);

storesTest(
  "a store keeps what a change of a task that was read leaves as it is",
  async ({ store, another }) => {
    const other = await another();
    const long = JSON.stringify("x".repeat(5_000));
    const created = sampleTask({
      id: sampleIds().next(),
      dataJson: long,
      tags: ["a"],
    });
    await commitAll(store, creation(created));
    let task = await demandTask(store, created.id);
    const patches: readonly Partial<Task>[] = [
      { run: 1 },
      { resultJson: long, run: 2 },
      { status: "retry" },
      { tags: ["b"] },
      { run: 3, isDue: false },
      { dataJson: "[2]" },
      { status: "paused" },
      { resultJson: undefined },
      { priority: 3, group: "g" },
      { status: "waiting" },
    ];
    for (const patch of patches) {
      // Some are read again, by one store or the other, and some are not.
      const writer = task.version % 3 === 0 ? other : store;
      if (task.version % 2 === 0) task = await demandTask(writer, task.id);
      task = changed(task, patch);
      await commitAll(writer, change(task));
      assertEquals(await other.task(TENANT, task.id), task);
    }
    const list = await store.listTasks({
      tenantId: TENANT,
      by: "date",
      sort: "date",
      order: "asc",
      limit: 9,
      tags: ["b"],
    });
    assertEquals(list.tasks, [task]);
  },
);

storesTest(
  "stores number the entries of a tenant's audit log together",
  async ({ store, another }) => {
    const stores = [store, await another()];
    await Promise.all(
      Array.from(
        { length: 40 },
        (_, index) =>
          stores[index % 2]!.commit(toTransactions({
            kind: "audit",
            tenantId: TENANT,
            entry: { atMs: index, action: "a", text: "{}" },
          })),
      ),
    );
    const entries = await store.audit({ tenantId: TENANT, limit: 100 });
    assertEquals(
      entries.map(({ number }) => number),
      Array.from({ length: 40 }, (_, index) => 40 - index),
    );
  },
);

storesTest(
  "claims of several stores at once start each task once",
  async ({ store, another }) => {
    const stores = [store, await another(), await another()];
    const ids = sampleIds();
    const tasks = Array.from(
      { length: 120 },
      (_, index) => sampleTask({ id: ids.next(), group: `g${index % 3}` }),
    );
    await commitAll(store, ...tasks.map(creation));
    const started: string[] = [];
    await Promise.all(
      stores.map(async (one) => {
        while (true) {
          const claimed = await claimSome(one, { limits: "none" }, 7);
          assert(claimed.results.every(({ kind }) => kind === "ok"));
          if (claimed.tasks.length === 0) return;
          started.push(...claimed.tasks.map(({ id }) => id));
        }
      }),
    );
    // A store that finds nothing while the others hold the rest ends early.
    assertEquals(new Set(started).size, started.length);
    assertEquals(started.length, 120);
  },
);

storesTest(
  "a claim passes over what a transaction that hangs has locked",
  async ({ store, schema }) => {
    const ids = sampleIds();
    const tasks = [1, 2, 3].map((dateMs) =>
      sampleTask({ id: ids.next(), dateMs: SAMPLE_MS + dateMs })
    );
    await commitAll(store, ...tasks.map(creation));
    const hanging = await TEST_SERVER.session();
    try {
      await hanging.query("BEGIN");
      await hanging.query(
        `SELECT 1 FROM ${schema}.task_state WHERE id = $1::text FOR UPDATE`,
        [tasks[0]!.id],
      );
      const shown = await store.candidates({ ...WORKER, limit: 9 });
      assertEquals(shown.length, 3, "candidates() waits for nobody");
      const claimed = await claimSome(store, { limits: "none" }, 9);
      assertEquals(claimed.tasks.map(({ id }) => id), [
        tasks[1]!.id,
        tasks[2]!.id,
      ]);
      await hanging.query("ROLLBACK");
    } finally {
      await hanging.close();
    }
  },
);

storesTest(
  "a claim whose decision throws leaves its tasks to others",
  async ({ store, another }) => {
    const other = await another();
    const task = sampleTask({ id: sampleIds().next() });
    await commitAll(store, creation(task));
    await assertRejects(
      () =>
        store.claim({ ...WORKER, limits: "worker" }, async (view) => {
          assertEquals(
            (await view.candidates({ ...WORKER, limit: 1 })).length,
            1,
          );
          const meanwhile = await claimSome(other, { limits: "none" }, 1);
          assertEquals(meanwhile.tasks, []);
          throw new RangeError("nobody waits any more");
        }),
      RangeError,
    );
    const claimed = await claimSome(other, { limits: "worker" }, 1);
    assertEquals(claimed.tasks.map(({ id }) => id), [task.id]);
  },
);

storesTest(
  "a floor hides what another store has written until a look goes without",
  async ({ store, another }) => {
    let aheadMs = 0;
    const floored = await another({
      clock: {
        ...systemClock,
        monotonicMs: () => performance.now() + aheadMs,
      },
    });
    const ids = sampleIds();
    const dated = (dateMs: number) =>
      sampleTask({ id: ids.next(), dateMs: SAMPLE_MS + dateMs });
    const tasks = [10, 20, 30].map(dated);
    await commitAll(floored, ...tasks.map(creation));
    const first = async () =>
      (await floored.candidates({ ...WORKER, limit: 1 }))[0]?.id;
    const woken = async () =>
      (await floored.waking(Number.MAX_SAFE_INTEGER, 1))[0]?.id;
    const asleep = (dateMs: number) => ({
      ...dated(dateMs),
      status: "scheduled" as const,
      isDue: false,
    });
    const sleeper = asleep(10);
    await commitAll(floored, creation(sleeper));
    assertEquals([await first(), await woken()], [tasks[0]!.id, sleeper.id]);
    const [lower, earlier] = [dated(5), asleep(5)];
    await commitAll(store, creation(lower), creation(earlier));
    aheadMs += 20_000;
    assertEquals([await first(), await woken()], [lower.id, earlier.id]);
    // What the store has written itself is seen at once.
    const [lowest, earliest] = [dated(1), asleep(1)];
    await commitAll(floored, creation(lowest), creation(earliest));
    assertEquals([await first(), await woken()], [lowest.id, earliest.id]);
  },
);

storesTest(
  "nothing is woken before its time by the database's clock",
  async ({ store, schema }) => {
    const ids = sampleIds();
    const scheduled = [0, 1].map((ms) =>
      sampleTask({
        id: ids.next(),
        status: "scheduled",
        isDue: false,
        dateMs: SAMPLE_MS + ms,
      })
    );
    await commitAll(store, ...scheduled.map(creation));
    await TEST_SERVER.sql(
      `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint ` +
        `LANGUAGE sql VOLATILE AS 'SELECT ${SAMPLE_MS}::bigint'`,
    );
    const woken = await store.waking(SAMPLE_MS + 60_000, 9);
    assertEquals(woken.map(({ id }) => id), [scheduled[0]!.id]);
  },
);

serviceTest(["postgres"], {
  name: "two stores that start at once on a new schema make its tables once",
  fn: async () => {
    const schema = TEST_SERVER.nextSchema();
    const stores = [newStore(schema), newStore(schema), newStore(schema)];
    try {
      await Promise.all(stores.map((store) => store.start()));
      const task = sampleTask({ id: sampleIds().next() });
      await commitAll(stores[0]!, creation(task));
      assertEquals(await stores[2]!.task(TENANT, task.id), task);
    } finally {
      for (const store of stores) await store.stop();
      await TEST_SERVER.sql(`DROP SCHEMA ${schema} CASCADE`);
    }
  },
});

storesTest(
  "stores beat in one row and share the duties out",
  async ({ store, another }) => {
    const other = await another();
    const beat = (of: Store, id: string, sinceLastMs?: number) =>
      of.beat({
        id,
        version: "1",
        address: "",
        wants: ["a", "b"],
        sinceLastMs,
      });
    await Promise.all([beat(store, "one"), beat(other, "two")]);
    // Whoever came first gives a duty back, which the other one then takes.
    await beat(store, "one", 1);
    await beat(other, "two", 1);
    const answers = [
      await beat(store, "one", 1),
      await beat(other, "two", 1),
    ];
    for (const answer of answers) {
      assert(answer.kind === "member");
      assertEquals(answer.members.map(({ id }) => id).sort(), ["one", "two"]);
    }
    const last = answers[1];
    assert(last?.kind === "member");
    assertEquals(last.duties.map(({ holder }) => holder).sort(), [
      "one",
      "two",
    ]);
    await store.leave("one");
    const alone = await beat(other, "two", 1);
    assert(alone.kind === "member");
    assertEquals(alone.members.map(({ id }) => id), ["two"]);
    assertEquals(alone.duties.map(({ name }) => name).sort(), ["a", "b"]);
  },
);

storesTest(
  "a store hears what another one tells, and not itself",
  async ({ store, another }) => {
    const other = await another();
    const heard = new Map<Store, Notice[]>([[store, []], [other, []]]);
    for (const [of, notices] of heard) of.onNotice((one) => notices.push(one));
    const notice: Notice = { kind: "blocked", tenantId: TENANT };
    const kinds = (of: Store) => heard.get(of)?.map(({ kind }) => kind) ?? [];
    await waitUntil(() => {
      store.tell([notice]);
      return Promise.resolve(kinds(other).includes("blocked"));
    }, { what: "a notice to be heard" });
    assertEquals(kinds(store).includes("blocked"), false);
  },
);

storesTest(
  "a commit whose connection is lost says that the outcome is unknown",
  async ({ store, schema }) => {
    const task = sampleTask({ id: sampleIds().next() });
    await commitAll(store, creation(task));
    const hanging = await TEST_SERVER.session();
    try {
      await hanging.query("BEGIN");
      await hanging.query(`SELECT 1 FROM ${schema}.task_state FOR UPDATE`);
      const next = changed(task, { run: 1 });
      const lost = assertRejects(
        () => store.commit(toTransactions(change(next))),
        StoreFailedError,
      );
      await waitUntil(async () => {
        const ended = await TEST_SERVER.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
            "WHERE wait_event_type = 'Lock' AND query LIKE '%task_state%'",
        );
        return ended.length > 0;
      }, { what: "a commit to wait for a lock" });
      await lost;
      await hanging.query("ROLLBACK");
      await commitAll(store, change(next));
      assertEquals(await store.task(TENANT, task.id), next);
    } finally {
      await hanging.close();
    }
  },
);

storesTest(
  "counts that are folded meanwhile are the same, and wrong ones are corrected",
  async ({ store, another, schema }) => {
    const other = await another();
    const ids = sampleIds();
    for (let round = 0; round < 5; round++) {
      await Promise.all([store, other].map((one) =>
        commitAll(
          one,
          creation(sampleTask({ id: ids.next() })),
          { kind: "usage", tenantId: TENANT, period: "p", executions: 2 },
        )
      ));
      await store.fold();
      assertEquals(await other.counts({ tenantId: TENANT }), {
        waiting: 2 * (round + 1),
      });
      assertEquals(await other.usage(TENANT, "p"), {
        executions: 4 * (round + 1),
      });
    }
    const left = await TEST_SERVER.sql(
      `SELECT 1 FROM ${schema}.count_deltas UNION ALL ` +
        `SELECT 1 FROM ${schema}.usage_deltas`,
    );
    assertEquals(left.length, 0);
    await TEST_SERVER.sql(`UPDATE ${schema}.task_counts SET count = 7`);
    assertEquals(await store.counts({ tenantId: TENANT }), { waiting: 7 });
    assertEquals(await store.proveCounts(), 1);
    assertEquals(await other.counts({ tenantId: TENANT }), { waiting: 10 });
  },
);

storesTest(
  "activity that is folded meanwhile is the same",
  async ({ store, another }) => {
    const other = await another();
    const [series, span] = [
      { workerId: "", job: "" },
      { stepMs: 60_000, atMs: 120_000 },
    ];
    for (let round = 1; round <= 3; round++) {
      await Promise.all([store, other].map((one, index) =>
        commitAll(one, {
          kind: "activity",
          ...{ tenantId: TENANT, series, ...span },
          expiresAtMs: 1_000 * round,
          counts: { ...NO_ACTIVITY, created: 2, lagMaxMs: round + index },
        })
      ));
      const query = { tenantId: TENANT, series, stepMs: 60_000 };
      const read = () => other.activity({ ...query, fromMs: 0, toMs: 1e9 });
      const expected = [{
        ...NO_ACTIVITY,
        ...{ atMs: 120_000, created: 4 * round, lagMaxMs: round + 1 },
      }];
      assertEquals(await read(), expected);
      await store.fold();
      assertEquals(await read(), expected);
    }
    assertEquals(await store.sweep(2_999, 9), 0);
    assertEquals(await store.sweep(3_000, 9), 1);
  },
);

storesTest(
  "counts of jobs are mended after changes of programs that know none",
  async ({ store, schema }) => {
    const ids = sampleIds();
    const tasks = ["one", "two", "two"].map((job) =>
      sampleTask({ id: ids.next(), job, status: "waiting" })
    );
    await commitAll(store, ...tasks.map(creation));
    const read = async () =>
      (await store.topCounts({
        ...{ tenantId: TENANT, by: "job", statuses: ["waiting"], limit: 9 },
      })).map(({ job, counts }) => `${counts.waiting} ${job}`).sort();
    await TEST_SERVER.sql(`UPDATE ${schema}.count_deltas SET job = NULL`);
    assertEquals(await read(), []);
    await store.fold();
    assertEquals(await store.proveCounts(), 2);
    assertEquals(await read(), ["1 one", "2 two"]);
    await TEST_SERVER.sql(
      `UPDATE ${schema}.job_counts SET count = CASE job WHEN 'one' THEN 4 ` +
        "ELSE -1 END",
    );
    assertEquals(await store.proveCounts(), 2);
    assertEquals(await read(), ["1 one", "2 two"]);
    assertEquals(await store.proveCounts(), 0);
  },
);

async function commitAll(
  store: Store,
  ...writes: readonly Write[]
): Promise<void> {
  const results = await store.commit(toTransactions(...writes));
  assertEquals(results, writes.map(() => ({ kind: "ok" })));
}

/** Commits a write at each store at once; one must win. */
async function demandOneWinner(
  stores: readonly Store[],
  write: () => Write,
  reason: string,
): Promise<void> {
  const results = await Promise.all(
    stores.map(async (store) =>
      (await store.commit(toTransactions(write())))[0]
    ),
  );
  const losers = results.filter((one) => one?.kind === "conflict");
  assertEquals(losers.length, stores.length - 1);
  for (const loser of losers) {
    assertEquals(loser, { kind: "conflict", write: 0, reason } as unknown);
  }
}

async function demandTask(store: Store, id: string): Promise<Task> {
  const task = await store.task(TENANT, id);
  if (task === undefined) throw new Error(`There is no task "${id}"`);
  return task;
}

/** Starts tasks of the worker. */
async function claimSome(
  store: Store,
  scope: Pick<ClaimScope, "limits">,
  limit: number,
): Promise<{
  readonly tasks: readonly Task[];
  readonly results: readonly TransactionResult[];
}> {
  let tasks: readonly Task[] = [];
  const results = await store.claim({ ...WORKER, ...scope }, async (view) => {
    tasks = await view.candidates({ ...WORKER, limit });
    return toTransactions(
      ...tasks.map((task) =>
        change(
          changed(task, { status: "running", attempt: sampleAttempt(task) }),
        )
      ),
    );
  });
  return { tasks, results };
}

function answer(key: string): Write {
  return {
    kind: "idempotency",
    tenantId: TENANT,
    key,
    entry: {
      bodyHash: "hash",
      status: 201,
      headers: {},
      body: "{}",
      expiresAtMs: Date.UTC(2090, 0, 1),
    },
  };
}

function recordWrite(
  of: Partial<StoredRecord> & { readonly id: string },
): Write {
  const next: StoredRecord = {
    kind: "user",
    tenantId: TENANT,
    version: 1,
    text: "{}",
    ...of,
  };
  const { kind, tenantId, id } = next;
  return {
    kind: "record",
    recordKind: kind,
    tenantId,
    id,
    expectedVersion: 0,
    next,
  };
}
