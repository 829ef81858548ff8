/**
 * Tests key servers with the ledger of a real relayer whose operator is
 * dishonest.
 *
 * @module
 */

import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import {
  buildIdentity,
  createSigner,
} from "../../services/keyserver/testing/key_requests.ts";
import type {
  TestTransaction,
  TransactionSigner,
} from "../../services/shared/ledger/testing/transaction_signer.ts";
import {
  KeyServerGroup,
  makeKey,
  startKeyServer,
} from "../support/keyserver_process.ts";
import { runRelayerCommand, startRelayer } from "../support/relayer_process.ts";
import { asked, DELEGATE, OWNER } from "./asking.ts";

const STRANGER = 11;
const OTHER = 12;

/** Sends a transaction with the public client. */
async function send(
  relayer: { readonly url: string },
  { data, signature }: TestTransaction,
): Promise<void> {
  const done = await createClient(relayer).executeTransactionBlock({
    transactionBlock: data,
    signature: signature.toBase64(),
    options: { showEffects: true },
  });
  assertEquals(done.effects?.status.status, "success");
}

function createClient({ url }: { readonly url: string }): SuiJsonRpcClient {
  return new SuiJsonRpcClient({
    network: "localnet",
    transport: new JsonRpcHTTPTransport({ url: `${url}/rpc` }),
  });
}

function buildEnv({ url }: { readonly url: string }): Record<string, string> {
  return { LEDGER_RPC_URL: `${url}/rpc` };
}

/** Returns whether the ledger lists a key as a delegate of an account. */
async function isListed(
  relayer: { readonly url: string },
  owner: TransactionSigner,
  seed: number,
): Promise<boolean> {
  const account = await createClient(relayer).getObject({
    id: owner.accountId,
    options: { showContent: true },
  });
  return JSON.stringify(account).includes(createSigner(seed).address);
}

async function withFolders(
  test: (ledger: string, keys: string) => Promise<void>,
): Promise<void> {
  const ledger = await Deno.makeTempDir();
  const keys = await Deno.makeTempDir();
  try {
    await test(ledger, keys);
  } finally {
    await Deno.remove(ledger, { recursive: true });
    await Deno.remove(keys, { recursive: true });
  }
}

Deno.test("an operator's writes give none", { timeout: 240_000 }, async (t) => {
  await withFolders(async (dataDir) => {
    const owner = createSigner(OWNER);
    {
      await using relayer = await startRelayer({ dataDir });
      await send(relayer, await owner.createAccount());
      const { publicKey } = createSigner(DELEGATE);
      await send(relayer, await owner.addDelegateKey(publicKey));
      await using group = await KeyServerGroup.start(1, buildEnv(relayer));
      assertEquals(await asked(group, { owner }), "ok");
      assertEquals(await asked(group, { owner, seed: OWNER }), "ok");
      const refused = await asked(group, { owner, seed: STRANGER });
      assertStringIncludes(refused, "NoAccess");
      assertEquals(await relayer.stop(), 0);
    }
    const stranger = createSigner(STRANGER);
    const db = new DatabaseSync(`${dataDir}/ledger.db`);
    db.prepare(
      `INSERT INTO delegate_keys(account_id, public_key, address, label,
        created_ms) VALUES(?, ?, ?, 'forged', 1)`,
    ).run(owner.accountId, stranger.publicKey.toHex(), stranger.address);
    db.close();
    await using relayer = await startRelayer({ dataDir });
    await using group = await KeyServerGroup.start(1, buildEnv(relayer));
    await t.step(
      "who the relayer's operator writes into its database gets no key",
      async () => {
        // The ledger shows the forged delegate, and this key server has no
        // earlier state that contradicts it.
        assert(await isListed(relayer, owner, STRANGER));
        const refused = await asked(group, { owner, seed: STRANGER });
        assertStringIncludes(refused, "NoAccess");
        assertEquals(await asked(group, { owner }), "ok");
      },
    );
    await t.step(
      "an account that the relayer's operator has entered gets no key until its owner signs",
      async () => {
        const other = createSigner(OTHER);
        const args = ["account", "create", "--public-key"];
        const run = await runRelayerCommand({
          dataDir,
          args: [...args, other.publicKey.toHex()],
        });
        assertEquals(run.code, 0, run.stderr);
        assert(await isListed(relayer, other, OTHER));
        const ask = () => asked(group, { owner: other, seed: OTHER });
        assertStringIncludes(await ask(), "NoAccess");
        await send(relayer, await other.createAccount());
        assertEquals(await ask(), "ok");
      },
    );
  });
});

Deno.test("a key server that was killed refuses a ledger that was set back meanwhile", async () => {
  await withFolders(async (dataDir, keyDir) => {
    const owner = createSigner(OWNER);
    const { publicKey } = createSigner(DELEGATE);
    const key = await makeKey(keyDir);
    const files = [`${dataDir}/ledger.db`, `${dataDir}/ledger.db-wal`];
    {
      await using relayer = await startRelayer({ dataDir });
      await send(relayer, await owner.createAccount());
      await send(relayer, await owner.addDelegateKey(publicKey));
      for (const file of files) await Deno.copyFile(file, `${file}.copy`);
      await send(relayer, await owner.removeDelegateKey(publicKey));
      await using server = await startKeyServer({
        dataDir: keyDir,
        env: buildEnv(relayer),
      });
      const keyServers = [{ ...key, url: server.url }];
      const refused = await asked({ keyServers }, { owner });
      assertStringIncludes(refused, "NoAccess");
      await server.kill();
      assertEquals(await relayer.stop(), 0);
    }
    await Deno.remove(`${dataDir}/ledger.db-shm`).catch(() => {});
    for (const file of files) await Deno.rename(`${file}.copy`, file);
    await using relayer = await startRelayer({ dataDir });
    assert(await isListed(relayer, owner, DELEGATE));
    await using server = await startKeyServer({
      dataDir: keyDir,
      env: buildEnv(relayer),
    });
    const keyServers = [{ ...key, url: server.url }];
    for (const seed of [DELEGATE, OWNER]) {
      const refused = await asked({ keyServers }, { owner, seed });
      assertStringIncludes(refused, "contradicts itself");
    }
    await server.waitForLine("contradicts itself");
    // A key server that has never seen the removal has nothing to detect the
    // older state by.
    await using group = await KeyServerGroup.start(1, buildEnv(relayer));
    const id = buildIdentity(owner);
    assertEquals(await asked(group, { owner, id }), "ok");
  });
});
