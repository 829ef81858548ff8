/**
 * Conformance tests of writes that require room in a tenant's plan.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { liveCount, type Task } from "../../../domain/task.ts";
import type { Store, Transaction, Write } from "../../store.ts";
import {
  change,
  changed,
  creation,
  sampleIds,
  sampleTask,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitTransaction,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";
const REFUSED = { kind: "conflict", write: 0, reason: "quota" } as const;
const OK = { kind: "ok" } as const;

/** The tests of quotas. */
export function quotaCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check(
      "refuses what a plan has no room for, and nothing else of the commit",
      async (store) => {
        const ids = sampleIds(7);
        const task = (of: Partial<Task> = {}): Task =>
          sampleTask({ id: ids.next(), ...of });
        const results = await store.commit([
          within(2, task()),
          within(2, task(), task()),
          within(2, task({ status: "scheduled" })),
          within(2, task()),
          within(2, task({ tenantId: "tnt_b" }), task({ tenantId: "tnt_b" })),
          { writes: [creation(task())] },
          within(4, task()),
        ]);
        assertEquals(results, [OK, REFUSED, OK, REFUSED, OK, OK, OK]);
        assertEquals(await countLive(store), 4);
        assertEquals(
          await commitTransaction(store, ...within(4, task()).writes),
          REFUSED,
        );
      },
    );

    check(
      "gives the room of tasks that end to others, as soon as they have ended",
      async (store) => {
        const ids = sampleIds(8);
        const [first, second, third] = [1, 2, 3].map(() =>
          sampleTask({ id: ids.next() })
        );
        if (!first || !second || !third) throw new TypeError("No tasks");
        const ended = changed(first, { status: "canceled" });
        const again = changed(ended, { status: "waiting" });
        const revival: Transaction = {
          writes: [quota({ adds: 1, limit: 1 }), change(again)],
        };
        assertEquals(
          await store.commit([
            within(1, first),
            within(1, second),
            { writes: [change(ended)] },
            within(1, second),
            revival,
          ]),
          [OK, REFUSED, OK, OK, REFUSED],
        );
        const gone = changed(second, { status: "complete" });
        assertEquals(
          await store.commit([
            { writes: [change(gone)] },
            revival,
            within(1, third),
          ]),
          [OK, OK, REFUSED],
        );
        assertEquals(await countLive(store), 1);
      },
    );

    check(
      "does not count what another reason refuses",
      async (store) => {
        const ids = sampleIds(9);
        const [first, second] = [1, 2].map(() =>
          sampleTask({ id: ids.next(), key: "same" })
        );
        if (!first || !second) throw new TypeError("No tasks");
        assertEquals(
          await store.commit([
            within(2, first),
            within(2, second),
            within(2, { ...second, key: undefined }),
            within(2, sampleTask({ id: ids.next() })),
          ]),
          [OK, { kind: "conflict", write: 1, reason: "key" }, OK, REFUSED],
        );
        assertEquals(await countLive(store), 2);
      },
    );

    check(
      "adds up what a transaction asks for in several places",
      async (store) => {
        const ids = sampleIds(11);
        const each = (count: number): Transaction => ({
          writes: Array.from({ length: count }, () => [
            quota({ adds: 1, limit: 3 }),
            creation(sampleTask({ id: ids.next() })),
          ]).flat(),
        });
        assertEquals(await store.commit([each(4), each(3), each(1)]), [
          { ...REFUSED, write: 6 },
          OK,
          REFUSED,
        ]);
        assertEquals(await countLive(store), 3);
      },
    );

    check("holds a limit among commits at once", async (store) => {
      const ids = sampleIds(10);
      const results = await Promise.all(
        Array.from({ length: 40 }, () =>
          commitTransaction(
            store,
            ...within(15, sampleTask({ id: ids.next() })).writes,
          )),
      );
      assertEquals(results.filter((one) => one?.kind === "ok").length, 15);
      assertEquals(await countLive(store), 15);
    });
  });
}

/** Creates tasks of a tenant within a limit. */
function within(limit: number, ...tasks: readonly Task[]): Transaction {
  const { tenantId = TENANT } = tasks[0] ?? {};
  return {
    writes: [
      quota({ tenantId, adds: tasks.length, limit }),
      ...tasks.map(creation),
    ],
  };
}

function quota(
  of: {
    readonly tenantId?: string;
    readonly adds: number;
    readonly limit: number;
  },
): Write {
  return { kind: "quota", tenantId: TENANT, ...of };
}

async function countLive(store: Store): Promise<number> {
  return liveCount(await store.counts({ tenantId: TENANT }));
}
