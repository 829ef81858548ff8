/**
 * Conformance tests of histories: records are added with a change, and read in
 * pages.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { HistoryRecord } from "../../../domain/history.ts";
import type { HistoryQuery } from "../../queries.ts";
import type { Store } from "../../store.ts";
import {
  change,
  changed,
  creation,
  sampleIds,
  sampleTask,
  withHistory,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  commitTransaction,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";

/** The tests of histories. */
export function historyCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("adds to a history with the change, not without", async (store) => {
      const first = withHistory(sampleTask({ id: sampleIds().next() }), [
        { type: "created" },
        { message: "ä 😀 \u0000 ' \" \\" },
      ]);
      await commitEach(store, noted(creation(first.task), first.history));
      const second = withHistory(changed(first.task, {}), [{ run: 1 }, {}]);
      const { task: lost, history } = withHistory(
        { ...second.task, version: 9 },
        [{}],
      );
      const result = await commitTransaction(
        store,
        noted(change(lost), history),
      );
      assertEquals(result?.kind, "conflict");
      assertEquals(await read(store, first.task.id, {}), first.history);
      await commitEach(store, noted(change(second.task), second.history));
      assertEquals(await read(store, first.task.id, {}), [
        ...first.history,
        ...second.history,
      ]);
      assertEquals(await read(store, sampleIds(3).next(), {}), []);
    });

    check("pages through a history both ways", async (store) => {
      const { task, history } = withHistory(
        sampleTask({ id: sampleIds().next() }),
        Array.from({ length: 23 }, (_, index) => ({ run: index })),
      );
      await commitEach(store, noted(creation(task), history));
      for (const limit of [1, 7, 23, 50]) {
        assertEquals(await read(store, task.id, { limit }), history);
        assertEquals(
          await read(store, task.id, { limit, order: "desc" }),
          history.toReversed(),
        );
      }
      const page = { tenantId: TENANT, taskId: task.id, limit: 5 };
      assertEquals(
        (await store.history({ ...page, order: "asc", afterSeq: 20 })).records,
        history.slice(20),
      );
      assertEquals(
        (await store.history({ ...page, order: "desc", afterSeq: 3 })).records,
        history.slice(0, 2).toReversed(),
      );
    });

    check("filters a history by types and run", async (store) => {
      const types = ["started", "log", "failed"] as const;
      const { task, history } = withHistory(
        sampleTask({ id: sampleIds().next() }),
        Array.from({ length: 60 }, (_, index) => ({
          type: types[index % 3] ?? "log",
          run: Math.floor(index / 10),
          message: '"type":"failed","run":9',
        })),
      );
      await commitEach(store, noted(creation(task), history));
      const filters: Partial<HistoryQuery>[] = [
        { types: ["failed"] },
        { types: ["failed", "started"] },
        { types: ["expired"] },
        { run: 3 },
        { run: 9 },
        { run: 2, types: ["log"], order: "desc" },
      ];
      for (const filter of filters) {
        const wanted = history.filter(({ text }) => {
          const { type, run } = JSON.parse(text);
          return (filter.types?.includes(type) ?? true) &&
            run === (filter.run ?? run);
        });
        assertEquals(
          await read(store, task.id, { limit: 4, ...filter }),
          filter.order === "desc" ? wanted.toReversed() : wanted,
        );
      }
    });
  });
}

function noted(
  write: ReturnType<typeof creation>,
  history: readonly HistoryRecord[],
): ReturnType<typeof creation> {
  return { ...write, history };
}

/** Reads all pages of a history. */
async function read(
  store: Store,
  taskId: string,
  query: Partial<HistoryQuery>,
): Promise<readonly HistoryRecord[]> {
  const records: HistoryRecord[] = [];
  let afterSeq: number | undefined;
  for (let page = 0; page < 1_000; page++) {
    const found = await store.history({
      tenantId: TENANT,
      taskId,
      order: "asc",
      limit: 10,
      ...query,
      ...(afterSeq === undefined ? {} : { afterSeq }),
    });
    assertEquals(found.records.length <= (query.limit ?? 10), true);
    records.push(...found.records);
    afterSeq = found.nextAfterSeq;
    if (afterSeq === undefined) break;
  }
  return records;
}
