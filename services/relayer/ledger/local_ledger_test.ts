import { assert, assertEquals, assertThrows } from "@std/assert";
import { makeSigner } from "../auth/testing/signer.ts";
import type { AccountRecord } from "./ledger.ts";
import { addressOfPublicKey } from "./ledger_id.ts";
import type { AccountChange } from "./local_ledger.ts";
import { LocalLedger } from "./local_ledger.ts";
import { type LedgerTest, withLedger } from "./testing/open_test_ledger.ts";

const KEYS = Array.from(
  { length: 30 },
  (_, seed) => makeSigner(seed).publicKey,
);
const [ANN = "", ANNS_PHONE = "", BEN = ""] = KEYS;

ledgerTest(
  "createAccount() makes a key's account, usable at once",
  (ledger) => {
    const account = changed(
      ledger.createAccount({ publicKey: ANN, label: "laptop" }),
    );
    assertEquals(account.owner, addressOfPublicKey(ANN));
    assert(/^0x[0-9a-f]{64}$/.test(account.accountId));
    assertEquals(account.isActive, true);
    assertEquals(
      account.delegateKeys.map(({ publicKey, address, label }) => ({
        publicKey,
        address,
        label,
      })),
      [{ publicKey: ANN, address: account.owner, label: "laptop" }],
    );
  },
);

ledgerTest(
  "createAccount() makes an address one account, and always the same",
  (ledger) => {
    const first = ledger.createAccount({ address: "0xABC" });
    const second = ledger.createAccount({ address: "abc" });
    assertEquals(second.kind, "exists");
    assertEquals({ ...second, kind: "ok" }, first);
    assertEquals(changed(first).delegateKeys, []);
    assertEquals(changed(first).owner, `0x${"0".repeat(61)}abc`);
  },
);

ledgerTest(
  "createAccount() refuses what is no key and no address",
  (ledger) => {
    const inputs = [
      { address: "" },
      { address: "0xyz" },
      { publicKey: "00", label: "" },
      { publicKey: `01${"0".repeat(62)}`, label: "anybody's" },
      { publicKey: ANN, label: "ü".repeat(33) },
      { publicKey: ANN, label: "two\nlines" },
      { publicKey: ANN, label: "\ud800" },
    ];
    for (const input of inputs) {
      const outcome = ledger.createAccount(input);
      assert(outcome.kind === "invalid");
      assert(outcome.message.startsWith("Cannot "));
    }
    assertEquals(ledger.byKey(ANN), undefined);
    // A label of the greatest length.
    changed(
      ledger.createAccount({ publicKey: ANN, label: "ü".repeat(32) }),
    );
  },
);

ledgerTest(
  "addDelegateKey() and removeDelegateKey() change who speaks for an account",
  async (ledger) => {
    const accounts = ledger;
    const { accountId } = changed(
      accounts.createAccount({ publicKey: ANN, label: "laptop" }),
    );
    const phone = {
      publicKey: `0x${ANNS_PHONE.toUpperCase()}`,
      label: "phone",
    };
    const added = changed(accounts.addDelegateKey(accountId, phone));
    assertEquals(added.delegateKeys.map(({ label }) => label), [
      "laptop",
      "phone",
    ]);
    assertEquals(accounts.addDelegateKey(accountId, phone).kind, "exists");
    const found = await ledger.accountOfKey(ANNS_PHONE);
    assertEquals(found.kind === "ok" && found.account.accountId, accountId);
    changed(
      accounts.removeDelegateKey(accountId.toUpperCase(), phone.publicKey),
    );
    assertEquals((await ledger.accountOfKey(ANNS_PHONE)).kind, "missing");
    assertEquals(accounts.removeDelegateKey(accountId, BEN).kind, "missing");
    assertEquals(accounts.removeDelegateKey(accountId, "").kind, "missing");
    assertEquals(accounts.addDelegateKey("0x1", phone).kind, "missing");
  },
);

ledgerTest("addDelegateKey() takes twenty keys", (accounts) => {
  const { accountId } = changed(accounts.createAccount({ address: "0x1" }));
  for (const publicKey of KEYS.slice(0, 20)) {
    changed(accounts.addDelegateKey(accountId, { publicKey, label: "" }));
  }
  const last = { publicKey: KEYS[20] ?? "", label: "" };
  const outcome = accounts.addDelegateKey(accountId, last);
  assert(outcome.kind === "invalid");
  changed(accounts.removeDelegateKey(accountId, ANN));
  changed(accounts.addDelegateKey(accountId, last));
});

ledgerTest("setActive() switches an account off and on", async (ledger) => {
  const { accountId } = changed(
    ledger.createAccount({ publicKey: ANN, label: "" }),
  );
  const off = changed(ledger.setActive(accountId, false));
  assertEquals(off.isActive, false);
  const read = await ledger.account(accountId);
  assertEquals(read.kind === "ok" && read.account.isActive, false);
  assertEquals(ledger.setActive(accountId, false).kind, "exists");
  assertEquals(
    changed(ledger.setActive(accountId, true)).isActive,
    true,
  );
});

ledgerTest(
  "accountOfKey() prefers the active account, then the first",
  async (ledger) => {
    const accounts = ledger;
    const ids = ["0x1", "0x2", "0x3"].map((address) => {
      const { accountId } = changed(accounts.createAccount({ address }));
      changed(
        accounts.addDelegateKey(accountId, { publicKey: ANN, label: "" }),
      );
      return accountId;
    });
    const findId = async (): Promise<string | false> => {
      const found = await ledger.accountOfKey(ANN);
      return found.kind === "ok" && found.account.accountId;
    };
    assertEquals(await findId(), ids[0]);
    accounts.setActive(ids[0] ?? "", false);
    assertEquals(await findId(), ids[1]);
  },
);

ledgerTest(
  "account() takes ids in any spelling and knows what it has not",
  async (ledger) => {
    const { accountId, owner } = changed(
      ledger.createAccount({ address: "0xa" }),
    );
    for (const id of [accountId, accountId.slice(2), accountId.toUpperCase()]) {
      assertEquals((await ledger.account(id)).kind, "ok");
    }
    assertEquals((await ledger.accountOfOwner("0xA")).kind, "ok");
    assertEquals((await ledger.accountOfOwner(owner)).kind, "ok");
    for (const id of ["", "x", "0x1", "' OR 1=1 --"]) {
      assertEquals((await ledger.account(id)).kind, "missing");
      assertEquals((await ledger.accountOfOwner(id)).kind, "missing");
      assertEquals((await ledger.accountOfKey(id)).kind, "missing");
    }
  },
);

Deno.test("account() tells when the file cannot be read", async () => {
  await withLedger(async ({ file }) => {
    const ledger = new LocalLedger(file);
    await file.close();
    assertEquals((await ledger.account("0x1")).kind, "unavailable");
  });
});

Deno.test("LocalLedger wants a package's id", async () => {
  await withLedger(({ file }) => {
    assertThrows(() => new LocalLedger(file, ""), TypeError);
    const other = new LocalLedger(file, "0x2");
    assertEquals(other.packageId, `0x${"0".repeat(63)}2`);
  });
});

function ledgerTest(
  name: string,
  test: (ledger: LocalLedger) => void | Promise<void>,
): void {
  const run: LedgerTest = ({ file }) => test(new LocalLedger(file));
  Deno.test(name, () => withLedger(run));
}

function changed(outcome: AccountChange): AccountRecord {
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.account;
}
