import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { systemClock } from "../../../shared/clock.ts";
import type { Task } from "../../domain/task.ts";
import {
  change,
  changed,
  creation,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import type { PostgresStore } from "./postgres_store.ts";
import { openSubject, TEST_SERVER } from "./testing/postgres_subject.ts";

/** Tasks that pass, and how many of them at a time. */
const TASKS = 3_000;
const AT_ONCE = 50;

/** Floors do not age, so that looks do not depend on the machine's speed. */
const STILL = { ...systemClock, monotonicMs: () => 0 };

/** How many entries of an index were read by connections that have ended. */
async function entriesRead(schema: string, index: string): Promise<number> {
  const [row] = await TEST_SERVER.sql<{ read: number }>(
    "SELECT idx_tup_read AS read FROM pg_stat_user_indexes WHERE " +
      `schemaname = '${schema}' AND indexrelname = '${index}'`,
  );
  return row?.read ?? 0;
}

/**
 * Lets tasks pass beside a transaction that sees the state before, and returns
 * how many entries of an index were read for each.
 */
async function readPerTask(
  index: string,
  { make, pass }: {
    /** Makes the task with a number. */
    readonly make: (id: string, number: number) => Task;
    /** Lets the next tasks pass and returns how many. */
    readonly pass: (store: PostgresStore) => Promise<number>;
  },
): Promise<number> {
  const { schema, another, store, close } = await openSubject();
  const ids = sampleIds();
  await store.commit(toTransactions(
    ...Array.from({ length: TASKS }, (_, n) => creation(make(ids.next(), n))),
  ));
  await TEST_SERVER.sql(`ANALYZE ${schema}.task_state`);
  const holder = await TEST_SERVER.session();
  await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await holder.query("SELECT count(*) FROM pg_class");
  const before = await entriesRead(schema, index);
  const applicationName = `passing of ${schema}`;
  const passing = await another({
    clock: STILL,
    connection: TEST_SERVER.connection({ applicationName }),
  });
  let passed = 0;
  while (passed < TASKS) {
    const some = await pass(passing);
    assert(some > 0);
    passed += some;
  }
  assertEquals(passed, TASKS);
  await passing.stop();
  // A connection tells at its end what it has read.
  await waitUntil(async () => {
    const [row] = await TEST_SERVER.sql(
      "SELECT count(*) AS count FROM pg_stat_activity " +
        `WHERE application_name = '${applicationName}'`,
    );
    return row?.["count"] === 0;
  }, { what: "the connections to end" });
  await holder.close();
  const read = await entriesRead(schema, index) - before;
  await close();
  return read / TASKS;
}

const WORKER = { tenantId: "tnt_a", workerId: "wrk_a" };

async function startSome(store: PostgresStore): Promise<number> {
  const results = await store.claim(
    { ...WORKER, limits: "none" },
    async ({ candidates }) => {
      const found = await candidates({ ...WORKER, limit: AT_ONCE });
      return found.map((task) => ({
        writes: [change(changed(task, { status: "complete", isDue: false }))],
      }));
    },
  );
  return results.filter(({ kind }) => kind === "ok").length;
}

async function wakeSome(store: PostgresStore): Promise<number> {
  const found = await store.waking(SAMPLE_MS + TASKS, AT_ONCE);
  const results = await store.commit(
    toTransactions(
      ...found.map((task) =>
        change(changed(task, { status: "waiting", isDue: true }))
      ),
    ),
  );
  return results.filter(({ kind }) => kind === "ok").length;
}

for (
  const [dates, dateOf] of [
    ["dates of their own", (n: number) => SAMPLE_MS + n],
    ["one date", () => SAMPLE_MS],
  ] as const
) {
  serviceTest(["postgres"], {
    name:
      `PostgresStore.claim() reads no dead entries of tasks with ${dates} while somebody's transaction is open`,
    async fn() {
      const read = await readPerTask("state_to_take", {
        make: (id, n) => sampleTask({ id, dateMs: dateOf(n) }),
        pass: startSome,
      });
      assert(read >= 1 && read < 4, `${read} entries a task`);
    },
  });

  serviceTest(["postgres"], {
    name:
      `PostgresStore.waking() reads no dead entries of tasks with ${dates} while somebody's transaction is open`,
    async fn() {
      const read = await readPerTask("state_to_wake", {
        make: (id, n) =>
          sampleTask({
            id,
            status: "scheduled",
            isDue: false,
            dateMs: dateOf(n),
          }),
        pass: wakeSome,
      });
      assert(read >= 1 && read < 4, `${read} entries a task`);
    },
  });
}
