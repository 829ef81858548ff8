/**
 * Tests a client that encrypts on its own side, with the ledger, the key
 * servers and the relayer as processes: what the relayer holds on disk and in
 * memory, and whether the public client of the key servers is compatible.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Mem } from "../../mod.ts";
import {
  MemError,
  MemKeyServerError,
  MemManual,
  type MemManualConfig,
} from "../../sdk/manual.ts";
import { writeApproval } from "../../sdk/vault/approval.ts";
import { BcsWriter } from "../../sdk/vault/bcs.ts";
import {
  publicClient,
  publicSession,
} from "../../sdk/vault/testing/public_client.ts";
import { LOCAL_PACKAGE_ID } from "../../services/shared/ledger/account_contract.ts";
import { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";
import { writeHeapSnapshot } from "../support/heap_snapshot.ts";
import {
  createSeed,
  DELEGATE,
  embed,
  withTrial,
  withTrialServers,
} from "./manual_trial.ts";
import { onStores } from "./on_stores.ts";
import { readableTraces } from "./readable_traces.ts";
import { isProbe } from "./fake_embedder.ts";

const TEXTS = [
  "Grandmother hides marzipan underneath the harpsichord",
  "Wolfgang collects theodolites",
  "Tamsin whistles barcarolles",
] as const;
const QUESTION = "Whereabouts does Grandmother keep confectionery?";
/**
 * Words that are long and rare enough not to occur in the relayer's own source.
 */
const WORDS = [
  ...["Grandmother", "marzipan", "harpsichord", "Wolfgang", "theodolites"],
  ...["Tamsin", "barcarolles", "Whereabouts", "confectionery"],
] as const;
const SHOWN = "Ottoline prefers ophicleides";
/**
 * Starts an embedding endpoint that never answers, and reports what it was
 * asked.
 */
function silentEmbedder() {
  const asked = Promise.withResolvers<string>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const text = await request.text();
      if (!isProbe(JSON.parse(text).input)) asked.resolve(text);
      await ended.promise;
      return new Response(null, { status: 503 });
    },
  );
  const ended = Promise.withResolvers<void>();
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    asked: asked.promise,
    async [Symbol.asyncDispose]() {
      ended.resolve();
      await server.shutdown();
    },
  };
}

