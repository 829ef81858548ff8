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
import { deriveLocalAccountId } from "../../sdk/manual/memory_identity.ts";
import { runSteps } from "../support/data_service_process.ts";
import { startRelayer } from "../support/relayer_process.ts";

/** Returns a private key of 32 times the same byte. */
function createKey(byte: number): string {
  return byte.toString(16).padStart(2, "0").repeat(32);
}

Deno.test("account functions on a ledger", { timeout: 240_000 }, async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "account_test_" });
  try {
    await using relayer = await startRelayer({
      dataDir,
      env: { LEDGER_TRANSACTIONS_PER_MINUTE: "1000" },
    });
    const { url } = relayer;
    // Each step has an owner of its own.
    await runSteps(t, url, {
      "a delegate that its owner added is served, and refused at once when removed":
        servesDelegate,
      "createAccount() takes no account for its own that a ledger names in its place":
        takesOwnAccount,
      "account functions name why the contract aborts": namesAborts,
      "a wallet and a client that are given make an account as a key does":
        takesWallet,
      "an account function names a transaction that was sent and is not seen":
        namesUnseen,
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

async function servesDelegate(serverUrl: string): Promise<void> {
  const base = { key: createKey(1), serverUrl, ledgerNetwork: "localnet" };
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
}

async function takesOwnAccount(serverUrl: string): Promise<void> {
  const config = await (await fetch(`${serverUrl}/config`)).json();
  const own = await deriveLocalAccountId(
    config.packageId,
    Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(4)).toSuiAddress(),
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
        key: createKey(4),
        serverUrl,
        ledgerNetwork: "localnet",
        rpcUrl: `http://127.0.0.1:${ledger.addr.port}`,
      }), AccountError);
    assertEquals(error.code, "LEDGER_FAILED");
    assertStringIncludes(error.message, "not the signer's");
  } finally {
    await ledger.shutdown();
  }
}

async function namesAborts(serverUrl: string): Promise<void> {
  const base = { key: createKey(5), serverUrl, ledgerNetwork: "localnet" };
  const { accountId } = await createAccount(base);
  const own = { ...base, accountId };
  const derivePublicKey = (byte: number) =>
    Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(byte))
      .getPublicKey().toRawBytes();
  const add = (byte: number, label = "x") =>
    addDelegateKey({ ...own, publicKey: derivePublicKey(byte), label });

  await fails("ACCOUNT_EXISTS", () => createAccount(base));
  await fails("LABEL_TOO_LONG", () => add(50, "é".repeat(33)));
  await fails("NOT_OWNER", () =>
    addDelegateKey({
      ...{ ...own, key: createKey(2), publicKey: derivePublicKey(50) },
      label: "x",
    }));
  await fails(
    "DELEGATE_KEY_MISSING",
    () => removeDelegateKey({ ...own, publicKey: derivePublicKey(50) }),
  );
  await fails(
    "BAD_PUBLIC_KEY",
    () => addDelegateKey({ ...own, publicKey: "00".repeat(32), label: "x" }),
  );
  await fails("ACCOUNT_ACTIVE", () => reactivateAccount(own));
  for (let byte = 10; byte < 30; byte++) await add(byte);
  await fails("TOO_MANY_DELEGATE_KEYS", () => add(50));
}

async function takesWallet(serverUrl: string): Promise<void> {
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
}

async function namesUnseen(serverUrl: string): Promise<void> {
  const suiClient = new SuiJsonRpcClient({
    network: "localnet",
    transport: new JsonRpcHTTPTransport({ url: `${serverUrl}/rpc` }),
  });
  suiClient.core.getTransaction = () => Promise.reject(new Error("gone"));
  const base = { key: createKey(6), serverUrl, ledgerNetwork: "localnet" };
  const { packageId, registryId } = await (await fetch(`${serverUrl}/config`))
    .json();
  // Given the ids and a client, the timeout applies only to waiting for the
  // transaction.
  const waiting = { key: createKey(6), packageId, registryId, suiClient };
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
}

Deno.test("account functions refuse options that do not fit", async () => {
  const ids = { packageId: "0x1", registryId: "0x2" };
  for (
    const options of [
      ids,
      { ...ids, key: createKey(1), suiPrivateKey: createKey(1) },
      { key: createKey(1) },
      { ...ids, key: createKey(1), packageId: "0x" },
      { ...ids, key: createKey(1), ledgerNetwork: "localnet" },
      { ...ids, key: createKey(1), suiClient: { core: {} } },
    ]
  ) await assertRejects(() => createAccount(options), TypeError);
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
