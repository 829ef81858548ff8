import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import type { Task } from "../../domain/task.ts";
import { add, fold } from "../testing/told_tasks.ts";
import {
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { databasePath, integrityCheck } from "./database_file.ts";
import type { CheckedHistories } from "../task_check.ts";
import { historyCheck } from "./history_check.ts";
import { MIGRATIONS } from "./migrations.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const digest = (text: string) =>
  createHash("sha256").update(text).digest("base64url");

function check(folder: string): readonly string[] {
  return historyCheck(folder);
}

function tamper(folder: string, sql: string): void {
  const db = new DatabaseSync(databasePath(folder));
  try {
    assert(db.prepare(sql).run().changes > 0, sql);
  } finally {
    db.close();
  }
}

/**
 * Writes three tasks: one with a folded history, one with more records than a
 * page holds, and one without records.
 */
async function writeSamples(folder: string): Promise<readonly Task[]> {
  const ids = sampleIds();
  const tasks: Task[] = [];
  await withStore(folder, async (store) => {
    const short = await add(store, sampleTask({ id: ids.next() }), 10);
    tasks.push(await fold(store, short, 8));
    const long = await add(store, sampleTask({ id: ids.next() }), 1_700);
    tasks.push(await fold(store, long, 300));
    tasks.push(await add(store, sampleTask({ id: ids.next() }), 0));
  });
  return tasks;
}

Deno.test("historyCheck() finds nothing where all is well, also beside a store that writes", async () => {
  await withFolder(async (folder) => {
    await writeSamples(folder);
    assertEquals(check(folder), []);
    await withStore(folder, async (store) => {
      const ids = sampleIds(2);
      for (let count = 0; count < 40; count++) {
        await add(store, sampleTask({ id: ids.next() }), count % 4);
        if (count % 10 === 0) assertEquals(check(folder), []);
      }
      const seen: CheckedHistories[] = [];
      const onProgress = (checked: CheckedHistories) => void seen.push(checked);
      assertEquals(historyCheck(folder, { onProgress }), []);
      assertEquals(seen.at(-1)?.records, 4 + 1_402 + 60);
      const tasks = seen.map((checked) => checked.tasks);
      assertEquals(tasks, tasks.toSorted((left, right) => left - right));
    });
  });
});

Deno.test("historyCheck() finds what was tampered with, and says where", async () => {
  const first = "n = (SELECT min(n) FROM tasks)";
  const second = `n = (SELECT n FROM tasks ORDER BY n LIMIT 1 OFFSET 1)`;
  const tamperings: readonly (readonly [string, number, string])[] = [
    [
      `UPDATE history SET text = replace(text, 'log', 'lag') WHERE seq = 9 AND ${first}`,
      0,
      " at record 9: its content has another hash",
    ],
    [
      `UPDATE history SET hash = 'x' WHERE seq = 10 AND ${first}`,
      0,
      " at record 10: its content has another hash",
    ],
    [
      `DELETE FROM history WHERE seq = 9 AND ${first}`,
      0,
      " at record 10: number 9 is missing",
    ],
    [
      `DELETE FROM history WHERE seq = 12 AND ${first}`,
      0,
      " at record 11: it is not the last one",
    ],
    [`DELETE FROM history WHERE ${first}`, 0, ": it has no records"],
    [
      `INSERT INTO history SELECT n, 8, text, hash FROM history WHERE seq = 9 AND ${first}`,
      0,
      " at record 8: number 9 is missing",
    ],
    [
      `INSERT INTO history SELECT n, 13, text, hash FROM history WHERE seq = 9 AND ${first}`,
      0,
      " at record 13: its content has another hash",
    ],
    [
      `UPDATE history SET text = replace(text, 'log', 'lag') WHERE seq = 1400 AND ${second}`,
      1,
      " at record 1400: its content has another hash",
    ],
    [
      `DELETE FROM history WHERE seq BETWEEN 500 AND 1600 AND ${second}`,
      1,
      " at record 1601: number 500 is missing",
    ],
    [
      `UPDATE tasks SET body = json_set(body, '$.historyFolded.hash', 'x') WHERE ${second}`,
      1,
      " at record 301: its content has another hash",
    ],
    [
      `UPDATE tasks SET body = json_remove(body, '$.historyFolded') WHERE ${second}`,
      1,
      " at record 301: number 1 is missing",
    ],
    [
      `UPDATE tasks SET body = json_set(body, '$.historyCount', 2) WHERE ${first}`,
      0,
      " at record 12: it is not the last one",
    ],
    [
      "UPDATE tasks SET body = json_set(body, '$.historyHash', 'x') " +
      "WHERE n = (SELECT max(n) FROM tasks)",
      2,
      ": it has no records",
    ],
  ];
  await withFolder(async (sound) => {
    const tasks = await writeSamples(sound);
    for (const [sql, index, told] of tamperings) {
      await withFolder(async (folder) => {
        for await (const { name } of Deno.readDir(sound)) {
          await Deno.copyFile(`${sound}/${name}`, `${folder}/${name}`);
        }
        tamper(folder, sql);
        assertEquals(integrityCheck(folder), [], "no page tells of it");
        assertEquals(
          check(folder),
          [`Cannot trust history of task "${tasks[index]?.id}"${told}`],
          sql,
        );
      });
    }
  });
});

/** What is wrong in the file, and the first fault that the check reports. */
const WRONG_ROWS: Readonly<Record<string, readonly [string, RegExp]>> = {
  "a task is missing in lists by tags": [
    `UPDATE tasks SET tags = '["a"]', body = json_set(body, '$.tags', json('["a"]'))
      WHERE n = (SELECT max(n) FROM tasks)`,
    /^Cannot trust lists by tags: 1 rows are missing, 0 are of no task$/,
  ],
  "lists by tags have a task that is without the tag": [
    `INSERT INTO task_tags SELECT tenant, 'a', date_ms, n, created_ms FROM tasks
      WHERE n = (SELECT max(n) FROM tasks)`,
    /^Cannot trust lists by tags: 0 rows are missing, 1 are of no task$/,
  ],
  "the tags of a task are others in lists": [
    `UPDATE tasks SET tags = '[]' WHERE n = (SELECT max(n) FROM tasks)`,
    /^Cannot trust task "\w+": its column "tags" is not what its body says$/,
  ],
  "a task was removed together with its history": [
    `DELETE FROM history WHERE n = (SELECT max(n) FROM tasks);
      DELETE FROM tasks WHERE n = (SELECT max(n) FROM tasks)`,
    /^Cannot trust the number of waiting tasks of worker "\w+" of tenant "\w+": there are 3, 4 were counted$/,
  ],
  "a count is of a worker without tasks": [
    "INSERT INTO task_counts VALUES(1, 7, 8, 2)",
    /^Cannot trust the number of failed tasks .*: there are 0, 2 were counted$/,
  ],
  "the status of a task is another in lists": [
    "UPDATE tasks SET status = 8 WHERE n = (SELECT min(n) FROM tasks)",
    /^Cannot trust task "\w+": its column "status" is not what its body says$/,
  ],
  "the rank of a task is another in claims": [
    "UPDATE tasks SET rank = rank + 1 WHERE rank IS NOT NULL",
    /^Cannot trust task "\w+": its column "rank" is not what its body says$/,
  ],
  "the tenant of tasks has no name": [
    "DELETE FROM tenants",
    /^Cannot trust task "\w+": its tenant has no name$/,
  ],
  "the queue of tasks is not there": [
    "DELETE FROM lanes",
    /^Cannot trust task "\w+": its column "lane" is not what its body says$/,
  ],
  "long data is not there": [
    "DELETE FROM task_data",
    /^Cannot trust task "\w+": .*: its data is not there$/,
  ],
  "long data belongs to no task": [
    "INSERT INTO task_data VALUES(7, '1')",
    /^Cannot trust the table "task_data": 1 of its rows refer to missing rows of "tasks"$/,
  ],
  "a dependency is of no task": [
    "INSERT INTO dependents VALUES(1, 'tsk_a', 7)",
    /^Cannot trust the table "dependents": 1 of its rows refer to missing rows of "tasks"$/,
  ],
  "an audit log is of no tenant": [
    "INSERT INTO audit VALUES(7, 1, 5, 'a.one', '{}')",
    /^Cannot trust the table "audit": 1 of its rows refer to missing rows of "tenants"$/,
  ],
};

Deno.test("historyCheck() finds wrong counts and columns, and rows that refer to missing rows", async (t) => {
  await withFolder(async (sound) => {
    await writeSamples(sound);
    await withStore(sound, async (store) => {
      const dataJson = JSON.stringify("x".repeat(5_000));
      await add(store, sampleTask({ id: sampleIds(3).next(), dataJson }), 1);
    });
    assertEquals(check(sound), []);
    for (const [what, [sql, told]] of Object.entries(WRONG_ROWS)) {
      await t.step(what, async () => {
        await withFolder(async (folder) => {
          await Deno.copyFile(databasePath(sound), databasePath(folder));
          const db = new DatabaseSync(databasePath(folder));
          db.exec(sql);
          db.close();
          assertMatch(check(folder)[0] ?? "", told);
        });
      });
    }
  });
});

Deno.test("historyCheck() finds a folding that tells a lie, though each hash is right", async () => {
  await withFolder(async (folder) => {
    const [task] = await writeSamples(folder);
    const db = new DatabaseSync(databasePath(folder));
    const n = "n = (SELECT min(n) FROM tasks)";
    const rows = db.prepare(
      `SELECT seq, text, hash FROM history WHERE ${n} ORDER BY seq`,
    ).all();
    let prev = task?.historyFolded?.hash ?? "";
    const set = db.prepare(
      `UPDATE history SET text = ?, hash = ? WHERE seq = ? AND ${n}`,
    );
    for (const row of rows) {
      const text = String(row["text"]).replace('"count":8', '"count":2');
      prev = digest(`${prev}\n${row["seq"]}\n${text}`);
      set.run(text, prev, Number(row["seq"]));
    }
    db.prepare(
      `UPDATE tasks SET body = json_set(body, '$.historyHash', ?) WHERE ${n}`,
    ).run(prev);
    db.close();
    assertEquals(check(folder), [
      `Cannot trust history of task "${task?.id}" at record 9: others were before it`,
    ]);
  });
});

Deno.test("historyCheck() tells of records without a task, once each, unless they wait to be swept", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      const ids = sampleIds();
      const gone = await add(store, sampleTask({ id: ids.next() }), 1_700);
      await store.commit(toTransactions(removal(gone)));
      await add(store, sampleTask({ id: ids.next() }), 3);
    });
    assertEquals(check(folder), []);
    tamper(folder, "DELETE FROM removed_histories");
    const told = /^Cannot trust history of number \d+: it belongs to no task$/;
    const [fault = "", ...others] = check(folder);
    assert(told.test(fault), fault);
    assertEquals(others, []);
    tamper(folder, "DELETE FROM tasks");
    assertEquals(check(folder).length, 3);
  });
});

