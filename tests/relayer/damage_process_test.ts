import { assertEquals, assertStringIncludes } from "@std/assert";
import { runRelayer } from "../support/relayer_process.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { restoreAll } from "./restore_all.ts";

const PAGE = 4_096;

/** Overwrites a database from a page on. */
async function damage(path: string, { fromPage }: { fromPage: number }) {
  using file = await Deno.open(path, { read: true, write: true });
  const { size } = await file.stat();
  await file.seek(fromPage * PAGE, Deno.SeekMode.Start);
  await file.write(new Uint8Array(size - fromPage * PAGE).fill(0x5a));
}

Deno.test("relayer names a damaged index and how to go on, and all is back when that is done", async () => {
  await using home = await RelayerHome.open();
  const texts = Array.from({ length: 25 }, (_, index) => `Memory ${index}`);
  const ids: string[] = [];
  for (const part of [texts.slice(0, 20), texts.slice(20)]) {
    const { results } = await home.mem().rememberBulkAndWait(
      part.map((text) => ({ text })),
    );
    ids.push(...results.map(({ id }) => id));
  }
  assertEquals(await home.stop(), 0);
  const { dataDir } = home;
  // First the file is not a database at all, then its tables cannot be read.
  for (const fromPage of [0, 1]) {
    await damage(`${dataDir}/relayer.db`, { fromPage });
    const run = await runRelayer({ dataDir });
    assertEquals([run.code, run.stdout], [1, ""]);
    assertStringIncludes(run.stderr, `Cannot use "${dataDir}/relayer.db"`);
    assertStringIncludes(run.stderr, `mv "${dataDir}"/relayer.db*`);
    assertStringIncludes(run.stderr, "POST /api/restore");
    assertEquals(run.stderr.includes("    at "), false, run.stderr);
    await Deno.mkdir(`${dataDir}/damaged`, { recursive: true });
    for await (const { name } of Deno.readDir(dataDir)) {
      if (!name.startsWith("relayer.db")) continue;
      await Deno.rename(`${dataDir}/${name}`, `${dataDir}/damaged/${name}`);
    }
    await home.start();
    const restored = await restoreAll(home.mem(), "default", 100);
    assertEquals(restored.ids.toSorted(), ids.toSorted());
    assertEquals((await home.mem().recall("Memory 7")).total, 10);
    assertEquals(await home.stop(), 0);
  }
});

onStores({
  name:
    "relayer tells how many memories have lost their blobs when a namespace is restored",
  onBoth: true,
  fn: async (storage) => {
    await using home = await RelayerHome.open({ storage });
    const mem = home.mem();
    await mem.rememberAndWait("Has its blob");
    const lost = await mem.rememberAndWait("Has lost its blob");
    const putBack = await home.storage.hideBlob(lost.blob_id);
    const counts = async () => {
      const { restored, skipped, failed, missing } = await mem.restore(
        "default",
      );
      return [restored, skipped, failed, missing];
    };
    assertEquals(await counts(), [0, 1, 0, 1]);
    await putBack();
    assertEquals(await counts(), [0, 2, 0, 0]);
  },
});

Deno.test("relayer names damaged keys and a damaged ledger, and goes on with their backups", async () => {
  await using home = await RelayerHome.open();
  const made = await home.mem().rememberAndWait("Kept in a backup");
  assertEquals(await home.stop(), 0);
  const { dataDir } = home;
  const cases = [
    ["keys.db", "do not move it away"],
    ["ledger.db", "put its backup in its place"],
  ] as const;
  for (const [name, words] of cases) {
    const path = `${dataDir}/${name}`;
    await Deno.copyFile(path, `${path}.backup`);
    await damage(path, { fromPage: 0 });
    const run = await runRelayer({ dataDir });
    assertEquals(run.code, 1);
    assertStringIncludes(run.stderr, `Cannot use "${path}"`);
    assertStringIncludes(run.stderr, words);
    await Deno.rename(`${path}.backup`, path);
  }
  await home.start();
  const { results } = await home.mem().recall("backup");
  assertEquals(results.map(({ id }) => id), [made.id]);
});
