/**
 * Conformance tests of reading all rows as they stand, and of writing copies of
 * them.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { Task } from "../../../domain/task.ts";
import type { TaskPosition } from "../../queries.ts";
import type {
  AnswerRow,
  HistoryPosition,
  HistoryRow,
  RowPage,
  RowsOf,
  StartRow,
  StoredRows,
  UsageRow,
} from "../../rows.ts";
import type { AuditEntry, Store, StoredRecord, Write } from "../../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
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
const OTHER = "tnt_b";
const NOW_MS = SAMPLE_MS;
const OF = { tenantId: TENANT, nowMs: NOW_MS };

/** The tests of all rows. */
export function rowCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("gives the rows of every tenant in order", async (store) => {
      const there = await writeRows(store);
      await store.snapshot(async (rows) => {
        for (const limit of [1, 3, 100]) {
          assertEquals(
            await readAll<string, string>(
              (page) => rows.tenantIds(page),
              (id) => id,
              limit,
            ),
            ["", TENANT, OTHER],
          );
          assertEquals(await readTenant(rows, OF, limit), there.first);
          assertEquals(
            await readTenant(rows, { ...OF, tenantId: OTHER }, limit),
            there.second,
          );
          const registry = await readTenant(
            rows,
            { ...OF, tenantId: "" },
            limit,
          );
          assertEquals(registry.records, [there.tenant]);
        }
        assertEquals(await rows.count(OF), {
          records: 3,
          tasks: 4,
          answers: 2,
          usage: 2,
          starts: 2,
          audit: 2,
        });
        assertEquals(
          await readTenant(rows, { ...OF, tenantId: "tnt_none" }, 5),
          nothing(),
        );
      });
    });

    check("shows rows as they stood at one moment", async (store) => {
      const there = await writeRows(store);
      const [task] = there.first.tasks;
      await store.snapshot(async (rows) => {
        await rows.tenantIds({ limit: 1 });
        await commitEach(
          store,
          removal(task as Task),
          creation(sampleTask({ id: sampleIds(9).next() })),
          audit("later"),
          answer("later", SAMPLE_MS + 50),
          { kind: "usage", tenantId: TENANT, period: "2027-01", executions: 1 },
          put(record({ id: "wrk_later" })),
        );
        assertEquals(await readTenant(rows, OF, 2), there.first);
      });
      await store.snapshot(async (rows) => {
        const now = await readTenant(rows, OF, 100);
        assertEquals(now.tasks.length, 4);
        assertEquals(now.audit.length, 3);
      });
    });

    check("ends a snapshot whose reading fails", async (store) => {
      let error: unknown;
      try {
        await store.snapshot(() => Promise.reject(new Error("not today")));
      } catch (thrown) {
        error = thrown;
      }
      assertEquals((error as Error).message, "not today");
      await commitEach(store, audit("after"));
    });

    check("takes a copy of a task at its version", async (store) => {
      const made = withHistory(
        sampleTask({ id: sampleIds().next(), version: 57, key: "k" }),
        Array.from({ length: 30 }, (_, run) => ({ run })),
      );
      const last = made.history[9];
      const { seq: count = 0, hash = "" } = last ?? {};
      const task = { ...made.task, historyFolded: { count, hash } };
      const history = made.history.slice(10);
      // The first piece of a history that is too long for one write.
      const part = {
        ...task,
        historyCount: 20,
        historyHash: history[9]?.hash ?? "",
      };
      await commitEach(store, {
        ...creation(part),
        history: history.slice(0, 10),
      });
      await commitEach(store, {
        ...creation(task),
        expectedVersion: 57,
        history: history.slice(10),
      });
      assertEquals(await store.task(TENANT, task.id), task);
      const { records } = await store.history({
        tenantId: TENANT,
        taskId: task.id,
        order: "asc",
        limit: 100,
      });
      assertEquals(records, history);
      assertEquals(
        await commitTransaction(store, creation(task)),
        { kind: "conflict", write: 0, reason: "version" },
      );
      assertEquals(await store.counts({ tenantId: TENANT }), { waiting: 1 });
      // It leaps to a version that is more than one later.
      const later = { ...changed(task, { run: 3 }), version: 63 };
      await commitEach(store, { ...change(later), expectedVersion: 57 });
      assertEquals(await store.task(TENANT, task.id), later);
    });

    check("takes a copy of a record at its version", async (store) => {
      const copy = record({ id: "wrk_a", version: 12 });
      await commitEach(store, put(copy));
      const later = { ...copy, version: 20, text: "{}" };
      await commitEach(store, { ...put(later), expectedVersion: 12 });
      assertEquals(await store.record("worker", TENANT, "wrk_a"), later);
    });

    check("takes entries of an audit log at their numbers", async (store) => {
      await commitEach(store, audit("a", 501), audit("b", 503));
      await commitEach(store, audit("other", 501));
      await commitEach(store, audit("next"));
      const entries = await store.audit({ tenantId: TENANT, limit: 9 });
      assertEquals(
        entries.map(({ number, action }) => [number, action]),
        [[504, "next"], [503, "b"], [501, "a"]],
      );
    });
  });
}

