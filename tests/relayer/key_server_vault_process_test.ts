/**
 * Tests memories behind key servers in relayer mode, with every part in a
 * process of its own: the ledger, three key servers, the blob store and the
 * relayer.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Mem, MemError } from "../../mod.ts";
import { createAccessToken } from "../../sdk/account.ts";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";
import type { KeyServerGroup } from "../support/keyserver_process.ts";
import { runRelayer } from "../support/relayer_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { BlobStoreProcess } from "./blob_store_process.ts";
import {
  DELEGATE,
  type ManualTrial,
  withTrial,
  withTrialServers,
} from "./manual_trial.ts";
import { onStores } from "./on_stores.ts";

const TEXT = "Ada prefers peppermint tea to coffee.";
const QUESTION = "Does Ada drink tea or coffee?";

function behindKeyServers(group: KeyServerGroup): Record<string, string> {
  return {
    VAULT: "key-servers",
    KEY_SERVERS: group.keyServers.map(({ url, publicKey }) =>
      `${url}=${publicKey.toHex()}`
    ).join(","),
  };
}

function createClient(
  { config }: ManualTrial,
  serverUrl = config.serverUrl,
): Mem {
  const { key, accountId } = config;
  assert(accountId !== undefined && serverUrl !== undefined);
  return Mem.create({ key, accountId, serverUrl });
}

/** Returns the texts that a recall finds. */
async function recallTexts(mem: Mem): Promise<readonly string[]> {
  const { results } = await mem.recall({ query: QUESTION });
  return results.map(({ text }) => text);
}

