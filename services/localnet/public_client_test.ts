/**
 * Tests of the embedded ledger with the public ledger's own client, unchanged:
 * it builds, tries, signs, sends and reads transactions.
 *
 * @module
 */

import { bcs } from "@mysten/sui/bcs";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { Transaction } from "@mysten/sui/transactions";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deriveRegistryId } from "../shared/ledger/account_contract.ts";
import { AccountReplay } from "../shared/ledger/account_replay.ts";
import { member } from "./testing/embedded_ledger.ts";
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

const PHONE_KEY = PHONE.getPublicKey().toRawBytes();

const ACCOUNT_BCS = bcs.struct("MemWalAccount", {
  id: bcs.Address,
  owner: bcs.Address,
  delegate_keys: bcs.vector(bcs.struct("DelegateKey", {
    public_key: bcs.byteVector(),
    sui_address: bcs.Address,
    label: bcs.string(),
    created_at: bcs.u64(),
  })),
  created_at: bcs.u64(),
  active: bcs.bool(),
  admin_quarantined: bcs.bool(),
  legacy_account_id: bcs.option(bcs.Address),
  access_counter_version: bcs.u64(),
});

Deno.test("the public client makes an account, adds a key and removes it", async () => {
  await withEmbedded(async (embedded) => {
    const { client, ledger } = embedded;
    const accountId = await createAccount(embedded, ANN);
    const added = await send(embedded, ANN, (tx) => {
      tx.moveCall({
        target: `${ledger.packageId}::account::add_delegate_key`,
        arguments: [
          tx.object(accountId),
          tx.object(deriveRegistryId(ledger.packageId)),
          tx.pure.vector("u8", PHONE_KEY),
          tx.pure.string("phone"),
          tx.object.clock(),
        ],
      });
    });
    assertEquals(added.effects?.status.status, "success");
    assertEquals(added.events?.map(({ type }) => type), [
      `${ledger.packageId}::account::DelegateKeyAdded`,
    ]);
    assertEquals(
      ledger.record(accountId)?.delegateKeys.map(({ label }) => label),
      [
        "phone",
      ],
    );

    const object = await client.getObject({
      id: accountId,
      options: { showBcs: true, showContent: true, showOwner: true },
    });
    assertEquals(object.data?.version, "2");
    const raw = object.data?.bcs;
    assert(raw?.dataType === "moveObject");
    const parsed = ACCOUNT_BCS.parse(Uint8Array.fromBase64(raw.bcsBytes));
    assertEquals(parsed.owner, ANN.toSuiAddress());
    assertEquals(parsed.delegate_keys[0]?.sui_address, PHONE.toSuiAddress());
    assertEquals(parsed.access_counter_version, "0");

    const removed = await send(embedded, ANN, (tx) => {
      tx.moveCall({
        target: `${ledger.packageId}::account::remove_delegate_key`,
        arguments: [
          tx.object(accountId),
          tx.object(deriveRegistryId(ledger.packageId)),
          tx.pure.vector("u8", PHONE_KEY),
        ],
      });
    });
    assertEquals(removed.effects?.status.status, "success");
    assertEquals(ledger.record(accountId)?.delegateKeys, []);
    assertEquals(ledger.rows.byId(accountId)?.accessCounter, 1n);
  });
});

