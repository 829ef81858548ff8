import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { Pool } from "../../shared/postgres/pool.ts";
import { TransactionSigner } from "../../shared/ledger/testing/transaction_signer.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { makeSigner } from "../auth/testing/signer.ts";
import { LedgerBrokenError } from "./ledger_replica.ts";
import { bound, sharedTest } from "./testing/open_shared_ledger.ts";
import { fillLedger } from "./testing/random_history.ts";

const KEY = { publicKey: makeSigner(1).publicKey, label: "" };

sharedTest(
  "SharedLedger refuses a log of which a row was changed",
  async ({ subject, schema }) => {
    await fillLedger([subject], 3);
    const pool = schema.connect();
    const [last] = await pool.query<{ n: number }>(
      "SELECT count(*) AS n FROM ledger_entries",
    );
    const n = last?.n ?? 0;
    const attacks: readonly (readonly [string, string])[] = [
      [
        "UPDATE ledger_entries SET payload = '\\x00' WHERE sequence = 2",
        "hash",
      ],
      ["UPDATE ledger_entries SET time_ms = 1 WHERE sequence = 4", "hash"],
      ["UPDATE ledger_entries SET sender = NULL WHERE sequence = 5", "hash"],
      ["UPDATE ledger_entries SET kind = 'command' WHERE sequence = 6", "hash"],
      ["DELETE FROM ledger_entries WHERE sequence = 3", "before is gone"],
      ["DELETE FROM ledger_entries WHERE sequence = 1", "before is gone"],
      [
        `UPDATE ledger_entries SET sequence = sequence + 1
        WHERE sequence >= ${n}`,
        "before is gone",
      ],
    ];
    for (const [sql, words] of attacks) {
      await pool.query("CREATE TABLE kept AS SELECT * FROM ledger_entries");
      await pool.query(sql);
      const error = await assertRejects(
        () => subject.another(),
        LedgerBrokenError,
      );
      assertStringIncludes(error.message, words);
      await pool.batch([
        { sql: "DELETE FROM ledger_entries" },
        { sql: "INSERT INTO ledger_entries SELECT * FROM kept" },
        { sql: "DROP TABLE kept" },
      ]);
    }
    await subject.another();
  },
);

sharedTest(
  "SharedLedger refuses entries whose hashes fit and that nobody signed",
  async ({ subject, schema }) => {
    const forger = await subject.another();
    const owner = new TransactionSigner({
      ...{ seed: 1, packageId: subject.ledger.packageId },
    });
    const sent = await owner.createAccount();
    await subject.executor.execute({ ...sent, from: "192.0.2.1" });
    await forger.ledger.catchUp();
    // The forger enters a key, under the owner's name and another's signature.
    const other = new TransactionSigner({
      ...{ seed: 2, packageId: subject.ledger.packageId },
    });
    const theirs = await other.createAccount();
    const { log } = forger.ledger.replica;
    const entry = log.append({
      ...{ kind: "transaction", digest: new Uint8Array(32).fill(7) },
      ...{ sender: owner.address, payload: theirs.signed, timeMs: 2 ** 41 },
      outcome: { abort: undefined, changes: [], events: [] },
    });
    await schema.connect().query(
      `INSERT INTO ledger_entries VALUES($1::bigint, 'transaction', $2::bytea,
        $3::text, $4::bytea, '{"changes":[],"events":[]}', $5::bigint,
        $6::bytea)`,
      [
        ...[entry.sequence, entry.digest, owner.address, theirs.signed],
        ...[entry.timeMs, entry.hash],
      ],
    );
    const read = await subject.ledger.account(owner.accountId);
    assert(read.kind === "unavailable");
    assertStringIncludes(read.reason, "sender is another one");
    await assertRejects(
      () => subject.change((to) => to.createAccount(KEY)),
      LedgerBrokenError,
    );
  },
);

sharedTest(
  "SharedLedger refuses an entry that claims another outcome than it has",
  async ({ subject, schema }) => {
    // The hash fits: the fault was in what wrote it.
    const forger = await subject.another();
    const { log } = forger.ledger.replica;
    const made = await subject.change((to) => {
      const outcome = to.createAccount({ address: "0x1" });
      return { outcome, entry: to.log.at(1) };
    });
    assert(made.entry !== undefined);
    const { entry } = made;
    const events = [{ kind: "AccountCreated", fields: {}, bcs: "" }];
    const forged = log.append({
      ...entry,
      outcome: { ...entry.outcome, events },
    });
    await schema.connect().query(
      "UPDATE ledger_entries SET outcome = $1::text, hash = $2::bytea",
      [JSON.stringify(forged.outcome), forged.hash],
    );
    const error = await assertRejects(
      () => subject.another(),
      LedgerBrokenError,
    );
    assertStringIncludes(error.message, "recorded outcome differs");
  },
);