interface TenantRows {
  readonly records: readonly StoredRecord[];
  readonly tasks: readonly Task[];
  readonly histories: readonly HistoryRow[];
  readonly answers: readonly unknown[];
  readonly usage: readonly unknown[];
  readonly starts: readonly unknown[];
  readonly audit: readonly unknown[];
}

function nothing(): TenantRows {
  return {
    records: [],
    tasks: [],
    histories: [],
    answers: [],
    usage: [],
    starts: [],
    audit: [],
  };
}

async function readTenant(
  rows: StoredRows,
  of: RowsOf,
  limit: number,
): Promise<TenantRows> {
  const tasks = await readAll<Task, TaskPosition>(
    (page) => rows.tasks({ ...of, ...page }),
    ({ createdAtMs: sortMs, id }) => ({ sortMs, id }),
    limit,
  );
  const taskIds = tasks.map(({ id }) => id);
  return {
    records: await readAll<StoredRecord, Pick<StoredRecord, "kind" | "id">>(
      (page) => rows.records({ ...of, ...page }),
      ({ kind, id }) => ({ kind, id }),
      limit,
    ),
    tasks,
    histories: await readAll<HistoryRow, HistoryPosition>(
      (page) => rows.histories({ ...of, ...page, taskIds }),
      ({ taskId, seq }) => ({ taskId, seq }),
      limit,
    ),
    answers: await readAll<AnswerRow, string>(
      (page) => rows.answers({ ...of, ...page }),
      ({ key }) => key,
      limit,
    ),
    usage: await readAll<UsageRow, string>(
      (page) => rows.usage({ ...of, ...page }),
      ({ period }) => period,
      limit,
    ),
    starts: await readAll<StartRow, StartRow>(
      (page) => rows.starts({ ...of, ...page }),
      (row) => row,
      limit,
    ),
    audit: await readAll<AuditEntry, number>(
      (page) => rows.audit({ ...of, ...page }),
      ({ number }) => number,
      limit,
    ),
  };
}

async function readAll<Row, Position>(
  read: (page: RowPage<Position>) => Promise<readonly Row[]>,
  place: (row: Row) => Position,
  limit: number,
): Promise<readonly Row[]> {
  const all: Row[] = [];
  while (true) {
    const last = all.at(-1);
    const page = await read(
      last === undefined ? { limit } : { limit, after: place(last) },
    );
    if (page.length === 0) return all;
    all.push(...page);
  }
}

