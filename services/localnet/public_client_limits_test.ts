import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deriveRegistryId } from "../shared/ledger/account_contract.ts";
import { AccountReplay } from "../shared/ledger/account_replay.ts";
import {
  type TestTransaction,
  TransactionSigner,
} from "../shared/ledger/testing/transaction_signer.ts";
import { embeddedLedger } from "./testing/embedded_ledger.ts";
import { withLedger } from "../relayer/ledger/testing/open_test_ledger.ts";
import {
  addKey,
  ANN,
  BEN,
  createAccount,
  creation,
  PHONE,
  send,
  withEmbedded,
} from "./testing/public_client.ts";

Deno.test("the ledger takes no transaction that its sender has not signed for it", async () => {
  await withEmbedded(async ({ client, ledger }) => {
    const embedded = { client, ledger };
    const tx = creation(embedded);
    tx.setSender(ANN.toSuiAddress());
    const bytes = await tx.build({ client });
    const { signature } = await BEN.signTransaction(bytes);
    const error = await assertRejects(() =>
      client.executeTransactionBlock({ transactionBlock: bytes, signature })
    );
    assert(String(error).includes("not the sender's"), String(error));
    const foreign = creation(embedded);
    foreign.setSender(ANN.toSuiAddress());
    foreign.setExpiration({
      ValidDuring: {
        minEpoch: "0",
        maxEpoch: "1",
        minTimestamp: null,
        maxTimestamp: null,
        chain: "11111111111111111111111111111111",
        nonce: 1,
      },
    });
    await assertRejects(
      () =>
        client.signAndExecuteTransaction({ signer: ANN, transaction: foreign }),
      Error,
      "another ledger",
    );
    assertEquals(ledger.log.head().sequence, 0);
  });
});

Deno.test("an owner takes over what the operator entered, and then alone changes it", async () => {
  await withEmbedded(async (embedded) => {
    const { ledger, client } = embedded;
    const owner = ANN.toSuiAddress();
    const operators = BEN.getPublicKey().toRawBytes().toHex();
    const made = ledger.createAccount({ address: owner });
    assert(made.kind === "ok");
    const { accountId } = made.account;
    ledger.addDelegateKey(accountId, { publicKey: operators, label: "ops" });
    const error = await assertRejects(() => addKey(embedded, PHONE));
    assert(
      String(error).includes("create_account takes it over"),
      String(error),
    );

    assertEquals(await createAccount(embedded, ANN), accountId);
    assertEquals(ledger.record(accountId)?.delegateKeys, []);
    await addKey(embedded, PHONE);
    const refused = ledger.addDelegateKey(accountId, {
      publicKey: operators,
      label: "ops",
    });
    assertEquals(refused.kind, "invalid");

    // The operator can switch the account off; the state that the owner signed
    // stays as it is.
    assertEquals(ledger.setActive(accountId, false).kind, "ok");
    assertEquals(ledger.record(accountId)?.isActive, false);
    await assertRejects(() => addKey(embedded, BEN), Error, "switched");
    assertEquals(ledger.setActive(accountId, true).kind, "ok");
    const replay = new AccountReplay({ packageId: ledger.packageId, owner });
    const { data } = await client.queryTransactionBlocks({
      filter: { FromAddress: owner },
      options: { showRawInput: true },
      order: "ascending",
    });
    for (const { rawTransaction = "", timestampMs } of data) {
      const signed = Uint8Array.fromBase64(rawTransaction);
      replay.add(signed, { timestampMs: Number(timestampMs) });
    }
    const row = ledger.rows.byId(accountId);
    const { isSigned, isQuarantined, version, changedBy, ...state } = row ?? {};
    assertEquals(replay.account, state as typeof replay.account);
    assertEquals([isSigned, isQuarantined, version], [true, false, 6]);
    assertEquals(changedBy?.length, 32);
  });
});

Deno.test("what the operator switched off stays off, though its owner comes and signs", async () => {
  await withEmbedded(async (embedded) => {
    const { ledger } = embedded;
    const made = ledger.createAccount({ address: ANN.toSuiAddress() });
    assert(made.kind === "ok");
    const { accountId } = made.account;
    ledger.setActive(accountId, false);
    await assertRejects(() => createAccount(embedded, ANN), Error, "switched");
    assertEquals(ledger.record(accountId)?.isActive, false);
    ledger.setActive(accountId, true);
    assertEquals(await createAccount(embedded, ANN), accountId);
  });
});

