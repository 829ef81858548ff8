import { assertEquals, assertNotEquals } from "@std/assert";
import type { Store } from "../store.ts";
import { toTransactions } from "../testing/sample_tasks.ts";
import { backupDatabase, restoreDatabase } from "./backup.ts";
import { compactDatabase } from "./compact.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const TENANT = "tnt_a";
const FAR_MS = Date.UTC(2095, 0, 1);

async function listen(store: Store): Promise<string> {
  const untilMs = FAR_MS;
  await store.commit(
    toTransactions({ kind: "listen", tenantId: TENANT, untilMs }),
  );
  return (await store.events({ tenantId: TENANT, limit: 1 })).end;
}

async function tell(store: Store, type: string): Promise<void> {
  const event = { kind: "event", tenantId: TENANT, type, text: "{}" } as const;
  await store.commit(toTransactions({ ...event, atMs: 1_000 }));
}

async function read(
  store: Store,
  after: string,
): Promise<{ types: readonly string[]; end: string; isReset: boolean }> {
  const { events, end, isReset } = await store.events({
    ...{ tenantId: TENANT, after, limit: 100 },
  });
  const types = events.map((event) => "type" in event ? event.type : "");
  return { types, end, isReset };
}

Deno.test("a compaction leaves no number of an event to be used again", async () => {
  await withFolder(async (folder) => {
    let end = "";
    await withStore(folder, async (store) => {
      end = await listen(store);
      for (const type of ["a", "b", "c"]) await tell(store, type);
      end = (await read(store, end)).end;
      assertEquals(await store.sweep(FAR_MS - 1, 100), 3);
    });
    await compactDatabase({ dataFolder: folder });
    await withStore(folder, async (store) => {
      await tell(store, "d");
      const { types, isReset } = await read(store, end);
      assertEquals([types, isReset], [["d"], false]);
    });
  });
});

Deno.test("a restore tells readers that events are missing, whatever came after it", async () => {
  await withFolder(async (folder) => {
    const [data, to] = [`${folder}/data`, `${folder}/tasks.backup`];
    await Deno.mkdir(data);
    let end = "";
    await withStore(data, async (store) => {
      end = await listen(store);
      await tell(store, "before");
      await backupDatabase({ dataFolder: data, to });
      await tell(store, "lost");
      end = (await read(store, end)).end;
    });
    await restoreDatabase({ from: to, dataFolder: data });
    await withStore(data, async (store) => {
      // It gets the number of the one that is lost.
      await tell(store, "after");
      const { types, isReset, end: next } = await read(store, end);
      assertEquals([types, isReset], [["before", "after"], true]);
      assertNotEquals(next, end);
    });
  });
});