Deno.test("the public client learns why a call aborts, with code and function", async () => {
  await withEmbedded(async (embedded) => {
    const { client, ledger } = embedded;
    const accountId = await createAccount(embedded, ANN);
    const steal = (tx: Transaction): void => {
      tx.moveCall({
        target: `${ledger.packageId}::account::deactivate_account`,
        arguments: [
          tx.object(accountId),
          tx.object(deriveRegistryId(ledger.packageId)),
        ],
      });
    };
    // The client's trial run fails, before anything is signed.
    const error = await assertRejects(() => send(embedded, BEN, steal));
    assert(String(error).includes("abort code: 4"), String(error));
    assertEquals(ledger.log.head().sequence, 1);

    // Without the trial run the client gets a failed transaction, and only its
    // own coin changes.
    const done = await send(embedded, BEN, (tx) => {
      steal(tx);
      tx.setGasBudget(1_000_000);
    });
    assertEquals(done.effects?.status.status, "failure");
    assertEquals(done.effects?.abortError?.error_code, "4");
    assertEquals(done.effects?.abortError?.function, "deactivate_account");
    assertEquals(ledger.record(accountId)?.isActive, true);
    const read = await client.core.getTransaction({
      digest: done.digest,
      include: { effects: true, events: true },
    });
    assert(read.$kind === "FailedTransaction");
    const status = read.FailedTransaction.status;
    assert(!status.success && status.error?.$kind === "MoveAbort");
    assertEquals(status.error.MoveAbort.abortCode, "4");
    assertEquals(read.FailedTransaction.effects?.status.success, false);
  });
});

Deno.test("the public client reads effects in BCS as it reads them in JSON", async () => {
  await withEmbedded(async (embedded) => {
    const { client } = embedded;
    const accountId = await createAccount(embedded, ANN);
    const [entry] = embedded.ledger.log.transactions({ kind: "all" }, {
      ...{ after: undefined, limit: 1, isDescending: false },
    });
    assert(entry !== undefined);
    const digest = (await client.queryTransactionBlocks({})).data[0]?.digest;
    assert(digest !== undefined);
    const json = await client.getTransactionBlock({
      digest,
      options: {
        showEffects: true,
        showRawEffects: true,
        showInput: true,
        showRawInput: true,
        showObjectChanges: true,
      },
    });
    const parsed = bcs.TransactionEffects.parse(
      Uint8Array.from(json.rawEffects ?? []),
    );
    assert(parsed.$kind === "V1");
    const refs = parsed.V1.created.map(([ref]) => ref);
    assertEquals(
      refs.map(({ objectId, version, digest }) => ({
        objectId,
        version,
        digest,
      })),
      json.effects?.created?.map(({ reference }) => ({
        objectId: reference.objectId,
        version: String(reference.version),
        digest: reference.digest,
      })),
    );
    assert(refs.some(({ objectId }) => objectId === accountId));
    assertEquals(parsed.V1.transactionDigest, digest);
    assertEquals(parsed.V1.gasObject[0].version, "2");
    const change = json.objectChanges?.find((one) =>
      one.type === "created" && one.objectType.endsWith("::MemWalAccount")
    );
    assert(change?.type === "created");
    assertEquals(change.objectId, accountId);
    // The raw transactions that the ledger returns can be replayed.
    const replay = new AccountReplay({
      packageId: embedded.ledger.packageId,
      owner: ANN.toSuiAddress(),
    });
    const signed = Uint8Array.fromBase64(json.rawTransaction ?? "");
    assertEquals(replay.add(signed, { timestampMs: 0 }).kind, "ok");
    assertEquals(replay.account?.accountId, accountId);
  });
});

Deno.test("the public client asks for approvals, by trial run and by inspection", async () => {
  await withEmbedded(async (embedded) => {
    const { client, ledger } = embedded;
    const accountId = await createAccount(embedded, ANN);
    const approve = async (sender: string, owner: string) => {
      const tx = new Transaction();
      tx.moveCall({
        target: `${ledger.packageId}::account::seal_approve`,
        arguments: [
          tx.pure.vector("u8", bcs.Address.serialize(owner).toBytes()),
          tx.object(deriveRegistryId(ledger.packageId)),
          tx.object(accountId),
        ],
      });
      const { error, effects } = await client.devInspectTransactionBlock({
        sender,
        transactionBlock: tx,
      });
      return error == null
        ? effects.status.status
        : effects.abortError?.error_code;
    };
    const [ann, ben] = [ANN.toSuiAddress(), BEN.toSuiAddress()];
    assertEquals(await approve(ann, ann), "success");
    assertEquals(await approve(ben, ann), "100");
    assertEquals(await approve(ann, ben), "100");
    ledger.setActive(accountId, false);
    assertEquals(await approve(ann, ann), "6");
  });
});