Deno.test("historyCheck() reads on where a page ends, whatever stands at its end", async () => {
  await withFolder(async (folder) => {
    const tasks: Task[] = [];
    await withStore(folder, async (store) => {
      const ids = sampleIds();
      for (const records of [499, 1, 500, 0, 501, 998, 1, 1_000]) {
        tasks.push(await add(store, sampleTask({ id: ids.next() }), records));
      }
    });
    assertEquals(check(folder), []);
    tamper(
      folder,
      "DELETE FROM history WHERE (n, seq) IN " +
        "(SELECT n, max(seq) FROM history GROUP BY n)",
    );
    assertEquals(
      check(folder),
      tasks.filter(({ historyCount }) => historyCount > 0).map(
        ({ id, historyCount }) =>
          `Cannot trust history of task "${id}"` +
          (historyCount === 1
            ? ": it has no records"
            : ` at record ${historyCount - 1}: it is not the last one`),
      ),
    );
  });
});

Deno.test("historyCheck() sees one state, whatever is written meanwhile", async () => {
  await withFolder(async (folder) => {
    await writeSamples(folder);
    let writes = 0;
    const onProgress = () => {
      if (++writes > 1) return;
      tamper(folder, "DELETE FROM history WHERE seq > 1000");
      tamper(
        folder,
        "UPDATE tasks SET body = json_set(body, '$.historyHash', 'x')",
      );
    };
    assertEquals(historyCheck(folder, { onProgress }), []);
    assert(writes > 1);
    assertEquals(check(folder).length, 3);
  });
});

Deno.test("historyCheck() tells a fault of each task, up to a bound", async () => {
  await withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      const ids = sampleIds();
      for (let count = 0; count < 30; count++) {
        await add(store, sampleTask({ id: ids.next() }), 3);
      }
    });
    tamper(folder, "UPDATE history SET hash = 'x' WHERE seq = 2");
    const faults = check(folder);
    assertEquals(faults.length, 20);
    assertEquals(new Set(faults).size, 20);
  });
});

Deno.test("historyCheck() tells what it cannot read", async () => {
  await withFolder(async (folder) => {
    assertThrows(() => check(`${folder}/none`));
    const [task] = await writeSamples(folder);
    tamper(
      folder,
      "UPDATE tasks SET body = '{' WHERE n = (SELECT min(n) FROM tasks)",
    );
    assertEquals(check(folder), [
      `Cannot read task "${task?.id}": its body is not JSON text`,
    ]);
    const newest = MIGRATIONS.length;
    tamper(
      folder,
      `UPDATE migrations SET version = 99 WHERE version = ${newest}`,
    );
    assertEquals(check(folder), [
      "Cannot check histories: it is of version 99, this program knows up to " +
      newest,
    ]);
  });
});
