import { assert, assertEquals, assertThrows } from "@std/assert";
import { makeSigner } from "../auth/testing/signer.ts";
import { LocalLedger } from "./local_ledger.ts";
import { openAt, withLedger } from "./testing/open_test_ledger.ts";

const ADDRESS = `0x${"1".repeat(64)}`;

Deno.test("openLedgerFile() finds what was written before", async () => {
  await withLedger(async ({ file, path }) => {
    new LocalLedger(file).createAccount({ address: ADDRESS });
    await file.close();
    const again = openAt(path);
    const accounts = new LocalLedger(again);
    assertEquals(accounts.byOwner(ADDRESS)?.owner, ADDRESS);
    await again.close();
  });
});

Deno.test("openLedgerFile() lets another process change what counts at once", async () => {
  await withLedger(async ({ file, path }) => {
    const key = { publicKey: makeSigner(1).publicKey, label: "" };
    const ledger = new LocalLedger(file);
    const other = openAt(path);
    const accounts = new LocalLedger(other);
    const made = accounts.createAccount({ address: ADDRESS });
    assert(made.kind === "ok");
    const { accountId } = made.account;
    const countKeys = (): number | undefined =>
      ledger.record(accountId)?.delegateKeys.length;
    assertEquals(countKeys(), 0);
    for (let round = 0; round < 20; round++) {
      accounts.addDelegateKey(accountId, key);
      assertEquals(countKeys(), 1);
      // A write of this connection does not hide a write of the other one.
      file.db.exec("PRAGMA application_id = 1");
      accounts.removeDelegateKey(accountId, key.publicKey);
      assertEquals(countKeys(), 0);
    }
    accounts.setActive(accountId, false);
    assertEquals(ledger.record(accountId)?.isActive, false);
    ledger.setActive(accountId, true);
    assertEquals(ledger.record(accountId)?.isActive, true);
    await other.close();
  });
});

Deno.test("openLedgerFile() writes nothing when the file is up to date, as on a full disk", async () => {
  await withLedger(async ({ file, path }) => {
    // The data version changes as soon as another connection has written.
    const version = () => file.db.prepare("PRAGMA data_version").get();
    const before = version();
    await openAt(path).close();
    assertEquals(version(), before);
  });
});

Deno.test("openLedgerFile() refuses a file of a later version", async () => {
  await withLedger(async ({ file, path }) => {
    file.db.exec("PRAGMA user_version = 99");
    await file.close();
    assertThrows(() => openAt(path), Error, "is of version 99");
  });
});

Deno.test("close() may be called twice", async () => {
  await withLedger(async ({ file }) => {
    await file.close();
    await file.close();
  });
});
