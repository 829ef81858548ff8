import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { AccountReplay } from "./account_replay.ts";
import { decodeDigest } from "./digest.ts";
import { firstGasCoin, nextGasCoin } from "./gas_chain.ts";
import {
  bytes,
  shared,
  type TestTransaction,
  TransactionSigner,
} from "./testing/transaction_signer.ts";
import { writeSignedTransaction } from "./transaction.ts";

const PACKAGE = `0x${"c1".repeat(32)}`;
const AT = { timestampMs: 1_700_000_000_000 };

function createSigner(seed: number): TransactionSigner {
  return new TransactionSigner({ seed, packageId: PACKAGE });
}

function createReplay({ address }: TransactionSigner): AccountReplay {
  return new AccountReplay({ packageId: PACKAGE, owner: address });
}

const PHONE = createSigner(9).publicKey;
const LAPTOP = createSigner(8).publicKey;

async function history(owner: TransactionSigner): Promise<TestTransaction[]> {
  return [
    await owner.createAccount(),
    await owner.addDelegateKey(PHONE, { label: "phone" }),
    await owner.addDelegateKey(LAPTOP),
    // Aborts: the key is there already. It belongs to the chain all the same.
    await owner.addDelegateKey(PHONE),
    await owner.removeDelegateKey(PHONE),
    await owner.setActive(false),
    await owner.setActive(true),
  ];
}

Deno.test("AccountReplay gives the account that its owner signed", async () => {
  const owner = createSigner(1);
  const replay = createReplay(owner);
  assertEquals(replay.account, undefined);
  for (const { signed } of await history(owner)) {
    assertEquals(replay.add(signed, AT), { kind: "ok" });
  }
  const { account } = replay;
  assertEquals(account?.accountId, owner.accountId);
  assertEquals(account?.isActive, true);
  assertEquals(account?.accessCounter, 2n);
  assertEquals(account?.delegateKeys.map(({ publicKey }) => publicKey), [
    LAPTOP.toHex(),
  ]);
  assertEquals(replay.gasCoin, owner.coin);
  assertEquals(replay.gasCoin.version, 8n);
});

Deno.test("AccountReplay notices what is left out, repeated or in another order", async () => {
  const owner = createSigner(2);
  const all = await history(owner);
  const random = new SeededRandom(4);
  for (let round = 0; round < 60; round++) {
    const replay = createReplay(owner);
    const from = random.below(all.length);
    for (const { signed } of all.slice(0, from)) replay.add(signed, AT);
    const before = replay.account;
    const at = random.below(all.length);
    const other = all[at];
    assert(other !== undefined);
    const outcome = replay.add(other.signed, AT);
    assertEquals(outcome.kind, at === from ? "ok" : "broken");
    if (at !== from) assertEquals(replay.account, before);
  }
});

Deno.test("AccountReplay takes nothing that the owner has not signed", async () => {
  const [owner, thief] = [createSigner(3), createSigner(4)];
  const created = await owner.createAccount();
  const replay = createReplay(owner);
  assertEquals(replay.add(created.signed, AT).kind, "ok");
  const { account } = replay;

  const stolen = await thief.addDelegateKey(thief.publicKey, {
    accountId: owner.accountId,
  });
  const wanted = await owner.addDelegateKey(PHONE);
  const forged = [
    // The thief's own, the thief's signature under the owner's, a changed key.
    stolen.signed,
    writeSignedTransaction({ ...wanted, signature: stolen.signature }),
    withByte(wanted.signed, { at: wanted.signed.length - 150 }),
    withByte(wanted.signed, { at: wanted.signed.length - 1 }),
    new Uint8Array(0),
    created.signed,
  ];
  for (const signed of forged) {
    assertEquals(replay.add(signed, AT).kind, "broken");
    assertEquals(replay.account, account);
  }
  assertEquals(replay.add(wanted.signed, AT), { kind: "ok" });
  assertEquals(replay.account?.delegateKeys.length, 1);
});

Deno.test("AccountReplay refuses transactions that another coin or a sponsor pays for", async () => {
  const [owner, sponsor] = [createSigner(5), createSigner(6)];
  const digest = decodeDigest((await owner.createAccount()).digest);
  assert(digest !== undefined);
  const first = firstGasCoin(owner.address);
  const wrong = [
    nextGasCoin(first, digest),
    { ...first, objectId: sponsor.coin.objectId },
    { ...first, digest },
  ];
  const create = (tx: Parameters<Parameters<typeof owner.sign>[0]>[0]) =>
    owner.call(tx, "deactivate_account", [shared(tx, owner.accountId)]);
  for (const coin of wrong) {
    const { signed } = await owner.sign(create, coin);
    assertEquals(createReplay(owner).add(signed, AT).kind, "broken");
  }
  const { signed } = await owner.sign((tx) => {
    create(tx);
    tx.setGasOwner(sponsor.address);
  }, first);
  const outcome = createReplay(owner).add(signed, AT);
  assert(outcome.kind === "broken");
  assert(outcome.reason.includes("sponsor"), outcome.reason);
});

Deno.test("AccountReplay does not pass over calls that it does not know", async () => {
  const owner = createSigner(7);
  const replay = createReplay(owner);
  replay.add((await owner.createAccount()).signed, AT);
  const { signed } = await owner.sign((tx) => {
    owner.call(tx, "revoke_everything", [
      shared(tx, owner.accountId),
      bytes(tx, PHONE),
    ]);
  });
  assertEquals(replay.add(signed, AT).kind, "broken");
});

function withByte(
  bytes: Uint8Array,
  { at }: { readonly at: number },
): Uint8Array {
  const changed = bytes.slice();
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}
