/**
 * Tests the public Seal client, without the project's own client code, against
 * real processes: it finds the key servers on the ledger, verifies them,
 * encrypts for them and gets their keys.
 *
 * @module
 */

import {
  NoAccessError,
  SealClient,
  SessionKey,
} from "npm:@mysten/seal@^1.4.12";
import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { Transaction } from "@mysten/sui/transactions";
import { assertEquals, assertRejects } from "@std/assert";
import {
  buildIdentity,
  createSigner,
} from "../../services/keyserver/testing/key_requests.ts";
import {
  bytes,
  type TransactionSigner,
} from "../../services/shared/ledger/testing/transaction_signer.ts";
import { KeyServerGroup } from "../support/keyserver_process.ts";
import { runRelayerCommand, startRelayer } from "../support/relayer_process.ts";
import { createSeed, DELEGATE, OWNER } from "./asking.ts";

const TEXT = new TextEncoder().encode("Ada prefers tea to coffee.");

/** Sends a transaction that the client completes with data from the ledger. */
async function send(
  client: SuiJsonRpcClient,
  owner: TransactionSigner,
  build: (tx: Transaction) => void,
): Promise<void> {
  const transaction = new Transaction();
  build(transaction);
  const done = await client.signAndExecuteTransaction({
    signer: owner.keyPair,
    transaction,
    options: { showEffects: true },
  });
  assertEquals(done.effects?.status.status, "success");
}

/**
 * Creates a client that has found and verified the key servers, and has no
 * cached keys yet.
 */
async function sealClient(
  suiClient: SuiJsonRpcClient,
  { keyServers }: KeyServerGroup,
): Promise<SealClient> {
  const client = new SealClient({
    suiClient,
    serverConfigs: keyServers.map(({ objectId }) => ({ objectId, weight: 1 })),
    verifyKeyServers: true,
  });
  const found = await client.getKeyServers();
  assertEquals(found.size, keyServers.length);
  return client;
}

Deno.test("the public client finds key servers on the ledger and decrypts with two of three, for who is on the account", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    await using ledger = await startRelayer({ dataDir, args: ["ledger"] });
    const suiClient = new SuiJsonRpcClient({
      network: "localnet",
      transport: new JsonRpcHTTPTransport({ url: ledger.url }),
    });
    await using group = await KeyServerGroup.start(3, {
      LEDGER_RPC_URL: `${ledger.url}/rpc`,
    });
    for (const [at, { url, publicKey }] of group.keyServers.entries()) {
      const args = ["--name", `server ${at}`, "--url", url, "--public-key"];
      const run = await runRelayerCommand({
        dataDir,
        args: ["ledger", "add-key-server", ...args, publicKey.toHex()],
      });
      assertEquals(run.code, 0, run.stderr);
    }
    const owner = createSigner(OWNER);
    const { publicKey } = createSigner(DELEGATE);
    await send(suiClient, owner, (tx) => {
      owner.call(tx, "create_account", [
        owner.registry(tx, true),
        tx.object.clock(),
      ]);
    });
    const changeKey = (name: string, ...more: ("label" | "clock")[]) =>
      send(suiClient, owner, (tx) => {
        owner.call(tx, name, [
          tx.object(owner.accountId),
          owner.registry(tx),
          bytes(tx, publicKey),
          ...more.map((what) =>
            what === "label" ? tx.pure.string("laptop") : tx.object.clock()
          ),
        ]);
      });
    await changeKey("add_delegate_key", "label", "clock");

    const clients: SealClient[] = [];
    for (let at = 0; at < 5; at++) {
      clients.push(await sealClient(suiClient, group));
    }
    const id = buildIdentity(owner);
    const [writer] = clients;
    const sealed = await writer?.encrypt({
      threshold: 2,
      packageId: owner.packageId,
      id: id.toHex(),
      data: TEXT,
    });
    const data = sealed?.encryptedObject ?? new Uint8Array();
    const approval = new Transaction();
    owner.call(approval, "seal_approve", [
      bytes(approval, id),
      owner.registry(approval),
      approval.object(owner.accountId),
    ]);
    const txBytes = await approval.build({
      client: suiClient,
      onlyTransactionKind: true,
    });
    const decrypt = async (at: number, seed: number) => {
      const signer = Ed25519Keypair.fromSecretKey(createSeed(seed));
      const sessionKey = await SessionKey.create({
        address: signer.toSuiAddress(),
        packageId: owner.packageId,
        ttlMin: 10,
        signer,
        suiClient,
      });
      return await clients[at]?.decrypt({ data, sessionKey, txBytes });
    };
    assertEquals(await decrypt(0, OWNER), TEXT);
    assertEquals(await decrypt(1, DELEGATE), TEXT);
    await changeKey("remove_delegate_key");
    await assertRejects(() => decrypt(2, DELEGATE), NoAccessError);
    await group.processes[1]?.kill();
    assertEquals(await decrypt(3, OWNER), TEXT);
    await group.processes[2]?.kill();
    await assertRejects(() => decrypt(4, OWNER), TypeError, "fetch failed");
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