onStores({
  name:
    "MemManual remembers and recalls with the ledger, key servers and the relayer as processes",
  // The steps share the ledger and the key servers.
  timeout: 240_000,
  fn: (storage, t) =>
    withTrialServers(async (servers) => {
      await t.step(
        "a relayer has nothing of what MemManual remembers and asks that could be read, on disk or in its heap",
        async () => {
          await using embedder = silentEmbedder();
          await withTrial(async ({ config, traces, relayer, owner }) => {
            const heap = await Deno.makeTempDir({ prefix: "heap_test_" });
            try {
              await using mem = MemManual.create(config);
              for (const text of TEXTS) await mem.rememberManual(text);
              const found = await mem.recallManual(QUESTION, 3);
              assertEquals(found.results[0]?.text, TEXTS[0]);
              assertEquals([found.total, found.dropped], [3, []]);
              await mem.forget("default");
              assertEquals((await mem.restore("default")).restored, 3);
              assertEquals((await mem.recallManual(QUESTION)).total, 3);
              await writeHeapSnapshot(relayer, `${heap}/manual`);
              const read = await readableTraces(
                heap,
                [...WORDS, ...TEXTS, owner.address],
              );
              assertEquals(
                new Set(read.map(({ secret }) => secret)),
                new Set([owner.address]),
              );
              await Deno.remove(`${heap}/manual`);
              assertEquals(await traces([...WORDS, ...TEXTS]), []);
              for (const word of WORDS) {
                assertEquals(relayer.stderr.includes(word), false, word);
              }
              // Proves that the search finds secrets: this text is shown to the
              // relayer.
              const open = Mem.create({
                key: createSeed(DELEGATE),
                accountId: owner.accountId,
                serverUrl: relayer.url,
              });
              await open.remember(SHOWN);
              assert((await embedder.asked).includes(SHOWN));
              await writeHeapSnapshot(relayer, `${heap}/shown`);
              const shown = await readableTraces(heap, [SHOWN, "ophicleides"]);
              assert(
                shown.some(({ path, secret }) =>
                  path === "shown" && secret === SHOWN
                ),
              );
              open.destroy();
            } finally {
              await Deno.remove(heap, { recursive: true });
            }
          }, { servers, owner: 11, env: { EMBEDDING_API_BASE: embedder.url } });
        },
      );
      await t.step(
        "what MemManual and the public client of the key servers encrypt, the other decrypts",
        async () => {
          await withTrial(async ({ config, group, relayer, owner }) => {
            const blobs = new Map<string, Uint8Array>();
            await using mem = MemManual.create({
              ...config,
              async fetch(url, init) {
                const response = await fetch(url, init);
                if (url.endsWith("/api/recall/manual")) {
                  const { results } = await response.clone().json();
                  for (const { id, encrypted_data } of results) {
                    blobs.set(id, Uint8Array.fromBase64(encrypted_data));
                  }
                }
                return response;
              },
            });
            const made = await mem.rememberManual(TEXTS[0]);
            const theirs = publicClient(group.keyServers, fetch);
            const sessionKey = await publicSession(
              createSeed(DELEGATE),
              LOCAL_PACKAGE_ID,
            );
            const raw = Mem.create({
              key: createSeed(DELEGATE),
              accountId: owner.accountId,
              serverUrl: relayer.url,
            });
            // The form of identities in released clients, and the newest form.
            const plain = new BcsWriter().bytes(
              new TextEncoder().encode("default"),
            )
              .address(owner.address).toBytes();
            const counted = new BcsWriter().bytes(plain).u64(0n).toBytes();
            for (const [at, id] of [plain, counted].entries()) {
              const text = TEXTS[at + 1] ?? "";
              const { encryptedObject } = await theirs.encrypt({
                threshold: 2,
                packageId: LOCAL_PACKAGE_ID,
                id: id.toHex(),
                data: new TextEncoder().encode(text),
              });
              await raw.rememberManual({
                encryptedData: encryptedObject,
                vector: embed(text),
              });
            }
            raw.destroy();
            const { results, dropped } = await mem.recallManual(QUESTION);
            assertEquals(dropped, []);
            assertEquals(
              results.map(({ text }) => text).sort(),
              [...TEXTS].sort(),
            );
            const data = await theirs.decrypt({
              data: blobs.get(made.id) ?? new Uint8Array(),
              sessionKey,
              txBytes: writeApproval({
                packageId: LOCAL_PACKAGE_ID,
                account: { objectId: owner.accountId, initialVersion: 1n },
                ids: [counted],
              }),
            });
            assertEquals(new TextDecoder().decode(data), TEXTS[0]);
          }, { servers, owner: 12 });
        },
      );
      await t.step(
        "what MemManual remembered is restored on a relayer that has lost its index, and finds it as before",
        async () => {
          await withTrial(async ({ config, relayer, restart, storage }) => {
            await using mem = MemManual.create(config);
            for (const text of TEXTS) await mem.rememberManual(text);
            const { id } = await mem.rememberManual(SHOWN);
            assertEquals((await mem.deleteMemory(id)).deleted, true);
            assertEquals(await relayer.stop(), 0);
            await storage.loseRows();
            const { url: serverUrl } = await restart();
            await using again = MemManual.create({ ...config, serverUrl });
            assertEquals((await again.recallManual(QUESTION)).total, 0);
            const restored = await again.restore("default");
            assertEquals([restored.restored, restored.failed], [3, 0]);
            const { results, dropped } = await again.recallManual(QUESTION);
            assertEquals(results[0]?.text, TEXTS[0]);
            assertEquals([results.length, dropped], [3, []]);
            assertEquals((await again.listMemories()).memories.length, 3);
          }, { servers, owner: 13 });
        },
      );
      // The last step, since it ends key servers.
      await t.step(
        "MemManual works with two of three key servers, names those that are away, and shuts a removed delegate out",
        async () => {
          await withTrial(async ({ config, group, send, owner }) => {
            const recall = async (more: Partial<MemManualConfig> = {}) => {
              await using mem = MemManual.create({ ...config, ...more });
              return (await mem.recallManual(QUESTION)).results.map((
                { text },
              ) => text);
            };
            await using mem = MemManual.create(config);
            await mem.rememberManual(TEXTS[0]);
            await group.processes[1]?.kill();
            assertEquals(await recall(), [TEXTS[0]]);
            const { publicKey } = new TransactionSigner({
              seed: DELEGATE,
              packageId: LOCAL_PACKAGE_ID,
            });
            await send(await owner.removeDelegateKey(publicKey));
            await assertRejects(
              () => recall(),
              MemError,
              "ERR_KEY_NOT_DELEGATE",
            );
            await send(await owner.addDelegateKey(publicKey));
            await mem.rememberManual(TEXTS[1]);
            assertEquals((await recall()).sort(), [TEXTS[0], TEXTS[1]].sort());
            await group.processes[2]?.kill();
            const error = await assertRejects(
              () => recall(),
              MemKeyServerError,
            );
            assertEquals([error.answered, error.total, error.threshold], [
              1,
              3,
              2,
            ]);
            assert(error.message.includes("1 of 3 key servers gave keys"));
          }, { servers });
        },
      );
    }, storage),
});
