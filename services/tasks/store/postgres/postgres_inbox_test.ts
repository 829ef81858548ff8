import { assertEquals, assertRejects } from "@std/assert";
import { makeTestPool } from "../../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import type { InboxRequest } from "../inbox.ts";
import { schemaSettings } from "../../../shared/postgres/schema.ts";
import { LimitLocks } from "./limit_locks.ts";
import { PostgresInbox } from "./postgres_inbox.ts";
import { openSubject, TEST_SERVER } from "./testing/postgres_subject.ts";

/** An inbox whose looks pass over what they have seen, but for the first. */
async function openInbox() {
  const { schema, close } = await openSubject();
  const connection = TEST_SERVER.connection();
  const settings = schemaSettings(schema);
  const open = () => makeTestPool(connection, { settings, max: 2 }).pool;
  const reading = open();
  const locking = open();
  const locks = new LimitLocks(reading);
  const newInbox = (monotonicMs = () => 0): PostgresInbox =>
    new PostgresInbox({ reading, locking, locks, monotonicMs });
  return {
    schema,
    reading,
    newInbox,
    /** Adds requests as enqueue() does, in one transaction of its own. */
    add: (count: number, tenant = 1, bytes = 10) =>
      reading.query(
        "INSERT INTO inbox(tenant, xact, bytes, role, asked_ms, worker, data, " +
          "options) SELECT $2::integer, pg_current_xact_id()::text::bigint, " +
          "$3::integer, 'app', 0, 'mailer', '1', '{}' " +
          "FROM generate_series(1, $1::integer)",
        [count, tenant, bytes],
      ),
    addTenants: (...ids: readonly string[]) =>
      reading.query("INSERT INTO tenants(id) SELECT unnest($1::text[])", [ids]),
    close: async () => {
      await reading.close();
      await locking.close();
      await close();
    },
  };
}

/** What a look shows, and is then removed unless it is kept. */
async function look(
  inbox: PostgresInbox,
  { keeps = false }: { readonly keeps?: boolean } = {},
): Promise<readonly InboxRequest[]> {
  let shown: readonly InboxRequest[] = [];
  await inbox.take(async (requests) => {
    shown = requests;
    if (keeps) return;
    await inbox.refuse(
      requests.map(({ number }) => ({ number, problem: "{}" })),
    );
  });
  return shown;
}

