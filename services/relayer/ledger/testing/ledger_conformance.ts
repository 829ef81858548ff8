/**
 * Tests that every form of the embedded ledger has to pass.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import { makeSigner } from "../../auth/testing/signer.ts";
import { TransactionSigner } from "../../../shared/ledger/testing/transaction_signer.ts";
import { checkLedger } from "../ledger_check.ts";
import type { AccountRecord, Ledger } from "../ledger.ts";
import { addressOfPublicKey } from "../ledger_id.ts";
import type { AccountChange, LocalLedger } from "../local_ledger.ts";
import type { TransactionExecutor } from "../transaction_executor.ts";
import { fillLedger } from "./random_history.ts";

/** A ledger to test. */
export interface LedgerSubject {
  /** Reads accounts. */
  readonly ledger: Ledger;
  /** Executes transactions. */
  readonly executor: TransactionExecutor;
  /** Runs a change on the newest state. */
  change<T>(apply: (ledger: LocalLedger) => T): Promise<T>;
  /** Opens the same ledger again, as another process does. */
  another(): Promise<LedgerSubject>;
}

/** How a form of the ledger is tested. */
export interface LedgerCase {
  /** Its name in test titles. */
  readonly name: string;
  /** Registers a test. @default {Deno.test} */
  readonly test?: ((definition: Deno.TestDefinition) => void) | undefined;
  /** Opens an empty ledger, passes it to a function, and closes it. */
  readonly withLedger: (
    use: (subject: LedgerSubject) => Promise<void>,
  ) => Promise<void>;
}

const KEYS = Array.from(
  { length: 30 },
  (_, seed) => makeSigner(seed).publicKey,
);
const [ANN = "", ANNS_PHONE = "", BEN = ""] = KEYS;

