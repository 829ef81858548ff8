/**
 * Tests the embedded ledger of a real process with the public ledger's own
 * client.
 *
 * @module
 */

import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { Transaction } from "@mysten/sui/transactions";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";
import { startRelayer } from "../support/relayer_process.ts";
import { getMember, readText, sendWire, WireClient } from "./wire_client.ts";

const OWNER = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(1));
const OTHER = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(3));
const DELEGATE_SEED = new Uint8Array(32).fill(2);
const DELEGATE = Ed25519Keypair.fromSecretKey(DELEGATE_SEED);

/**
 * The values that a client reads from the relayer before it calls the ledger.
 */
interface Config {
  readonly client: SuiJsonRpcClient;
  readonly packageId: string;
  readonly registryId: string;
}

async function fetchConfig(url: string): Promise<Config> {
  const { json } = await sendWire(url, { method: "GET", target: "/config" });
  const client = new SuiJsonRpcClient({
    network: "localnet",
    transport: new JsonRpcHTTPTransport({ url: readText(json, "suiRpcUrl") }),
  });
  return {
    client,
    packageId: readText(json, "packageId"),
    registryId: readText(json, "registryId"),
  };
}

async function createAccount(
  { client, packageId, registryId }: Config,
  owner = OWNER,
): Promise<string> {
  const done = await send({ client, owner }, (tx) => {
    tx.moveCall({
      target: `${packageId}::account::create_account`,
      arguments: [tx.object(registryId), tx.object.clock()],
    });
  });
  const made = done.objectChanges?.find((change) =>
    change.type === "created" && change.objectType.endsWith("::MemWalAccount")
  );
  assert(made?.type === "created");
  return made.objectId;
}

async function addDelegate(
  { client, packageId, registryId }: Config,
  accountId: string,
  owner = OWNER,
): Promise<void> {
  await send({ client, owner }, (tx) => {
    tx.moveCall({
      target: `${packageId}::account::add_delegate_key`,
      arguments: [
        tx.object(accountId),
        tx.object(registryId),
        tx.pure.vector("u8", DELEGATE.getPublicKey().toRawBytes()),
        tx.pure.string("laptop"),
        tx.object.clock(),
      ],
    });
  });
}

async function removeDelegate(
  { client, packageId, registryId }: Config,
  accountId: string,
  owner = OWNER,
): Promise<void> {
  await send({ client, owner }, (tx) => {
    tx.moveCall({
      target: `${packageId}::account::remove_delegate_key`,
      arguments: [
        tx.object(accountId),
        tx.object(registryId),
        tx.pure.vector("u8", DELEGATE.getPublicKey().toRawBytes()),
      ],
    });
  });
}

async function send(
  { client, owner }: {
    readonly client: SuiJsonRpcClient;
    readonly owner: Ed25519Keypair;
  },
  build: (tx: Transaction) => void,
) {
  const transaction = new Transaction();
  build(transaction);
  const done = await client.signAndExecuteTransaction({
    signer: owner,
    transaction,
    options: { showEffects: true, showObjectChanges: true },
  });
  assertEquals(done.effects?.status.status, "success");
  return done;
}

function createDelegate(url: string, accountId: string): WireClient {
  return new WireClient(() => url, {
    key: DELEGATE_SEED.toHex(),
    publicKey: DELEGATE.getPublicKey().toRawBytes().toHex(),
    accountId,
  });
}

Deno.test("what an owner signed counts", { timeout: 240_000 }, async (t) => {
  await withFolder(async (dataDir) => {
    let accountId = "";
    for (let round = 0; round < 3; round++) {
      await using relayer = await startRelayer({ dataDir });
      const config = await fetchConfig(relayer.url);
      if (round === 0) accountId = await createAccount(config);
      else if (round === 1) await addDelegate(config, accountId);
      else await removeDelegate(config, accountId);
      await relayer.kill();
    }
    await using relayer = await startRelayer({ dataDir });
    const config = await fetchConfig(relayer.url);
    await t.step(
      "what an owner signed is kept, though the process is killed right after its answer",
      () => isKept(config, accountId),
    );
    await t.step(
      "a delegate may call as soon as it is added, and is refused as soon as it is removed",
      () => countsAtOnce(config, relayer.url),
    );
  });
});

