import { assertEquals, assertNotEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { verifyHistory } from "../../domain/testing/verify_history.ts";
import type { Task } from "../../domain/task.ts";
import {
  change,
  changed,
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
  withHistory,
} from "../testing/sample_tasks.ts";
import { databasePath } from "./database_file.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const digest = (text: string) =>
  createHash("sha256").update(text).digest("base64url");

/** Writes a task whose first 8 of 12 records were folded away. */
async function writeFolded(folder: string): Promise<Task> {
  const first = withHistory(
    sampleTask({ id: sampleIds().next() }),
    Array.from({ length: 10 }, () => ({})),
  );
  const { seq: count = 0, hash = "" } = first.history[7] ?? {};
  const historyFolded = { count, hash };
  const next = withHistory(changed(first.task, { historyFolded }), [
    { type: "folded", folded: historyFolded },
    {},
  ]);
  const write = change(next.task);
  await withStore(folder, async (store) => {
    await store.commit(toTransactions(
      { ...creation(first.task), history: first.history },
      { ...write, history: next.history, foldThrough: count },
    ));
  });
  return next.task;
}

/** The verdict of reading and checking a history. */
async function readVerdict(folder: string, task: Task): Promise<string> {
  let found = "";
  await withStore(folder, async (store) => {
    const { records } = await store.history({
      tenantId: task.tenantId,
      taskId: task.id,
      order: "asc",
      limit: 100,
    });
    const end = { count: task.historyCount, hash: task.historyHash };
    const verdict = verifyHistory(records, { end, digest });
    found = verdict.kind === "ok" ? "ok" : verdict.reason;
  });
  return found;
}

Deno.test("a folded history can be checked, and what was tampered with is found", async () => {
  const tamperings = [
    "UPDATE history SET text = replace(text, 'log', 'lag') WHERE seq = 9",
    "UPDATE history SET text = replace(text, '\"count\":8', '\"count\":7')",
    "UPDATE history SET hash = 'x' WHERE seq = 10",
    "DELETE FROM history WHERE seq = 9",
    "DELETE FROM history WHERE seq = 10",
    "DELETE FROM history WHERE seq = 11",
    "DELETE FROM history WHERE seq = 12",
    "DELETE FROM history WHERE seq < 12",
    "INSERT INTO history SELECT n, 8, text, hash FROM history WHERE seq = 9",
    "UPDATE tasks SET body = json_set(body, '$.historyFolded.hash', 'x')",
    "UPDATE tasks SET body = json_remove(body, '$.historyFolded')",
  ];
  await withFolder(async (folder) => {
    const task = await writeFolded(folder);
    assertEquals([task.historyCount, await readVerdict(folder, task)], [
      12,
      "ok",
    ]);
    const whole = await Deno.readFile(databasePath(folder));
    for (const tampering of tamperings) {
      await Deno.writeFile(databasePath(folder), whole);
      const db = new DatabaseSync(databasePath(folder));
      const { changes } = db.prepare(tampering).run();
      db.close();
      assertNotEquals(changes, 0, tampering);
      assertNotEquals(await readVerdict(folder, task), "ok", tampering);
    }
  });
});
