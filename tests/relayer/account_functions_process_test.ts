/**
 * Tests the SDK's account functions with the ledger and the relayer of a real
 * process.
 *
 * @module
 */

import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Mem, MemError } from "../../mod.ts";
import {
  AccountError,
  type AccountErrorCode,
  addDelegateKey,
  createAccount,
  deactivateAccount,
  generateDelegateKey,
  reactivateAccount,
  removeDelegateKey,
} from "../../sdk/account.ts";
import { localAccountIdOf } from "../../sdk/manual/memory_identity.ts";
import { startRelayer } from "../support/relayer_process.ts";

const OWNER_KEY = "01".repeat(32);
const STRANGER_KEY = "02".repeat(32);

Deno.test("a delegate that its owner added is served, and refused at once when removed", async () => {
  await withRelayer(async (serverUrl) => {
    const base = { key: OWNER_KEY, serverUrl, ledgerNetwork: "localnet" };
    const { accountId, owner } = await createAccount(base);
    const keyPair = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(1));
    assertEquals(owner, keyPair.toSuiAddress());
    const { privateKey, publicKey, suiAddress } = await generateDelegateKey();
    const own = { ...base, accountId, publicKey };
    const added = await addDelegateKey({ ...own, label: "laptop" });
    assertEquals(added.publicKey, publicKey.toHex());
    assertEquals(added.suiAddress, suiAddress);

    const mem = Mem.create({ key: privateKey, accountId, serverUrl });
    assertEquals((await mem.listNamespaces()).namespaces, []);
    await deactivateAccount({ ...base, accountId });
    await refused(mem);
    await reactivateAccount({ ...base, accountId });
    assertEquals((await mem.listNamespaces()).namespaces, []);
    await removeDelegateKey(own);
    await refused(mem);
    mem.destroy();
  });
});

Deno.test("createAccount() takes no account for its own that a ledger names in its place", async () => {
  await withRelayer(async (serverUrl) => {
    const config = await (await fetch(`${serverUrl}/config`)).json();
    const own = await localAccountIdOf(
      config.packageId,
      Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(1)).toSuiAddress(),
    );
    const other = `0x${"99".repeat(32)}`;
    // A proxy that passes everything on, but names another account in the
    // outcome of a transaction.
    const ledger = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      async (request) => {
        const body = await request.text();
        const answer = await fetch(`${serverUrl}/rpc`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        });
        const text = await answer.text();
        const isOutcome = body.includes("sui_getTransactionBlock");
        return new Response(isOutcome ? text.replaceAll(own, other) : text, {
          headers: { "content-type": "application/json" },
        });
      },
    );
    try {
      const error = await assertRejects(() =>
        createAccount({
          key: OWNER_KEY,
          serverUrl,
          ledgerNetwork: "localnet",
          rpcUrl: `http://127.0.0.1:${ledger.addr.port}`,
        }), AccountError);
      assertEquals(error.code, "LEDGER_FAILED");
      assertStringIncludes(error.message, "not the signer's");
    } finally {
      await ledger.shutdown();
    }
  });
});

Deno.test("account functions name why the contract aborts", async () => {
  await withRelayer(async (serverUrl) => {
    const base = { key: OWNER_KEY, serverUrl, ledgerNetwork: "localnet" };
    const { accountId } = await createAccount(base);
    const own = { ...base, accountId };
    const keyOf = (byte: number) =>
      Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(byte))
        .getPublicKey().toRawBytes();
    const add = (byte: number, label = "x") =>
      addDelegateKey({ ...own, publicKey: keyOf(byte), label });

    await fails("ACCOUNT_EXISTS", () => createAccount(base));
    await fails("LABEL_TOO_LONG", () => add(50, "é".repeat(33)));
    await fails("NOT_OWNER", () =>
      addDelegateKey({
        ...{ ...own, key: STRANGER_KEY, publicKey: keyOf(50) },
        label: "x",
      }));
    await fails(
      "DELEGATE_KEY_MISSING",
      () => removeDelegateKey({ ...own, publicKey: keyOf(50) }),
    );
    await fails(
      "BAD_PUBLIC_KEY",
      () => addDelegateKey({ ...own, publicKey: "00".repeat(32), label: "x" }),
    );
    await fails("ACCOUNT_ACTIVE", () => reactivateAccount(own));
    for (let byte = 10; byte < 30; byte++) await add(byte);
    await fails("TOO_MANY_DELEGATE_KEYS", () => add(50));
  }, { LEDGER_TRANSACTIONS_PER_MINUTE: "1000" });
});

