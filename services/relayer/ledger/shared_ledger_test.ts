import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { countRounds } from "../../../tests/support/rounds.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { Pool } from "../../shared/postgres/pool.ts";
import { TransactionSigner } from "../../shared/ledger/testing/transaction_signer.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { makeSigner } from "../auth/testing/signer.ts";
import type { DataSchema } from "../store/postgres/testing/data_schema.ts";
import { checkLedger } from "./ledger_check.ts";
import { LedgerBrokenError } from "./ledger_replica.ts";
import type { AccountChange } from "./local_ledger.ts";
import { testLedger } from "./testing/ledger_conformance.ts";
import { ledgerWithExecutor, withLedger } from "./testing/open_test_ledger.ts";
import {
  type SharedSubject,
  withSharedLedger,
} from "./testing/open_shared_ledger.ts";
import { fillLedger } from "./testing/random_history.ts";

const KEY = { publicKey: makeSigner(1).publicKey, label: "" };

testLedger({
  name: "SharedLedger",
  test: (definition) => serviceTest(["postgres"], definition),
  withLedger: (use) => withSharedLedger(({ subject }) => use(subject)),
});

sharedTest(
  "SharedLedger on one database keeps one log, whoever writes at once",
  async ({ subject, schema }) => {
    const subjects = [
      subject,
      await subject.another(),
      await subject.another(),
    ];
    const addresses = ["0x1", "0x2", "0x3", "0x4"];
    const keys = [1, 2, 3].map((seed) => makeSigner(seed).publicKey);
    let made = 0;
    for (let seed = 1; seed <= countRounds(2); seed++) {
      const random = new SeededRandom(seed);
      const acts = Array.from({ length: 60 }, () => {
        const address = random.pick(addresses);
        const publicKey = random.pick(keys);
        const isActive = random.chance(0.6);
        const kind = random.pick(["create", "add", "remove", "set"] as const);
        const by = random.pick(subjects);
        return by.change((to): AccountChange => {
          const { accountId = "" } = to.byOwner(address) ?? {};
          switch (kind) {
            case "create":
              return to.createAccount({ address });
            case "add":
              return to.addDelegateKey(accountId, { publicKey, label: "" });
            case "remove":
              return to.removeDelegateKey(accountId, publicKey);
            case "set":
              return to.setActive(accountId, isActive);
          }
        });
      });
      const outcomes = await Promise.all(acts);
      made += outcomes.filter(({ kind }) => kind === "ok").length;
    }
    // Each change that was answered is one entry, and nothing else is.
    const checked = await subject.change((to) => checkLedger(to));
    assert(checked.kind === "ok", Deno.inspect(checked));
    assertEquals(checked.entries, made);
    assert(made > 10, `${made}`);
    const rows = await schema.connect().query<{ n: number }>(
      "SELECT count(*) AS n FROM ledger_entries",
    );
    assertEquals(rows[0]?.n, made);
    for (const one of [...subjects, await subject.another()]) {
      assertEquals(await one.change((to) => checkLedger(to)), checked);
    }
  },
);

sharedTest(
  "SharedLedger has the accounts and hashes that a file has after the same",
  async ({ subject }) => {
    const both = [subject, await subject.another()];
    for (let seed = 1; seed <= countRounds(2); seed++) {
      await withLedger(async ({ file }) => {
        const embedded = ledgerWithExecutor(file);
        for (let before = 1; before <= seed; before++) {
          await fillLedger([embedded, embedded], before);
        }
        await fillLedger(both, seed);
        for (const { ledger } of both) {
          await ledger.catchUp();
          const { rows, log } = ledger.replica;
          assertEquals(log.head(), embedded.ledger.log.head());
          const ids = embedded.ledger.rows.idsAfter("", 100);
          assertEquals(rows.idsAfter("", 100), ids);
          for (const id of ids) {
            assertEquals(rows.byId(id), embedded.ledger.rows.byId(id));
          }
        }
      });
    }
  },
);