/** Registers the tests. */
export function testLedger(
  { name: form, test = Deno.test, withLedger }: LedgerCase,
): void {
  const add = (
    name: string,
    run: (subject: LedgerSubject) => Promise<void>,
  ): void => test({ name: `${form}: ${name}`, fn: () => withLedger(run) });

  add("createAccount() makes a key's account, usable at once", async ({
    ledger,
    change,
  }) => {
    const made = await change((to) =>
      to.createAccount({ publicKey: ANN, label: "laptop" })
    );
    const account = changed(made);
    assertEquals(account.owner, addressOfPublicKey(ANN));
    assert(/^0x[0-9a-f]{64}$/.test(account.accountId));
    assertEquals(account.isActive, true);
    assertEquals(
      account.delegateKeys.map(({ publicKey, address, label }) => ({
        ...{ publicKey, address, label },
      })),
      [{ publicKey: ANN, address: account.owner, label: "laptop" }],
    );
    assertEquals(await ledger.account(account.accountId), {
      ...{ kind: "ok", account },
    });
  });

  add(
    "createAccount() makes an address one account, and always the same",
    async ({ change }) => {
      const first = await change((to) =>
        to.createAccount({ address: "0xABC" })
      );
      const second = await change((to) => to.createAccount({ address: "abc" }));
      assertEquals(second.kind, "exists");
      assertEquals({ ...second, kind: "ok" }, first);
      assertEquals(changed(first).delegateKeys, []);
      assertEquals(changed(first).owner, `0x${"0".repeat(61)}abc`);
    },
  );

  add("createAccount() refuses what is no key and no address", async ({
    ledger,
    change,
  }) => {
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
      const outcome = await change((to) => to.createAccount(input));
      assert(outcome.kind === "invalid");
      assert(outcome.message.startsWith("Cannot "));
    }
    assertEquals((await ledger.accountOfKey(ANN)).kind, "missing");
    // A label of the greatest length.
    const label = "ü".repeat(32);
    changed(await change((to) => to.createAccount({ publicKey: ANN, label })));
  });

  add(
    "addDelegateKey() and removeDelegateKey() change who speaks for an account",
    async ({ ledger, change }) => {
      const { accountId } = changed(
        await change((to) =>
          to.createAccount({ publicKey: ANN, label: "laptop" })
        ),
      );
      const phone = {
        publicKey: `0x${ANNS_PHONE.toUpperCase()}`,
        label: "phone",
      };
      const addPhone = (id: string) =>
        change((to) => to.addDelegateKey(id, phone));
      const remove = (id: string, key: string) =>
        change((to) => to.removeDelegateKey(id, key));
      const added = changed(await addPhone(accountId));
      const labels = added.delegateKeys.map(({ label }) => label);
      assertEquals(labels, ["laptop", "phone"]);
      assertEquals((await addPhone(accountId)).kind, "exists");
      const found = await ledger.accountOfKey(ANNS_PHONE);
      assertEquals(found.kind === "ok" && found.account.accountId, accountId);
      changed(await remove(accountId.toUpperCase(), phone.publicKey));
      assertEquals((await ledger.accountOfKey(ANNS_PHONE)).kind, "missing");
      assertEquals((await remove(accountId, BEN)).kind, "missing");
      assertEquals((await remove(accountId, "")).kind, "missing");
      assertEquals((await addPhone("0x1")).kind, "missing");
    },
  );

  add("addDelegateKey() takes twenty keys", async ({ change }) => {
    const { accountId } = changed(
      await change((to) => to.createAccount({ address: "0x1" })),
    );
    const addKey = (publicKey = "") =>
      change((to) => to.addDelegateKey(accountId, { publicKey, label: "" }));
    for (const publicKey of KEYS.slice(0, 20)) changed(await addKey(publicKey));
    assertEquals((await addKey(KEYS[20])).kind, "invalid");
    changed(await change((to) => to.removeDelegateKey(accountId, ANN)));
    changed(await addKey(KEYS[20]));
  });

  add("setActive() switches an account off and on", async ({
    ledger,
    change,
  }) => {
    const { accountId } = changed(
      await change((to) => to.createAccount({ publicKey: ANN, label: "" })),
    );
    const set = (isActive: boolean) =>
      change((to) => to.setActive(accountId, isActive));
    assertEquals(changed(await set(false)).isActive, false);
    const read = await ledger.account(accountId);
    assertEquals(read.kind === "ok" && read.account.isActive, false);
    assertEquals((await set(false)).kind, "exists");
    assertEquals(changed(await set(true)).isActive, true);
  });

  add("accountOfKey() prefers the active account, then the first", async ({
    ledger,
    change,
  }) => {
    const ids: string[] = [];
    for (const address of ["0x1", "0x2", "0x3"]) {
      const { accountId } = changed(
        await change((to) => to.createAccount({ address })),
      );
      const key = { publicKey: ANN, label: "" };
      changed(await change((to) => to.addDelegateKey(accountId, key)));
      ids.push(accountId);
    }
    const findId = async (): Promise<string | false> => {
      const found = await ledger.accountOfKey(ANN);
      return found.kind === "ok" && found.account.accountId;
    };
    assertEquals(await findId(), ids[0]);
    await change((to) => to.setActive(ids[0] ?? "", false));
    assertEquals(await findId(), ids[1]);
  });

  add("account() takes ids in any spelling and knows what it has not", async ({
    ledger,
    change,
  }) => {
    const { accountId, owner } = changed(
      await change((to) => to.createAccount({ address: "0xa" })),
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
  });

  add("a change counts in every process from the next read on", async (one) => {
    const other = await one.another();
    const { accountId } = changed(
      await other.change((to) => to.createAccount({ address: "0x1" })),
    );
    const key = { publicKey: BEN, label: "" };
    for (let round = 0; round < 10; round++) {
      await other.change((to) => to.addDelegateKey(accountId, key));
      assertEquals((await one.ledger.accountOfKey(BEN)).kind, "ok");
      await other.change((to) => to.removeDelegateKey(accountId, BEN));
      assertEquals((await one.ledger.accountOfKey(BEN)).kind, "missing");
    }
    await other.change((to) => to.setActive(accountId, false));
    const again = await one.change((to) => to.setActive(accountId, true));
    assertEquals(changed(again).isActive, true);
  });

  add(
    "execute() answers a transaction that is sent again as before",
    async (one) => {
      const { packageId } = one.ledger;
      const other = await one.another();
      const owner = new TransactionSigner({ seed: 1, packageId });
      const sent = { ...await owner.createAccount(), from: "192.0.2.1" };
      const first = await one.executor.execute(sent);
      assert(first.kind === "ok", Deno.inspect(first));
      for (const { executor } of [one, other]) {
        const again = await executor.execute(sent);
        assertEquals(withoutUndefined(again), withoutUndefined(first));
      }
      const found = await other.ledger.accountOfOwner(owner.address);
      assertEquals(found.kind, "ok");
    },
  );

  add(
    "every process finds the log as it was written, whatever happened",
    async (one) => {
      const other = await one.another();
      for (let seed = 1; seed <= countRounds(2); seed++) {
        await fillLedger([one, other], seed);
      }
      const checked = await one.change((to) => checkLedger(to));
      assert(checked.kind === "ok", Deno.inspect(checked));
      assert(checked.entries > 20, `${checked.entries}`);
      const later = await one.another();
      for (const subject of [other, later]) {
        assertEquals(await subject.change((to) => checkLedger(to)), checked);
      }
    },
  );
}

function changed(outcome: AccountChange): AccountRecord {
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.account;
}
