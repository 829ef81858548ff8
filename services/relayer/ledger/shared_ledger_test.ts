import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { countRounds } from "../../../tests/support/rounds.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { TransactionSigner } from "../../shared/ledger/testing/transaction_signer.ts";
import { makeSigner } from "../auth/testing/signer.ts";
import { checkLedger } from "./ledger_check.ts";
import type { AccountChange } from "./local_ledger.ts";
import { testLedger } from "./testing/ledger_conformance.ts";
import { ledgerWithExecutor, withLedger } from "./testing/open_test_ledger.ts";
import {
  bound,
  sharedTest,
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
  "execute() holds an address's share of a day over all relayers, and after a restart",
  async ({ subject, schema }) => {
    const clock = new FakeClock();
    const limits = { perMinute: 1_000, perDay: 50 };
    const relayers = [
      await subject.another({ clock, limits }),
      await subject.another({ clock, limits }),
    ];
    const { packageId } = subject.ledger;
    let seed = 0;
    const send = async (count: number, from: string): Promise<number> => {
      const outcomes = await Promise.all(
        Array.from({ length: count }, async (_, at) => {
          const owner = new TransactionSigner({ seed: ++seed, packageId });
          const sent = { ...await owner.createAccount(), from };
          return await relayers[at % relayers.length]!.executor.execute(sent);
        }),
      );
      return outcomes.filter(({ kind }) => kind === "ok").length;
    };
    // A tenth of a day's transactions.
    assertEquals(await send(12, "192.0.2.1"), 5);
    assertEquals(await send(4, "192.0.2.2"), 4);
    relayers.push(await subject.another({ clock, limits }));
    assertEquals(await send(3, "192.0.2.1"), 0);
    assertEquals(await send(3, "192.0.2.2"), 1);
    clock.advance(86_400_000);
    assertEquals(await send(12, "192.0.2.1"), 5);
    // Nobody's address is kept, and nothing longer than for its day.
    const rows = await schema.connect().query(
      "SELECT length(name) AS bytes, taken FROM ledger_shares",
    );
    assertEquals([...rows], [{ bytes: 3, taken: 5 }]);
  },
);

sharedTest(
  "execute() counts a transaction once whose commit was made though its answer was lost",
  async ({ subject }) => {
    const clock = new FakeClock();
    const limits = { perMinute: 100, perDay: 20 };
    let lost = 0;
    const { executor, ledger } = await subject.another({
      ...{ clock, limits },
      wrap: (pool) => ({
        ...bound(pool),
        transaction: async (...of) => {
          const answer = await pool.transaction(...of);
          if (lost++ === 0) throw new StoreFailedError("lost");
          return answer;
        },
      }),
    });
    const outcomes = [];
    for (let seed = 1; seed <= 3; seed++) {
      const owner = new TransactionSigner({
        ...{ seed, packageId: ledger.packageId },
      });
      const sent = { ...await owner.createAccount(), from: "192.0.2.1" };
      outcomes.push((await executor.execute(sent)).kind);
    }
    assertEquals(outcomes, ["ok", "ok", "refused"]);
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
