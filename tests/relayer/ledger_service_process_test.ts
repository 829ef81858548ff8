/**
 * Tests the ledger as a process of its own, and a relayer that reads its
 * accounts and keeps its catalogue of blobs there.
 *
 * @module
 */

import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Mem } from "../../mod.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
  newMasterSecret,
} from "../../sdk/vault/identity_encryption.ts";
import {
  deriveRegistryId,
  LOCAL_PACKAGE_ID,
} from "../../services/shared/ledger/account_contract.ts";
import { decodeDigest } from "../../services/shared/ledger/digest.ts";
import {
  type TestTransaction,
  TransactionSigner,
} from "../../services/shared/ledger/testing/transaction_signer.ts";
import {
  type RelayerProcess,
  runRelayer,
  runRelayerCommand,
  startRelayer,
} from "../support/relayer_process.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { waitUntil } from "../support/wait_until.ts";
import { sendWire } from "./wire_client.ts";

const CREDENTIAL = "0123456789abcdef0123456789abcdef";
const DELEGATE_SEED = 9;

interface World {
  readonly ledger: RelayerProcess;
  readonly send: (sent: TestTransaction) => Promise<void>;
  /** A folder in which relayers have their data folders. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

function createClient({ url }: RelayerProcess): SuiJsonRpcClient {
  return new SuiJsonRpcClient({
    network: "localnet",
    transport: new JsonRpcHTTPTransport({ url: `${url}/rpc` }),
  });
}

function createOwner(seed: number): TransactionSigner {
  return new TransactionSigner({ seed, packageId: LOCAL_PACKAGE_ID });
}

async function withLedger(use: (world: World) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await using ledger = await startRelayer({
      dataDir: `${folder}/ledger`,
      args: ["ledger"],
      env: { LEDGER_CREDENTIAL: CREDENTIAL },
    });
    const client = createClient(ledger);
    await use({
      ...{ ledger, folder },
      send: async ({ data, signature }) => {
        const { effects } = await client.executeTransactionBlock({
          transactionBlock: data,
          signature: signature.toBase64(),
          options: { showEffects: true },
        });
        assertEquals(effects?.status.status, "success");
      },
      env: {
        LEDGER_RPC_URL: `${ledger.url}/rpc`,
        LEDGER_PACKAGE_ID: LOCAL_PACKAGE_ID,
        LEDGER_REGISTRY_ID: deriveRegistryId(LOCAL_PACKAGE_ID),
        LEDGER_CREDENTIAL: CREDENTIAL,
      },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function createMem(relayer: RelayerProcess, owner: TransactionSigner): Mem {
  return Mem.create({
    key: new Uint8Array(32).fill(DELEGATE_SEED),
    accountId: owner.accountId,
    serverUrl: relayer.url,
  });
}

Deno.test("the ledger serves relayers", { timeout: 240_000 }, async (t) => {
  await withLedger(async (world) => {
    // The first step, since it counts all calls.
    await t.step(
      "the ledger's process tells its operator of calls, entries and accounts",
      () => tellsMetrics(world),
    );
    await t.step(
      "a relayer reads its accounts from the ledger's process, and restores from its catalogue",
      () => readsAccounts(world),
    );
    await t.step(
      "a relayer with another credential keeps jobs until the ledger takes them",
      () => keepsJobs(world),
    );
  });
});

async function tellsMetrics({ ledger, send }: World): Promise<void> {
  const owner = createOwner(6);
  const url = await metricsUrl(ledger);
  await send(await owner.createAccount());
  const call = async (method: string, params: unknown = []) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(`${ledger.url}/rpc`, { method: "POST", body });
    await answer.body?.cancel();
  };
  await call("sui_getChainIdentifier");
  await call("sui_getChainIdentifier", 5);
  await call("no_such_method");
  await call("tercet_catalogList");
  const families = await readMetrics(url);
  const calls = (method: string, outcome: string) =>
    findSeries(families, "relayer_ledger_calls_total", { method, outcome });
  assertEquals(calls("sui_executeTransactionBlock", "ok"), 1);
  assertEquals(calls("sui_getChainIdentifier", "ok"), 1);
  assertEquals(calls("sui_getChainIdentifier", "error"), 1);
  // Unknown methods are counted under one label, so that callers cannot
  // create labels.
  assertEquals(calls("unknown", "error"), 2);
  assertEquals(findSeries(families, "relayer_ledger_accounts"), 1);
  assertEquals(findSeries(families, "relayer_ledger_entries"), 1);
  assertEquals(findSeries(families, "relayer_ledger_write_ready"), 1);
}

async function readsAccounts({ send, folder, env }: World): Promise<void> {
  const owner = createOwner(7);
  const dataDir = `${folder}/reading`;
  const delegate = createOwner(DELEGATE_SEED);
  await send(await owner.createAccount());
  await send(await owner.addDelegateKey(delegate.publicKey));
  {
    await using relayer = await startRelayer({ dataDir, env });
    const exists = await sendWire(relayer.url, {
      method: "GET",
      target: `/api/accounts/${owner.address}/exists`,
    });
    assertEquals(exists.json, { exists: true });
    const mem = createMem(relayer, owner);
    await mem.rememberAndWait("Ada prefers tea");
    assertEquals((await mem.recall("tea")).total, 1);
    assertEquals(await relayer.stop(), 0);
  }
  // Deletes everything except keys and blobs; the catalogue is in the
  // ledger's process.
  for await (const { name } of Deno.readDir(dataDir)) {
    if (/^(relayer|ledger)\.db/.test(name)) {
      await Deno.remove(`${dataDir}/${name}`);
    }
  }
  await using relayer = await startRelayer({ dataDir, env });
  const mem = createMem(relayer, owner);
  assertEquals((await mem.recall("tea")).total, 0);
  assertEquals((await mem.restore("default")).restored, 1);
  assertEquals((await mem.recall("tea")).total, 1);

  await send(await owner.removeDelegateKey(delegate.publicKey));
  const refused = await mem.recall("tea").catch((error) => String(error));
  assertStringIncludes(String(refused), "ERR_KEY_NOT_DELEGATE");
}

async function keepsJobs({ send, folder, env }: World): Promise<void> {
  const owner = createOwner(8);
  const dataDir = `${folder}/keeping`;
  const delegate = createOwner(DELEGATE_SEED);
  await send(await owner.createAccount());
  await send(await owner.addDelegateKey(delegate.publicKey));
  let jobId = "";
  {
    await using relayer = await startRelayer({
      dataDir,
      env: { ...env, LEDGER_CREDENTIAL: CREDENTIAL.toUpperCase() },
    });
    const mem = createMem(relayer, owner);
    jobId = (await mem.remember("Ada prefers tea")).job_id;
    await waitUntil(
      () => relayer.stderr.includes("LEDGER_CREDENTIAL"),
      { what: "a line about the credential" },
    );
    assertEquals(relayer.stderr.includes(CREDENTIAL.toUpperCase()), false);
    assertEquals(await relayer.stop(), 0);
  }
  await using relayer = await startRelayer({ dataDir, env });
  const mem = createMem(relayer, owner);
  assertEquals((await mem.waitForRememberJob(jobId)).job_id, jobId);
}

Deno.test("the ledger's process makes the key servers of KEY_SERVERS known, and refuses what are none", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    const publicKey = derivePublicKey(newMasterSecret()).toHex();
    const wrong = await runRelayer({
      dataDir,
      args: ["ledger"],
      env: { KEY_SERVERS: `http://127.0.0.1:8100=${"ab".repeat(96)}` },
    });
    assertEquals(wrong.code, 1);
    assertStringIncludes(wrong.stderr, "KEY_SERVERS");
    for (
      const [args, runCommand] of [
        [["ledger"], runRelayer],
        [[], runRelayerCommand],
      ] as const
    ) {
      await using ledger = await startRelayer({
        ...{ dataDir, args },
        env: { KEY_SERVERS: `http://127.0.0.1:8100=${publicKey}` },
      });
      const client = createClient(ledger);
      const added = await runCommand({
        dataDir,
        args: [
          ...["ledger", "add-key-server", "--public-key", publicKey],
          ...["--url", "http://127.0.0.1:8100", "--name", "one"],
        ],
      });
      const objectId = added.stdout.trim();
      const { object } = await client.core.getObject({ objectId });
      assert(object.type.endsWith("::key_server::KeyServer"));
      assertEquals(await ledger.stop(), 0);
    }
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("the ledger's process keeps what owners signed, though it is killed, and its check finds it so", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    const packageId = LOCAL_PACKAGE_ID;
    const owner = new TransactionSigner({ seed: 7, packageId });
    const sent = [
      await owner.createAccount(),
      await owner.addDelegateKey(
        new TransactionSigner({ seed: 3, packageId }).publicKey,
      ),
      await owner.setActive(false),
    ];
    for (const { data, signature } of sent) {
      await using ledger = await startRelayer({ dataDir, args: ["ledger"] });
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "sui_executeTransactionBlock",
        params: [data.toBase64(), [signature.toBase64()], {}],
      });
      const answer = await sendWire(ledger.url, {
        method: "POST",
        target: "/",
        body,
      });
      await ledger.kill();
      assertStringIncludes(answer.text, '"result"');
    }
    const checked = await runRelayer({
      dataDir,
      args: ["ledger", "check", "--json"],
    });
    assertEquals(checked.code, 0, checked.stderr);
    const outcome = JSON.parse(checked.stdout);
    assertEquals([outcome.entries, outcome.accounts], [3, 1]);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("whatever was answered is in the log after a kill under load, and senders go on from there", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    const packageId = LOCAL_PACKAGE_ID;
    const senders = [1, 2, 3, 4, 5].map((seed) =>
      new TransactionSigner({ seed, packageId })
    );
    const env = { LEDGER_TRANSACTIONS_PER_MINUTE: "100000" };
    const answered: string[] = [];
    for (let round = 0; round < 3; round++) {
      await using ledger = await startRelayer({
        dataDir,
        args: ["ledger"],
        env,
      });
      const client = createClient(ledger);
      const enough = answered.length + 40;
      await Promise.all(senders.map(async (sender) => {
        // Gets the coin that the last round left, in the same way as a client.
        const { data: [coin] } = await client.getCoins({
          owner: sender.address,
        });
        assert(coin !== undefined);
        sender.coin = {
          objectId: coin.coinObjectId,
          version: BigInt(coin.version),
          digest: decodeDigest(coin.digest) ?? new Uint8Array(32),
        };
        let isActive = false;
        for (let sent = 0;; sent++) {
          const next = sent === 0 && round === 0
            ? await sender.createAccount()
            : await sender.setActive(isActive = !isActive);
          try {
            await client.executeTransactionBlock({
              transactionBlock: next.data,
              signature: next.signature.toBase64(),
            });
          } catch {
            return;
          }
          answered.push(next.digest);
          if (answered.length === enough) await ledger.kill();
        }
      }));
    }
    assert(answered.length >= 120, `${answered.length}`);
    const checked = await runRelayerCommand({
      ...{ dataDir, args: ["ledger", "check"] },
    });
    assertEquals(checked.code, 0, checked.stderr);
    await using ledger = await startRelayer({ dataDir, args: ["ledger"], env });
    const client = createClient(ledger);
    for (let from = 0; from < answered.length; from += 50) {
      const digests = answered.slice(from, from + 50);
      const found = await client.multiGetTransactionBlocks({ digests });
      assertEquals(found.length, digests.length);
    }
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("/config tells of the key servers of KEY_SERVERS and of how many are needed", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "relayer_test_" });
  try {
    const keys = [1, 2, 3].map((byte) =>
      derivePublicKey(new Uint8Array(32).fill(byte))
    );
    const names = keys.map((key, at) => `http://key-${at}.test=${key.toHex()}`);
    const env = { KEY_SERVERS: names.join(",") };
    for (const threshold of ["0", "3"]) {
      await using relayer = await startRelayer({
        dataDir,
        env: { ...env, KEY_SERVER_THRESHOLD: threshold },
      });
      const told = await (await fetch(`${relayer.url}/config`)).json();
      assertEquals(told.keyServerThreshold, threshold === "0" ? 2 : 3);
      assertEquals(
        told.keyServers,
        keys.map((key, at) => ({
          objectId: deriveKeyServerId(key),
          url: `http://key-${at}.test`,
          publicKey: key.toHex(),
          weight: 1,
        })),
      );
      assertEquals(await relayer.stop(), 0);
    }
    const { code, stderr } = await runRelayer({
      dataDir,
      env: { ...env, KEY_SERVER_THRESHOLD: "4" },
    });
    assertEquals(code, 1);
    assert(stderr.includes("KEY_SERVERS names 3"));
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