Deno.test("the public client finds transactions and events, page by page", async () => {
  await withEmbedded(async (embedded) => {
    const { client, ledger } = embedded;
    const accountId = await createAccount(embedded, ANN);
    await createAccount(embedded, BEN);
    const keys = Array.from(
      { length: 5 },
      (_, index) =>
        Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(9 + index)),
    );
    for (const key of keys) await addKey(embedded, key);
    const all: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await client.queryTransactionBlocks({
        filter: { ChangedObject: accountId },
        options: { showRawInput: true, showEffects: true },
        order: "ascending",
        limit: 4,
        cursor: cursor ?? null,
      });
      all.push(...page.data.map(({ digest }) => digest));
      cursor = page.hasNextPage ? page.nextCursor : undefined;
    } while (cursor);
    assertEquals(all.length, 6);
    const back = await client.queryTransactionBlocks({
      filter: { FromAddress: ANN.toSuiAddress() },
    });
    assertEquals(back.data.map(({ digest }) => digest), all.toReversed());

    const module = { package: ledger.packageId, module: "account" };
    const labels: unknown[] = [];
    let place: { txDigest: string; eventSeq: string } | null | undefined;
    do {
      const page = await client.queryEvents({
        query: { MoveEventModule: module },
        order: "ascending",
        limit: 3,
        cursor: place ?? null,
      });
      labels.push(...page.data.map(({ type }) => type.split("::")[2]));
      place = page.hasNextPage ? page.nextCursor : undefined;
    } while (place);
    assertEquals(labels, [
      "AccountCreated",
      "AccountCreated",
      ...keys.map(() => "DelegateKeyAdded"),
    ]);
    const created = await client.queryEvents({
      query: { MoveEventType: `${ledger.packageId}::account::AccountCreated` },
    });
    assertEquals(created.data.length, 2);
    const event = bcs.struct("AccountCreated", {
      account_id: bcs.Address,
      owner: bcs.Address,
    }).parse(Uint8Array.fromBase64(created.data[1]?.bcs ?? ""));
    assertEquals(event.account_id, accountId);
    const none = await client.queryEvents({
      query: { MoveModule: { package: "0x2", module: "account" } },
    });
    assertEquals(none.data, []);
  });
});

Deno.test("the public client waits for a transaction, and sends one twice without harm", async () => {
  await withEmbedded(async (embedded) => {
    const { client, ledger } = embedded;
    const tx = creation(embedded);
    tx.setSender(ANN.toSuiAddress());
    const bytes = await tx.build({ client });
    const { signature } = await ANN.signTransaction(bytes);
    const sent = { transactionBlock: bytes, signature };
    const [first, again] = [
      await client.executeTransactionBlock(sent),
      await client.executeTransactionBlock(sent),
    ];
    assertEquals(first.digest, again.digest);
    assertEquals(ledger.log.head().sequence, 1);
    const waited = await client.waitForTransaction({ digest: first.digest });
    assertEquals(waited.digest, first.digest);
    // The coin has a new version now, which the next transaction has to name.
    const stale = creation(embedded);
    stale.setSender(ANN.toSuiAddress());
    stale.setGasBudget(5_000_000);
    stale.setGasPayment([{
      objectId: ledger.rows.getCoin(ANN.toSuiAddress()).objectId,
      version: "1",
      digest: first.digest,
    }]);
    const error = await assertRejects(() =>
      client.signAndExecuteTransaction({ signer: ANN, transaction: stale })
    );
    assert(String(error).includes("at version 2, not 1"), String(error));
  });
});

