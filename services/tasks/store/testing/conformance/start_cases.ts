/**
 * Conformance tests of starts that are counted for rates.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type { StartsQuery } from "../../queries.ts";
import type { StartsPage, Write } from "../../store.ts";
import { creation, sampleIds, sampleTask } from "../sample_tasks.ts";
import { collectCases, commitEach, type StoreCase } from "./store_case.ts";

const TENANT = "tnt_a";
const FAR_MS = Date.UTC(2090, 0, 1);
const STARTS = {
  tenantId: TENANT,
  workerId: "wrk_a",
  afterNumber: 0,
  limit: 9,
} as const;

/** The tests of starts that are counted for rates. */
export function startCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check(
      "counts starts for rates, by worker and group, and shows the new ones",
      async (store) => {
        const ids = sampleIds();
        const task = (): Write => creation(sampleTask({ id: ids.next() }));
        const results = await store.commit([
          { writes: [task(), start({ atMs: 5 })] },
          { writes: [task(), start({ atMs: 5 }), start({ group: "g 1" })] },
          { writes: [task(), start({ workerId: "" })] },
        ]);
        assertEquals(results.map(({ kind }) => kind), ["ok", "ok", "ok"]);
        await commitEach(store, start({ tenantId: "tnt_b", atMs: 9 }));
        const first = await store.starts(STARTS);
        assertEquals(sums(first), { "@5": 2, "g 1@1": 1 });
        assertEquals(
          sums(await store.starts({ ...STARTS, workerId: "" })),
          { "@1": 1 },
        );
        const last = first.starts.at(-1)?.number ?? 0;
        const after = { ...STARTS, afterNumber: last };
        assertEquals((await store.starts(after)).starts, []);
        await commitEach(store, start({ atMs: 7 }), start({ atMs: 6 }));
        const news = await store.starts(after);
        assertEquals(sums(news), { "@7": 1, "@6": 1 });
        for (const { number } of news.starts) assert(number > last);
        const [one] = (await store.starts({ ...after, limit: 1 })).starts;
        assertEquals(one, news.starts[0]);
      },
    );

    check(
      "shows the starts of one group, and the last ones if there are more",
      async (store) => {
        for (let atMs = 0; atMs < 6; atMs++) {
          await commitEach(
            store,
            start({ atMs, group: "a" }),
            start({ atMs, group: atMs < 4 ? "b" : "" }),
            start({ atMs, group: "a", workerId: "wrk_b" }),
            start({ atMs, group: "a", tenantId: "tnt_b" }),
          );
        }
        const read = async (query: Partial<StartsQuery>) =>
          (await store.starts({ ...STARTS, ...query })).starts;
        const times = async (query: Partial<StartsQuery>) =>
          (await read(query)).map(({ group, atMs }) => `${group}${atMs}`);
        assertEquals(await times({ group: "b" }), ["b0", "b1", "b2", "b3"]);
        assertEquals(await times({ group: "" }), ["4", "5"]);
        assertEquals(await times({ group: "c" }), []);
        const last = { end: "last", limit: 2 } as const;
        assertEquals(await times({ group: "a", limit: 2 }), ["a0", "a1"]);
        assertEquals(await times({ group: "a", ...last }), ["a4", "a5"]);
        assertEquals(await times({ group: "b", ...last }), ["b2", "b3"]);
        assertEquals(
          await times({ ...last, limit: 99 }),
          await times({ limit: 99 }),
        );
        const [newest] = await read({ ...last, limit: 1 });
        const all = await read({ limit: 99 });
        assertEquals(newest, all.at(-1));
        const afterNumber = all.at(-3)?.number ?? 0;
        assertEquals(
          await read({ ...last, limit: 99, afterNumber }),
          all.slice(-2),
        );
        assertEquals(await times({ group: "b", afterNumber }), []);
      },
    );

    check("counts no start of what is refused", async (store) => {
      const task = creation(sampleTask({ id: sampleIds().next() }));
      const results = await store.commit([
        { writes: [task, start({})] },
        { writes: [task, start({ atMs: 2 })] },
        { writes: [start({ atMs: 3 }), task] },
        { writes: [start({ atMs: 4 })] },
      ]);
      assertEquals(
        results.map(({ kind }) => kind),
        ["ok", "conflict", "conflict", "ok"],
      );
      assertEquals(sums(await store.starts(STARTS)), { "@1": 1, "@4": 1 });
    });

    check(
      "sweeps starts that have expired, and uses no number again",
      async (store, { reopen }) => {
        const soon = (atMs: number) => start({ atMs, expiresAtMs: 1_000 });
        await commitEach(
          store,
          start({}),
          start({ atMs: 2 }),
          soon(3),
          soon(4),
        );
        const [, , , last] = (await store.starts(STARTS)).starts;
        assertEquals(await store.sweep(999, 9), 0);
        assertEquals(await store.sweep(1_000, 1), 1);
        assertEquals(await store.sweep(1_000, 9), 1);
        assertEquals(sums(await store.starts(STARTS)), { "@1": 1, "@2": 1 });
        assertEquals(await store.sweep(FAR_MS, 9), 2);
        const later = await reopen?.() ?? store;
        await commitEach(later, start({ atMs: 3 }));
        const [next] = (await later.starts(STARTS)).starts;
        assert(next !== undefined && last !== undefined);
        assert(next.number > last.number);
      },
    );

    check("tells its own time with starts", async (store) => {
      const beforeMs = store.clock.nowMs();
      const { nowMs } = await store.starts(STARTS);
      const afterMs = store.clock.nowMs();
      // The store may follow the time of a server, some milliseconds off.
      assert(nowMs >= beforeMs - 1_000 && nowMs <= afterMs + 1_000);
    });
  });
}

type Start = Extract<Write, { kind: "start" }>;

function start(of: Partial<Start>): Start {
  return {
    kind: "start",
    tenantId: TENANT,
    workerId: "wrk_a",
    group: "",
    atMs: 1,
    expiresAtMs: FAR_MS,
    ...of,
  };
}

/** How many starts a page has, by group and time. */
function sums({ starts }: StartsPage): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { group, atMs, count } of starts) {
    const name = `${group}@${atMs}`;
    sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}
