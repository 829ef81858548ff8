import { assert, assertEquals } from "@std/assert";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { waitUntil } from "../support/wait_until.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";

const TEXTS = Array.from(
  { length: 30 },
  (_, number) => `Parcel ${number} with green tea arrives in Ghent`,
);

onStores({
  name:
    "relayer opens its port before it has read memories, and recalls them all the same",
  fn: async (storage) => {
    await using home = await RelayerHome.open({ storage, accounts: 2 });
    for (const account of home.accounts) {
      const mem = home.mem({}, account);
      await mem.rememberBulkAndWait(
        TEXTS.slice(0, 5).map((text) => ({ text })),
      );
    }
    await home.restart();
    const found = await Promise.all(
      home.accounts.map((account) =>
        home.mem({}, account).recall({ query: "green tea", limit: 20 })
      ),
    );
    assertEquals(found.map(({ total }) => total), [5, 5]);
    const url = await metricsUrl(home.service);
    const names = ["relayer_memories", "relayer_index_memories"];
    await waitUntil(async () => {
      const families = await readMetrics(url);
      return names.every((name) => findSeries(families, name) === 10);
    }, { what: "all memories in the index" });
    await home.service.waitForLine("Loaded the index");
  },
});

onStores({
  name: "relayer with a small INDEX_BYTES reads owners again who had to leave",
  fn: async (storage) => {
    await using home = await RelayerHome.open({
      storage,
      accounts: 2,
      env: { INDEX_BYTES: "65536" },
    });
    const mems = home.accounts.map((account) => home.mem({}, account));
    for (const mem of mems) {
      for (const from of [0, 15]) {
        const texts = TEXTS.slice(from, from + 15);
        await mem.rememberBulkAndWait(texts.map((text) => ({ text })));
      }
    }
    for (let round = 0; round < 3; round++) {
      for (const mem of mems) {
        const { total } = await mem.recall({ query: "green tea", limit: 50 });
        assertEquals(total, TEXTS.length);
      }
    }
    // Changes made while an owner is not in the index are found afterwards.
    const [first] = mems;
    const { results } = await first?.recall({ query: "green tea" }) ?? {};
    await mems[1]?.recall({ query: "green tea" });
    await first?.deleteMemory(results?.[0]?.id ?? "");
    await first?.rememberAndWait("Green tea is sold out");
    await mems[1]?.recall({ query: "green tea" });
    const last = await first?.recall({ query: "green tea", limit: 50 });
    assertEquals(last?.total, TEXTS.length);
    assertEquals(
      last?.results.some(({ text }) => text === "Green tea is sold out"),
      true,
    );
    const families = await readMetrics(await metricsUrl(home.service));
    const value = (name: string): number => findSeries(families, name) ?? -1;
    assertEquals(value("relayer_memories"), 2 * TEXTS.length);
    assertEquals(value("relayer_index_memories"), TEXTS.length);
    assert(value("relayer_index_evictions_total") >= 6);
    assert(value("relayer_index_bytes") > 65_536);
  },
});
