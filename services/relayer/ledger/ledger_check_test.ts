import { countRounds } from "../../../tests/support/rounds.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { AccountReplay } from "../../shared/ledger/account_replay.ts";
import { TransactionSigner } from "../../shared/ledger/testing/transaction_signer.ts";
import { checkLedger } from "./ledger_check.ts";
import { LocalLedger } from "./local_ledger.ts";
import {
  ledgerWithExecutor,
  openAt,
  withLedger,
} from "./testing/open_test_ledger.ts";
import { fillLedger, OWNERS } from "./testing/random_history.ts";

type Embedded = ReturnType<typeof ledgerWithExecutor>;

/**
 * Replays what clients read, and checks that the owners' transactions lead to
 * the rows.
 */
function replayAll({ ledger }: Embedded): void {
  const { packageId, log, rows } = ledger;
  for (const seed of OWNERS) {
    const { address: owner, accountId } = new TransactionSigner({
      seed,
      packageId,
    });
    const replay = new AccountReplay({ packageId, owner });
    const entries = log.transactions({ kind: "sender", address: owner }, {
      ...{ after: undefined, limit: 1_000, isDescending: false },
    });
    for (const { payload, timeMs } of entries) {
      const outcome = replay.add(payload, { timestampMs: timeMs });
      assertEquals(outcome, { kind: "ok" });
    }
    const row = rows.byId(accountId);
    assertEquals(replay.gasCoin, rows.getCoin(owner));
    if (row === undefined || !row.isSigned) {
      assertEquals(replay.account, undefined);
      continue;
    }
    const { owner: _, delegateKeys, accessCounter, isActive } = row;
    const { account } = replay;
    assertEquals(account?.delegateKeys, delegateKeys);
    assertEquals(account?.accessCounter, accessCounter);
    assertEquals(account?.isActive, isActive);
    assertEquals(account?.createdAtMs, row.createdAtMs);
  }
}

Deno.test("checkLedger() finds every file as it was written, whatever happened", async () => {
  const rounds = countRounds(3);
  let entries = 0;
  for (let seed = 1; seed <= rounds; seed++) {
    await withLedger(async ({ file, path }) => {
      const embedded = ledgerWithExecutor(file);
      await fillLedger([embedded], seed);
      const checked = checkLedger(embedded.ledger);
      assert(checked.kind === "ok", Deno.inspect(checked));
      entries += checked.entries;
      replayAll(embedded);
      // Another process gets the same result.
      const again = openAt(path);
      assertEquals(checkLedger(new LocalLedger(again)), checked);
      const { head } = checked;
      assertEquals(checkLedger(new LocalLedger(again), { head }), checked);
      await again.close();
      embedded.ledger.createAccount({ address: "0x77" });
      assertEquals(checkLedger(embedded.ledger, { head }).kind, "ok");
      const other = checkLedger(embedded.ledger, { head: "ab".repeat(32) });
      assert(other.kind === "broken");
      assertStringIncludes(other.reason, "never had");
    });
  }
  // Most of what was sent was taken, so that there was something to check.
  assert(entries > 10 * rounds, `${entries}`);
});

Deno.test("checkLedger() notices rows and entries that were changed behind its back", async () => {
  const attacks: readonly (readonly [string, string])[] = [
    ["UPDATE accounts SET is_active = 1 - is_active", "not as the log has it"],
    ["UPDATE accounts SET access_counter = access_counter + 1", "not as"],
    ["UPDATE delegate_keys SET label = 'x'", "not as the log has it"],
    ["DELETE FROM delegate_keys", "not as the log has it"],
    [
      `INSERT INTO delegate_keys SELECT NULL, account_id, '${
        "ab".repeat(32)
      }', '0x1', '', 0 FROM accounts`,
      "not as the log has it",
    ],
    [
      `INSERT INTO accounts(account_id, owner, is_active, created_ms, entry_id)
        VALUES('0xff', '0xff', 1, 0, '0xfe')`,
      "is in no entry",
    ],
    ["UPDATE senders SET transactions = transactions + 1", "the coin of"],
    ["UPDATE key_servers SET url = 'http://192.0.2.1'", "key servers"],
    ["DELETE FROM entries WHERE sequence = 3", "it is not there"],
    ["UPDATE entries SET time_ms = time_ms + 1 WHERE sequence = 4", "its hash"],
    ["UPDATE entries SET payload = x'00' WHERE sequence = 2", "its hash"],
    ["UPDATE entries SET outcome = '{}' WHERE sequence = 5", "its hash"],
    ["UPDATE entries SET sender = NULL WHERE kind = 'transaction'", "its hash"],
  ];
  for (const [sql, words] of attacks) {
    await withLedger(async ({ file }) => {
      const embedded = ledgerWithExecutor(file);
      await fillLedger([embedded], 3);
      embedded.ledger.addKeyServer({
        name: "last",
        url: "http://127.0.0.1:2",
        publicKey: new Uint8Array(96).fill(9),
      });
      file.db.exec(sql);
      const checked = checkLedger(embedded.ledger);
      assert(checked.kind === "broken", sql);
      assertStringIncludes(checked.reason, words);
    });
  }
});

Deno.test("a file without a log is entered into one, once", async () => {
  await withLedger(async ({ file, path }) => {
    const key = new TransactionSigner({ seed: 5, packageId: "0x1" }).publicKey;
    const before = new LocalLedger(file);
    const made = before.createAccount({
      publicKey: key.toHex(),
      label: "laptop",
    });
    assert(made.kind === "ok");
    before.createAccount({ address: "0x9" });
    // The state in which the version before this one left the file.
    file.db.exec(`DELETE FROM entries; DELETE FROM changes;
      UPDATE accounts SET entry_id = '', changed_by = x'', version = 1`);
    const ledger = new LocalLedger(file);
    const checked = checkLedger(ledger);
    assert(checked.kind === "ok", Deno.inspect(checked));
    assertEquals([checked.entries, checked.accounts], [2, 2]);
    assertEquals(ledger.record(made.account.accountId), made.account);
    const again = openAt(path);
    assertEquals(checkLedger(new LocalLedger(again)), checked);
    await again.close();
  });
});
