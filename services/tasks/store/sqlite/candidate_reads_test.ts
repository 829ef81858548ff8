import { assert, assertEquals } from "@std/assert";
import { assertGrowth } from "../../../../tests/support/growth.ts";
import type { Store } from "../store.ts";
import {
  creation,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { isBefore } from "./candidate_reads.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const CLAIM = { tenantId: "tnt_a", workerId: "wrk_a", limit: 10 } as const;

Deno.test("claims walk on where a walk over groups without room ended", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const ids = sampleIds();
      const name = (index: number) => `g${String(index).padStart(5, "0")}`;
      const tasks = Array.from(
        { length: 3_500 },
        (_, index) => sampleTask({ id: ids.next(), group: name(index) }),
      );
      await store.commit(toTransactions(...tasks.map(creation)));
      let asked = 0;
      const room = (group: string) => {
        asked++;
        return group >= name(3_490) ? 1 : 0;
      };
      const found: string[] = [];
      for (let claim = 0; claim < 4 && found.length === 0; claim++) {
        asked = 0;
        const some = await store.candidates({ ...CLAIM, room });
        found.push(...some.map(({ group }) => group));
        assert(asked <= 1_100, `it asked of ${asked} groups`);
      }
      assertEquals(
        found,
        Array.from({ length: 10 }, (_, index) => name(3_490 + index)),
      );
    })
  );
});

Deno.test("a claim for one job does not walk over the tasks of others", async () => {
  const claim = { ...CLAIM, jobs: ["rare"] };
  await withTasks(500, (few) =>
    withTasks(10_000, async (many) => {
      const createClaimer = (store: Store) => async () => {
        for (let count = 0; count < 10; count++) {
          const found = await store.candidates(claim);
          assertEquals(found.length, 1);
        }
      };
      // The cost grows twentyfold where the walk is not limited.
      await assertGrowth({
        small: createClaimer(few),
        large: createClaimer(many),
        atMost: 5,
      });
    }));

  /** Fills a store in which the last of the worker's tasks has another job. */
  async function withTasks(
    length: number,
    use: (store: Store) => Promise<void>,
  ): Promise<void> {
    await withFolder((folder) =>
      withStore(folder, async (store) => {
        const ids = sampleIds();
        const tasks = Array.from({ length }, (_, index) =>
          sampleTask({
            id: ids.next(),
            job: index === length - 1 ? "rare" : "common",
            dateMs: SAMPLE_MS + index,
          }));
        await store.commit(toTransactions(...tasks.map(creation)));
        await use(store);
      })
    );
  }
});

Deno.test("isBefore() orders as the database does", () => {
  const sorted = ["", "a", "ab", "b", "é", "\uffee", "😀"];
  for (const [index, left] of sorted.entries()) {
    for (const [other, right] of sorted.entries()) {
      assertEquals(isBefore(left, right), index < other, `${left} ${right}`);
    }
  }
});
