/**
 * Measures tasks that transactions of the database enqueue: how long after the
 * commit they are there, and how many the service takes over.
 *
 * @module
 */

import postgres from "postgres";
import { enqueue } from "../../../sdk/tasks.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { pause, quantile, sorted } from "../kit/numbers.ts";
import type { BenchPostgres } from "../kit/postgres.ts";
import { makeTenant, startTasks, WORKER } from "./service.ts";

/** Transactions whose tasks are waited for, one after the other. */
const WAITED = 300;
/** Requests that wait when the service is measured, in transactions of each. */
const WAITING = 10_000;
const IN_TRANSACTION = 100;
/** The longest from a commit to its task, in milliseconds. */
const THERE_MS = 50;
/** By how much transactions are apart, in milliseconds. */
const APART_MS = 30;
/** How often a task is looked for. */
const LOOK_MS = 1;
const ROLE = "shop";

/** Measures one instance and three, each on a schema of its own. */
export async function measureEnqueue(
  run: BenchRun,
  server: BenchPostgres,
): Promise<void> {
  for (const instances of [1, 3]) {
    const schema = `enqueue_${instances}`;
    const settings = {
      ...{ STORE: "postgres", DATABASE_URL: server.url },
      DATABASE_SCHEMA: schema,
    };
    const folder = await run.makeFolder();
    const services = [];
    for (let count = 0; count < instances; count++) {
      const service = await startTasks(folder, { settings });
      run.keep(service.process);
      services.push(service);
    }
    const { tenantId } = await makeTenant(services[0]!.port);
    const owner = postgres(server.url, { max: 1, onnotice: () => {} });
    await mapRole(owner, { schema, tenantId });
    const url = server.url.replace("postgres@", `${ROLE}@`);
    const shop = postgres(url, { max: 1 });
    const measured = { owner, shop, schema };
    const name = instances === 1 ? "one instance" : `${instances} instances`;
    const latenciesMs = sorted(await waitForEach(measured));
    const note = `p90 ${quantile(latenciesMs, 0.9).toFixed(1)} ms, p99 ${
      quantile(latenciesMs, 0.99).toFixed(1)
    } ms`;
    run.bars.push({
      ...{ name: `commit to task, ${name}`, atMost: THERE_MS, unit: "ms" },
      ...{ value: quantile(latenciesMs, 0.5), digits: 1, note },
    }, {
      ...{ name: `enqueued tasks taken over, ${name}`, unit: "/s" },
      value: await takenPerSecond(measured),
    });
    await shop.end();
    await owner.end();
    for (const { process } of services) await process.stop();
  }
}

type Sql = ReturnType<typeof postgres>;

interface Measured {
  readonly owner: Sql;
  readonly shop: Sql;
  readonly schema: string;
}

/** Lets the role enqueue tasks of the tenant. */
async function mapRole(
  owner: Sql,
  { schema, tenantId }: {
    readonly schema: string;
    readonly tenantId: string;
  },
): Promise<void> {
  await owner.unsafe(`
    DO $$ BEGIN
      IF to_regrole('${ROLE}') IS NULL THEN CREATE ROLE ${ROLE} LOGIN; END IF;
    END $$;
    INSERT INTO ${schema}.enqueue_roles
      SELECT '${ROLE}', tenant FROM ${schema}.tenants WHERE id = '${tenantId}';
    GRANT USAGE ON SCHEMA ${schema} TO ${ROLE};
    GRANT EXECUTE ON FUNCTION
      ${schema}.enqueue(text, jsonb, jsonb, text) TO ${ROLE};
  `);
}

/** Enqueues tasks and waits for each; returns milliseconds after the commits. */
async function waitForEach(
  { owner, shop, schema }: Measured,
): Promise<readonly number[]> {
  const latenciesMs: number[] = [];
  // The first one waits for the instances to see that there is a role.
  for (let number = -1; number < WAITED; number++) {
    const key = `waited-${number}`;
    await shop.begin((tx) =>
      enqueue((text, values) => tx.unsafe(text, values), {
        ...{ worker: WORKER, data: { number }, key },
      }, { schema })
    );
    const committedMs = performance.now();
    while (
      (await owner.unsafe(
        `SELECT FROM ${schema}.task_state WHERE key = $1`,
        [key],
      )).length === 0
    ) await pause(LOOK_MS);
    if (number >= 0) latenciesMs.push(performance.now() - committedMs);
    // So that no commit is in step with the looks.
    await pause(Math.random() * APART_MS);
  }
  return latenciesMs;
}

/** Commits many requests, and returns the requests taken over per second. */
async function takenPerSecond(
  { owner, shop, schema }: Measured,
): Promise<number> {
  const beganMs = performance.now();
  for (let from = 0; from < WAITING; from += IN_TRANSACTION) {
    await shop.begin((tx) =>
      Promise.all(
        Array.from({ length: IN_TRANSACTION }, (_, index) =>
          enqueue((text, values) =>
            tx.unsafe(text, values), {
            ...{ worker: WORKER, data: { number: from + index } },
          }, { schema })),
      )
    );
  }
  while (
    (await owner.unsafe(`SELECT FROM ${schema}.inbox LIMIT 1`)).length > 0
  ) await pause(LOOK_MS);
  return WAITING / (performance.now() - beganMs) * 1_000;
}