/** Writes rows of three tenants; returns those that are to be read. */
async function writeRows(store: Store): Promise<{
  readonly tenant: StoredRecord;
  readonly first: TenantRows;
  readonly second: TenantRows;
}> {
  const ids = sampleIds();
  const long = "x".repeat(5_000);
  const made = [300, 100, 100, 200].map((createdAtMs, index) =>
    withHistory(
      sampleTask({
        id: ids.next(),
        createdAtMs,
        ...(index === 1 ? { dataJson: JSON.stringify(long) } : {}),
      }),
      Array.from({ length: index * 2 }, (_, run) => ({ run })),
    )
  );
  const ordered = [made[1], made[2], made[3], made[0]]
    .filter((one) => one !== undefined);
  const other = withHistory(
    sampleTask({ id: ids.next(), tenantId: OTHER }),
    [{}],
  );
  const tenant = record({ kind: "tenant", tenantId: "", id: TENANT });
  const records = [
    record({ kind: "key", id: "key_1", alias: "k", version: 3 }),
    record({ id: "wrk_a" }),
    record({ id: "wrk_b", parentId: "wrk_a" }),
  ];
  await commitEach(
    store,
    ...records.toReversed().map(put),
    put(tenant),
    ...[...made, other].map(({ task, history }) => ({
      ...creation(task),
      history,
    })),
    answer("b", SAMPLE_MS + 1),
    answer("a", SAMPLE_MS + 9),
    answer("expired", SAMPLE_MS),
    { kind: "usage", tenantId: TENANT, period: "2026-07", executions: 2 },
    { kind: "usage", tenantId: TENANT, period: "2026-06", executions: 5 },
    { kind: "usage", tenantId: TENANT, period: "2026-06", executions: 1 },
    { kind: "usage", tenantId: TENANT, period: "2026-05", executions: 0 },
    start({ group: "g", count: 3 }),
    start({ group: "" }),
    start({ group: "g", count: 2 }),
    start({ group: "expired", expiresAtMs: SAMPLE_MS }),
    audit("first"),
    audit("second"),
  );
  const entry = answer("", 0).entry;
  const started = { workerId: "wrk_a", atMs: 5, expiresAtMs: SAMPLE_MS + 1 };
  return {
    tenant,
    first: {
      records,
      tasks: ordered.map(({ task }) => task),
      histories: ordered.flatMap(historyRows),
      answers: [
        { key: "a", entry: { ...entry, expiresAtMs: SAMPLE_MS + 9 } },
        { key: "b", entry: { ...entry, expiresAtMs: SAMPLE_MS + 1 } },
      ],
      usage: [
        { period: "2026-06", executions: 6 },
        { period: "2026-07", executions: 2 },
      ],
      starts: [
        { ...started, group: "", count: 1 },
        { ...started, group: "g", count: 5 },
      ],
      audit: [
        { number: 1, atMs: 5, action: "first", text: "{}" },
        { number: 2, atMs: 5, action: "second", text: "{}" },
      ],
    },
    second: {
      ...nothing(),
      tasks: [other.task],
      histories: historyRows(other),
    },
  };
}

function historyRows(
  { task, history }: ReturnType<typeof withHistory>,
): readonly HistoryRow[] {
  return history.map(({ seq, text, hash }) => ({
    taskId: task.id,
    seq,
    text,
    hash,
  }));
}

function record(over: Partial<StoredRecord>): StoredRecord {
  return {
    kind: "worker",
    tenantId: TENANT,
    id: "wrk",
    version: 1,
    alias: undefined,
    parentId: undefined,
    text: '{"ä":1}',
    ...over,
  };
}

function put(next: StoredRecord): Extract<Write, { kind: "record" }> {
  const { kind: recordKind, tenantId, id } = next;
  return {
    kind: "record",
    recordKind,
    tenantId,
    id,
    expectedVersion: 0,
    next,
  };
}

function answer(
  key: string,
  expiresAtMs: number,
): Extract<Write, { kind: "idempotency" }> {
  return {
    kind: "idempotency",
    tenantId: TENANT,
    key,
    entry: {
      bodyHash: "hash",
      status: 201,
      headers: { location: "/ä" },
      body: "{}",
      expiresAtMs,
    },
  };
}

function start(
  over: Partial<Extract<Write, { kind: "start" }>>,
): Extract<Write, { kind: "start" }> {
  return {
    kind: "start",
    tenantId: TENANT,
    workerId: "wrk_a",
    group: "",
    atMs: 5,
    expiresAtMs: SAMPLE_MS + 1,
    ...over,
  };
}

function audit(
  action: string,
  number?: number,
): Extract<Write, { kind: "audit" }> {
  const entry = { atMs: 5, action, text: "{}" };
  return { kind: "audit", tenantId: TENANT, entry, number };
}