Deno.test("a wallet and a client that are given make an account as a key does", async () => {
  await withRelayer(async (serverUrl) => {
    const keyPair = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(3));
    const suiClient = new SuiJsonRpcClient({
      network: "localnet",
      transport: new JsonRpcHTTPTransport({ url: `${serverUrl}/rpc` }),
    });
    const base = {
      walletSigner: {
        address: keyPair.toSuiAddress(),
        signAndExecuteTransaction: (
          { transaction }: {
            readonly transaction: Parameters<
              typeof suiClient.signAndExecuteTransaction
            >[0]["transaction"];
          },
        ) =>
          suiClient.signAndExecuteTransaction({ transaction, signer: keyPair }),
      },
      suiClient,
      serverUrl,
      suiNetwork: "localnet",
    };
    const { owner } = await createAccount(base);
    assertEquals(owner, keyPair.toSuiAddress());
    await fails("ACCOUNT_EXISTS", () => createAccount(base));
  });
});

Deno.test("account functions refuse options that do not fit", async () => {
  const ids = { packageId: "0x1", registryId: "0x2" };
  for (
    const options of [
      ids,
      { ...ids, key: OWNER_KEY, suiPrivateKey: OWNER_KEY },
      { key: OWNER_KEY },
      { ...ids, key: OWNER_KEY, packageId: "0x" },
      { ...ids, key: OWNER_KEY, ledgerNetwork: "localnet" },
      { ...ids, key: OWNER_KEY, suiClient: { core: {} } },
    ]
  ) await assertRejects(() => createAccount(options), TypeError);
});

Deno.test("an account function names a transaction that was sent and is not seen", async () => {
  await withRelayer(async (serverUrl) => {
    const suiClient = new SuiJsonRpcClient({
      network: "localnet",
      transport: new JsonRpcHTTPTransport({ url: `${serverUrl}/rpc` }),
    });
    suiClient.core.getTransaction = () => Promise.reject(new Error("gone"));
    const base = { key: OWNER_KEY, serverUrl, ledgerNetwork: "localnet" };
    const { packageId, registryId } = await (await fetch(`${serverUrl}/config`))
      .json();
    // Given the ids and a client, the timeout applies only to waiting for the
    // transaction.
    const waiting = { key: OWNER_KEY, packageId, registryId, suiClient };
    const error = await assertRejects(
      () =>
        createAccount({
          ...waiting,
          ledgerNetwork: "localnet",
          timeoutMs: 50,
        }),
      AccountError,
      "it was sent",
    );
    assertEquals(error.code, "LEDGER_FAILED");
    await fails("ACCOUNT_EXISTS", () => createAccount(base));
  });
});

async function fails(
  code: AccountErrorCode,
  call: () => Promise<unknown>,
): Promise<void> {
  const error = await assertRejects(call, AccountError);
  assertEquals(error.code, code, error.message);
}

async function refused(mem: Mem): Promise<void> {
  const error = await assertRejects(() => mem.listNamespaces());
  assertInstanceOf(error, MemError);
  assertEquals(error.status, 401);
  assertEquals(typeof error.authError, "string");
}

async function withRelayer(
  use: (serverUrl: string) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "account_test_" });
  try {
    await using relayer = await startRelayer({ dataDir, env });
    await use(relayer.url);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}
