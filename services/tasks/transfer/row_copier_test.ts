import { assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../shared/clock.ts";
import type { HistoryRow, StoredRows } from "../store/rows.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import {
  changed,
  creation,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  withHistory,
} from "../store/testing/sample_tasks.ts";
import { RowCopier } from "./row_copier.ts";
import { readRows, type TransferRow } from "./transfer_rows.ts";

const TENANT = "tnt_a";

function memoryStore(): Store {
  return createMemoryStore({ clock: systemClock });
}

async function allRows(store: Store): Promise<readonly TransferRow[]> {
  return await store.snapshot((rows: StoredRows) =>
    Array.fromAsync(readRows(rows, { nowMs: SAMPLE_MS }))
  );
}

async function copyTo(
  store: Store,
  rows: readonly TransferRow[],
): Promise<void> {
  const copier = new RowCopier(store);
  for (const row of rows) await copier.put(row);
  await copier.end();
}

/** The rows of a task and its history, in lines of a hundred records. */
function rowsOf(
  { task, history }: ReturnType<typeof withHistory>,
): readonly TransferRow[] {
  const rows: TransferRow[] = [{ kind: "task", tenantId: TENANT, task }];
  for (let from = 0; from < history.length; from += 100) {
    rows.push({
      kind: "history",
      tenantId: TENANT,
      taskId: task.id,
      records: history.slice(from, from + 100).map(
        ({ seq, text, hash }): HistoryRow => ({
          taskId: task.id,
          seq,
          text,
          hash,
        }),
      ),
    });
  }
  return rows;
}

function records(count: number) {
  return Array.from({ length: count }, (_, run) => ({ run }));
}

for (const there of [0, 999, 1_000, 1_500, 2_400]) {
  Deno.test(`RowCopier.put() lengthens a history of ${there} records to one of 2,500`, async () => {
    const store = memoryStore();
    const first = withHistory(
      sampleTask({ id: sampleIds().next(), version: 4 }),
      records(there),
    );
    await store.commit([{
      writes: [{ ...creation(first.task), history: first.history }],
    }]);
    const later = withHistory(
      changed(first.task, { run: 9 }),
      records(2_500 - there),
    );
    const history = [...first.history, ...later.history];
    const rows = rowsOf({ task: later.task, history });
    await copyTo(store, rows);
    assertEquals((await allRows(store)).slice(1), rows);
    const copier = new RowCopier(store);
    for (const row of rows) await copier.put(row);
    await copier.end();
    assertEquals(copier.written, 0);
  });
}

Deno.test("RowCopier.put() lets records exchange their aliases", async () => {
  const store = memoryStore();
  const record = (
    id: string,
    alias: string,
    version: number,
  ): StoredRecord => ({
    kind: "tenant",
    tenantId: "",
    id,
    version,
    alias,
    parentId: undefined,
    text: "{}",
  });
  const rows = (of: readonly StoredRecord[]): readonly TransferRow[] =>
    of.map((record) => ({ kind: "record", tenantId: "", record }));
  await copyTo(store, rows([record("a", "one", 1), record("b", "two", 1)]));
  const exchanged = rows([record("a", "two", 3), record("b", "one", 2)]);
  await copyTo(store, exchanged);
  assertEquals((await allRows(store)).slice(1), exchanged);
});

Deno.test("RowCopier.end() names a task whose key another one has", async () => {
  const store = memoryStore();
  const ids = sampleIds();
  const [one, other] = [ids.next(), ids.next()];
  await store.commit([{
    writes: [creation(sampleTask({ id: one, key: "k" }))],
  }]);
  const task = sampleTask({ id: other, key: "k" });
  await assertRejects(
    () => copyTo(store, [{ kind: "task", tenantId: TENANT, task }]),
    Error,
    `Cannot copy task "${other}": another one has its number or its key`,
  );
});

Deno.test("RowCopier.put() refuses a history whose task is not before it", async () => {
  const copier = new RowCopier(memoryStore());
  await assertRejects(
    () =>
      copier.put({
        kind: "history",
        tenantId: TENANT,
        taskId: "tsk_a",
        records: [],
      }),
    Error,
    "the task is not before it",
  );
});