serviceTest(["postgres"], {
  name: "PostgresInbox.take() shows a request until it is removed",
  async fn() {
    const { add, addTenants, newInbox, close } = await openInbox();
    await addTenants("ten_1");
    const inbox = newInbox();
    assertEquals(await look(inbox), []);
    await add(2);
    for (let count = 0; count < 3; count++) {
      assertEquals((await look(inbox, { keeps: true })).length, 2);
    }
    const error = new Error("a fault of the handler");
    await assertRejects(
      () => inbox.take(() => Promise.reject(error)),
      Error,
      error.message,
    );
    assertEquals((await look(inbox)).map(({ number }) => number), [1, 2]);
    assertEquals(await look(inbox), []);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.take() shows a tenant's requests to one at a time, and leaves out what it is told to",
  async fn() {
    const { add, addTenants, newInbox, close } = await openInbox();
    await addTenants("ten_1", "ten_2");
    await add(2, 1);
    const [one, other] = [newInbox(), newInbox()];
    await one.take(async (requests) => {
      assertEquals(requests.map(({ number }) => number), [2]);
      await add(1, 2);
      assertEquals(
        (await look(other)).map(({ number, tenantId }) => [number, tenantId]),
        [[3, "ten_2"]],
      );
    }, new Set([1]));
    assertEquals((await look(other)).map(({ number }) => number), [1, 2]);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.take() reads few rows while a transaction keeps those of removed requests",
  async fn() {
    const { add, addTenants, newInbox, reading, schema, close } =
      await openInbox();
    await addTenants("ten_1");
    const inbox = newInbox();
    const long = await TEST_SERVER.session();
    await long.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await long.query(`SELECT FROM ${schema}.inbox`);
    for (let round = 0; round < 40; round++) {
      await add(50);
      assertEquals((await look(inbox)).length, 50);
    }
    const readSoFar = async (): Promise<number> => {
      // A connection reports its statistics only while it is idle.
      await reading.query("SELECT pg_stat_force_next_flush()");
      const [row] = await reading.query<{ read: number }>(
        "SELECT sum(idx_tup_read)::bigint AS read FROM pg_stat_user_indexes " +
          "WHERE schemaname = $1::text AND relname = 'inbox'",
        [schema],
      );
      return row?.read ?? 0;
    };
    const before = await readSoFar();
    for (let round = 0; round < 20; round++) {
      assertEquals(await look(inbox), []);
    }
    const read = await readSoFar() - before;
    assertEquals(read < 2_000, true, `${read} entries were read`);
    await long.query("COMMIT");
    await long.close();
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.take() lets no tenant wait for the many requests of another",
  async fn() {
    const { add, addTenants, newInbox, close } = await openInbox();
    await addTenants("ten_1", "ten_2");
    await add(1_500, 1);
    await add(3, 2);
    const inbox = newInbox();
    const tenants = (await look(inbox)).map(({ tenantId }) => tenantId);
    assertEquals(tenants.filter((id) => id === "ten_1").length, 50);
    assertEquals(tenants.filter((id) => id === "ten_2").length, 3);
    let left = 1_450;
    while (left > 0) {
      const shown = await look(inbox);
      assertEquals(shown.length, Math.min(left, 50));
      left -= shown.length;
    }
    await close();
  },
});

serviceTest(["postgres"], {
  name: "PostgresInbox.take() shows no more at once than fits into memory",
  async fn() {
    const { add, addTenants, newInbox, close } = await openInbox();
    await addTenants("ten_1");
    await add(1, 1, 20_000_000);
    await add(3, 1, 3_000_000);
    const inbox = newInbox();
    const counts: number[] = [];
    for (let count = 0; count < 3; count++) {
      counts.push((await look(inbox)).length);
    }
    assertEquals(counts, [1, 2, 1]);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.refuse() keeps the newest requests of a tenant, for a month",
  async fn() {
    const { add, addTenants, newInbox, reading, schema, close } =
      await openInbox();
    await addTenants("ten_1");
    await reading.query(
      "INSERT INTO inbox_refused(id, tenant, role, asked_ms, worker, options, " +
        "refused_ms, expires_ms, problem) SELECT number, 1, 'app', 0, 'mailer', " +
        "'{}', 0, 0, '{}' FROM generate_series(-10000, -1) AS number",
    );
    await add(2);
    const inbox = newInbox();
    assertEquals((await look(inbox)).length, 2);
    const [kept] = await TEST_SERVER.sql(
      "SELECT count(*) AS count, min(id) AS oldest, max(expires_ms - refused_ms) " +
        `AS ms FROM ${schema}.inbox_refused`,
    );
    assertEquals(kept, {
      count: 10_000,
      oldest: -9_998,
      ms: 30 * 86_400_000,
    });
    const query = { tenantId: "ten_1", limit: 2 };
    const numbers = (await inbox.refused(query)).map(({ number }) => number);
    assertEquals(numbers, [2, 1]);
    const next = await inbox.refused({ ...query, before: 1 });
    assertEquals(next.map(({ number }) => number), [-1, -2]);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.refuse() keeps no more bytes of a tenant than 64 megabytes",
  async fn() {
    const { add, addTenants, newInbox, reading, schema, close } =
      await openInbox();
    await addTenants("ten_1", "ten_2");
    await reading.query(
      "INSERT INTO inbox_refused(id, tenant, role, asked_ms, worker, data, " +
        "options, refused_ms, expires_ms, problem) SELECT -number, " +
        "1 + number % 2, 'app', 0, 'mailer', repeat('x', 15000000), '{}', 0, " +
        "0, '{}' FROM generate_series(1, 12) AS number",
    );
    await add(1);
    assertEquals((await look(newInbox())).length, 1);
    const kept = await TEST_SERVER.sql(
      `SELECT tenant, count(*) AS count FROM ${schema}.inbox_refused ` +
        "GROUP BY tenant ORDER BY tenant",
    );
    // The new one and four old ones; nothing of the other tenant was removed.
    assertEquals(kept, [{ tenant: 1, count: 5 }, { tenant: 2, count: 6 }]);
    await close();
  },
});

serviceTest(["postgres"], {
  name: "PostgresInbox.refused() reads no data, which may be large",
  async fn() {
    const { add, addTenants, newInbox, close } = await openInbox();
    await addTenants("ten_1");
    await add(1);
    const inbox = newInbox();
    await look(inbox);
    const [one] = await inbox.refused({ tenantId: "ten_1", limit: 1 });
    assertEquals(Object.keys(one!).sort(), [
      ...["askedAtMs", "key", "number", "problem", "refusedAtMs", "role"],
      ...["tenantId", "worker"],
    ]);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.take() shows a tenant's other requests while many of the first ones are left out",
  async fn() {
    const { add, addTenants, newInbox, close } = await openInbox();
    await addTenants("ten_1");
    await add(1_100);
    const aside = Array.from({ length: 60 }, (_, index) => index + 1);
    const numbers: number[] = [];
    await newInbox().take((requests) => {
      numbers.push(...requests.map(({ number }) => number));
      return Promise.resolve();
    }, new Set(aside));
    assertEquals([numbers.length, numbers[0]], [50, 61]);
    await close();
  },
});

serviceTest(["postgres"], {
  name: "PostgresInbox.take() shows requests whose tenant's lock was lost",
  async fn() {
    const { add, addTenants, newInbox, reading, close } = await openInbox();
    await addTenants("ten_1");
    const inbox = newInbox();
    await add(1);
    assertEquals((await look(inbox)).length, 1);
    // As by a failover to a server that had not heard of it.
    await reading.query("DELETE FROM limits");
    await add(1);
    await look(inbox);
    assertEquals((await look(inbox)).length, 1);
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresInbox.take() looks past nothing for at most a fiftieth of the time",
  async fn() {
    let nowMs = 0;
    // Each full look takes a second.
    const { add, addTenants, newInbox, reading, close } = await openInbox();
    await addTenants("ten_1");
    const inbox = newInbox(() => (nowMs += 1_000) - 1_000);
    assertEquals(await look(inbox), []);
    // As after a failover: of a transaction that all looks have passed over.
    await add(1);
    await reading.query("UPDATE inbox SET xact = 3");
    const looks: number[] = [];
    while (looks.length < 60 && (looks.at(-1) ?? 0) === 0) {
      looks.push((await look(inbox)).length);
    }
    assertEquals(looks.length, 50);
    await close();
  },
});
