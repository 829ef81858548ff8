import { assert, assertEquals } from "@std/assert";
import { finish } from "../../services/relayer/concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../../services/relayer/recall/ranking/memory_words.ts";
import { listWords } from "./readable_traces.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { restoreAll } from "./restore_all.ts";

const TEXTS = [
  "Grandmother hides marzipan under the piano",
  "Grandmother hides liquorice behind the clavichord",
  "Tamsin whistles barcarolles",
  "Wolfgang collects theodolites",
  "Tamsin whistles polonaises",
] as const;
const TALK = "Ottoline lives in Montpellier. Ottoline prefers artichokes.";
const QUESTION = "Whereabouts does Ottoline dwell presently?";
const METADATA = { instrument: "ophicleide", catalogue: "kochel-48151623" };
const KEYS = ["periwinkle-key", "celandine-key"] as const;

onStores({
  name: "relayer leaves nothing on disk or in the log that could be read",
  onBoth: true,
  fn: async (storage) => {
    await using home = await RelayerHome.open({
      storage,
      env: { LOG_LEVEL: "debug" },
    });
    const mem = home.mem();
    const [first, second, ...rest] = TEXTS;
    const made = await mem.rememberAndWait(first, {
      metadata: METADATA,
      idempotencyKey: KEYS[0],
    });
    await mem.rememberAndWait(second, { supersedes: made.id });
    const { results } = await mem.rememberBulkAndWait(
      rest.map((text) => ({ text, metadata: METADATA })),
      { idempotencyKey: KEYS[1] },
    );
    await mem.analyzeAndWait(TALK);
    await mem.ask(QUESTION);
    await mem.recall({ query: QUESTION, filter: METADATA });
    const fused = await mem.recall({
      ...{ query: QUESTION, ranking: "fused", explain: true },
    });
    assert(fused.results[0]?.explanation?.matched.length);
    await mem.deleteMemory(results[0]?.id ?? "");
    await mem.forget("default");
    await restoreAll(mem, "default", 3);
    const secrets = [
      ...listWords([...TEXTS, TALK, QUESTION]),
      ...listStems([...TEXTS, TALK]),
      ...TEXTS,
      ...Object.entries(METADATA).flat(),
      ...KEYS,
      home.account().key,
    ];
    assert(secrets.length > 30);
    assertEquals(await home.storage.traces(secrets), [], "running");
    // These memories are accepted but not stored yet, so the crash leaves them
    // only in the log of the database.
    await mem.rememberBulk(rest.map((text) => ({ text, metadata: METADATA })));
    await home.service.kill();
    const logs = [home.service.stderr + home.service.stdout];
    assertEquals(await home.storage.traces(secrets), [], "crashed");
    await home.start();
    const found = await home.mem().recall("Tamsin whistles polonaises");
    assertEquals(found.results[0]?.metadata, METADATA);
    assertEquals(await home.stop(), 0);
    logs.push(home.service.stderr + home.service.stdout);
    assertEquals(await home.storage.traces(secrets), [], "stopped");
    for (const secret of secrets) {
      assertEquals(logs.filter((log) => log.includes(secret)), [], secret);
    }
    // Proves that the search finds things: the owner's address, which is not
    // secret, is found.
    const open = await home.storage.traces([home.account().owner]);
    assert(open.length >= 2);
  },
});

/** Returns the stems of texts, which the ranking stores. */
function listStems(texts: readonly string[]): readonly string[] {
  const stems = texts.flatMap((text) => [
    ...finish(memoryWordsSteps(text)).terms.keys(),
  ]);
  assert(stems.includes("whistl"));
  return stems.filter((stem) => stem.length >= 5);
}

/**
 * Returns the files and folders below a folder that users other than the owner
 * can access.
 */
function openToOthers(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    const { mode } = Deno.statSync(path);
    const own = mode !== null && (mode & 0o077) !== 0 ? [path] : [];
    return isDirectory ? [...own, ...openToOthers(path)] : own;
  });
}

Deno.test({
  name:
    "relayer keeps its files for their owner alone, those of earlier releases too",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using home = await RelayerHome.open();
    await home.mem().rememberAndWait("Rosemary bakes simnel cake");
    assertEquals(openToOthers(home.dataDir), [], "running");
    await home.service.kill();
    for (const name of ["relayer", "keys", "ledger"]) {
      for (const beside of ["", "-wal", "-shm"]) {
        Deno.chmodSync(`${home.dataDir}/${name}.db${beside}`, 0o644);
      }
    }
    Deno.chmodSync(`${home.dataDir}/blobs`, 0o755);
    Deno.chmodSync(`${home.dataDir}/master.key`, 0o644);
    await home.start();
    assertEquals(openToOthers(home.dataDir), [], "started again");
    assertEquals((await home.mem().recall("cake")).total, 1);
  },
});
