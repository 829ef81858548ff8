import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { withFolder, withStore } from "./testing/open_store.ts";
import type {
  LogFault,
  WriterAnswer,
  WriterRequest,
} from "./thread_messages.ts";
import { startWriterThread, Writer } from "./writer.ts";

type WriterOptions = ConstructorParameters<typeof Writer>[0];

function writerOptions(
  path: string,
  over: Partial<WriterOptions> = {},
): WriterOptions {
  return {
    path,
    durability: "full",
    logger: new RecordingLogger(),
    nowMs: () => 5,
    startThread: startWriterThread,
    ...over,
  };
}

function startDyingThread(): Worker {
  const url = new URL("./testing/dying_writer_worker.ts", import.meta.url);
  return new Worker(url, { type: "module" });
}

Deno.test("Writer opens, answers in order and closes", async () => {
  await withFolder(async (folder) => {
    const writer = new Writer(writerOptions(`${folder}/tasks.db`));
    await writer.open();
    const order: number[] = [];
    await Promise.all([0, 1, 2, 3].map(async (index) => {
      await writer.apply([]);
      order.push(index);
    }));
    assertEquals(order, [0, 1, 2, 3]);
    await writer.close();
    await writer.close();
    await assertRejects(
      () => writer.apply([]),
      Error,
      "Cannot write: the store is closed",
    );
  });
});

Deno.test("Writer rejects when the database cannot be opened", async () => {
  await withFolder(async (folder) => {
    const writer = new Writer(writerOptions(`${folder}/missing/tasks.db`));
    await assertRejects(() => writer.open(), Error, "Cannot write");
    await writer.close();
  });
});

Deno.test("a request that fails does not end the thread", async () => {
  await withFolder(async (folder) => {
    const writer = new Writer(writerOptions(`${folder}/tasks.db`));
    await writer.open();
    await assertRejects(
      () => writer.apply([[999]]),
      Error,
      "Cannot write: Cannot apply operation 999",
    );
    assertEquals((await writer.apply([])).codes, []);
    await writer.close();
  });
});

Deno.test("a store goes on when its writing thread dies", async () => {
  await withFolder(async (folder) => {
    let threads = 0;
    const startThread = () =>
      threads++ === 1 ? startDyingThread() : startWriterThread();
    await withStore(folder, () => Promise.resolve(), { startThread });
    await withStore(folder, async (store, logger) => {
      const ids = sampleIds();
      const [first, second] = [
        sampleTask({ id: ids.next() }),
        sampleTask({ id: ids.next() }),
      ];
      await assertRejects(
        () => store.commit(toTransactions(creation(first))),
        Error,
        "Cannot write: the thread that writes has ended",
      );
      assertEquals(logger.lines.map(({ level }) => level), ["error"]);
      assertEquals(await store.task("tnt_a", first.id), undefined);
      assertEquals(
        await store.commit(toTransactions(creation(first), creation(second))),
        [{ kind: "ok" }, { kind: "ok" }],
      );
      assertEquals(await store.task("tnt_a", second.id), second);
    }, { startThread });
    assertEquals(threads, 3);
  });
});

/** A thread that answers when a test tells it to, and records its requests. */
class FakeThread {
  readonly asked: string[] = [];
  onmessage: ((event: { readonly data: unknown }) => void) | undefined;
  onerror: ((event: ErrorEvent) => void) | undefined;

  postMessage(request: WriterRequest): void {
    const names = request.kind === "apply" ? request.lists.flat() : [];
    this.asked.push([request.kind, ...names].join(" "));
  }

  /** Answers all requests, with success unless `failure` is given. */
  answerAll(failure?: WriterAnswer & { readonly kind: "failed" }): void {
    for (const asked of this.asked.splice(0)) {
      const done: WriterAnswer = asked.startsWith("apply")
        ? { kind: "applied", codes: [], workMs: 0, commitMs: 0 }
        : { kind: "done", numbers: [] };
      this.onmessage?.({ data: failure ?? done });
    }
  }

