import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { startPgBouncer } from "../../../../tests/support/pgbouncer.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { inboxOf, openInboxBed } from "../../routes/tasks/testing/inbox_bed.ts";
import { systemClock } from "../../../shared/clock.ts";
import { openSession, type Session } from "../../../shared/postgres/session.ts";
import { TEST_SERVER } from "./testing/postgres_subject.ts";

serviceTest(["postgres"], {
  name: "enqueue() refuses what has the wrong shape, at once",
  async fn() {
    const bed = await openInboxBed();
    const { session, subject: { schema } } = bed;
    const refused: readonly (readonly [string, string])[] = [
      ["NULL, '1'", "worker must be"],
      ["'', '1'", "worker must be"],
      ["'nobody', '1'", 'there is no worker "nobody"'],
      ["'mailer', '1', NULL", "options must be a JSON object"],
      ["'mailer', '1', '[]'", "options must be a JSON object"],
      ["'mailer', '1', '{\"tag\": 1}'", 'the option "tag" is unknown'],
      ["'mailer', '1', '{\"key\": \"a\"}'", 'the option "key" is unknown'],
      ["'mailer', '1', '{\"ref\": \"a\"}'", 'the option "ref" is unknown'],
      ["'mailer', '1', '{}', ''", "key must have 1 to 200 characters"],
      [
        "'mailer', '1', '{}', repeat('k', 201)",
        "key must have 1 to 200 characters",
      ],
      [
        "'mailer', to_jsonb(repeat('x', 16777215))",
        "data has 16777217 bytes, at most 16777216 are allowed",
      ],
      [
        "'mailer', '1', jsonb_build_object('tags', repeat('x', 131072))",
        "at most 131072 are allowed",
      ],
    ];
    for (const [args, message] of refused) {
      await assertRejects(
        () => session.query(`SELECT ${schema}.enqueue(${args})`),
        Error,
        `Cannot enqueue: `,
      ).then((error) => assertStringIncludes(error.message, message));
    }
    assertEquals(await TEST_SERVER.sql(`SELECT FROM ${schema}.inbox`), []);
    const { api } = bed;
    const worker = await api.addWorker({ name: "Printer" });
    for (const name of ["PRINTER", worker.id]) {
      await session.query(
        `SELECT ${schema}.enqueue(worker => '${name}', data => NULL, ` +
          "key => repeat('k', 200))",
      );
    }
    await bed.drain();
    assertEquals(await bed.data(), [null]);
    assertEquals(bed.ended, ["created", "found"]);
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name: "A role that may enqueue reads and writes nothing else",
  async fn() {
    const bed = await openInboxBed();
    const { session, subject: { schema } } = bed;
    await bed.enqueue({ secret: true });
    const relations = await TEST_SERVER.sql<{ name: string; kind: string }>(
      "SELECT relname AS name, relkind AS kind FROM pg_class WHERE " +
        `relnamespace = '${schema}'::regnamespace AND relkind IN ('r', 'S')`,
    );
    assertEquals(relations.length > 20, true);
    for (const { name, kind } of relations) {
      const statements = kind === "S"
        ? [`SELECT nextval('${schema}.${name}')`]
        : [
          `SELECT FROM ${schema}.${name}`,
          `INSERT INTO ${schema}.${name} DEFAULT VALUES`,
          `DELETE FROM ${schema}.${name}`,
          `TRUNCATE ${schema}.${name}`,
        ];
      for (const statement of statements) {
        await assertRejects(
          () => session.query(statement),
          Error,
          "permission denied",
          statement,
        );
      }
    }
    assertEquals(
      await TEST_SERVER.sql(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND " +
          `relnamespace = '${schema}'::regnamespace AND ` +
          `has_table_privilege('${bed.role}', oid, 'SELECT, INSERT, UPDATE, ` +
          "DELETE, TRUNCATE, REFERENCES, TRIGGER')",
      ),
      [],
    );
    await assertRejects(
      () => session.query(`CREATE TABLE ${schema}.own()`),
      Error,
      "permission denied",
    );
    // Nobody else may enqueue.
    const other = await TEST_SERVER.session({ user: await bed.addRole() });
    await assertRejects(
      () => other.query(`SELECT ${schema}.enqueue('mailer', '1')`),
      Error,
      "permission denied",
    );
    await other.close();
    await bed.close();
  },
});

serviceTest(["postgres", "pgbouncer"], {
  name:
    "enqueue() behind PgBouncer in transaction mode takes the tenant of the pooler's login",
  async fn() {
    const bed = await openInboxBed();
    const { subject: { schema } } = bed;
    const bouncer = await startPgBouncer(TEST_SERVER, {
      poolSize: 1,
      login: bed.role,
    });
    const { connection } = bouncer;
    const open = async () => {
      const { session } = await openSession(connection.hosts[0]!, {
        connection,
        prepare: false,
        connectTimeoutMs: 5_000,
        queryTimeoutMs: 5_000,
        clock: systemClock,
      });
      return session;
    };
    // Two clients that share one connection to the server, in turns.
    const [one, other] = [await open(), await open()];
    const send = (session: Session, data: number) =>
      session.query(
        `SELECT ${schema}.enqueue('mailer', $1::text::jsonb)`,
        [String(data)],
      );
    for (const [session, data] of [[one, 1], [other, 2], [one, 3]] as const) {
      await session.query("BEGIN");
      await send(session, data);
      await session.query(data === 2 ? "ROLLBACK" : "COMMIT");
    }
    await send(other, 4);
    await bed.drain();
    assertEquals(await bed.data(), [1, 3, 4]);
    for (const session of [one, other]) await session.close();
    await bouncer.stop();
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name:
    "A role that may enqueue neither hears what instances tell nor tells them",
  async fn() {
    const heard: string[] = [];
    const bed = await openInboxBed();
    const { subject: { schema, store }, role } = bed;
    const other = await bed.subject.another();
    const kinds = new Set<string>();
    other.onNotice(({ kind }) => void kinds.add(kind));
    const { session } = await openSession(TEST_SERVER.connection().hosts[0]!, {
      connection: TEST_SERVER.connection({ user: role }),
      prepare: true,
      connectTimeoutMs: 5_000,
      queryTimeoutMs: 5_000,
      clock: systemClock,
      onNotification: (_channel, payload) => void heard.push(payload),
    });
    await session.query(`LISTEN tercet_${schema}`);
    const forged = { kind: "record", recordKind: "forged" };
    await session.query("SELECT pg_notify($1, $2)", [
      `tercet_${schema}`,
      `x\n${JSON.stringify(forged)}`,
    ]);
    await assertRejects(
      () => session.query(`SELECT name FROM ${schema}.channel`),
      Error,
      "permission denied",
    );
    heard.length = 0;
    await waitUntil(() => {
      store.tell([{ kind: "blocked", tenantId: "ten_secret" }]);
      return kinds.has("blocked");
    }, { what: "the notice" });
    await session.query("SELECT 1");
    assertEquals(heard, []);
    assertEquals(kinds.has("record"), false);
    await session.close();
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name: "A role that may enqueue holds up no request by locks of its own",
  async fn() {
    const bed = await openInboxBed();
    const { session, subject: { schema }, worker } = bed;
    await bed.enqueue(1);
    await session.query("BEGIN");
    await bed.enqueue(2);
    for (const table of ["inbox", "limits", "enqueue_roles"]) {
      await session.query("SAVEPOINT before");
      await assertRejects(
        () => session.query(`SELECT FROM ${schema}.${table} FOR UPDATE`),
        Error,
        "permission denied",
      );
      await session.query("ROLLBACK TO before");
    }
    // Anyone could take advisory locks, and see in pg_locks which are wanted.
    let locks = -1;
    const look = await inboxOf(bed.subject.store).take(async () => {
      const [row] = await TEST_SERVER.sql<{ count: number }>(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
      );
      locks = row!.count;
    });
    assertEquals([look.shown, locks], [1, 0]);
    assertEquals((await worker.runOnce()).taken, 1);
    await session.query("ROLLBACK");
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name:
    "enqueue() takes the tenant of the role that has logged in, whatever a client does",
  async fn() {
    const bed = await openInboxBed();
    const { schema } = bed.subject;
    await bed.api.addTenant("globex");
    const mapped = await bed.addRole("globex");
    const login = await bed.addRole();
    await TEST_SERVER.sql(
      `GRANT ${bed.role}, ${mapped} TO ${login}; ` +
        `GRANT ${mapped} TO ${bed.role}`,
    );
    const enqueue = `SELECT ${schema}.enqueue('mailer', '1')`;
    // The login is a member of both roles, but is itself mapped to no tenant.
    const session = await TEST_SERVER.session({ user: login });
    await session.query(`SET ROLE ${mapped}`);
    await session.query(
      "CREATE TEMP TABLE enqueue_roles(role text, tenant int)",
    );
    await session.query(`INSERT INTO enqueue_roles VALUES ('${login}', 1)`);
    await session.query(
      "CREATE FUNCTION pg_temp.now_ms() RETURNS bigint LANGUAGE sql AS " +
        "'SELECT 0::bigint'",
    );
    await assertRejects(() => session.query(enqueue), Error, "to no tenant");
    await session.query(`SET search_path = pg_temp, ${schema}`);
    await assertRejects(() => session.query(enqueue), Error, "to no tenant");
    await session.close();
    // The tenant stays that of the login.
    await bed.session.query(`SET ROLE ${mapped}`);
    await bed.session.query(enqueue);
    assertEquals(
      await TEST_SERVER.sql(
        `SELECT role, of.id FROM ${schema}.inbox AS there ` +
          `JOIN ${schema}.tenants AS of USING (tenant)`,
      ),
      [{ role: bed.role, id: bed.api.tenant.id }],
    );
    await bed.close();
  },
});