sharedTest(
  "SharedLedger answers each change that is sent at once with what it made",
  async ({ subject }) => {
    const subjects = [subject, await subject.another()];
    const made = await Promise.all(
      subjects.flatMap(({ change }) =>
        Array.from(
          { length: 10 },
          () => change((to) => to.createAccount({ address: "0x1" })),
        )
      ),
    );
    const kinds = made.map(({ kind }) => kind);
    assertEquals(kinds.filter((kind) => kind === "ok").length, 1);
    assertEquals(kinds.filter((kind) => kind === "exists").length, 19);
    assertEquals(subject.ledger.replica.log.head().sequence, 1);
  },
);

sharedTest(
  "accountOfKey() refuses a key in all relayers once one has removed it",
  async ({ subject }) => {
    const others = [await subject.another(), await subject.another()];
    const made = await subject.change((to) => to.createAccount(KEY));
    assert(made.kind === "ok");
    const { accountId } = made.account;
    for (const { ledger } of others) {
      assertEquals((await ledger.accountOfKey(KEY.publicKey)).kind, "ok");
    }
    await subject.change((to) =>
      to.removeDelegateKey(accountId, KEY.publicKey)
    );
    // Many at once share a look, and none gets one from before it asked.
    const asked = others.flatMap(({ ledger }) =>
      Array.from({ length: 20 }, () => ledger.accountOfKey(KEY.publicKey))
    );
    for (const { kind } of await Promise.all(asked)) {
      assertEquals(kind, "missing");
    }
  },
);

sharedTest(
  "accountOfKey() asks the database once for all that ask at once",
  async ({ subject }) => {
    let queries = 0;
    const { ledger } = await subject.another({
      wrap: (pool) => ({
        ...bound(pool),
        query: (sql, ...of) => {
          queries++;
          return pool.query(sql, ...of);
        },
      }),
    });
    queries = 0;
    await Promise.all(
      Array.from({ length: 100 }, () => ledger.accountOfKey(KEY.publicKey)),
    );
    assertEquals(queries, 1);
  },
);

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

sharedTest(
  "execute() holds the day's limit over all relayers",
  async ({ subject }) => {
    const clock = new FakeClock();
    const limits = { perMinute: 100, perDay: 20 };
    const both = [
      await subject.another({ clock, limits }),
      await subject.another({ clock, limits }),
    ];
    const { packageId } = subject.ledger;
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async (_, at) => {
        const owner = new TransactionSigner({ seed: at + 1, packageId });
        const sent = { ...await owner.createAccount(), from: `192.0.2.${at}` };
        return await both[at % 2]!.executor.execute(sent);
      }),
    );
    const taken = outcomes.filter(({ kind }) => kind === "ok").length;
    assertEquals(taken, 20);
  },
);

sharedTest(
  "SharedLedger.change() undoes what a change did that throws, and no other",
  async ({ subject: { change, ledger } }) => {
    const outcomes = await Promise.allSettled([
      change((to) => to.createAccount({ address: "0x1" })),
      change((to) => {
        to.createAccount({ address: "0x2" });
        throw new RangeError("not so");
      }),
      change((to) => to.createAccount({ address: "0x3" })),
    ]);
    assertEquals(outcomes.map(({ status }) => status), [
      ...["fulfilled", "rejected", "fulfilled"],
    ]);
    assertEquals((await ledger.accountOfOwner("0x2")).kind, "missing");
    assertEquals(ledger.replica.log.head().sequence, 2);
  },
);

function sharedTest(
  name: string,
  run: (
    opened: { readonly subject: SharedSubject; readonly schema: DataSchema },
  ) => Promise<void>,
): void {
  serviceTest(["postgres"], { name, fn: () => withSharedLedger(run) });
}

/** The methods of a pool. */
function bound(pool: Pool): Pool {
  return {
    query: (...of) => pool.query(...of),
    transaction: (...of) => pool.transaction(...of),
    batch: (...of) => pool.batch(...of),
    close: () => pool.close(),
  };
}

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
