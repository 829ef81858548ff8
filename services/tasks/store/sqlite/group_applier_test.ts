import { assert, assertEquals, assertThrows } from "@std/assert";
import type { DatabaseSync } from "node:sqlite";
import type { Transaction } from "../store.ts";
import {
  change,
  changed,
  creation,
  sampleIds,
  sampleTask,
  type TaskWrite,
  withHistory,
} from "../testing/sample_tasks.ts";
import {
  CONFLICT_REASONS,
  conflictCode,
  decodeConflict,
} from "../result_codes.ts";
import { databasePath, openReading, openWriting } from "./database_file.ts";
import { encodeBatch } from "./encode_batch.ts";
import { GroupApplier } from "./group_applier.ts";
import { migrateTasks } from "./migrations.ts";
import { StoreReads } from "./sqlite_store.ts";
import { withFolder } from "./testing/open_store.ts";

interface Bench {
  readonly db: DatabaseSync;
  readonly reads: StoreReads;
  apply(...transactions: readonly Transaction[]): readonly number[];
}

async function withApplier(use: (bench: Bench) => void): Promise<void> {
  await withFolder((folder) => {
    const path = databasePath(folder);
    const db = openWriting(path, "full");
    migrateTasks(db, { nowMs: 5 });
    const reads = new StoreReads(openReading(path));
    try {
      const applier = new GroupApplier(db);
      use({
        db,
        reads,
        apply(...transactions) {
          const { interned, payloads } = reads;
          // The transactions are in two lists, as when two callers commit in
          // one turn.
          const lists = [transactions.slice(0, 1), transactions.slice(1)].map((
            part,
          ) => encodeBatch(part, { interned, payloads, nowMs: 5 }).operations);
          return applier.apply(lists);
        },
      });
    } finally {
      reads.close();
      db.close();
    }
    return Promise.resolve();
  });
}

function noted(write: TaskWrite): Transaction {
  if (write.next === undefined) return { writes: [write] };
  const { task, history } = withHistory(write.next, [{ type: "created" }]);
  return { writes: [{ ...write, next: task, history }] };
}

function drawTransactions(count: number, over = {}): readonly Transaction[] {
  const ids = sampleIds(count);
  return Array.from(
    { length: count },
    () => noted(creation(sampleTask({ id: ids.next(), ...over }))),
  );
}

function taskCount(db: DatabaseSync): unknown {
  return db.prepare("SELECT count(*) AS count FROM tasks").get()?.["count"];
}

function historyCount(db: DatabaseSync): unknown {
  return db.prepare("SELECT count(*) AS count FROM history").get()?.["count"];
}

Deno.test("decodeConflict() reads what conflictCode() wrote", () => {
  for (const reason of CONFLICT_REASONS) {
    for (const write of [0, 1, 17]) {
      assertEquals(decodeConflict(conflictCode(write, reason)), {
        write,
        reason,
      });
    }
  }
});

Deno.test("GroupApplier puts new tasks in the database whatever their number", () =>
  withApplier(({ db, apply }) => {
    let total = 0;
    for (const count of [1, 2, 15, 16, 17, 33, 100]) {
      assertEquals(apply(...drawTransactions(count)), new Array(count).fill(0));
      total += count;
      assertEquals(taskCount(db), total);
      assertEquals(historyCount(db), total);
    }
  }));

Deno.test("GroupApplier finds the one that does not fit among many", () =>
  withApplier(({ db, apply }) => {
    const [taken] = drawTransactions(1);
    if (taken === undefined) return;
    apply(taken);
    const transactions = [...drawTransactions(40)];
    transactions[20] = taken;
    const codes = apply(...transactions);
    assertEquals(
      codes,
      transactions.map((_, index) =>
        index === 20 ? conflictCode(0, "version") : 0
      ),
    );
    assertEquals(taskCount(db), 40);
    assertEquals(historyCount(db), 40);
  }));

Deno.test("GroupApplier lets the first of rivals for a key win", () =>
  withApplier(({ db, apply }) => {
    assertEquals(
      apply(...drawTransactions(20, { key: "k" })),
      Array.from(
        { length: 20 },
        (_, index) => index === 0 ? 0 : conflictCode(0, "key"),
      ),
    );
    assertEquals(historyCount(db), 1);
  }));

