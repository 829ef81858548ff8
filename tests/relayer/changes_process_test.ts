import { assert, assertEquals, assertRejects } from "@std/assert";
import { runSteps } from "../support/data_service_process.ts";
import { MemError, type MemoriesResult } from "../../mod.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { restoreAll } from "./restore_all.ts";

onStores({
  name: "relayer changes memories",
  timeout: 240_000,
  fn: async (storage, t) => {
    // Each step has an account of its own.
    await using home = await RelayerHome.open({ storage, accounts: 3 });
    await runSteps(t, home, {
      "relayer forgets a namespace, restores the same rows, and deletes for good":
        forgets,
      "relayer lists what a newer memory took the place of, and recalls it no more":
        supersedes,
      "relayer lists page by page, then what changed and what was deleted":
        listsPages,
    });
  },
});

async function forgets(home: RelayerHome): Promise<void> {
  const mem = home.mem();
  const texts = Array.from(
    { length: 25 },
    (_, index) => `Voyage ${index} ended in harbour${index}`,
  );
  for (let from = 0; from < texts.length; from += 20) {
    await mem.rememberBulkAndWait(
      texts.slice(from, from + 20).map((text, index) => ({
        text,
        importance: index / 40,
        metadata: { index },
      })),
    );
  }
  const ids = (await mem.listMemories()).memories.map((row) => row.memory_id);
  assertEquals(ids.length, 25);
  const ask = () => mem.recall({ query: "Voyage ended", limit: 100 });
  const before = await ask();
  assertEquals(before.total, 25);

  const [doomed] = before.results;
  assert(doomed?.id !== undefined);
  const { receipt, ...deleted } = await mem.deleteMemory(doomed.id);
  assertEquals(deleted, {
    deleted: true,
    memory_id: doomed.id,
    blob_id: doomed.blob_id,
  });
  assertEquals([receipt?.kind, receipt?.memory_id], ["delete", doomed.id]);
  const again = await assertRejects(
    () => mem.deleteMemory(doomed.id ?? ""),
    MemError,
  );
  assertEquals(again.status, 404);
  const rest = await ask();
  assertEquals(rest.results, before.results.slice(1));

  const statsBefore = await mem.stats();
  assertEquals((await mem.forget("default")).deleted, 24);
  assertEquals((await ask()).total, 0);
  assertEquals((await mem.stats()).memory_count, 0);
  const restored = await restoreAll(mem, "default", 10);
  assertEquals(restored.rounds, 3);
  assertEquals(
    restored.ids.toSorted(),
    ids.filter((id) => id !== doomed.id).toSorted(),
  );
  assertEquals(await ask(), rest);
  assertEquals(await mem.stats(), statsBefore);
  const idle = await mem.restore("default");
  assertEquals([idle.restored, idle.skipped, idle.truncated], [0, 24, false]);
  assertEquals(idle.restored_ids, []);

  assertEquals(
    (await home.storage.blobIds()).toSorted(),
    rest.results.map((memory) => memory.blob_id).toSorted(),
  );
}

async function supersedes(home: RelayerHome): Promise<void> {
  const mem = home.mem({}, home.account(1));
  const old = await mem.rememberAndWait("Ada lives in Porto");
  const next = await mem.rememberAndWait("Ada lives in Lisbon", {
    supersedes: old.id,
  });
  const look = async () => {
    const { results } = await mem.recall("Where does Ada live? Porto Lisbon");
    const { memories } = await mem.listMemories();
    return {
      recalled: results.map(({ text }) => text),
      listed: Object.fromEntries(
        memories.map((row) => [row.memory_id, [
          row.status,
          row.supersedes,
          row.superseded_by,
        ]]),
      ),
    };
  };
  const expected = {
    recalled: ["Ada lives in Lisbon"],
    listed: {
      [old.id]: ["superseded", undefined, next.id],
      [next.id]: ["active", old.id, undefined],
    },
  };
  assertEquals(await look(), expected);
  const missing = await assertRejects(
    () => mem.remember("x y z", { supersedes: "no-such-memory" }),
    MemError,
  );
  assertEquals(missing.status, 404);
  await mem.forget("default");
  assertEquals((await restoreAll(mem, "default", 1)).ids.length, 2);
  assertEquals(await look(), expected);
}

