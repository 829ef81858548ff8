import { assert, assertEquals } from "@std/assert";
import postgres from "postgres";
import { enqueue } from "../../sdk/tasks.ts";
import { sharedPostgres } from "../support/postgres_server.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { serviceTest } from "../support/services.ts";
import { runTasks, startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { makeTenant } from "./tenant_client.ts";

const SERVER = sharedPostgres({ settings: { fsync: "off" } });
const PRODUCERS = 4;
const KILLS = 5;
/** Transactions between two kills. */
const BETWEEN_KILLS = 60;

serviceTest(["postgres"], {
  name:
    "enqueue() makes exactly the tasks of committed transactions while instances are killed",
  async fn() {
    await using folder = await DataFolder.make();
    const schema = SERVER.nextSchema();
    const env = {
      STORE: "postgres",
      DATABASE_URL: SERVER.url,
      DATABASE_SCHEMA: schema,
    };
    const dataDir = folder.path;
    const start = () => startTasks({ dataDir, env });
    const random = new SeededRandom(37);
    const running = [await start(), await start()];
    const role = `shop_${schema}`;
    await SERVER.sql(
      `CREATE ROLE ${role} LOGIN; CREATE TABLE orders(id int PRIMARY KEY); ` +
        `GRANT INSERT ON orders TO ${role}`,
    );
    using client = await makeTenant(running[0]!);
    await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
    const mapped = await runTasks({
      ...{ dataDir, env },
      args: ["enqueue-role", role, "--tenant", "acme", "--json"],
    });
    assertEquals([mapped.code, JSON.parse(mapped.stdout).sql], [0, []]);
    const sql = postgres({
      ...{ host: "127.0.0.1", port: SERVER.port, user: role },
      ...{ database: "postgres", max: PRODUCERS, onnotice: () => {} },
    });

    let last = 0;
    let isOver = false;
    /** Places orders, each with a task, and undoes some of them. */
    async function produce(): Promise<void> {
      while (!isOver) {
        const id = ++last;
        const isUndone = random.next() < 0.2;
        await sql.begin(async (tx) => {
          await tx`INSERT INTO orders VALUES (${id})`;
          await enqueue((text, values) => tx.unsafe(text, values), {
            worker: "mailer",
            data: { order: id },
            tags: ["order"],
            key: `order-${id}`,
          }, { schema });
          if (isUndone) throw new Undone();
        }).catch((error) => {
          if (!(error instanceof Undone)) throw error;
        });
      }
    }

    const producing = Array.from({ length: PRODUCERS }, produce);
    for (let kills = 1; kills <= KILLS; kills++) {
      await waitUntil(() => last >= kills * BETWEEN_KILLS, { what: "orders" });
      const [victim] = running.splice(random.next() < 0.5 ? 0 : 1, 1);
      await victim!.kill();
      running.push(await start());
    }
    isOver = true;
    await Promise.all(producing);
    await sql.end();
    await waitUntil(
      async () =>
        (await SERVER.sql(`SELECT FROM ${schema}.inbox LIMIT 1`)).length === 0,
      { what: "the requests to be taken over" },
    );

    const [orders] = await SERVER.sql<{ ids: readonly number[] }>(
      "SELECT array_agg(id::bigint ORDER BY id) AS ids FROM orders",
    );
    const [tasks] = await SERVER.sql<{ ids: readonly number[] }>(
      "SELECT array_agg((data::jsonb->>'order')::bigint ORDER BY " +
        `(data::jsonb->>'order')::bigint) AS ids FROM ${schema}.tasks`,
    );
    assertEquals(tasks?.ids, orders?.ids);
    assert(orders!.ids.length < last, "some were undone");
    const check = await runTasks({ dataDir, env, args: ["check"] });
    assertEquals([check.code, check.stderr], [0, ""]);
    for (const service of running) assertEquals(await service.stop(), 0);
    await SERVER.sql(
      `DROP SCHEMA ${schema} CASCADE; DROP TABLE orders; DROP ROLE ${role}`,
    );
  },
});

/** Undoes a transaction. */
class Undone extends Error {}