Deno.test("GroupApplier refuses a history that does not go on where it ended", () =>
  withApplier(({ db, apply }) => {
    const [first] = drawTransactions(1);
    const write = first?.writes[0];
    if (write?.kind !== "task" || write.next === undefined) return;
    apply({ writes: [write] });
    const again = changed(write.next, { run: 1 });
    const codes = apply(
      { writes: [{ ...change(again), history: write.history }] },
      ...drawTransactions(5),
    );
    assertEquals(codes, [conflictCode(0, "version"), 0, 0, 0, 0, 0]);
    assertEquals(taskCount(db), 6);
    assertEquals(
      db.prepare("SELECT count(*) AS count FROM tasks WHERE version = 2").get()
        ?.["count"],
      0,
    );
  }));

Deno.test("GroupApplier sees what came before within the group", () =>
  withApplier(({ reads, apply }) => {
    const ids = sampleIds(99);
    const task = sampleTask({ id: ids.next() });
    const second = changed(task, { run: 1 });
    assertEquals(
      apply(noted(creation(task)), ...drawTransactions(3), {
        writes: [change(second)],
      }),
      [0, 0, 0, 0, 0],
    );
    assertEquals(reads.tasks.task("tnt_a", task.id)?.version, 2);
  }));

Deno.test("GroupApplier writes nothing of a group when the disk is full", () =>
  withApplier(({ db, apply, reads }) => {
    const before = drawTransactions(10);
    apply(...before);
    const pages = db.prepare("PRAGMA page_count").get()?.["page_count"];
    db.exec(`PRAGMA max_page_count = ${Number(pages) + 4}`);
    const large = JSON.stringify("x".repeat(100_000));
    const error = assertThrows(
      () =>
        apply(
          ...drawTransactions(20),
          ...drawTransactions(4, { dataJson: large }),
        ),
      Error,
    );
    assert(error.message.includes("full"), error.message);
    assertEquals(db.isTransaction, false);
    assertEquals(taskCount(db), 10);
    assertEquals(historyCount(db), 10);
    db.exec("PRAGMA max_page_count = 1000000");
    const names = apply(
      ...drawTransactions(20),
      ...drawTransactions(4, { dataJson: large }),
    );
    assertEquals(names.every((code) => code === 0), true);
    assertEquals(taskCount(db), 34);
    const [first] = drawTransactions(4);
    const [write] = first?.writes ?? [];
    if (write?.kind !== "task") return;
    assertEquals(reads.tasks.task("tnt_a", write.id)?.dataJson, large);
  }));

Deno.test("GroupApplier does not write a long payload again that is there", () =>
  withApplier(({ db, apply, reads }) => {
    const large = JSON.stringify("x".repeat(500_000));
    const task = sampleTask({ id: sampleIds().next(), dataJson: large });
    apply(noted(creation(task)));
    const read = reads.tasks.task("tnt_a", task.id);
    if (read === undefined) throw new Error("The task is not there");
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    assertEquals(apply({ writes: [change(changed(read, { run: 1 }))] }), [0]);
    const log = db.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.["log"];
    assert(Number(log) < 20, `the log has ${log} pages`);
    assertEquals(reads.tasks.task("tnt_a", task.id)?.dataJson, large);
  }));

Deno.test("GroupApplier refuses to keep a payload that is another one by now", () =>
  withApplier(({ apply, reads }) => {
    const old = JSON.stringify("old".repeat(2_000));
    const task = sampleTask({ id: sampleIds().next(), dataJson: old });
    apply(noted(creation(task)));
    reads.tasks.task("tnt_a", task.id);
    const fresh = changed(task, {
      dataJson: JSON.stringify("new".repeat(2_000)),
    });
    assertEquals(apply({ writes: [change(fresh)] }), [0]);
    // The cache is as if another reader had read the task before the change.
    reads.payloads.set("data", task.id, { version: 1, text: old });
    const stale = changed(fresh, { dataJson: old });
    assertEquals(apply({ writes: [change(stale)] }), [
      conflictCode(0, "version"),
    ]);
    assertEquals(reads.tasks.task("tnt_a", task.id), fresh);
    assertEquals(apply({ writes: [change(stale)] }), [0]);
    assertEquals(reads.tasks.task("tnt_a", task.id), stale);
  }));

Deno.test("encodeBatch() refuses what is no task of the transaction's", () =>
  withApplier(({ apply }) => {
    const task = sampleTask({ id: sampleIds().next() });
    for (
      const write of [
        {
          ...creation(task),
          id: "tsk_nonsense",
          next: { ...task, id: "tsk_nonsense" },
        },
        { ...creation(task), id: sampleIds(2).next() },
        { ...creation(task), tenantId: "tnt_b" },
      ]
    ) assertThrows(() => apply({ writes: [write] }), TypeError);
  }));