async function listsPages(home: RelayerHome): Promise<void> {
  const account = home.account(2);
  const mem = home.mem({}, account);
  const { results } = await mem.rememberBulkAndWait(
    Array.from({ length: 7 }, (_, index) => ({
      text: `Entry ${index} of the log`,
      namespace: index < 5 ? "log" : "diary",
    })),
  );
  const ids = results.map(({ id }) => id);
  const pages: MemoriesResult[] = [];
  let cursor: string | undefined;
  for (let hasMore = true; hasMore;) {
    const page = await mem.listMemories({
      limit: 3,
      ...(cursor === undefined ? {} : { cursor }),
    });
    pages.push(page);
    hasMore = page.has_more;
    cursor = page.next_cursor ?? undefined;
  }
  assertEquals(pages.map(({ memories }) => memories.length), [3, 3, 1]);
  const rows = pages.flatMap(({ memories }) => memories);
  assertEquals(rows.map((row) => row.memory_id).toSorted(), ids.toSorted());
  assert(rows.every((row) => row.agent_id === account.publicKey));
  assert(cursor !== undefined);

  const [gone = "", other = ""] = ids;
  await mem.deleteMemory(gone);
  const late = await mem.rememberAndWait("A late entry", "log");
  const changes = await mem.listMemories({ cursor });
  assertEquals(changes.memories.map((row) => row.memory_id), [late.id]);
  assertEquals(
    changes.deleted.map((row) => [row.memory_id, row.namespace_id]),
    [
      [gone, "log"],
    ],
  );
  assertEquals([changes.has_more, changes.must_resync], [false, false]);
  const idle = await mem.listMemories({ cursor: changes.next_cursor ?? "" });
  assertEquals([idle.memories, idle.deleted], [[], []]);
  const diary = await mem.listMemories({ namespace: "diary" });
  assertEquals(diary.memories.length, 2);
  assert(diary.memories.every((row) => row.memory_id !== other));

  const { namespaces } = await mem.listNamespaces();
  assertEquals(
    Object.fromEntries(namespaces.map((row) => [row.name, row.memory_count])),
    { diary: 2, log: 5 },
  );
  const bad = await assertRejects(
    () => mem.listMemories({ cursor: "xyz" }),
    MemError,
  );
  assertEquals(bad.status, 400);
  await home.restart();
  const after = await home.mem({}, account).listMemories({ cursor });
  assertEquals(after.deleted.map((row) => row.memory_id), [gone]);
  assertEquals(after.memories, changes.memories);
}

onStores({
  name: "relayer restores everything when the index is lost",
  onBoth: true,
  fn: async (storage) => {
    await using home = await RelayerHome.open({ storage, accounts: 2 });
    const mem = home.mem();
    await mem.rememberBulkAndWait(
      Array.from({ length: 12 }, (_, index) => ({
        text: `Recipe ${index}: saffron and cardamom${index}`,
        importance: index / 12,
        metadata: { index, isTried: index % 2 === 0 },
      })),
    );
    const [first] = (await mem.recall("Recipe saffron cardamom0", 1)).results;
    const newer = await mem.rememberAndWait("Recipe 0: saffron and thyme", {
      supersedes: first?.id,
    });
    const [doomed] =
      (await mem.recall("Recipe 5 saffron cardamom5", 1)).results;
    await mem.deleteMemory(doomed?.id ?? "");
    const vector = await mem.embed("sealed");
    const manual = await mem.rememberManual({
      encryptedData: new Uint8Array([1, 2, 3]),
      vector,
      namespace: "sealed",
    });
    const other = home.mem({}, home.account(1));
    await other.rememberAndWait("Recipe of somebody else: saffron");
    const look = async () => {
      const here = home.mem();
      const asked = await Promise.all([
        here.recall({ query: "Recipe saffron", limit: 50 }),
        here.recall({ query: "Recipe", limit: 50, filter: { isTried: true } }),
        here.recall({
          query: "Recipe",
          limit: 50,
          scoringWeights: { importance: 2 },
        }),
        here.recall({ query: "Recipe thyme", limit: 50, sort: "recent" }),
      ]);
      const hits = await here.recallManual({ vector, namespace: "sealed" });
      return { asked, hits };
    };
    const before = await look();
    assertEquals(before.asked[0].total, 11);
    assertEquals(before.hits.results[0]?.id, manual.id);
    const statsBefore = await mem.stats();

    assertEquals(await home.stop(), 0);
    await home.storage.loseRows();
    await home.start();
    const here = home.mem();
    assertEquals((await here.recall("Recipe saffron")).total, 0);
    const restored = await restoreAll(here, "default", 5);
    assertEquals([restored.ids.length, restored.failed], [12, 0]);
    assertEquals(restored.ids.includes(newer.id), true);
    assertEquals(restored.ids.includes(doomed?.id ?? ""), false);
    assertEquals((await restoreAll(here, "sealed", 5)).ids, [manual.id]);
    assertEquals(await look(), before);
    assertEquals(await here.stats(), statsBefore);
    const { memories } = await here.listMemories();
    const old = memories.find((row) => row.memory_id === first?.id);
    assertEquals([old?.status, old?.superseded_by], ["superseded", newer.id]);
    // What was restored is still there after a restart.
    await home.restart();
    assertEquals(await look(), before);
  },
});
