import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreBusyError } from "../store.ts";
import { FileErrors } from "./database_file.ts";
import { Batcher } from "./batcher.ts";

type BatcherOptions = ConstructorParameters<typeof Batcher>[1];

async function withWriter(
  use: (writer: Batcher, db: DatabaseSync) => Promise<void>,
  options: Partial<BatcherOptions> = {},
): Promise<void> {
  const db = new DatabaseSync(":memory:");
  try {
    db.exec("CREATE TABLE t(n INTEGER PRIMARY KEY)");
    const writer = new Batcher(db, {
      errors: new FileErrors("x.db", "mend it"),
      monotonicMs: () => 0,
      maxQueued: 10_000,
      maxQueuedBytes: 1_000_000,
      ...options,
    });
    await use(writer, db);
  } finally {
    db.close();
  }
}

function rows(db: DatabaseSync): number[] {
  return db.prepare("SELECT n FROM t ORDER BY n").all()
    .map((row) => Number(row["n"]));
}

Deno.test("Batcher writes a turn in one transaction, in order", async () => {
  let commits = 0;
  await withWriter(async (writer, db) => {
    const seen: number[] = [];
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const answers = await Promise.all([3, 1, 2].map((n) =>
      writer.add(() => {
        seen.push(n);
        insert.run(n);
        return n * 10;
      }, { bytes: 1 })
    ));
    assertEquals(answers, [30, 10, 20]);
    assertEquals(seen, [3, 1, 2]);
    assertEquals(commits, 1);
    await writer.add(() => insert.run(4), { bytes: 1 });
    assertEquals(commits, 2);
    assertEquals(rows(db), [1, 2, 3, 4]);
  }, { beforeCommit: () => commits++ });
});

Deno.test("Batcher undoes the piece that throws and keeps the others", async () => {
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const add = (n: number, failure?: string) =>
      writer.add(() => {
        insert.run(n);
        if (failure !== undefined) throw new Error(failure);
        return n;
      }, { bytes: 1 });
    const results = await Promise.allSettled([add(1), add(2, "no"), add(3)]);
    assertEquals(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assertEquals(rows(db), [1, 3]);
    await assertRejects(() => add(4, "alone"), Error, "alone");
    assertEquals(rows(db), [1, 3]);
  });
});

Deno.test("Batcher splits what is too much for one transaction", async () => {
  let commits = 0;
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const all = Array.from(
      { length: 4_500 },
      (_, n) => writer.add(() => void insert.run(n), { bytes: 1 }),
    );
    await writer.idle();
    assertEquals(rows(db).length, 4_500);
    await Promise.all(all);
    assertEquals(commits, 3);
  }, { beforeCommit: () => commits++ });
});

Deno.test("Batcher answers nobody before what follows the commit is done", async () => {
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    await assertRejects(
      () => writer.add(() => insert.run(1), { bytes: 1 }),
      Error,
      "no disk",
    );
  }, {
    afterCommit: () => {
      throw new Error("no disk");
    },
  });
});

Deno.test("Batcher leaves the thread to other work after a transaction", async () => {
  let nowMs = 0;
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    await writer.add(() => insert.run(1), { bytes: 1 });
    const startedMs = performance.now();
    await writer.add(() => insert.run(2), { bytes: 1 });
    // The second is planned with a timer of 5 ms, which may be a little early.
    assert(performance.now() - startedMs >= 3);
  }, { monotonicMs: () => nowMs, beforeCommit: () => nowMs += 50 });
});

Deno.test("Batcher rejects all of a transaction that was not committed, and goes on", async () => {
  let isFull = true;
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const add = (n: number) => writer.add(() => insert.run(n), { bytes: 1 });
    const results = await Promise.allSettled([add(1), add(2)]);
    assertEquals(results.map(({ status }) => status), ["rejected", "rejected"]);
    assertEquals(rows(db), []);
    isFull = false;
    await add(3);
    assertEquals(rows(db), [3]);
  }, {
    beforeCommit: () => {
      if (isFull) throw new Error("disk full");
    },
  });
});

Deno.test("Batcher refuses what is too much, idle() waits for what is there", async () => {
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    await writer.idle();
    const added = writer.add(() => insert.run(1), { bytes: 1 });
    await assertRejects(
      () => writer.add(() => insert.run(2), { bytes: 1 }),
      StoreBusyError,
    );
    await writer.idle();
    assertEquals(rows(db), [1]);
    await added;
  }, { maxQueued: 1 });
});

Deno.test("Batcher lets writes that can wait share the transaction of the next one", async () => {
  let commits = 0;
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const add = (n: number, canWait: boolean) =>
      writer.add(() => insert.run(n), { bytes: 1, canWait });
    const waiting = [add(1, true), add(2, true)];
    await turns(5);
    assertEquals([commits, rows(db)], [0, []]);
    await add(3, false);
    await Promise.all(waiting);
    assertEquals([commits, rows(db)], [1, [1, 2, 3]]);
  }, { beforeCommit: () => commits++, longestWaitMs: 60_000 });
});

Deno.test("Batcher writes what can wait though no other write comes", async () => {
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    await writer.add(() => insert.run(1), { bytes: 1, canWait: true });
    assertEquals(rows(db), [1]);
  }, { longestWaitMs: 1 });
});

Deno.test("Batcher leaves no timer behind what could wait and went with another write", async () => {
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const add = (n: number, canWait: boolean) =>
      writer.add(() => insert.run(n), { bytes: 1, canWait });
    // A timer that is left makes Deno fail the test.
    await Promise.all([add(1, false), add(2, true)]);
    assertEquals(rows(db), [1, 2]);
    await writer.idle();
  }, { longestWaitMs: 60_000 });
});

Deno.test("Batcher.idle() writes at once what can wait", async () => {
  await withWriter(async (writer, db) => {
    const insert = db.prepare("INSERT INTO t VALUES(?)");
    const added = writer.add(() => insert.run(1), { bytes: 1, canWait: true });
    await writer.idle();
    await added;
    assertEquals(rows(db), [1]);
  }, { longestWaitMs: 60_000 });
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