Deno.test("a stranger uses up nothing of what a sender may send", async () => {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file, { perMinute: 2, perDay: 100 });
    const { executor, ledger } = embedded;
    const tx = creation(embedded);
    tx.setSender(ANN.toSuiAddress());
    const data = await tx.build({ client: embedded.client });
    const forged = Uint8Array.fromBase64(
      (await BEN.signTransaction(data)).signature,
    );
    for (let from = 0; from < 20; from++) {
      const outcome = await executor.execute({
        ...{ data, signature: forged, from: `192.0.2.${from}` },
      });
      assertEquals(outcome.kind, "refused");
    }
    const signature = Uint8Array.fromBase64(
      (await ANN.signTransaction(data)).signature,
    );
    const from = "198.51.100.1";
    const done = await executor.execute({ data, signature, from });
    assertEquals(done.kind, "ok");
    assertEquals(ledger.rows.count(), 1);
  });
});

Deno.test("transactions that are kept are small", async () => {
  await withEmbedded(async (embedded) => {
    const accountId = await createAccount(embedded, ANN);
    const { packageId } = embedded.ledger;
    await assertRejects(
      () =>
        send(embedded, ANN, (tx) => {
          tx.setGasBudget(1_000_000);
          for (let key = 20; key < 60; key++) {
            tx.moveCall({
              target: `${packageId}::account::add_delegate_key`,
              arguments: [
                tx.object(accountId),
                tx.object(deriveRegistryId(packageId)),
                tx.pure.vector("u8", new Uint8Array(32).fill(key)),
                tx.pure.string("x".repeat(64)),
                tx.object.clock(),
              ],
            });
          }
        }),
      Error,
      "4096 are the most",
    );
    assertEquals(embedded.ledger.record(accountId)?.delegateKeys, []);
  });
});

Deno.test("transactions are bounded by address, by sender and in all", async () => {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file, { perMinute: 3, perDay: 1_000 });
    await createAccount(embedded, ANN);
    for (const fill of [11, 12]) {
      await addKey(
        embedded,
        Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(fill)),
      );
    }
    await assertRejects(() => addKey(embedded, PHONE), Error, "3 a minute");
  });
  await withLedger(async ({ file }) => {
    // One address may use a tenth of a day's transactions.
    const embedded = embeddedLedger(file, { perMinute: 100, perDay: 20 });
    await createAccount(embedded, ANN);
    await addKey(embedded, BEN);
    await assertRejects(() => addKey(embedded, PHONE), Error, "one network");
    // Access can be taken away even when the limit is reached.
    const accountId = embedded.ledger.byOwner(ANN.toSuiAddress())?.accountId;
    const removed = await send(embedded, ANN, (tx) => {
      tx.moveCall({
        target: `${embedded.ledger.packageId}::account::deactivate_account`,
        arguments: [
          tx.object(accountId ?? ""),
          tx.object(deriveRegistryId(embedded.ledger.packageId)),
        ],
      });
    });
    assertEquals(removed.effects?.status.status, "success");
  });
});

Deno.test("a full day keeps new accounts out, and lets owners take access away", async () => {
  await withLedger(async ({ file }) => {
    const embedded = embeddedLedger(file, { perMinute: 100, perDay: 3 });
    const { ledger, executor } = embedded;
    const { packageId } = ledger;
    const owner = new TransactionSigner({ seed: 1, packageId });
    const key = new TransactionSigner({ seed: 9, packageId }).publicKey;
    const run = async (sent: TestTransaction, from: string) => {
      const outcome = await executor.execute({ ...sent, from });
      return outcome.kind === "ok" ? "ok" : outcome.reason;
    };
    assertEquals(await run(await owner.createAccount(), "a"), "ok");
    assertEquals(await run(await owner.addDelegateKey(key), "b"), "ok");
    const second = new TransactionSigner({ seed: 2, packageId });
    assertEquals(await run(await second.createAccount(), "c"), "ok");
    const third = new TransactionSigner({ seed: 3, packageId });
    const refused = await run(await third.createAccount(), "d");
    assert(refused.includes("3 within a day"), refused);
    assertEquals(await run(await owner.removeDelegateKey(key), "e"), "ok");
    // A transaction that aborts withdraws nothing, so the limit applies.
    const again = await run(await owner.removeDelegateKey(key), "f");
    assert(again.includes("within a day"), again);
    owner.coin = ledger.rows.getCoin(owner.address);
    assertEquals(await run(await owner.setActive(false), "g"), "ok");
    const on = await run(await owner.setActive(true), "h");
    assert(on.includes("within a day"), on);
  });
});