onStores({
  name: "memories are kept behind key servers",
  // The steps share the ledger and the key servers.
  timeout: 300_000,
  fn: (storage, t) =>
    withTrialServers(async (servers) => {
      await t.step(
        "memories behind key servers come back to a relayer that has lost everything, but those that were deleted",
        async () => {
          await using blobs = await BlobStoreProcess.start();
          await withTrial(async (trial) => {
            const { relayer, restart, storage } = trial;
            {
              await using mem = createClient(trial);
              await mem.rememberAndWait(TEXT);
              const { id } = await mem.rememberAndWait("Ada detests coffee.");
              await mem.deleteMemory(id);
            }
            assertEquals(await relayer.stop(), 0);
            await storage.loseAll();
            const second = await restart();
            {
              await using mem = createClient(trial, second.url);
              assertEquals(await recallTexts(mem), []);
              const restored = await mem.restore("default");
              assertEquals([restored.restored, restored.failed], [1, 0]);
              assertEquals(await recallTexts(mem), [TEXT]);
            }
            // A further start needs only what the restore has stored.
            assertEquals(await second.stop(), 0);
            await using mem = createClient(trial, (await restart()).url);
            assertEquals(await recallTexts(mem), [TEXT]);
          }, {
            servers,
            owner: 11,
            env: (group) => ({
              ...behindKeyServers(group),
              BLOB_PUBLISHER_URL: blobs.url,
              BLOB_AGGREGATOR_URLS: blobs.url,
            }),
          });
        },
      );
      await t.step(
        "memories behind key servers get vectors of another embedder when their owner recalls",
        async () => {
          await withTrial(async (trial) => {
            const { relayer, restart } = trial;
            {
              await using mem = createClient(trial);
              await mem.rememberAndWait(TEXT);
            }
            assertEquals(await relayer.stop(), 0);
            const second = await restart({ EMBEDDING_WIDTH: "2048" });
            const alone = await second.waitForLine(
              "Renewed entries of the index",
            );
            assert(alone.includes("waiting=1"), alone);
            await using mem = createClient(trial, second.url);
            await waitUntil(async () => (await recallTexts(mem)).length > 0, {
              what: "a vector of the new width",
              intervalMs: 100,
            });
            assertEquals(await recallTexts(mem), [TEXT]);
          }, { servers, owner: 12, env: behindKeyServers });
        },
      );
      await withTrial(async (trial) => {
        const { relayer, restart, config, owner, send } = trial;
        {
          await using mem = createClient(trial);
          await mem.rememberAndWait(TEXT);
        }
        assertEquals(await relayer.stop(), 0);
        const second = await restart();
        await second.waitForLine("Renewed entries of the index");
        await using mem = createClient(trial, second.url);
        // A client that sends no session header.
        const { key, accountId = "" } = config;
        await using without = Mem.create({
          ...{ key, accountId, serverUrl: second.url },
          fetch: (input, init) => {
            const headers = new Headers(init.headers);
            headers.delete("x-seal-session");
            return fetch(input, { ...init, headers });
          },
        });
        await t.step(
          "memories behind key servers need a session",
          async () => {
            const locked = await assertRejects(
              () => recallTexts(without),
              MemError,
            );
            assertEquals(locked.status, 403);
            assert(locked.message.includes("x-seal-session"), locked.message);
          },
        );
        await t.step(
          "memories behind key servers are found by their words again when their owner recalls after a restart, and the folders hold none",
          async () => {
            const matched = async (): Promise<readonly string[]> => {
              const query = "Who wants peppermint?";
              const { results: [first] } = await mem.recall({
                ...{ query, ranking: "fused", explain: true },
              });
              return first?.explanation?.matched ?? [];
            };
            assertEquals(await matched(), []);
            await waitUntil(async () => (await matched()).length > 0, {
              what: "the words of the memory",
              intervalMs: 100,
            });
            assertEquals(await matched(), ["peppermint"]);
            assertEquals(await trial.traces(["peppermint"]), []);
          },
        );
        await t.step(
          "memories behind key servers are written and deleted with an access token, and never read",
          async () => {
            const { token } = await createAccessToken({
              ...{ key, accountId, access: "write" },
            });
            const { url } = second;
            await using bearer = Mem.create({
              ...{ accessToken: token, serverUrl: url },
            });
            const namespace = "kitchen";
            const { id } = await bearer.rememberAndWait("A kettle", namespace);
            assertEquals((await bearer.stats(namespace)).memory_count, 1);
            const early = await assertRejects(
              () => recallTexts(bearer),
              MemError,
            );
            assert(early.message.includes("behind key servers"), early.message);
            // The owner's key is open now, by the session of a signed request.
            assertEquals(await recallTexts(mem), [TEXT]);
            const answer = await fetch(`${url}/api/recall`, {
              method: "POST",
              headers: { authorization: `Bearer ${token}` },
              body: JSON.stringify({ query: QUESTION }),
            });
            const { code } = await answer.json();
            assertEquals([answer.status, code], [403, "SESSION_REQUIRED"]);
            await bearer.deleteMemory(id);
          },
        );
        await t.step(
          "memories behind key servers need a delegate that the owner has not removed",
          async () => {
            assertEquals(await recallTexts(mem), [TEXT]);
            assertEquals(await recallTexts(without), [TEXT]);
            const { publicKey } = new TransactionSigner({
              seed: DELEGATE,
              packageId: LOCAL_PACKAGE_ID,
            });
            await send(await owner.removeDelegateKey(publicKey));
            const refused = await assertRejects(
              () => recallTexts(mem),
              MemError,
            );
            assertEquals(refused.status, 401);
          },
        );
      }, { servers, owner: 13, env: behindKeyServers });
      await t.step(
        "relayer vault rewrap puts memories of the local vault behind the key servers; then they open with keys of the data folder no longer",
        async () => {
          const behind = { VAULT: "key-servers" };
          await withTrial(async (trial) => {
            const { relayer, restart, run, storage } = trial;
            const texts = Array.from(
              { length: 30 },
              (_, at) => `Ada drinks tea number ${at}`,
            );
            {
              await using mem = createClient(trial);
              for (const at of [0, 15]) {
                await mem.rememberBulkAndWait(
                  texts.slice(at, at + 15).map((text) => ({ text })),
                );
              }
            }
            if (!storage.isShared) {
              const { code, stderr } = await run(["vault", "rewrap"], behind);
              assertEquals(code, 1);
              assert(stderr.includes("another process has it"), stderr);
            }
            assertEquals(await relayer.stop(), 0);
            const wrong = await run(["vault", "rewrap"]);
            assertEquals(wrong.code, 1);
            assert(wrong.stderr.includes("VAULT"), wrong.stderr);
            assertEquals((await run(["vault", "wrap"])).code, 2);

            const first = await run(
              ["vault", "rewrap", "--json"],
              behind,
              runRelayer,
            );
            assertEquals([first.code, JSON.parse(first.stdout)], [0, {
              memories: 30,
              rewrapped: 30,
              kept: 0,
              failed: 0,
            }]);
            const second = await run(["vault", "rewrap"], behind);
            assertEquals(second.code, 0, second.stderr);
            assert(
              second.stdout.includes("30 left as they are"),
              second.stdout,
            );
            assertEquals((await storage.blobIds()).length, 30);

            // The memories cannot be read even with all keys of the data folder.
            const back = await restart();
            {
              await using mem = createClient(trial, back.url);
              assertEquals(await recallTexts(mem), []);
            }
            assertEquals(await back.stop(), 0);
            const after = await restart(behind);
            await using mem = createClient(trial, after.url);
            const { results } = await mem.recall({ query: "tea", limit: 50 });
            assertEquals(
              results.map(({ text }) => text).sort(),
              texts.toSorted(),
            );
            const [{ id } = { id: "" }] = results;
            await mem.deleteMemory(id ?? "");
            const left = await mem.recall({ query: "tea", limit: 50 });
            assertEquals(left.results.length, 29);
          }, {
            servers,
            owner: 15,
            env: (group) => ({ ...behindKeyServers(group), VAULT: "local" }),
          });
        },
      );
      // The last step, since it ends key servers.
      await t.step(
        "memories behind key servers are recalled with a session, after a restart with one key server away, and not with two",
        async () => {
          await withTrial(async (trial) => {
            const { relayer, group, restart } = trial;
            {
              await using mem = createClient(trial);
              await mem.rememberAndWait(TEXT);
              assertEquals(await recallTexts(mem), [TEXT]);
            }
            await group.processes[0]?.kill();
            assertEquals(await relayer.stop(), 0);
            assertEquals(await trial.traces(["peppermint"]), []);
            const second = await restart();
            {
              await using mem = createClient(trial, second.url);
              assertEquals(await recallTexts(mem), [TEXT]);
            }
            await group.processes[1]?.kill();
            assertEquals(await second.stop(), 0);
            await using mem = createClient(trial, (await restart()).url);
            // Remembering needs no key server.
            await mem.rememberAndWait("Ada drinks coffee on Sundays.");
            const error = await assertRejects(() => recallTexts(mem), MemError);
            assertEquals(error.status, 503);
            assert(error.message.includes("key servers"), error.message);
          }, { servers, env: behindKeyServers });
        },
      );
    }, storage),
});
