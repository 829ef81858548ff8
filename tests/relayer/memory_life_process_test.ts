/**
 * Tests the whole life of an owner's memories with every part in a process of
 * its own: the ledger, three key servers, the blob store and the relayer.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  addDelegateKey,
  createAccount,
  generateDelegateKey,
  removeDelegateKey,
} from "../../sdk/account.ts";
import { MemError, MemManual } from "../../sdk/manual.ts";
import { BlobStoreProcess } from "./blob_store_process.ts";
import { createSeed, withTrial } from "./manual_trial.ts";

const OWNER_KEY = "21".repeat(32);
const TEXT = "Ada prefers tea to coffee.";

Deno.test("an owner makes an account, and a delegate remembers, recalls, restores and is shut out, with every part in a process of its own", async () => {
  await using blobs = await BlobStoreProcess.start();
  await withTrial(async ({ config, relayer, restart, storage, group }) => {
    const owner = {
      key: OWNER_KEY,
      serverUrl: relayer.url,
      ledgerNetwork: "localnet",
    };
    const { accountId } = await createAccount(owner);
    const { privateKey: key, publicKey } = await generateDelegateKey();
    await addDelegateKey({ ...owner, accountId, publicKey, label: "laptop" });
    const own = { ...config, accountId, key };

    await using mem = MemManual.create(own);
    const { blob_id } = await mem.rememberManual(TEXT);
    const stored = await (await fetch(`${blobs.url}/v1/blobs/${blob_id}`))
      .bytes();
    assert(!new TextDecoder("latin1").decode(stored).includes("tea"));
    const question = "Does Ada drink tea or coffee?";
    assertEquals((await mem.recallManual(question)).results[0]?.text, TEXT);

    // A delegate of another account finds none of the memories.
    await using other = MemManual.create({ ...config, key: createSeed(9) });
    assertEquals((await other.recallManual(question)).total, 0);

    await group.processes[1]?.kill();
    assertEquals(await relayer.stop(), 0);
    // Deletes everything that the relayer has stored, including its keys.
    await storage.loseAll();
    const { url: serverUrl } = await restart();
    await using again = MemManual.create({ ...own, serverUrl });
    assertEquals((await again.recallManual(question)).total, 0);
    const restored = await again.restore("default");
    assertEquals([restored.restored, restored.failed], [1, 0]);
    assertEquals((await again.restore("default")).skipped, 1);
    assertEquals((await again.recallManual(question)).results[0]?.text, TEXT);

    await removeDelegateKey({ ...owner, serverUrl, accountId, publicKey });
    const refused = await assertRejects(
      () => again.recallManual(question),
      MemError,
    );
    assertEquals(refused.status, 401);
  }, {
    env: {
      BLOB_PUBLISHER_URL: blobs.url,
      BLOB_AGGREGATOR_URLS: blobs.url,
    },
  });
});