  /** Sends a message that answers no request. */
  tell(message: LogFault): void {
    this.onmessage?.({ data: message });
  }

  terminate(): void {}
}

Deno.test("Writer keeps the order of requests while a new thread opens", async () => {
  const threads: FakeThread[] = [];
  const writer = new Writer(writerOptions("tasks.db", {
    startThread() {
      const thread = new FakeThread();
      threads.push(thread);
      return thread as unknown as Worker;
    },
  }));
  const opening = writer.open();
  threads[0]?.answerAll();
  await opening;
  threads[0]?.onerror?.(new ErrorEvent("error", { message: "gone" }));
  const answers = ["first", "second"].map((name) => writer.apply([[name]]));
  await Promise.resolve();
  assertEquals(threads[1]?.asked, ["open", "apply first", "apply second"]);
  // A late message of the first thread answers no request.
  threads[0]?.onmessage?.({ data: { kind: "failed", message: "late" } });
  threads[1]?.answerAll();
  assertEquals((await Promise.all(answers)).map(({ codes }) => codes), [
    [],
    [],
  ]);
});

Deno.test("Writer logs that the log of commits could not be moved and goes on", async () => {
  const thread = new FakeThread();
  const logger = new RecordingLogger();
  const writer = new Writer(writerOptions("tasks.db", {
    logger,
    startThread: () => thread as unknown as Worker,
  }));
  const opening = writer.open();
  thread.answerAll();
  await opening;
  const writing = writer.apply([["task"]]);
  thread.tell({ kind: "log_fault", message: "disk is full" });
  thread.answerAll();
  assertEquals((await writing).codes, []);
  assertEquals(
    logger.lines.map(({ level, fields }) => [level, fields]),
    [["warning", { reason: "disk is full" }]],
  );
});

Deno.test("check() tries to write unless tasks were written just now", async () => {
  const thread = new FakeThread();
  let nowMs = 0;
  const writer = new Writer(writerOptions("tasks.db", {
    startThread: () => thread as unknown as Worker,
    nowMs: () => nowMs,
  }));
  const opening = writer.open();
  thread.answerAll();
  await opening;
  const full = { kind: "failed", message: "disk is full" } as const;
  const done = undefined;
  async function writing(answer: typeof full | undefined): Promise<void> {
    const write = writer.apply([["task"]]);
    thread.answerAll(answer);
    await write.catch(() => {});
  }
  async function checking(
    answer: typeof full | undefined,
  ): Promise<readonly string[]> {
    const check = writer.check();
    const asked = [...thread.asked];
    thread.answerAll(answer);
    if (asked.length === 0 || answer === done) await check;
    else await assertRejects(() => check, StoreFailedError, "disk is full");
    return asked;
  }
  // No write has been made yet, so a probe is needed.
  assertEquals(await checking(done), ["probe"]);
  await writing(done);
  assertEquals(await checking(done), []);
  nowMs += 2_000;
  assertEquals(await checking(full), ["probe"]);
  await writing(done);
  await writing(full);
  // A sweep may succeed on a full disk where tasks do not.
  const sweep = writer.ask({ kind: "sweep", nowMs, limit: 1 });
  thread.answerAll();
  await sweep;
  assertEquals(await checking(full), ["probe"]);
  await writing(done);
  assertEquals(await checking(full), []);
});

Deno.test("a probe is written and changes nothing", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/tasks.db`;
    const writer = new Writer(writerOptions(path));
    await writer.open();
    const pages = (db: DatabaseSync) =>
      db.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.["log"];
    const db = new DatabaseSync(path);
    const before = Number(pages(db));
    assertEquals(await writer.ask({ kind: "probe" }), []);
    assertEquals(Number(pages(db)) >= before + 16, true);
    db.close();
    await writer.close();
  });
});