sharedTest(
  "account() is unavailable, and said so once, while the log was set back",
  async ({ subject, schema }) => {
    await fillLedger([subject], 2);
    const pool = schema.connect();
    await pool.query("CREATE TABLE kept AS SELECT * FROM ledger_entries");
    await pool.query("DELETE FROM ledger_entries WHERE sequence > 3");
    for (let round = 0; round < 3; round++) {
      const read = await subject.ledger.account("0x1");
      assert(read.kind === "unavailable");
      assertStringIncludes(read.reason, "the log was set back");
    }
    await assertRejects(
      () => subject.change((to) => to.createAccount(KEY)),
      LedgerBrokenError,
    );
    assertEquals(subject.logger.lines.length, 1);
    // A relayer that sees it for the first time can't know, and writes to it.
    const later = await subject.another();
    await later.change((to) => to.createAccount(KEY));
    const read = await subject.ledger.account("0x1");
    assert(read.kind === "unavailable");
    await pool.query("DELETE FROM ledger_entries");
    await pool.query("INSERT INTO ledger_entries SELECT * FROM kept");
    assertEquals((await subject.ledger.account("0x1")).kind, "missing");
  },
);

sharedTest(
  "SharedLedger finds by itself that a commit was made whose answer was lost",
  async ({ subject }) => {
    for (const isMade of [true, false]) {
      let isCut = true;
      const { change, ledger } = await subject.another({
        wrap: (pool) =>
          cutting(pool, () => {
            if (!isCut) return undefined;
            isCut = false;
            return isMade ? "after" : "before";
          }),
      });
      const made = await change((to) =>
        to.createAccount({ address: isMade ? "0x1" : "0x2" })
      );
      assertEquals(made.kind, "ok");
      assertEquals(isCut, false);
      assertEquals(
        ledger.replica.log.head().sequence,
        isMade ? 1 : 2,
      );
    }
  },
);

sharedTest(
  "SharedLedger says that an outcome is unknown, and shows it later",
  async ({ subject }) => {
    let state: "up" | "breaking" | "down" = "breaking";
    const { change, ledger } = await subject.another({
      wrap: (pool) => {
        const cut = cutting(pool, () => {
          state = "down";
          return "after";
        });
        return {
          ...cut,
          transaction: (...of) =>
            state === "down"
              ? Promise.reject(new StoreFailedError("Cannot connect"))
              : cut.transaction(...of),
        };
      },
    });
    await assertRejects(
      () => change((to) => to.createAccount({ address: "0x1" })),
      StoreFailedError,
    );
    // The relayer lives on, or died between the commit and the replay.
    for (const one of [ledger, (await subject.another()).ledger]) {
      assertEquals((await one.accountOfOwner("0x1")).kind, "ok");
      assertEquals(one.replica.log.head().sequence, 1);
    }
  },
);

sharedTest(
  "account() is unavailable while the database does not answer",
  async ({ subject }) => {
    let isDown = false;
    const { ledger } = await subject.another({
      wrap: (pool) => ({
        ...bound(pool),
        query: (sql, ...of) =>
          isDown
            ? Promise.reject(new StoreFailedError("Cannot connect"))
            : pool.query(sql, ...of),
      }),
    });
    assertEquals((await ledger.account("0x1")).kind, "missing");
    isDown = true;
    assertEquals(await ledger.account("0x1"), {
      ...{ kind: "unavailable", reason: "Cannot connect" },
    });
    isDown = false;
    assertEquals((await ledger.account("0x1")).kind, "missing");
  },
);

/** A pool whose commits fail before or after they were made. */
function cutting(
  pool: Pool,
  when: () => "before" | "after" | undefined,
): Pool {
  const lost = () => new StoreFailedError("Cannot use the connection");
  return {
    ...bound(pool),
    transaction: (run, options) =>
      pool.transaction((open) =>
        run({
          query: (...of) => open.query(...of),
          commit: async (statements) => {
            const cut = when();
            if (cut === "before") throw lost();
            const rows = await open.commit(statements);
            if (cut === "after") throw lost();
            return rows;
          },
        }), options),
  };
}