Deno.test("key servers are read as the public client of theirs reads them", async () => {
  await withEmbedded(async ({ client, ledger }) => {
    const publicKey = new Uint8Array(96).fill(5);
    const objectId = ledger.addKeyServer({
      name: "one",
      url: "http://127.0.0.1:8100",
      publicKey,
    });
    const { object } = await client.core.getObject({
      objectId,
      include: { content: true },
    });
    const parent = bcs.struct("KeyServer", {
      id: bcs.Address,
      first: bcs.u64(),
      last: bcs.u64(),
    }).parse(await object.content);
    assertEquals(parent, { id: objectId, first: "1", last: "2" });
    const second = await client.core.getDynamicField({
      parentId: objectId,
      name: { type: "u64", bcs: bcs.u64().serialize(2).toBytes() },
    });
    const entry = bcs.struct("KeyServerV2", {
      name: bcs.string(),
      keyType: bcs.u8(),
      pk: bcs.byteVector(),
      kind: bcs.u8(),
      url: bcs.string(),
    }).parse(second.dynamicField.value.bcs);
    assertEquals(entry, {
      name: "one",
      keyType: 0,
      pk: publicKey,
      kind: 0,
      url: "http://127.0.0.1:8100",
    });
    const first = await client.getDynamicFieldObject({
      parentId: objectId,
      name: { type: "u64", value: "1" },
    });
    assert(first.data?.type?.endsWith("::KeyServerV1>"));
    const content = member(member(first.data, "content"), "fields");
    const fields = member(member(content, "value"), "fields");
    assertEquals(
      JSON.stringify(fields),
      JSON.stringify({
        ...{ name: "one", key_type: 0, pk: [...publicKey] },
        url: "http://127.0.0.1:8100",
      }),
    );
    const bytes = bcs.struct("KeyServerV1", {
      id: bcs.Address,
      version: bcs.u64(),
      name: bcs.string(),
      url: bcs.string(),
      keyType: bcs.u8(),
      pk: bcs.byteVector(),
    }).parse(Uint8Array.fromBase64(String(
      member(first.data?.bcs, "bcsBytes"),
    )));
    assertEquals(bytes.url, "http://127.0.0.1:8100");
    assertEquals(bytes.pk, publicKey);
    // Adding the same key server again writes nothing; with another URL, one
    // entry.
    const head = ledger.log.head().sequence;
    const same = { name: "one", url: "http://127.0.0.1:8100", publicKey };
    assertEquals(ledger.addKeyServer(same), objectId);
    assertEquals(ledger.log.head().sequence, head);
    ledger.addKeyServer({ ...same, url: "http://127.0.0.1:9" });
    assertEquals(ledger.log.head().sequence, head + 1);
    assertEquals(ledger.rows.keyServers().map(({ url }) => url), [
      "http://127.0.0.1:9",
    ]);
  });
});

Deno.test("the registry's entry of an owner names the account", async () => {
  await withEmbedded(async (embedded) => {
    const { client, ledger, call } = embedded;
    const accountId = await createAccount(embedded, ANN);
    const registry = await client.getObject({
      id: deriveRegistryId(ledger.packageId),
      options: { showContent: true },
    });
    const fields = member(member(registry.data, "content"), "fields");
    const table = member(member(fields, "accounts"), "fields");
    assertEquals(member(table, "size"), "1");
    const parentId = String(member(member(table, "id"), "id"));
    const { dynamicField } = await client.core.getDynamicField({
      parentId,
      name: {
        type: "address",
        bcs: bcs.Address.serialize(ANN.toSuiAddress()).toBytes(),
      },
    });
    assertEquals(`0x${dynamicField.value.bcs.toHex()}`, accountId);
    const missing = await call("suix_getDynamicFieldObject", parentId, {
      type: "address",
      value: BEN.toSuiAddress(),
    });
    assertEquals(
      member(member(member(missing, "result"), "error"), "code"),
      "dynamicFieldNotFound",
    );
  });
});
