import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  PostgresServer,
  sharedPostgres,
} from "../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { StoreFailedError } from "../store_failed.ts";
import {
  isUncertainCommit,
  judgeFailure,
  mayRunAgain,
  sqlState,
  violatedConstraint,
} from "./failure.ts";
import type { Session } from "./session.ts";

const server = sharedPostgres();

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("Cannot judge: nothing failed");
}

async function withSession(
  use: (session: Session) => Promise<void>,
): Promise<void> {
  const session = await server.session();
  try {
    await use(session);
  } finally {
    await session.close();
  }
}

serviceTest(["postgres"], {
  name: "judgeFailure() lets refusals be, and the connection stays",
  fn: () =>
    withSession(async (session) => {
      await session.query("CREATE TEMP TABLE a (n int CONSTRAINT one UNIQUE)");
      await session.query("INSERT INTO a VALUES (1)");
      const twice = await errorOf(session.query("INSERT INTO a VALUES (1)"));
      assertEquals(violatedConstraint(twice), "one");
      const wrong = await errorOf(session.query("SELECT nothing"));
      assertEquals([judgeFailure(wrong), sqlState(wrong)], [
        "refused",
        "42703",
      ]);
      assertEquals(violatedConstraint(wrong), undefined);
      assertEquals((await session.query("SELECT 1 AS one"))[0], { one: 1 });
    }),
});

serviceTest(["postgres"], {
  name: "mayRunAgain() is true when a lock was not waited for",
  fn: () =>
    withSession(async (session) => {
      const schema = server.nextSchema();
      await session.query(`CREATE SCHEMA ${schema}`);
      await session.query(`CREATE TABLE ${schema}.a (n int)`);
      await session.query(`INSERT INTO ${schema}.a VALUES (1)`);
      await session.query("BEGIN");
      await session.query(`SELECT * FROM ${schema}.a FOR UPDATE`);
      await withSession(async (other) => {
        const error = await errorOf(
          other.query(`SELECT * FROM ${schema}.a FOR UPDATE NOWAIT`),
        );
        assert(mayRunAgain(error));
        assertEquals(judgeFailure(error), "refused");
      });
      await session.query("ROLLBACK");
    }),
});

serviceTest(["postgres"], {
  name: "Session.query() fails as a store does when its server ends it",
  fn: () =>
    withSession(async (session) => {
      const [row] = await session.query("SELECT pg_backend_pid() AS pid");
      const waiting = errorOf(session.query("SELECT pg_sleep(60)"));
      const behind = errorOf(session.query("SELECT 1"));
      await server.sql(`SELECT pg_terminate_backend(${row?.["pid"]})`);
      assert(await waiting instanceof StoreFailedError);
      assert(await behind instanceof StoreFailedError);
      await session.closed;
      await assertRejects(() => session.query("SELECT 1"), StoreFailedError);
    }),
});

serviceTest(["postgres"], {
  name: "Session.query() gives the connection up when it may only read",
  fn: () =>
    withSession(async (session) => {
      await session.query("SET default_transaction_read_only = on");
      await assertRejects(
        () => session.query("CREATE TABLE never_made (n int)"),
        StoreFailedError,
        "read-only",
      );
      assertEquals(session.isClosed, true);
    }),
});

serviceTest(["postgres"], {
  name:
    "Session.query() does not answer a commit whose wait for the standby was canceled",
  fn: async () => {
    const primary = new PostgresServer({
      // No such standby is there: every commit waits.
      settings: { synchronous_standby_names: "ANY 1 (missing)" },
    });
    await primary.start();
    const session = await primary.session();
    try {
      const cancelWait = async (): Promise<void> => {
        await waitUntil(async () => {
          const rows = await primary.sql(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity " +
              "WHERE wait_event = 'SyncRep'",
          );
          return rows.length > 0;
        }, { what: "a commit to wait for the standby" });
      };
      // Alone, in a transaction, and prepared.
      for (const parameters of [[], [1], [2]]) {
        await session.query("SET synchronous_commit = local");
        await session.query("CREATE TABLE IF NOT EXISTS a (n int)");
        await session.query("SET synchronous_commit = on");
        const value = parameters.length > 0 ? "$1" : "0";
        const lone = errorOf(
          session.query(`INSERT INTO a VALUES (${value})`, parameters),
        );
        await cancelWait();
        assert(await lone instanceof StoreFailedError);
        await session.query("BEGIN");
        await session.query("INSERT INTO a VALUES (9)");
        const commit = errorOf(session.query("COMMIT"));
        await cancelWait();
        assert(await commit instanceof StoreFailedError);
        // Later answers are answers again.
        assertEquals((await session.query("SELECT 1 AS one"))[0], { one: 1 });
      }
      assertEquals(
        (await session.query("SELECT count(*) AS count FROM a"))[0],
        { count: 6 },
      );
    } finally {
      await session.close();
      await primary.stop();
    }
  },
});

Deno.test("judgeFailure() takes what is no refusal of the server for a failure", () => {
  const reset = Object.assign(new Error("reset"), { code: "ECONNRESET" });
  for (const error of [reset, new Error("anything"), "text", undefined]) {
    assertEquals(judgeFailure(error), "close");
  }
  assertEquals(judgeFailure(new TypeError("a fault")), "refused");
});

Deno.test("isUncertainCommit() knows the notice in any language, and no other", () => {
  const notice = { code: "01000", severity: "WARNING" };
  assertEquals(
    isUncertainCommit({ ...notice, routine: "SyncRepWaitForLSN" }),
    true,
  );
  assertEquals(
    isUncertainCommit({ code: "57P01", routine: "SyncRepWaitForLSN" }),
    true,
  );
  assertEquals(isUncertainCommit(notice), true);
  assertEquals(
    isUncertainCommit({ ...notice, routine: "CheckMyDatabase" }),
    false,
  );
  assertEquals(isUncertainCommit({ code: "00000" }), false);
});