async function isKept({ client }: Config, accountId: string): Promise<void> {
  const { data } = await client.queryTransactionBlocks({
    filter: { FromAddress: OWNER.toSuiAddress() },
    options: { showEffects: true },
    order: "ascending",
  });
  assertEquals(new Set(data.map(({ digest }) => digest)).size, 3);
  const account = await client.getObject({
    id: accountId,
    options: { showContent: true },
  });
  const fields = getMember(getMember(account.data, "content"), "fields");
  assertEquals(getMember(fields, "delegate_keys"), []);
  assertEquals(getMember(fields, "access_counter_version"), "1");
  assertEquals(account.data?.version, "3");
}

async function countsAtOnce(config: Config, url: string): Promise<void> {
  const accountId = await createAccount(config, OTHER);
  const delegate = createDelegate(url, accountId);
  const status = async () =>
    (await delegate.call("POST", "/api/stats", { namespace: "a" })).status;
  assertEquals(await status(), 401);
  await addDelegate(config, accountId, OTHER);
  assertEquals(await status(), 200);
  await removeDelegate(config, accountId, OTHER);
  assertEquals(await status(), 401);
}

Deno.test("LEDGER_RPC_ENABLED=false closes the embedded ledger, and /config names none", async () => {
  await withFolder(async (dataDir) => {
    await using relayer = await startRelayer({
      dataDir,
      env: { LEDGER_RPC_ENABLED: "false" },
    });
    for (const target of ["/", "/rpc"]) {
      const body = '{"jsonrpc":"2.0","id":1,"method":"sui_getChainIdentifier"}';
      const answer = await sendWire(relayer.url, {
        method: "POST",
        target,
        body,
      });
      assertEquals(answer.status, 404);
    }
    const { json } = await sendWire(relayer.url, {
      method: "GET",
      target: "/config",
    });
    assertEquals(getMember(json, "suiRpcUrl"), undefined);
    assertEquals(getMember(json, "suiTransport"), undefined);
  });
});

Deno.test("LEDGER_TRANSACTIONS_PER_MINUTE and _PER_DAY bound what strangers send", async () => {
  for (
    const [name, words] of [
      ["LEDGER_TRANSACTIONS_PER_MINUTE", "1 a minute are the most"],
      ["LEDGER_TRANSACTIONS_PER_DAY", "within a day"],
    ] as const
  ) {
    await withFolder(async (dataDir) => {
      await using relayer = await startRelayer({
        dataDir,
        env: { [name]: "1" },
      });
      const config = await fetchConfig(relayer.url);
      const accountId = await createAccount(config);
      await assertRejects(() => addDelegate(config, accountId), Error, words);
    });
  }
});

Deno.test("TRUSTED_PROXIES has senders of transactions counted by the address that a proxy tells", async () => {
  await withFolder(async (dataDir) => {
    let seed = 20;
    for (const trusted of ["127.0.0.1", "192.0.2.0/24"]) {
      await using relayer = await startRelayer({
        dataDir,
        env: { TRUSTED_PROXIES: trusted, LEDGER_TRANSACTIONS_PER_MINUTE: "1" },
      });
      const answers: boolean[] = [];
      for (const client of ["198.51.100.1", "198.51.100.2", "198.51.100.2"]) {
        const owner = new TransactionSigner({
          seed: ++seed,
          packageId: LOCAL_PACKAGE_ID,
        });
        const { data, signature } = await owner.createAccount();
        const { text } = await sendWire(relayer.url, {
          method: "POST",
          target: "/rpc",
          headers: { "x-forwarded-for": client },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "sui_executeTransactionBlock",
            params: [data.toBase64(), [signature.toBase64()], {}],
          }),
        });
        answers.push(text.includes('"result"'));
      }
      // X-Forwarded-For from a peer that is not a trusted proxy is ignored.
      const isTrusted = trusted === "127.0.0.1";
      assertEquals(answers, [true, isTrusted, false]);
    }
  });
});

async function withFolder(
  test: (dataDir: string) => Promise<void>,
): Promise<void> {
  const dataDir = await Deno.makeTempDir();
  try {
    await test(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}
